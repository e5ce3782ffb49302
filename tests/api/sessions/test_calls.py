"""Tool calls and model requests of a session over the API: narrowed, sorted, page by page."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Role
from tests.api.client import ok, pointers, refused
from tests.services.build import answer, append, event, result, user

pytestmark = pytest.mark.django_db
OPUS = "claude-opus-4-5"


def made(call_id: str, name: str, **arguments: str) -> EventDraft:
    return event("tool_call", tool=ToolDraft(call_id=call_id, name=name, arguments=arguments), request="r")


@pytest.fixture
def worked(session):
    append(
        session, user(), made("c1", "Read", file_path="src/a.py"),
        answer("r", OPUS, input_tokens=10_000, output_tokens=100), result("c1"), made("c2", "Bash", command="make"),
        result("c2", status="error"), made("c3", "Read", file_path="src/b.py"),
        answer("s", OPUS, cache_read_tokens=2_000, output_tokens=7),
    )  # fmt: skip
    return session


def test_calls_come_as_they_were_made_or_in_the_order_that_is_asked_for(api, worked):
    path = f"sessions/{worked.pk}/calls"
    every = ok(api.get(path))["items"]
    assert [(one["name"], one["object"], one["status"]) for one in every] == [
        ("Read", "src/a.py", "ok"), ("Bash", "make", "error"), ("Read", "src/b.py", None),
    ]  # fmt: skip
    assert every[0]["result_seq"] and every[2]["result_seq"] is None
    assert [one["object"] for one in api.all(path, {"sort": "object", "limit": 1})] == ["make", "src/a.py", "src/b.py"]
    assert [one["name"] for one in api.all(path, {"sort": "result", "limit": 2})] == ["Bash", "Read", "Read"]
    assert [one["name"] for one in api.all(path, {"status": "failed"})] == ["Bash"]
    assert [one["object"] for one in api.all(path, {"tool": "Read", "sort": "-object", "limit": 1})] == [
        "src/b.py", "src/a.py",
    ]  # fmt: skip


def test_by_object_they_are_in_order_whatever_their_agent_calls_a_path(api, session):
    append(
        session, user(), made("c1", "read_file", absolute_path="b.py"), made("c2", "read_file", target_file="c.py"),
        made("c3", "fetch", uri="a.example"), made("c4", "Read", file_path="d.py"), made("c5", "odd"),
    )  # fmt: skip
    found = api.all(f"sessions/{session.pk}/calls", {"sort": "object", "limit": 2})
    assert [one["object"] for one in found] == ["a.example", "b.py", "c.py", "d.py", ""]


def test_requests_say_what_each_was_sent_used_and_cost(api, worked):
    first, second = api.all(f"sessions/{worked.pk}/requests", {"limit": 1})
    assert (first["model"], first["context_tokens"], first["usage"]["output_tokens"]) == (OPUS, 10_000, 100)
    assert (second["context_tokens"], second["usage"]["cache_read_tokens"]) == (2_000, 2_000)
    assert first["cost"]["basis"] == "priced" and float(first["cost"]["amount"]) > 0


def test_what_cannot_be_asked_for_is_named_and_others_find_nothing(api, stranger, key_for, workspace, worked):
    for query, place in (({"sort": "weight"}, "/sort"), ({"took": "-1"}, "/took"), ({"cursor": "x"}, "/cursor")):
        assert pointers(refused(api.get(f"sessions/{worked.pk}/calls", query), 422)) == {place}
    for path in ("calls", "requests"):
        refused(stranger.get(f"sessions/{worked.pk}/{path}"), 404)
        refused(key_for(workspace, Role.AGENT).get(f"sessions/{worked.pk}/{path}"), 404)
