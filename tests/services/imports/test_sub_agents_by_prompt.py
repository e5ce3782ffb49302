"""Sub-agents of Gemini CLI and Cursor, whose own files do not say whose they are, find their parents in any order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.models import Session
from sessions_app.queries.log.timeline import Timeline

from .test_imports import drop

pytestmark = pytest.mark.django_db
AT = "2026-10-05T08:00:00.000Z"
HASH = {"projectHash": "f0", "startTime": AT, "lastUpdated": AT}


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def gemini(session: str, *messages: dict[str, Any], **more: Any) -> bytes:
    told = ({"timestamp": AT, **message} for message in messages)
    return lines({"sessionId": session, **HASH, **more}, *told)


CALL = {"id": "c1", "name": "investigator", "args": {"objective": "Look"}, "status": "success", "timestamp": AT,
        "result": [{"functionResponse": {"id": "c1", "name": "investigator", "response": {"output": "Found"}}}],
        "agentId": "child-1"}  # fmt: skip
GEMINI = [
    gemini("main-1", {"id": "m1", "type": "user", "content": "Find it"},
           {"id": "m2", "type": "gemini", "content": "Yes", "toolCalls": [CALL]}),
    gemini("child-1", {"id": "k1", "type": "user", "content": "Look"}, kind="subagent"),
    gemini("other-1", {"id": "o1", "type": "user", "content": "Look"}),
]  # fmt: skip


def cursor(*said: tuple[str, Any]) -> bytes:
    return lines(*({"role": role, "message": {"content": [block]}} for role, block in said))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def task(prompt: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Task", "input": {"prompt": prompt, "description": "Look"}}


CURSOR = [
    cursor(("user", text("<user_query>Tidy the shed</user_query>")), ("assistant", task("Count the rakes in the shed")),
           ("assistant", task("Oil the hinges of the door"))),
    cursor(("user", text("Oil the hinges of the door")), ("assistant", text("Oiled"))),
    cursor(("user", text("Something of another day")), ("assistant", text("No"))),
]  # fmt: skip


@pytest.mark.parametrize("files", [GEMINI, CURSOR], ids=["gemini-cli", "cursor"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_sub_agent_session_found_by_prompt_is_below_the_call_of_its_parent(workspace, files, order):
    imports = {number: drop(workspace, files[number]) for number in order}
    main, child, other = (imports[number].session_links.get().session for number in range(3))
    assert (child.parent_id, main.parent_id, other.parent_id) == (main.pk, None, None)
    window = Timeline(main.pk).after(0)
    asked = [entry.seq for entry in window.entries if entry.kind == "tool_call"]
    assert window.children[f"#{asked[-1]}"] == child
    for data in files:
        drop(workspace, data + b"\n")
    assert Session.objects.get(pk=child.pk).parent_id == main.pk
    assert Session.objects.count() == 3


def test_sessions_with_the_same_prompt_do_not_become_each_others_parents(workspace):
    first = cursor(("user", text("Ping the other")), ("assistant", task("Pong the other")))
    second = cursor(("user", text("Pong the other")), ("assistant", task("Ping the other")))
    for data in (first, second):
        drop(workspace, data)
    parents = dict(Session.objects.values_list("pk", "parent_id"))
    assert sum(parent is not None for parent in parents.values()) == 1
