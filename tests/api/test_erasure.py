"""Sessions and imports that were deleted over the API: gone from every list, with a tombstone that can be checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.models import Session, Tombstone
from sessions_app.services.approvals import requests
from sessions_app.services.log import search_index
from tests.services.build import append, call, user
from tests.services.files import OWNER, transcript
from tests.services.imports.test_imports import drop
from tests.views.money.spending import ran
from vcon_app.models import Export, Import
from vcon_app.services.exports import export_jobs

from .client import ok, pointers, refused
from .things import BY

pytestmark = pytest.mark.django_db
LISTS = [
    "sessions", "sessions?q=xylophone", "approvals?status=all", "imports", "calls", "usage?group_by=session",
    "usage?group_by=agent", "trigger-runs",
]  # fmt: skip


def delete(api: Any, path: str, body: Any = None) -> Any:
    return api.send("DELETE", path, json.dumps(body) if body is not None else b"")


@pytest.fixture
def seen(agent, session) -> Session:
    """A session that stands in every list: with money, an open question, words to find, and an export."""
    spent = ran(agent, "0.50", tool="lookup", price="0.02", title="Xylophone order")
    append(spent, user("Where is my xylophone?"), call("c1"))
    requests.request(spent, requests.Question("refund", {"for": "xylophone"}), by=BY)
    search_index.index(spent.pk)
    export_jobs.start_export(spent, "jsonl", by=BY)
    return spent


def in_lists(api: Any, words: str) -> set[str]:
    found = set()
    for path in LISTS:
        answer = api.get(path)
        assert answer.status_code in (200, 404, 422), (path, answer.content)
        if answer.status_code == 200 and words in answer.content.decode():
            found.add(path)
    return found


@pytest.mark.django_db(transaction=True)  # routes that wait give their connection back
def test_it_is_in_no_list_and_in_no_search_afterwards(admin, seen, session):
    assert {"sessions", "sessions?q=xylophone", "usage?group_by=session", "calls"} <= in_lists(admin, str(seen.pk))
    export = seen.exports.get()
    assert delete(admin, f"sessions/{seen.pk}").status_code == 204
    assert in_lists(admin, str(seen.pk)) == in_lists(admin, "ylophone") == set()
    for path in ("", "/turns", "/events", "/export?format=jsonl"):
        refused(admin.get(f"sessions/{seen.pk}{path}"), 404)
    refused(delete(admin, f"sessions/{seen.pk}"), 404)
    assert ok(admin.get(f"sessions/{session.pk}"))["id"] == str(session.pk)
    assert not Export.objects.filter(pk=export.pk).exists()
    refused(admin.get(f"exports/{export.pk}"), 404)


def test_who_is_no_admin_and_who_is_of_another_workspace(api, viewer, stranger, seen, workspace):
    imported = drop(workspace, transcript(4))
    for path in (f"sessions/{seen.pk}", f"imports/{imported.pk}"):
        refused(delete(viewer, path), 403)
        refused(delete(api, path), 403)
        refused(delete(stranger, path), 404)
    assert Session.objects.count() == 3 and Import.objects.exists() and not Tombstone.objects.exists()


def test_a_viewer_of_another_workspace_is_told_404(other_workspace, key_for, seen, workspace):
    foreign = key_for(other_workspace, "viewer")
    refused(delete(foreign, f"sessions/{seen.pk}"), 404)
    refused(delete(foreign, f"imports/{drop(workspace, transcript(4)).pk}"), 404)


def test_the_reason_comes_in_the_body_or_in_the_query(admin, agent):
    def reason_of(query: str, body: Any) -> str:
        session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
        assert delete(admin, f"sessions/{session.pk}{query}", body).status_code == 204
        return Tombstone.objects.get(subject_id=session.pk).reason

    assert reason_of("?reason=asked", None) == "asked"
    assert reason_of("?reason=asked", {"reason": "by letter"}) == "by letter"
    assert reason_of("", {}) == ""


def test_a_field_that_is_not_known_is_named_and_nothing_goes(admin, seen):
    problem = refused(delete(admin, f"sessions/{seen.pk}", {"reasn": "asked"}), 422)
    assert pointers(problem) == {"/reasn"}
    refused(delete(admin, f"sessions/{seen.pk}", {"reason": "x" * 2_001}), 422)
    assert Session.objects.filter(pk=seen.pk).exists()


def test_children_go_when_they_are_asked_for(admin, agent, session):
    children = [Session.objects.create(workspace_id=agent.workspace_id, agent=agent, parent=session) for _ in range(2)]
    assert delete(admin, f"sessions/{children[0].pk}").status_code == 204
    assert delete(admin, f"sessions/{session.pk}", {"children": True}).status_code == 204
    assert not Session.objects.exists()


def test_an_import_goes_with_its_session(admin, workspace, document_storage):
    imported = drop(workspace, transcript(4))
    assert delete(admin, f"imports/{imported.pk}", {"reason": "a wrong upload"}).status_code == 204
    assert ok(admin.get("imports"))["items"] == ok(admin.get("sessions"))["items"] == []
    refused(admin.get(f"imports/{imported.pk}"), 404)
    refused(delete(admin, f"imports/{imported.pk}"), 404)


def test_an_import_that_would_tear_a_session_is_a_409_that_names_the_other_file(admin, workspace, document_storage):
    short = drop(workspace, transcript(4), "short.jsonl")
    drop(workspace, transcript(8), "long.jsonl")
    problem = refused(delete(admin, f"imports/{short.pk}"), 409)
    assert "long.jsonl" in problem["detail"] and "delete the session itself" in problem["detail"]
    assert Session.objects.get(external_id=OWNER).event_count == 8


def test_a_turn_in_flight_is_a_409(admin, scripted_agent):
    from sessions_app.services.turns import messages

    session = messages.start_session(scripted_agent, "hello", by=BY, origin="chat")
    assert "interrupt it first" in refused(delete(admin, f"sessions/{session.pk}"), 409)["detail"]


def test_the_tombstone_can_be_read_and_checked_by_admins(admin, api, stranger, seen):
    delete(admin, f"sessions/{seen.pk}", {"reason": "by letter"})
    tombstone = ok(admin.get(f"tombstones/{seen.pk}"))
    assert (tombstone["kind"], tombstone["reason"], tombstone["by"]) == ("session", "by letter", "admin key")
    assert tombstone["signature"]["state"] == "valid" and tombstone["counts"]["tool_calls"] == 2
    [entry] = [one for one in ok(admin.get("audit"))["items"] if one["action"] == "session.erased"]
    assert entry["details"]["digest"] == tombstone["digest"]
    refused(api.get(f"tombstones/{seen.pk}"), 403)
    refused(stranger.get(f"tombstones/{seen.pk}"), 404)
