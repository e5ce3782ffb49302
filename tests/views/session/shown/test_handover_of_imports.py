"""What an agent is told when it goes on from an imported session: context, decisions with their reasons, outputs."""

from __future__ import annotations

from sessions_app.models import Session
from sessions_app.queries.sessions import handover_transcript
from sessions_app.queries.sessions.reported_decisions import outcome_of

FEED = {
    "feed_type": "session",
    "metadata": {"origin": "https://example.org", "title": "Shelf 7", "generated_at": "2026-05-20T12:00:00Z"},
    "context": {"user_input": "Restock it", "agent_profile": "clerk", "goal": "zqgoal", "user": "zquser"},
    "imports": ["https://example.org/zqimport.json"],
    "decisions": [
        {"intent": "count_shelf", "used_prompt": "zqprompt", "resolved": True},
        {"intent": "order_more", "rejected": True, "reason": "zqreason"},
        {"intent": "ask_boss", "resolved": False},
    ],
    "outputs": [
        {"type": "message", "value": "zqmessage of the agent"},
        {"type": "application/json", "value": {"boxes": "zqboxes"}},
        {"type": "image/png", "value": "iVBORw0KGgo="},
    ],
}


def told(session: Session) -> str:
    return handover_transcript.transcript_for_successor(session, session.last_seq)


def test_nothing_that_a_feed_says_was_decided_is_asked_again(import_document):
    session = Session.objects.get(import_links__imported=import_document(FEED, "a.session.llmfeed.json"))
    text = told(session)

    assert "- count_shelf: resolved; prompt: zqprompt" in text
    assert "- order_more: rejected; because: zqreason" in text
    assert "- ask_boss: not resolved" in text
    assert "Nobody here has checked it" in text and "zqgoal" in text and "zquser" in text and "zqimport" in text
    assert text.count("zqmessage of the agent") == 1 and 'application/json: {"boxes":"zqboxes"}' in text
    assert "iVBOR" not in text


def test_the_answer_in_an_output_is_a_message_of_the_agent(import_document):
    session = Session.objects.get(import_links__imported=import_document(FEED, "a.session.llmfeed.json"))
    assert session.events.filter(kind="agent_message", text="zqmessage of the agent").count() == 1


def test_an_outcome_is_what_the_file_says():
    assert outcome_of({"resolved": True, "rejected": True}) == "rejected"
    assert outcome_of({"status": "approved"}) == "approved"
    assert outcome_of({"resolved": "yes"}) == "outcome not stated"
