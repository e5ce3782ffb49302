"""The preview of a redaction: what stays, what goes and where, before any file is made."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Session
from sessions_app.services.log import events, links
from vcon_app.models import Export, Redaction

from ..build import session_of, words
from ..test_query_counts import queries

pytestmark = pytest.mark.usefixtures("document_storage")


def at(session: Session, *rest: str) -> str:
    return "/".join(["", "sessions", str(session.pk), "redact", *rest, ""])


def tool(number: int, arguments: object, **more: object) -> EventDraft:
    named = ToolDraft(call_id=f"c{number}", name="pay", arguments=arguments)
    return EventDraft(kind="tool_call", key=f"c{number}", actor_kind="agent", tool=named, **more)


@pytest.fixture
def paid(agent) -> Session:
    """Two events of its own, then four of ours."""
    session = session_of(agent, "Payment of Quill")
    new = [
        EventDraft(kind="user_message", key="ask", text="Pay it for me", actor_kind="person", actor_name="Zacharias"),
        EventDraft(kind="reasoning", key="r", text="Which card might that be?", actor_kind="agent"),
        tool(1, {"card": "4711 0815"}, text="<script>alert(1)</script>"),
        EventDraft(kind="agent_message", key="m", text="Paid.", actor_kind="agent"),
    ]
    events.append(session.pk, new, origin=links.RUNTIME)
    session.refresh_from_db()
    return session


def preview(client, session: Session, **query: str):
    answer = client.get(at(session, "preview"), query)
    assert answer.status_code == 200
    return answer


def test_each_place_is_marked_and_nothing_that_goes_is_shown(reviewer, paid):
    reviewer.post(at(paid, "kinds"), {"what": ["reasoning", "arguments", "people", "title"]})
    page = preview(reviewer, paid)
    said = words(page)
    assert "2 of 6 events lose something" in said
    assert "texts 1 , arguments 1" in said and "of reasoning 1, tool call 1" in said
    assert "Its text is removed" in said and "Its arguments are removed" in said and "without a title" in said
    assert "Which card" not in said and "4711" not in said
    log = page.content.decode().split('class="redact-log"')[1]
    assert "Payment of Quill" not in log and "<script>alert" not in log
    everything = words(preview(reviewer, paid, show="all"))
    assert "Paid." in everything and "name replaced" in everything and "Zacharias" not in everything


def test_an_event_that_goes_whole_leaves_that_it_was_there(reviewer, paid):
    reviewer.post(at(paid, "events"), {"seen": [5], "remove": ["5:event"]})
    said = words(preview(reviewer, paid))
    assert "1 of 6 events loses something" in said
    assert "The whole event is removed; that there was one stays" in said and "4711" not in said


def test_words_that_are_looked_for_are_counted_where_they_stand(reviewer, paid):
    reviewer.post(at(paid, "words"), {"add": "0815"})
    said = words(preview(reviewer, paid))
    assert "1 of 6 events loses something" in said and "arguments 1" in said


def test_nothing_is_made_by_looking_and_the_counts_are_those_of_the_file(reviewer, paid):
    reviewer.post(at(paid, "kinds"), {"what": ["reasoning", "arguments"]})
    preview(reviewer, paid)
    assert not Export.objects.exists() and Redaction.objects.get().export is None
    reviewer.post(at(paid, "make"), {"type": "PII"})
    assert Redaction.objects.get().counts == {"text": 1, "arguments": 1}


def test_what_cannot_be_made_is_said_on_the_preview(reviewer, paid):
    refused = reviewer.post(at(paid, "make"), {"type": "PII"})
    assert refused.status_code == 422 and "nothing is chosen" in words(refused) and "No event loses" in words(refused)


def test_a_large_session_is_looked_at_in_pages(reviewer, agent):
    small, large = session_of(agent, "Small"), session_of(agent, "Large")
    events.append(small.pk, [tool(n, {"n": n}) for n in range(2)], origin=links.RUNTIME)
    events.append(large.pk, [tool(n, {"n": n}) for n in range(150)], origin=links.RUNTIME)
    for session in (small, large):
        reviewer.post(at(session, "kinds"), {"what": ["arguments"]})
        preview(reviewer, session)
    assert queries(reviewer, at(small, "preview")) == queries(reviewer, at(large, "preview")) <= 16
    first = preview(reviewer, large)
    assert "150 of 152 events lose something" in words(first)
    assert first.content.decode().count('id="e-') == 30
    assert 'href="?after=32"' in first.content.decode()
    assert preview(reviewer, large, after="140").content.decode().count('id="e-') == 12
    assert preview(reviewer, large, after="0", show="all").content.decode().count('id="e-') == 30
