"""Files that a session changed, over the API."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.services.log import file_changes
from tests.api.client import ok, refused
from tests.services.build import append, user

pytestmark = pytest.mark.django_db


def edit(number: int, path: str, old: str, new: str, status: str = "ok") -> list[EventDraft]:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    made = EventDraft("tool_call", f"c{number}", tool=ToolDraft(str(number), "Edit", arguments=arguments))
    return [
        made,
        EventDraft("tool_result", f"r{number}", parent=f"c{number}", tool=ToolDraft(str(number), status=status)),
    ]


@pytest.fixture
def edited(session):
    append(session, user(), *edit(1, "b.py", "x", "y"), *edit(2, "b.py", "y", "z"), *edit(3, "a.py", "x", "", "error"))
    return session


def test_files_are_listed_with_their_sums(api, edited):
    found = ok(api.get(f"/api/v1/sessions/{edited.pk}/files"))
    assert found["total"] == {"files": 1, "edits": 2, "added": 2, "removed": 2, "unknown": 0}
    assert (found["read_to_seq"], found["last_seq"]) == (7, 7)
    assert [(file["path"], file["kind"], file["edits"], file["failed"]) for file in found["items"]] == [
        ("a.py", "failed", 0, 1), ("b.py", "edited", 2, 0),
    ]  # fmt: skip
    page = ok(api.get(f"/api/v1/sessions/{edited.pk}/files?limit=1"))
    after = ok(api.get(f"/api/v1/sessions/{edited.pk}/files?limit=1&cursor={page['next_cursor']}"))
    assert [file["path"] for file in after["items"]] == ["b.py"] and after["next_cursor"] is None


def test_a_file_is_answered_with_its_net_diff(api, edited):
    net = ok(api.get(f"/api/v1/sessions/{edited.pk}/files/diff?path=b.py"))
    assert (net["from_version"], net["to_version"], net["whole"], net["added"], net["removed"]) == (0, 2, False, 1, 1)
    (hunk,) = net["hunks"]
    assert (hunk["versions"], hunk["seqs"]) == ([1, 2], [2, 4])
    assert [(row["mark"], row["text"]) for row in hunk["rows"]] == [("-", "x"), ("+", "z")]
    assert [(each["version"], each["seq"], each["outcome"]) for each in net["versions"]] == [
        (1, 2, "done"),
        (2, 4, "done"),
    ]
    one = ok(api.get(f"/api/v1/sessions/{edited.pk}/files/diff?path=b.py&version=2&from=1"))
    assert [row["text"] for row in one["hunks"][0]["rows"]] == ["y", "z"]


@pytest.mark.parametrize("query", ["", "?path=", "?path=b.py&version=-1", "?path=b.py&from=x"])
def test_what_makes_no_sense_is_refused(api, edited, query):
    assert refused(api.get(f"/api/v1/sessions/{edited.pk}/files/diff{query}"), 422)


def test_no_such_file_is_not_found(api, edited):
    refused(api.get(f"/api/v1/sessions/{edited.pk}/files/diff?path=c.py"), 404)


def test_a_long_log_is_read_over_several_requests(api, edited, monkeypatch):
    monkeypatch.setattr(file_changes, "EVENTS_AT_ONCE", 4)
    assert [ok(api.get(f"/api/v1/sessions/{edited.pk}/files"))["read_to_seq"] for _ in range(3)] == [4, 7, 7]
