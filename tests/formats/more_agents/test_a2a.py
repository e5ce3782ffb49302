"""Tasks of the Agent2Agent protocol of both spellings, alone, in an answer, and in a list."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.formats.more_agents.told import events, session, told
from vcon_app import registry
from vcon_app.drafts import FormatError, SessionDraft


def task(own: str = "t1", state: str = "completed", user: str = "user", agent: str = "agent") -> dict[str, Any]:
    said = {"role": agent, "messageId": "m2", "parts": [{"kind": "text", "text": "Which berth?"}], "kind": "message"}
    return {
        "kind": "task", "id": own, "contextId": "c1",
        "status": {"state": state, "timestamp": "2026-05-04T08:00:00Z", "message": said},
        "history": [
            {"role": user, "messageId": "m1", "kind": "message", "parts": [
                {"kind": "text", "text": "Moor the boat."},
                {"kind": "file", "file": {"name": "a.png", "bytes": "AAAA"}}]},
            said,
            {"role": user, "messageId": "m3", "parts": [{"kind": "data", "data": {"berth": 4}}]},
        ],
        "artifacts": [{"artifactId": "a1", "name": "log", "parts": [{"kind": "text", "text": "Moored at 4."}]}],
    }  # fmt: skip


@pytest.mark.parametrize("around", [lambda one: one, lambda one: {"jsonrpc": "2.0", "id": 1, "result": one}])
def test_a_task_tells_its_messages_once_and_what_came_of_it(around: Any) -> None:
    drafts = told(json.dumps(around(task())).encode(), "a2a")
    assert [(event.kind, event.text) for event in events(drafts)] == [
        ("user_message", "Moor the boat."), ("agent_message", "Which berth?"), ("user_message", '{"berth":4}'),
        ("artifact", "Moored at 4."),
    ]  # fmt: skip
    assert events(drafts)[0].data["attachments"] == [{"type": "file", "name": "a.png"}]
    assert (session(drafts).external_id, session(drafts).phase) == ("t1", "completed")


def test_tasks_in_a_list_are_a_session_each_and_later_spellings_are_read() -> None:
    values = [task(), task("t2", "TASK_STATE_CANCELED", "ROLE_USER", "ROLE_AGENT")]
    drafts = told(json.dumps(values).encode(), "a2a")
    found = [draft for draft in drafts if isinstance(draft, SessionDraft)]
    assert [(one.external_id, one.phase) for one in found[1::2]] == [("t1", "completed"), ("t2", "cancelled")]
    assert len(events(drafts)) == 8


def test_a_task_in_which_nobody_spoke_is_refused_in_words() -> None:
    source = io.BytesIO(json.dumps({"id": "t", "contextId": "c", "status": {"state": "submitted"}}).encode())
    with pytest.raises(FormatError, match="nobody has said anything"):
        list(registry.reader(registry.detect(source)[0]).read(source))
