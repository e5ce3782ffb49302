"""What docs/slack.md and the manifest say is what the code does."""

from __future__ import annotations

import json
import re

from django.urls import resolve

from config import env
from sessions_app.channels.slack import app, manifest
from sessions_app.views.settings import slack as views
from tests.fakes.slack import SECRET
from tests.places import DOCS

PAGE = (DOCS / "slack.md").read_text()
MANIFEST = json.loads((DOCS / "slack-manifest.json").read_text())


def test_the_manifest_is_the_one_that_the_page_fills_in():
    assert manifest.manifest("https://desk.example.com") == MANIFEST


def test_the_addresses_of_the_manifest_are_ours():
    addresses = {
        MANIFEST["settings"]["event_subscriptions"]["request_url"]: views.events,
        MANIFEST["settings"]["interactivity"]["request_url"]: views.events,
        MANIFEST["features"]["slash_commands"][0]["url"]: views.events,
        MANIFEST["oauth_config"]["redirect_urls"][0]: views.added,
    }
    for address, view in addresses.items():
        assert resolve(address.removeprefix("https://desk.example.com")).func is view


def test_every_event_of_the_manifest_has_a_listener():
    listened = {"app_mention", "message", "app_uninstalled", "tokens_revoked"}
    told = {event.partition(".")[0] for event in MANIFEST["settings"]["event_subscriptions"]["bot_events"]}
    assert told == listened
    others = ["approve", "deny", "open", "stop", "the modal", "the command"]
    assert len(app.app()._listeners) == len(listened) + len(others)


def test_the_variables_of_the_page_are_settings():
    named = set(re.findall(r"`(SLACK_\w+|COUNTERSIGN_\w+)`", PAGE))
    assert named - set(env.COMMON) - set(env.OURS) == set()
    assert {name for name in env.COMMON if name.startswith("SLACK_")} <= named


def test_the_program_of_the_page_gets_the_answer_that_it_says(client):
    names: dict = {}
    exec(re.search(r"```python\n(.+?)```", PAGE, re.S).group(1), names)  # noqa: S102 - run as its reader would
    asked = names["request"]("https://desk.example.com", SECRET)
    path = asked.full_url.removeprefix("https://desk.example.com")
    answer = client.post(path, asked.data, content_type="application/json", headers=dict(asked.header_items()))
    assert answer.json() == {"challenge": "hello"}
    assert f"prints `{answer.content.decode()}`" in PAGE.replace("\n", " ")
