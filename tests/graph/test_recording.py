"""Decisions and evidence: recorded over the API, told by events, traced back, and refused where they are wrong."""

from __future__ import annotations

from importlib import import_module
from uuid import uuid4

import pytest
from django.db import connection

from sessions_app.models import AuditEntry, GraphNode, PolicyVersion, Role, Session
from sessions_app.services import agents, audit
from sessions_app.services import sessions as session_services
from sessions_app.services.log import projections
from tests.api.client import ok, pointers
from tests.services.build import append, event, user
from tests.views.build import asks

BY = audit.Actor("member", "m-1", "Somebody")
DECISION = {
    "title": "Deprecate the two features", "layer": "product", "options_considered": ["Keep", "Deprecate"],
    "rationale": "Nobody uses them", "decision_makers": ["Ada"], "first_seq": 1, "client_id": "d-1",
}  # fmt: skip


@pytest.fixture
def run(agent) -> Session:
    session = session_services.create(agent, by=BY, title="Triage")
    append(session, user("Which features go?"), event("agent_message", text="These two"))
    return session


def test_a_decision_and_its_evidence_lead_back_to_session_definition_and_rules(api, run, agent, workspace):
    agents.change(agent, {"instructions": "Be careful"}, by=BY)
    PolicyVersion.objects.create(
        workspace=workspace, number=3, rules=[], digest="", made_at=run.created_at, id=(rules := uuid4())
    )
    asked = asks(run)
    type(asked).objects.filter(pk=asked.pk).update(policy_version_id=rules)
    made = ok(api.post(f"sessions/{run.pk}/decisions", DECISION | {"status": "reviewing"}), 201)
    assert made["fields"]["options_considered"] == ["Keep", "Deprecate"]
    assert (made["status"], made["first_seq"], made["last_seq"], made["seq"]) == ("reviewing", 1, 1, None)
    assert (made["session_id"], made["agent_id"], made["agent_version"]) == (str(run.pk), str(agent.pk), 1)
    assert made["policy_versions"] == [3]
    body = {"title": "No clicks in May", "decision_id": made["id"], "direction": "supports", "quote": "0 clicks"}
    proof = ok(api.post(f"sessions/{run.pk}/evidence", body), 201)
    assert proof["decision_id"] == made["id"] and proof["kind"] == "evidence"
    (found,) = ok(api.get(f"agents/{agent.pk}/graph"))["items"]
    assert [node["id"] for node in found["nodes"]] == [made["id"], proof["id"]]
    assert (found["agent_version"], found["policy_versions"]) == (1, [3])
    assert [row["id"] for row in api.all("decisions", {"agent_id": agent.pk})] == [made["id"]]
    assert [row["id"] for row in api.all("decisions", {"kind": "evidence"})] == [proof["id"]]
    assert ok(api.get("decisions", {"status": "approved"}))["items"] == []
    said = AuditEntry.objects.filter(action="decision.recorded").get()
    assert said.subject_id == str(run.pk) and "Deprecate" not in str(said.details)


def test_an_archived_session_takes_decisions_and_its_log_stays_as_it_is(api, run):
    session_services.archive(run, by=BY)
    before = Session.objects.get(pk=run.pk)
    ok(api.post(f"sessions/{run.pk}/decisions", DECISION), 201)
    after = Session.objects.get(pk=run.pk)
    assert (after.last_seq, after.ended_at) == (before.last_seq, before.ended_at)


def test_sent_again_it_is_recorded_once_and_with_other_content_refused(api, run):
    first, again = (ok(api.post(f"sessions/{run.pk}/decisions", DECISION), 201) for _ in range(2))
    assert first["id"] == again["id"] and GraphNode.objects.count() == 1
    assert api.post(f"sessions/{run.pk}/decisions", DECISION | {"rationale": "Other"}).status_code == 409


