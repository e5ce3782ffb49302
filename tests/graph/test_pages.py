"""Pages of what sessions led to: recorded there, moved on, refused, hostile words, strangers."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app.models import GraphNode, Role, Session
from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from sessions_app.services.graph import recording
from sessions_app.services.graph.recording import Recorded
from tests.services.build import append, event, user
from tests.views.build import words
from tests.views.conftest import member_of, signed_in

BY = audit.Actor("member", "m-1", "Ada")
HOSTILE = "<script>alert(1)</script>\u202e evil"


@pytest.fixture
def run(agent) -> Session:
    session = session_services.create(agent, by=BY, title="Triage")
    append(session, user("Which features go?"), event("agent_message", text="These two"))
    return session


@pytest.fixture
def reviewer(workspace) -> Client:
    return signed_in(member_of(workspace, Role.REVIEWER, "Rita"))


@pytest.fixture
def viewer(workspace) -> Client:
    return signed_in(member_of(workspace, Role.VIEWER, "Vera"))


def page_of(session: Session, name: str = "session-graph", *more: object) -> str:
    return reverse(name, args=[session.agent_id, session.pk, *more])


def test_a_reviewer_records_a_decision_from_an_event_and_evidence_for_it(reviewer, run):
    page = reviewer.get(f"{page_of(run)}?event=2")
    assert 'name="first_seq" inputmode="numeric" size="8" maxlength="9" value="2"' in page.content.decode()
    sent = {"title": "Deprecate both", "rationale": "Unused", "first_seq": "2", "last_seq": "2", "status": "proposed",
            "options_considered": "Keep\r\nDeprecate\r\n"}  # fmt: skip
    answer = reviewer.post(page_of(run, "decision-record"), sent)
    decision = GraphNode.objects.get()
    assert answer.headers["Location"] == f"{page_of(run)}#n-{decision.pk}"
    assert decision.told == {"rationale": "Unused", "options_considered": ["Keep", "Deprecate"]}
    assert (decision.by, decision.by_kind) == ("Rita", "member")
    reviewer.post(page_of(run, "evidence-record"), {"title": "No clicks", "decision_id": str(decision.pk)})
    shown = words(reviewer.get(page_of(run)))
    assert "Decision Deprecate both proposed recorded by Rita" in shown and "Evidence No clicks" in shown
    assert "version 1 of the definition" in shown and "Mark as under review" in shown
    reviewer.post(page_of(run, "decision-status", decision.pk), {"status": "reviewing"})
    assert GraphNode.objects.get(kind="decision").status == "reviewing"


def test_what_a_key_recorded_is_not_the_word_of_whom_it_is_named_after_or_names(viewer, run):
    told = Recorded("Pay all", {"decision_makers": ["Rita"], "rationale": "Rita said so"})
    recording.decide(run.pk, told, Role.AGENT, by=audit.Actor("api_key", "k1", "Rita"))
    shown = words(viewer.get(page_of(run)))
    assert "Pay all proposed recorded by the key Rita" in shown
    assert "Who decided, it says Rita" in shown and "Rationale Rita said so" in shown


def test_what_was_refused_stands_in_its_form_with_the_reason(reviewer, run):
    sent = {"title": "Deprecate both", "rationale": "Unused", "first_seq": "77"}
    answer = reviewer.post(page_of(run, "decision-record"), sent)
    assert answer.status_code == 422 and "no events of this session" in words(answer)
    assert "Unused</textarea>" in answer.content.decode() and 'value="Deprecate both"' in answer.content.decode()
    assert reviewer.post(page_of(run, "evidence-record"), {"title": ""}).status_code == 422
    odd = reviewer.post(page_of(run, "decision-record"), sent | {"first_seq": "one"})
    assert "numbers of events" in words(odd)
    assert not GraphNode.objects.exists()


def test_a_step_that_the_lifecycle_does_not_have_is_refused(reviewer, run):
    made = recording.decide(run.pk, Recorded("D"), Role.REVIEWER, by=BY)
    answer = reviewer.post(page_of(run, "decision-status", made.pk), {"status": "deprecated"})
    assert answer.status_code == 422 and "cannot become" in words(answer)


def test_the_graph_of_an_agent_leads_from_version_to_evidence(viewer, run, agent):
    made = recording.decide(run.pk, Recorded("Deprecate both"), Role.REVIEWER, by=BY)
    recording.support(run.pk, Recorded("No clicks", {"direction": "supports"}, about=made.pk), by=BY)
    append(run, event("note", data={"decision": {"title": "Told", "status": "approved"}}))
    page = viewer.get(reverse("agent-graph", args=[agent.slug]))
    shown, html = words(page), page.content.decode()
    for expected in ("Triage", "version 1 of the definition", "Deprecate both", "No clicks", "told by event 3"):
        assert expected in shown
    assert html.count('class="graph-box is-decision"') == 2 and html.count('class="graph-box is-evidence"') == 1
    assert f'href="{reverse("agent-graph-file", args=[agent.slug])}"' in html
    assert (
        reverse("agent-graph", args=[agent.slug])
        in viewer.get(reverse("agent-detail", args=[agent.slug])).content.decode()
    )


def test_words_of_strangers_are_shown_as_words(viewer, run, agent):
    append(run, event("note", data={"decision": {"title": HOSTILE, "status": HOSTILE, "rationale": HOSTILE}}))
    for address in (page_of(run), reverse("agent-graph", args=[agent.slug])):
        html = viewer.get(address).content.decode()
        assert "<script>alert" not in html and "\u202e" not in html and "&lt;script&gt;" in html


def test_viewers_have_no_forms_and_strangers_no_page(viewer, workspace, run, agent):
    from sessions_app.services import workspaces

    page = viewer.get(page_of(run)).content.decode()
    assert "decision-record" not in page and "Record a decision" not in page
    assert viewer.post(page_of(run, "decision-record"), {"title": "D"}).status_code == 403
    stranger = signed_in(member_of(workspaces.create_workspace("elsewhere"), Role.ADMIN, "Charlie"))
    for address in (page_of(run), reverse("agent-graph", args=[agent.slug]), f"/agents/{agent.slug}/graph.upg"):
        assert stranger.get(address).status_code == 404
    assert stranger.post(page_of(run, "decision-record"), {"title": "D"}).status_code == 404
    made = recording.decide(run.pk, Recorded("D"), Role.REVIEWER, by=BY)
    assert stranger.post(page_of(run, "decision-status", made.pk), {"status": "reviewing"}).status_code == 404


def test_a_page_of_runs_asks_as_many_questions_as_a_long_one(viewer, agent, django_assert_max_num_queries):
    for number in range(25):
        session = session_services.create(agent, by=BY, title=f"Run {number}")
        for _ in range(3):
            recording.decide(session.pk, Recorded(f"Decision of {number}"), Role.REVIEWER, by=BY)
    address = reverse("agent-graph", args=[agent.slug])
    viewer.get(address)
    with django_assert_max_num_queries(14):
        page = viewer.get(address)
    assert "Run 24" in words(page) and "Run 4 " not in words(page)
    following = page.context["following"]
    assert "Run 4 " in words(viewer.get(f"{address}?before={following}"))
