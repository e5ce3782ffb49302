"""Requests that are signed and not of Slack's shape: each is refused with a sentence, and nothing is kept."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from sessions_app.channels.slack import modal
from sessions_app.models import SlackEvent
from tests.fakes.slack import TEAM, envelope

GONE = "(left out)"
KIM = {"id": "U0KIM0001", "team_id": TEAM}
MESSAGE = envelope(
    {"type": "message", "channel_type": "im", "channel": "D0KIM0001", "user": "U0KIM0001", "text": "Hi", "ts": "1.1"},
    "Ev1",
)
REVOKED = envelope({"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}}, "Ev2")
BUTTON = {"action_id": "approval_approve", "value": "{}", "type": "button", "block_id": "b", "action_ts": "1.1"}
CLICK = {
    "type": "block_actions", "team": {"id": TEAM}, "user": KIM, "channel": {"id": "C0PEOPLE1"},
    "trigger_id": "1.2.3", "actions": [BUTTON],
}  # fmt: skip
VIEW = {
    "type": "view_submission", "team": {"id": TEAM}, "user": KIM,
    "view": {
        "id": "V1", "type": "modal", "callback_id": modal.CALLBACK,
        "private_metadata": json.dumps({"action": "approval_deny", "value": "{}", "channel": "C0PEOPLE1"}),
        "state": {"values": {"reason": {"reason": {"type": "plain_text_input", "value": None}}}},
    },
}  # fmt: skip
COMMAND = {"command": "/countersign", "text": "status", "user_id": "U0KIM0001", "team_id": TEAM, "trigger_id": "1.2"}
LONG = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(64))
"""More than an entry of an index takes, and not to be packed."""
SIGNED = [
    ("events", MESSAGE, ["event"], [None, 1, "x", [], GONE]),
    ("events", MESSAGE, ["event", "type"], [1, GONE]),
    ("events", MESSAGE, ["event", "channel"], ["\0", "\ud800", LONG]),
    ("events", MESSAGE, ["event", "ts"], ["\0", 1.1, LONG]),
    ("events", MESSAGE, ["event", "thread_ts"], ["\0", ["1.1"]]),
    ("events", MESSAGE, ["event_id"], ["\0", 7]),
    ("events", REVOKED, ["event", "tokens"], [1, "bot", ["bot"]]),
    ("interactions", CLICK, ["actions"], [None, [], {}, "x", [1], [{}], GONE]),
    ("interactions", CLICK, ["actions", 0, "action_id"], [None, 1, GONE]),
    ("interactions", CLICK, ["actions", 0, "action_ts"], ["\0", LONG]),
    ("interactions", CLICK, ["actions", 0, "value"], [1, {}]),
    ("interactions", CLICK, ["user"], [None, "U0KIM0001", {}, [], GONE]),
    ("interactions", CLICK, ["user", "id"], [None, "\0", {}, GONE]),
    ("interactions", CLICK, ["channel"], ["C0PEOPLE1", [1]]),
    ("interactions", CLICK, ["trigger_id"], ["\ud800"]),
    ("interactions", VIEW, ["user"], [None, GONE]),
    ("interactions", VIEW, ["view"], [None, 1, [], "callback_id"]),
    ("interactions", VIEW, ["view", "id"], [None, "\0", GONE]),
    ("interactions", VIEW, ["view", "type"], [GONE]),
    ("interactions", VIEW, ["view", "private_metadata"], [None, 1, "", "x", "[]", "{}", GONE]),
    ("interactions", VIEW, ["view", "state"], [None, [], {}, {"values": {"reason": 1}}, GONE]),
    ("interactions", VIEW, ["view", "state", "values", "reason", "reason", "value"], [1, ["no"]]),
    ("commands", COMMAND, ["user_id"], [GONE, "", "\0"]),
    ("commands", COMMAND, ["trigger_id"], ["\0", LONG]),
    ("commands", COMMAND, ["team_id"], [GONE]),
]


def changed(body: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    made: Any = copy.deepcopy(body)
    place = made
    for step in path[:-1]:
        place = place[step]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


def sent(slack: Any, client: Any, where: str, body: dict[str, Any], **how: Any) -> Any:
    raw = urlencode(body).encode() if where == "commands" else body
    return slack.send(client, raw, f"/slack/{where}", **how)


@pytest.mark.parametrize(
    ("where", "body", "path", "values"), SIGNED, ids=[f"{one[0]}-{'.'.join(map(str, one[2]))}" for one in SIGNED]
)
def test_a_signed_body_of_another_shape_is_refused_and_not_kept(slack, client, where, body, path, values):
    for value in values:
        answer = sent(slack, client, where, changed(body, path, value))
        assert answer.status_code == 400, ascii(value)
        assert "must be" in answer.text or "names no Slack workspace" in answer.text
    assert not SlackEvent.objects.exists()


@pytest.mark.parametrize("body", [MESSAGE, CLICK, VIEW, COMMAND], ids=["message", "click", "view", "command"])
def test_what_slack_sends_has_that_shape(slack, client, body):
    where = {"event_callback": "events", None: "commands"}.get(body.get("type"), "interactions")
    assert sent(slack, client, where, body).status_code == 200
    assert SlackEvent.objects.count() == 1


def test_a_button_that_nobody_knows_is_not_kept(slack, client):
    answer = sent(slack, client, "interactions", changed(CLICK, ["actions", 0, "action_id"], "launch"))
    assert (answer.status_code, answer.json()) == (404, {"error": "unhandled request"})
    assert not SlackEvent.objects.exists()


@pytest.mark.parametrize("team", ["\0", "\ud800", LONG, 1, ["T1"]], ids=["nul", "surrogate", "long", "number", "list"])
def test_a_team_that_can_be_none_has_no_secret(slack, client, team):
    assert slack.send(client, changed(CLICK, ["team", "id"], team), "/slack/interactions").status_code == 401


def test_a_body_that_is_nested_too_deep_is_refused_before_its_signature_is(slack, client):
    deep = b'{"a":' * 100_000
    assert slack.send(client, deep).status_code == 400
    assert slack.send(client, deep, secret="f" * 32).status_code == 400


def test_nothing_is_posted_to_an_address_that_a_command_for_no_team_names(slack, client, settings):
    """Bolt tells who wrote it that the app is not installed: by a post to any address, from inside of the network."""
    settings.SLACK_SIGNING_SECRET = "a" * 32
    address = slack.api_url.replace("/api/", "/commands/1")
    answer = sent(
        slack, client, "commands", COMMAND | {"team_id": "T0NOBODY1", "response_url": address}, secret="a" * 32
    )  # fmt: skip
    assert answer.status_code == 200
    assert slack.calls == [] and slack.responses == []