def test_a_decision_moves_on_as_its_lifecycle_says(api, run):
    made = ok(api.post(f"sessions/{run.pk}/decisions", DECISION), 201)
    place = f"sessions/{run.pk}/decisions/{made['id']}"
    refused = api.patch(place, {"status": "approved"})
    assert refused.status_code == 422 and "can become reviewing" in refused.json()["detail"]
    for status in ("reviewing", "approved", "approved", "deprecated"):
        assert ok(api.patch(place, {"status": status}))["status"] == status
    assert AuditEntry.objects.filter(action="decision.changed").count() == 3
    assert api.patch(place, {"status": "proposed"}).status_code == 422


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"title": " "}, "/title"), ({"title": "x" * 201}, "/title"), ({"first_seq": 9}, "/first_seq"),
        ({"last_seq": 1, "first_seq": 2}, "/first_seq"), ({"layer": "legal"}, "/layer"),
        ({"status": "done"}, "/status"), ({"rational": "misspelt"}, "/rational"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_is_recorded(api, run, change, pointer):
    refused = api.post(f"sessions/{run.pk}/decisions", DECISION | change)
    assert refused.status_code == 422 and pointers(refused.json()) == {pointer}
    assert not GraphNode.objects.exists()


def test_evidence_is_about_a_decision_of_its_own_session(api, run, agent):
    other = session_services.create(agent, by=BY, title="Other")
    made = ok(api.post(f"sessions/{other.pk}/decisions", {"title": "Elsewhere"}), 201)
    refused = api.post(f"sessions/{run.pk}/evidence", {"title": "E", "decision_id": made["id"]})
    assert refused.status_code == 422 and pointers(refused.json()) == {"/decision_id"}


def test_viewers_read_strangers_see_nothing_and_agents_only_propose(api, viewer, stranger, key_for, workspace, run):
    made = ok(api.post(f"sessions/{run.pk}/decisions", DECISION), 201)
    assert ok(viewer.get(f"sessions/{run.pk}/graph"))["items"][0]["id"] == made["id"]
    assert viewer.post(f"sessions/{run.pk}/decisions", DECISION).status_code == 403
    for path in (f"sessions/{run.pk}/graph", f"agents/{run.agent_id}/graph"):
        assert stranger.get(path).status_code == 404
    assert stranger.post(f"sessions/{run.pk}/decisions", DECISION).status_code == 404
    assert stranger.patch(f"sessions/{run.pk}/decisions/{made['id']}", {"status": "reviewing"}).status_code == 404
    assert ok(stranger.get("decisions"))["items"] == []
    robot = key_for(workspace, Role.AGENT, "robot")
    own = ok(robot.post("sessions", {"agent": "Mine", "external_id": "r-1"}), 201)["id"]
    assert ok(robot.post(f"sessions/{own}/decisions", {"title": "Go"}), 201)["status"] == "proposed"
    refused = robot.post(f"sessions/{own}/decisions", {"title": "Go", "status": "approved"})
    assert refused.status_code == 403 and "proposes" in refused.json()["detail"]
    assert robot.post(f"sessions/{run.pk}/decisions", DECISION).status_code == 404


def test_what_events_tell_stands_beside_it_and_is_the_same_after_a_rebuild(api, run):
    told = {"title": "Ship it", "status": "approved", "rationale": "Green"}
    append(
        run, event("note", key="d", data={"decision": told}), event("approval", data={"decision": "approved"}),
        event("artifact", key="e", parent="d", text="All pass", data={"evidence": {"direction": "supports"}}),
        event("note", data={"decision": "a word"}),
    )  # fmt: skip
    ok(api.post(f"sessions/{run.pk}/decisions", DECISION), 201)

    def shown() -> list:
        rows = ok(api.get(f"sessions/{run.pk}/graph"))["items"]
        return sorted((row["seq"] or 0, row["title"], row["status"], row["decision_id"]) for row in rows)

    decision = GraphNode.objects.get(seq=3)
    expected = [(0, DECISION["title"], "proposed", None), (3, "Ship it", "approved", None),
                (5, "All pass", "", str(decision.pk))]  # fmt: skip
    assert shown() == expected
    projections.rebuild(run.pk)
    assert shown() == expected and GraphNode.objects.filter(is_first=True).count() == 1
    refused = api.patch(f"sessions/{run.pk}/decisions/{decision.pk}", {"status": "deprecated"})
    assert refused.status_code == 422 and "event 3" in refused.json()["detail"]


def test_pages_of_the_graph_hold_each_run_once(api, agent):
    wanted = []
    for number in range(5):
        session = session_services.create(agent, by=BY, title=f"Run {number}")
        ok(api.post(f"sessions/{session.pk}/decisions", {"title": f"A{number}"}), 201)
        ok(api.post(f"sessions/{session.pk}/decisions", {"title": f"B{number}"}), 201)
        wanted.insert(0, str(session.pk))
    session_services.create(agent, by=BY, title="Led to nothing")
    assert [run["session_id"] for run in api.all(f"agents/{agent.pk}/graph", {"limit": 2})] == wanted


def test_evidence_that_a_file_dates_before_its_decision_is_joined_with_it(api, agent):
    session = session_services.create(agent, by=BY, title="Read")
    append(
        session, event("artifact", text="Seen first", data={"evidence": {}, "about": "later"}),
        event("note", key="later", data={"decision": {"title": "Then decided"}}),
    )  # fmt: skip
    evidence = GraphNode.objects.get(session=session, kind="evidence")
    assert evidence.about_id == GraphNode.objects.get(session=session, kind="decision").pk


def test_logs_from_before_are_read_by_the_migration_as_new_events_are(agent):
    for number in range(2):
        session = session_services.create(agent, by=BY, title="Read")
        append(
            session, event("artifact", text="Seen first", data={"evidence": {"quote": "x" * 5_000}, "about": "d"}),
            event("note", key="d", data={"decision": {"intent": f"Decide {number}", "resolved": True}}),
            event("note", key="e", data={"decision": {"title": "Other", "status": "approved"}}),
            event("artifact", text="Seen", parent="e", data={"evidence": {"title": "Proof"}}),
        )  # fmt: skip
    columns = [field.attname for field in GraphNode._meta.fields if field.name != "made_at"]
    before = list(GraphNode.objects.order_by("id").values(*columns))
    assert [row["status"] for row in before[1:3]] == ["resolved", "approved"] and len(before) == 8
    assert before[0]["told"] == {} and before[0]["about_id"] == before[1]["id"]
    GraphNode.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(import_module("sessions_app.migrations.0053_graph_of_events").TOLD)
    assert list(GraphNode.objects.order_by("id").values(*columns)) == before
