"""Reviews over the API: a person gives them by their browser session, a key of any role only reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import AuditEntry, Comment, Member, ReviewQueue, Role, Rubric, SavedView, Session, Verdict
from sessions_app.services import audit
from sessions_app.services.people import members
from tests.services.build import append, user

from ..client import Api, ok, pointers, refused


class Person(Api):
    """A member who is signed in, in place of a key."""

    def __init__(self, member: Member) -> None:
        super().__init__(None)
        self.client = Client(raise_request_exception=False)
        self.client.force_login(member.user)


def person(workspace, name: str, role: Role) -> Person:
    return Person(members.add_member(workspace, f"{name}@example.org", name, role, by=audit.COMMAND)[0])


@pytest.fixture
def rosa(workspace) -> Person:
    return person(workspace, "rosa", Role.REVIEWER)


@pytest.fixture
def boss(workspace) -> Person:
    return person(workspace, "boss", Role.ADMIN)


@pytest.fixture
def read(session) -> Session:
    append(session, user("Hello"), user("Again"))
    return session


WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "sessions/{session}/verdict", {"verdict": "pass"}),
    ("DELETE", "sessions/{session}/verdict", {}),
    ("POST", "sessions/{session}/comments", {"text": "Why?"}),
    ("PATCH", "sessions/{session}/comments/{comment}", {"text": "Because"}),
    ("PATCH", "sessions/{session}/comments/{comment}", {"resolved": True}),
    ("DELETE", "sessions/{session}/comments/{comment}", {}),
    ("POST", "saved-views", {"name": "Mine"}),
    ("PATCH", "saved-views/{view}", {"name": "Ours"}),
    ("DELETE", "saved-views/{view}", {}),
    ("POST", "sessions/{session}/assign", {"assignee_id": None}),
    ("POST", "reviews/queues", {"name": "All"}),
    ("POST", "reviews/queues/{queue}/next", {}),
    ("POST", "reviews/queues/{queue}/close", {}),
    ("POST", "reviews/rubrics", {"name": "Tact", "kind": "scale"}),
    ("DELETE", "reviews/rubrics/{rubric}", {}),
]


@pytest.mark.parametrize("role", [Role.AGENT, Role.VIEWER, Role.REVIEWER, Role.ADMIN])
def test_no_key_gives_a_review(workspace, key_for, things, role):
    key = key_for(workspace, role)
    names = {name: things[f"{name}_id"] for name in ("session", "queue", "rubric", "comment", "view")}
    for method, path, body in WRITES:
        answer = key.send(method, path.format(**names), json.dumps(body) if body or method == "POST" else b"")
        expected = {404, 403} if role == Role.AGENT else {403}  # an agent does not even see sessions of others
        assert answer.status_code in expected, (method, path, answer.content)
    assert not Verdict.objects.exists()
    assert [(one.text, one.deleted_at, one.resolved_at) for one in Comment.objects.all()] == [("Why?", None, None)]
    assert [view.name for view in SavedView.objects.all()] == ["Failures"]
    assert ReviewQueue.objects.count() == 1 and Rubric.objects.count() == 1


def test_a_person_gives_changes_and_withdraws_a_verdict(rosa, boss, viewer, read):
    ok(boss.post("reviews/rubrics", {"name": "Tone", "kind": "scale"}), 201)
    given = ok(rosa.post(f"sessions/{read.id}/verdict", {"verdict": "fail", "scores": {"Tone": 2}, "note": "No."}))
    assert (given["by"], given["last_seq"]) == ("rosa", 2)
    assert given["scores"] == [{"name": "Tone", "kind": "scale", "value": 2}]
    ok(rosa.post(f"sessions/{read.id}/verdict", {"verdict": "pass", "last_seq": 1}))
    ok(boss.post(f"sessions/{read.id}/verdict", {"verdict": "pass"}))
    review = ok(viewer.get(f"sessions/{read.id}/review"))
    assert (review["verdict"], review["agreement"]["share"]) == ("pass", 1.0)
    assert [(one["by"], one["verdict"], one["last_seq"]) for one in review["verdicts"]] == [
        ("rosa", "pass", 1), ("boss", "pass", 2),
    ]  # fmt: skip
    assert [one["verdict"] for one in review["earlier"]] == ["fail"]
    assert len(viewer.all("reviews")) == 2
    assert rosa.send("DELETE", f"sessions/{read.id}/verdict", b"").status_code == 204
    assert [one["by"] for one in viewer.all("reviews")] == ["boss"]
    assert [row["id"] for row in viewer.all("sessions", {"verdict": "pass"})] == [str(read.id)]
    assert viewer.all("sessions", {"verdict": "none"}) == []


@pytest.mark.parametrize(
    "body",
    [
        {}, {"verdict": "good"}, {"verdict": "pass", "by": "boss"}, {"verdict": "pass", "last_seq": 3},
        {"verdict": "pass", "last_seq": -1}, {"verdict": "pass", "scores": {"Mood": 1}},
        {"verdict": "pass", "scores": {"x": "5"}}, {"verdict": "pass", "note": "x" * 10_001},
    ],
)  # fmt: skip
def test_what_is_no_verdict_is_refused_by_name(rosa, read, body):
    problem = refused(rosa.post(f"sessions/{read.id}/verdict", body), 422)
    assert problem["errors"] and not Verdict.objects.exists()


def test_comments_are_added_and_answered(rosa, viewer, read):
    first = ok(rosa.post(f"sessions/{read.id}/comments", {"text": "Why?", "first_seq": 1, "last_seq": 2}), 201)
    answer = ok(rosa.post(f"sessions/{read.id}/comments", {"text": "So.", "parent_id": first["id"]}), 201)
    assert (answer["first_seq"], answer["parent_id"]) == (1, first["id"])
    assert [one["text"] for one in ok(viewer.get(f"sessions/{read.id}/review"))["comments"]] == ["Why?", "So."]
    for body in ({"text": " "}, {"text": "x", "first_seq": 9}, {"text": "x", "parent_id": str(read.id)}):
        refused(rosa.post(f"sessions/{read.id}/comments", body), 422)


def test_a_comment_is_changed_resolved_and_deleted_by_those_who_may(rosa, boss, viewer, workspace, read):
    made = ok(rosa.post(f"sessions/{read.id}/comments", {"text": "Why?"}), 201)
    path, other = f"sessions/{read.id}/comments/{made['id']}", person(workspace, "paul", Role.REVIEWER)
    changed = ok(rosa.patch(path, {"text": "Why so?", "resolved": True}))
    assert (changed["text"], changed["resolved_by"]) == ("Why so?", "rosa") and changed["edited_at"]
    refused(other.patch(path, {"text": "Mine now"}), 403)
    refused(other.send("DELETE", path, b""), 403)
    assert ok(other.patch(path, {"resolved": False}))["resolved_at"] is None
    for body in ({}, {"text": " "}, {"words": "x"}):
        refused(rosa.patch(path, body), 422)
    refused(rosa.patch(f"sessions/{read.id}/comments/{read.id}", {"text": "x"}), 404)
    for _ in range(2):  # a second time changes nothing
        assert boss.send("DELETE", path, b"").status_code == 204
    assert AuditEntry.objects.filter(action="comment.deleted").count() == 1
    assert [
        (one["text"], bool(one["deleted_at"])) for one in ok(viewer.get(f"sessions/{read.id}/review"))["comments"]
    ] == [("", True)]
    refused(rosa.patch(path, {"text": "Again"}), 422)


def test_views_are_saved_shared_and_removed_by_those_who_may(rosa, boss, viewer, workspace, stranger):
    reader = person(workspace, "vito", Role.VIEWER)
    mine = ok(reader.post("saved-views", {"name": "Mine", "query": "?status=idle&cursor=x"}), 201)
    assert (mine["query"], mine["own"], mine["shared"]) == ("status=idle", True, False)
    refused(reader.post("saved-views", {"name": "Ours", "query": "a=b", "shared": True}), 403)
    ours = ok(rosa.post("saved-views", {"name": "Ours", "query": "a=b", "shared": True}), 201)
    assert [one["name"] for one in reader.all("saved-views")] == ["Ours", "Mine"]
    assert [one["name"] for one in viewer.all("saved-views")] == ["Ours"], "a key sees what is shared"
    assert stranger.all("saved-views") == []
    refused(boss.patch(f"saved-views/{mine['id']}", {"name": "Bosses"}), 404)
    refused(reader.patch(f"saved-views/{ours['id']}", {"name": "Readers"}), 403)
    assert ok(boss.patch(f"saved-views/{ours['id']}", {"name": "All of ours"}))["own"] is False
    assert ok(rosa.patch(f"saved-views/{ours['id']}", {"name": " All  ours "}))["name"] == "All ours"
    refused(reader.patch(f"saved-views/{mine['id']}", {"name": "Mine", "query": "a=b"}), 422)
    refused(boss.send("DELETE", f"saved-views/{mine['id']}", b""), 404)
    refused(reader.send("DELETE", f"saved-views/{ours['id']}", b""), 403)
    assert boss.send("DELETE", f"saved-views/{ours['id']}", b"").status_code == 204
    assert reader.send("DELETE", f"saved-views/{mine['id']}", b"").status_code == 204
    refused(rosa.post("saved-views", {"name": ""}), 422)


def test_a_queue_is_made_worked_off_and_closed(rosa, viewer, read):
    made = ok(rosa.post("reviews/queues", {"name": "All", "filter": "has_errors=false", "seed": "s"}), 201)
    assert ok(viewer.get(f"reviews/queues/{made['id']}"))["left"] == 1
    assert ok(rosa.post(f"reviews/queues/{made['id']}/next"))["id"] == str(read.id)
    ok(rosa.post(f"sessions/{read.id}/verdict", {"verdict": "pass"}))
    assert rosa.post(f"reviews/queues/{made['id']}/next").status_code == 204
    assert ok(rosa.post(f"reviews/queues/{made['id']}/close"))["closed_at"]
    refused(rosa.post(f"reviews/queues/{made['id']}/next"), 409)
    assert viewer.all("reviews/queues") == []
    refused(rosa.post("reviews/queues", {"name": "Bad", "filter": "mood=good"}), 422)
    ReviewQueue.objects.update(filter="mood=good")
    refused(viewer.get(f"reviews/queues/{made['id']}"), 409)


def test_another_workspace_finds_nothing(stranger, things):
    assert stranger.all("reviews") == stranger.all("reviews/queues") == stranger.all("reviews/rubrics") == []
    for path in (f"reviews/queues/{things['queue_id']}", f"sessions/{things['session_id']}/review"):
        refused(stranger.get(path), 404)


def test_a_session_is_assigned_to_a_member_of_the_workspace(rosa, boss, viewer, read, other_workspace):
    mine = Member.objects.get(user__email="rosa@example.org")
    theirs, _ = members.add_member(other_workspace, "kim@example.org", "kim", Role.REVIEWER, by=audit.COMMAND)
    ok(boss.post(f"sessions/{read.id}/assign", {"assignee_id": str(mine.pk)}))
    assert [row["id"] for row in viewer.all("sessions", {"assignee": str(mine.pk)})] == [str(read.id)]
    refused(boss.post(f"sessions/{read.id}/assign", {"assignee_id": str(theirs.pk)}), 422)
    viewing, _ = members.add_member(read.workspace, "vera@example.org", "vera", Role.VIEWER, by=audit.COMMAND)
    assert pointers(refused(boss.post(f"sessions/{read.id}/assign", {"assignee_id": str(viewing.pk)}), 422)) == {
        "/assignee_id"
    }
    ok(boss.post(f"sessions/{read.id}/assign", {"assignee_id": None}))
    assert viewer.all("sessions", {"assignee": str(mine.pk)}) == []
