"""What an agent is told of the session that its own goes on from."""

from __future__ import annotations

import pytest

from sessions_app.models import Role, Session
from sessions_app.queries.sessions import handover_transcript
from sessions_app.services import agents, audit, continuations
from sessions_app.services.approvals import decisions, endings, requests
from sessions_app.services.log import links
from sessions_app.services.log.events import append
from tests.views.test_query_counts import CaptureQueriesContext, connection

from .build import BOT, asked, call, other, result, said, session_with

ADA = audit.Actor("member", "a", "Ada")
DECIDER = decisions.Decider(ADA, Role.REVIEWER, "web")


def told(session: Session, through: int | None = None) -> str:
    session.refresh_from_db()
    return handover_transcript.transcript_for_successor(session, session.last_seq if through is None else through)


def test_continuation_retells_messages_and_tool_results(agent):
    session = session_with(agent, [
        asked("p1", "Refund it", actor_name="Ines"), other("r", "reasoning", "hidden thoughts"), said("m", "I look"),
        call("c", "lookup", {"order": 4711}), result("c", "lost " * 2_000, "error"), other("e", "error", "away"),
        said("s", "of a sub-agent", depth=1),
    ])  # fmt: skip
    text = told(session)
    assert '"Order 4711" of the agent "Refund agent"' in text and "up to the end of turn 1" in text
    assert (
        '### Turn 1\n\nperson Ines: Refund it\n\nagent: I look\n\ncall of lookup: {"order":4711}\n\nresult of' in text
    )
    assert "error: lost lost" in text and "(cut;" in text and text.endswith("error: away")
    assert "hidden" not in text and "sub-agent" not in text
    assert "lost" not in told(session, through=4)


def test_continuation_retells_decisions_so_that_they_are_not_asked_again(agent):
    session = session_with(agent, [asked("p", "Refund it")])
    for order, verdict, more in (
        (1, "approve", {"arguments": {"order": 2}}),
        (3, "deny", {"reason": "Not on Sundays"}),
    ):
        one = requests.request(session, requests.Question("refund", {"order": order}, server="shop"), by=BOT)
        decisions.decide(one, DECIDER, decisions.Decision(verdict, version=one.version, digest=one.digest, **more))
    requests.request(session, requests.Question("refund", {"order": 5}), by=BOT)
    endings.cancel_all(session.pk, reason="interrupted", by=ADA)
    text = told(session)
    assert '- shop/refund {"order": 1}: approved edited by Ada; with the arguments changed to: {"order":2}' in text
    assert '- shop/refund {"order": 3}: denied by Ada; reason: Not on Sundays' in text
    assert '"order": 5' not in text and "do not ask again" in text


def test_continuation_says_which_approved_calls_were_executed(agent):
    session = session_with(agent, [asked("p", "Refund it"), call("c", "refund", {"order": 1})])
    one = requests.request(session, requests.Question("refund", {"order": 1}, client_id="c"), by=BOT)
    decisions.decide(one, DECIDER, decisions.Decision("approve", version=one.version, digest=one.digest))
    append(session.pk, [result("c", "paid")], origin=links.RUNTIME)
    assert '- refund {"order": 1}: approved by Ada, and run' in told(session)


def test_a_long_session_stays_within_bounds_and_older_turns_are_summed_up(agent):
    new = []
    for number in range(300):
        new += [asked(f"p{number}", f"Question {number}: " + "word " * 300), said(f"m{number}", "answer " * 300)]
    session = session_with(agent, new)
    text = told(session)
    assert handover_transcript.CHARACTERS - 20_000 < len(text) <= handover_transcript.CHARACTERS
    assert "- turn 1: Question 0: word" in text and "### Turn 1\n" not in text
    assert "Question 299" in text and text.rstrip().endswith("answer")


def test_many_short_events_are_left_out_by_number(agent, monkeypatch):
    monkeypatch.setattr(handover_transcript, "EVENTS", 4)
    monkeypatch.setattr(handover_transcript, "PROMPTS", 2)
    session = session_with(agent, [asked(f"p{number}", f"Question {number}.") for number in range(1, 21)])
    text = told(session)
    older, latest = text.split("## Transcript")
    assert [f"Question {number}." in older for number in range(1, 21)] == [n in (1, 2, 15, 16) for n in range(1, 21)]
    assert "(12 turns are left out)" in older and "turn 2: Question 2." in older
    assert [f"Question {number}." in latest for number in range(16, 21)] == [False, True, True, True, True]


def test_huge_messages_are_cut_in_the_database(agent):
    session = session_with(agent, [asked("p", "x" * 3_000_000), said("m", "y" * 3_000_000)])
    text = told(session)
    assert len(text) < 50_000 and text.count("(cut;") == 2


def test_the_number_of_queries_does_not_depend_on_turns(agent):
    few = session_with(agent, [asked("p", "one"), said("m", "two")])
    many = session_with(agent, [asked(f"p{number}", "one") for number in range(150)])
    counts = []
    for session in (few, many):
        with CaptureQueriesContext(connection) as captured:
            told(session)
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 8


@pytest.mark.parametrize("place", ["metadata", "record"])
def test_a_state_that_an_agent_left_comes_first(agent, place):
    session = session_with(agent, [asked("p", "Refund it")])
    state = {"memory": ["likes tea"]}
    if place == "metadata":
        session.metadata = {"agent_state": state}
    else:
        session.source_format = "llmfeed"
        session.source_record = {"llmfeed": {"blocks": [["agent_state", '{"memory":["likes tea"]}']]}}
    session.save()
    assert '## The state that its agent left\n\n{"memory":["likes tea"]}' in told(session)


def test_continuation_of_a_continuation_carries_earlier_context(workspace, agent):
    parrot = agents.create(workspace.id, "Parrot", by=ADA, runtime="scripted")
    first = session_with(agent, [asked("p", "The very first words")])
    second = continuations.continue_session(first, parrot, by=ADA, origin="chat")
    third = continuations.continue_session(second, parrot, by=ADA, origin="chat")
    assert "The very first words" in continuations.context_for(third)
    assert third.title == "Order 4711 (continued)"
    assert continuations.context_for(first) == ""
