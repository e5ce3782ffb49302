"""Whatever is sent, nothing is a fault of ours: every value of every body and parameter, replaced by hostile ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from tests.services.build import call, result, user

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    1.5,
    1e308,
    -0.0,
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff\ud800",
    "x" * 3000,
    "\u202e<script>alert(1)</script>",
    "../../etc/passwd",
    "'; DROP TABLE x; --",
    "%s%n{}",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "NaN",
    "-Infinity",
    "1e999999",
    "0" * 400,
    [],
    {},
    [[]],
    [None] * 3,
    {"\0": "\0"},
    {"a": {"b": [{"\ud800": 2**70}]}},
    {"": ""},
    json.loads("[" * 90 + "]" * 90),
)
QUERY = (
    "",
    " ",
    "\0",
    "é",
    "\ud800",
    "x" * 3000,
    "-1",
    "0",
    "1e9",
    "9" * 30,
    "null",
    "[]",
    "NaN",
    "Infinity",
    "true",
    "' OR 1=1",
    "%",
    "%%",
    "0001-01-01",
    "9999-12-31",
    "2026-02-30",
    "2026-01-01T00:00:00+99:00",
    "00000000-0000-0000-0000-000000000000",
    "\\",
    "\N{GRINNING FACE}",
    '"',
    '"a" OR -',
    "a:*",
    "& | !",
    "2026-01-01T00:00:00Z" * 3,
)


def mutations(value: Any) -> Iterator[Any]:
    """The value with one part replaced, taken away or said twice, for every part of it."""
    yield from HOSTILE
    if isinstance(value, dict):
        for key in value:
            yield {name: part for name, part in value.items() if name != key}
            for part in mutations(value[key]):
                yield {**value, key: part}
    if isinstance(value, list):
        yield value * 2
        for number, part in enumerate(value):
            for replaced in mutations(part):
                yield [*value[:number], replaced, *value[number + 1 :]]


EVENT = {
    "client_id": "e1",
    "kind": "tool_result",
    "at": "2026-01-01T00:00:00Z",
    "actor": {"kind": "tool", "name": "grep"},
    "text": "found",
    "tool": {
        "call_id": "c1",
        "name": "grep",
        "server": "fs",
        "arguments": {"q": "x"},
        "result": {"n": 1},
        "status": "ok",
    },
    "model": "m",
    "usage": {
        "input_tokens": 1,
        "cache_read_tokens": 1,
        "cache_write_tokens": 1,
        "output_tokens": 1,
        "reasoning_tokens": 1,
        "total_tokens": 4,
    },
    "cost": "0.01",
    "parent_client_id": "e0",
    "data": {"k": "v"},
}
TOOL = {"name": "t", "server": "s", "arguments": {"x": 1}}
SEED = "/dashboard/agents/{agent}/sessions"
BODIES = {
    "agents": {
        "name": "A",
        "runtime": "external",
        "model": "m",
        "instructions": "i",
        "tools": [{}],
        "policy": {},
        "metadata": {},
    },
    SEED: {"title": "t", "message": "m", "metadata": {"k": 1}, "user_id": "u", "external_id": "x"},
    f"{SEED}/{{session}}/messages": {"text": "t"},
    "sessions/{session}/events": {"events": [EVENT]},
    "approvals": {"agent": "A", "tool": TOOL, "context": "c", "expires_in": 60, "risk": "low", "client_id": "q"},
    "approvals/{approval}/decision": {
        "verdict": "approve",
        "version": 1,
        "digest": "d",
        "arguments": {"x": 2},
        "answer": "a",
        "reason": "r",
    },
}
QUERIES = {
    "agents": ("limit", "cursor"),
    f"{SEED}": ("limit", "cursor", "q"),
    "approvals": ("status", "session_id", "limit", "cursor"),
    "sessions": (
        "agent",
        "status",
        "origin",
        "tag",
        "q",
        "from",
        "to",
        "min_cost",
        "has_errors",
        "needs_approval",
        "sort",
        "limit",
        "cursor",
    ),
    "sessions/{session}/turns": ("limit", "cursor"),
    "sessions/{session}/events": ("after", "limit", "kind"),
    "approvals/{approval}": ("nothing",),
    "imports": ("limit", "cursor"),
    "usage": ("from", "to", "group_by", "limit", "cursor"),
    "audit": ("limit", "cursor", "subject"),
}


@pytest.fixture
def places(session):
    events.append(session.id, [user("hello"), call("c1"), result("c1")], origin=links.RUNTIME)
    asked = requests.request(session, requests.Question("t", {"x": 1}), by=audit.COMMAND)
    return {"agent": session.agent_id, "session": session.id, "approval": asked.id}


def check(answer, what):
    assert answer.status_code < 500, (answer.status_code, answer.content[:500], what)
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json", what
        assert json.loads(answer.content)["status"] == answer.status_code


@pytest.mark.parametrize("path", BODIES)
def test_no_body_is_a_fault_of_ours_nor_makes_anything_unreadable(admin, places, path):
    for body in mutations(BODIES[path]):
        check(admin.send("POST", path.format(**places), json.dumps(body)), body)
    for read in QUERIES:
        query = {"limit": "500"} if "limit" in QUERIES[read] else None
        assert admin.get(read.format(**places), query).status_code == 200, read
    for group in ("agent", "model", "session", "tool"):
        assert admin.get("usage", {"group_by": group}).status_code == 200, group


def test_no_change_of_an_agent_is_a_fault_of_ours(admin, places):
    body = {
        "name": "B",
        "model": "m",
        "instructions": "i",
        "tools": [],
        "policy": {},
        "metadata": {},
        "status": "active",
    }
    for changes in mutations(body):
        check(admin.send("PATCH", f"agents/{places['agent']}", json.dumps(changes)), changes)


@pytest.mark.parametrize("path", QUERIES)
def test_no_parameter_is_a_fault_of_ours(admin, places, path):
    for name in QUERIES[path]:
        for value in QUERY:
            query = {name: value.encode("utf-8", "surrogatepass")}
            check(admin.get(path.format(**places), query), query)
