"""Search over the API: sessions with hits, operators in ``q``, and what is refused."""

from __future__ import annotations

import pytest

from sessions_app.models import FileText
from sessions_app.services.log import file_texts
from tests.api.client import Api, ok
from tests.services.build import append, call, event, result, user


@pytest.fixture
def said(session) -> None:
    append(session, user("Where is the parcel?"), call("c1"), result("c1", status="error", text="parcel lost"))
    append(session, event("agent_message", text="It is lost"))


def test_sessions_come_with_hits_in_context(viewer: Api, session, said):
    (found,) = ok(viewer.get("search", {"q": "parcel"}))["items"]
    assert found["session"]["id"] == str(session.id) and found["strict"] and not found["more"]
    assert [hit["seq"] for hit in found["hits"]] == [1, 3]
    assert found["hits"][0] == {
        "seq": 1, "kind": "user_message", "turn": 1, "tool": None,
        "snippet": [
            {"text": "Where is the ", "is_match": False}, {"text": "parcel", "is_match": True},
            {"text": "?", "is_match": False},
        ],
    }  # fmt: skip


def test_what_the_file_alone_says_is_told_beside_the_hits(viewer: Api, session, said):
    file_texts.put_off(session.workspace_id, [session.pk])
    file_texts.keep(session.pk, "An amber tower", FileText.objects.get().due_at)
    (found,) = ok(viewer.get("search", {"q": "amber"}))["items"]
    assert found["hits"] == [] and [one["text"] for one in found["in_file"] if one["is_match"]] == ["amber"]
    assert ok(viewer.get("search", {"q": "parcel"}))["items"][0]["in_file"] == []


def test_operators_narrow_the_search_and_the_list_alike(viewer: Api, session, said):
    assert [hit["seq"] for hit in ok(viewer.get("search", {"q": "parcel is:error"}))["items"][0]["hits"]] == [3]
    for typed, count in (
        ("parcel tool:search", 1),
        ("parcel tool:nobody", 0),
        ("errors>5", 0),
        ("parcel -is:error", 0),
    ):
        assert len(ok(viewer.get("sessions", {"q": typed}))["items"]) == count, typed
        assert len(ok(viewer.get("search", {"q": typed}))["items"]) == count, typed


def test_what_looks_like_an_operator_is_named_and_a_bad_value_refused(viewer: Api, session, said):
    found = ok(viewer.get("search", {"q": "colour:red"}))
    assert found == {"items": [], "next_cursor": None, "ranked": None, "is_cut": False, "unknown": ["colour"]}
    for path in ("search", "sessions"):
        refused = ok(viewer.get(path, {"q": "is:purple"}), 422)
        assert refused["errors"][0]["pointer"] == "/q" and '"purple"' in refused["errors"][0]["detail"]
    assert ok(viewer.get("search", {"limit": 51}), 422)["errors"][0]["pointer"] == "/limit"
