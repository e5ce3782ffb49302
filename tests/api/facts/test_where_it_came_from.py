"""The Slack thread, the trigger run and the delivery that a session belongs to, and what its runtime calls it."""

from __future__ import annotations

import pytest

from sessions_app.models import Role, Session, TriggerRun, Turn
from sessions_app.services import agents, audit, sessions
from tests.api.client import ok


@pytest.fixture
def session(workspace) -> Session:
    agent = agents.create(workspace.id, "Parrot", by=audit.SYSTEM, runtime="scripted")
    return sessions.create(agent, by=audit.SYSTEM, origin=Session.Origin.SLACK)


def test_a_session_names_its_slack_thread_and_its_id_at_the_runtime(api, session):
    Session.objects.filter(pk=session.pk).update(slack_conversation_key="T1:C2:17.5", runtime_id="sesn_1")
    found = ok(api.get(f"sessions/{session.pk}"))
    thread = {"conversation_key": "T1:C2:17.5", "team_id": "T1", "channel_id": "C2", "thread_ts": "17.5"}
    assert (found["slack"], found["runtime"], found["runtime_id"]) == (thread, "scripted", "sesn_1")


def test_a_session_points_at_its_trigger_run(api, session, workspace):
    run = TriggerRun.objects.create(
        workspace=workspace, agent=session.agent, kind="slack", session=session, fire_key="slack:1", status="started"
    )
    found = ok(api.get("sessions"))["items"][0]
    assert (found["trigger_run_id"], found["schedule_id"], found["delivery_id"]) == (str(run.pk), None, None)


def test_a_session_that_nothing_began_points_at_nothing(api, session):
    Session.objects.filter(pk=session.pk).update(origin="chat")
    found = ok(api.get(f"sessions/{session.pk}"))
    assert {found[name] for name in ("slack", "trigger_run_id", "schedule_id", "delivery_id", "runtime_id")} == {None}


def test_a_turn_says_how_long_its_runtime_was_at_work(api, session):
    Turn.objects.create(session=session, index=1, first_seq=1, last_seq=1, runtime_ms=1234)
    found = ok(api.get(f"sessions/{session.pk}/turns"))["items"][0]
    assert (found["runtime_ms"], found["runtime_id"]) == (1234, None)


def test_tags_are_set_in_the_order_that_is_sent_and_each_change_is_audited(api, session):
    ok(api.patch(f"sessions/{session.pk}", {"tags": ["later", "first", " later "]}))
    changed = ok(api.patch(f"sessions/{session.pk}", {"tags": ["first", "new"]}))
    assert changed["tags"] == ["first", "new"]
    assert ok(api.get("sessions?tag=new"))["items"][0]["id"] == str(session.pk)
    said = audit.AuditEntry.objects.filter(subject_id=str(session.pk), action__contains="tagged")
    told = {(entry.action, entry.details["tag"]) for entry in said}
    tagged = {("session.tagged", tag) for tag in ("later", "first", "new")}
    assert told == tagged | {("session.untagged", "later")}


@pytest.mark.parametrize(("tags", "detail"), [(["x" * 61], "61 characters"), ([" "], "none of them empty")])
def test_a_bad_tag_changes_nothing(api, session, tags, detail):
    refused = api.patch(f"sessions/{session.pk}", {"tags": tags})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/tags")
    assert detail in refused.json()["detail"]
    assert Session.objects.get(pk=session.pk).tags == []


def test_a_viewer_sets_no_tags(key_for, workspace, session):
    assert key_for(workspace, Role.VIEWER).patch(f"sessions/{session.pk}", {"tags": ["a"]}).status_code == 403
