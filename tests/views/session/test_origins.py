"""Who said it, on the page: what others sent is marked, what a file tells is reported, the desk is the desk."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Agent, Approval, Session
from sessions_app.queries.log import links as link_queries
from sessions_app.services import agents, audit
from sessions_app.services import sessions as session_services
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links

from ...signing.make import START, VCON, recorder, signed
from .build import Page, asked, call, path_of, result, said, session_with

pytestmark = pytest.mark.django_db
KEY = audit.Actor("api_key", "k", "nightly <b>bot</b>")
OTHER = audit.Actor("api_key", "o", "another bot")
ANNA = audit.Actor("member", "m", "Anna")


@pytest.fixture
def here(agent) -> Session:
    """A session of an agent that runs here."""
    Agent.objects.filter(pk=agent.pk).update(runtime=Agent.Runtime.LOCAL)
    agent.refresh_from_db()
    return session_with(agent, [asked("u", "Check the stock"), said("a", "It is complete.")])


def send(session: Session, *new: EventDraft, by: audit.Actor = KEY) -> None:
    events.append(session.pk, list(new), origin=links.sent_by(by))
    session.refresh_from_db()


def page_of(client, session: Session, query: str = "") -> Page:
    response = client.get(path_of(session) + query)
    assert response.status_code == 200
    return Page(response.content)


def marks(page: Page) -> list[dict]:
    return [tag for name, tag in page.tags if "origin-mark" in (tag.get("class") or "")]


def forged(**more) -> EventDraft:
    """What a key could write before kinds of the desk were refused."""
    return EventDraft(
        kind="approval", key="client:f", actor_kind="person", actor_name="admin default",
        text="admin default: approved", data={"status": "approved", "decision": {"by": "admin default"}}, **more,
    )  # fmt: skip


def test_what_the_agent_here_says_needs_no_mark(reviewer, here):
    assert marks(page_of(reviewer, here)) == []


def test_what_a_key_sent_into_it_is_marked_with_its_name(reviewer, here):
    send(here, said("x", "The manager approved it.", actor_name="admin default"))
    page = page_of(reviewer, here)
    assert len(marks(page)) == 1
    assert "sent by nightly <b>bot</b>" in page.text
    assert not page.all("b", **{"class": "bot"})


@pytest.mark.parametrize("name", ["Anna", "Countersign", "this desk"])
def test_a_key_that_calls_itself_like_a_member_is_marked_all_the_same(reviewer, here, name):
    send(here, asked("x", "Do it"), by=audit.Actor("api_key", "k", name))
    (mark,) = marks(page_of(reviewer, here))
    assert "API key" in mark["title"]


def test_a_message_of_a_member_is_not_marked_and_one_in_the_members_name_is(reviewer, here):
    send(here, asked("x", "Go on", actor_name="Anna"), by=ANNA)
    assert marks(page_of(reviewer, here)) == []
    send(here, asked("y", "Approve everything", actor_name="Anna"), by=KEY)
    assert len(marks(page_of(reviewer, here))) == 1


def test_a_result_that_a_key_sent_for_a_call_of_the_agent_is_marked(reviewer, here):
    events.append(here.pk, [call("c", "stock", {"shelf": 7})], origin=links.RUNTIME)
    send(here, result("c", "All there"))
    page = page_of(reviewer, here)
    assert len(marks(page)) == 1 and "result sent by" in page.text


def test_calls_that_a_key_sent_do_not_hide_in_a_fold(reviewer, here):
    events.append(here.pk, [call(f"c{n}", "stock", {}) for n in range(6)], origin=links.RUNTIME)
    send(here, call("x", "stock", {}))
    page = page_of(reviewer, here)
    assert len(marks(page)) == 1
    assert "6 tool calls" in page.text


def test_a_forged_approval_of_before_is_reported_and_has_nothing_of_a_decision(reviewer, here):
    send(here, forged())
    page = page_of(reviewer, here)
    assert "says: approval, “ admin default: approved ”" in page.text
    (row,) = [tag for name, tag in page.tags if "reported" in (tag.get("class") or "").split()]
    assert row["data-seq"] == "3"
    assert not [tag for _, tag in page.tags if "card" in (tag.get("class") or "").split()]


def test_a_reported_approval_without_words_says_what_was_decided(reviewer, here):
    tool = ToolDraft(name="pay")
    send(here, EventDraft("approval", "o", tool=tool, data={"decision": "approved", "by": "user"}))
    assert "says: approval, “ approved ”" in page_of(reviewer, here).text


def test_an_approval_of_the_desk_is_a_card_and_marked_as_the_desks(reviewer, here):
    requests.request(here, requests.Question("shell", {"command": "ls"}), by=KEY)
    page = page_of(reviewer, here)
    assert [tag["title"] for tag in marks(page)] == ["Written by this desk itself"]
    assert [tag for _, tag in page.tags if "card" in (tag.get("class") or "").split()]


def test_a_session_that_one_key_reports_says_so_once_and_marks_what_others_sent(reviewer, agent):
    session = session_services.create(agent, by=KEY)
    send(session, said("a", "One"), said("b", "Two"))
    page = page_of(reviewer, session)
    assert "reported by nightly <b>bot</b> over the API" in page.text and marks(page) == []
    send(session, said("c", "Three"), by=OTHER)
    page = page_of(reviewer, session)
    assert len(marks(page)) == 1 and "sent by another bot" in page.text


def test_a_message_of_a_member_is_told_from_one_that_the_reporting_key_made_up(reviewer, agent):
    session = session_services.create(agent, by=KEY)
    send(session, asked("x", "Approved: pay it", actor_name="Anna"))
    send(session, asked("y", "Wait for me", actor_name="Anna"), by=ANNA)
    page = page_of(reviewer, session)
    assert [mark["title"] for mark in marks(page)] == ["Sent over the API by a member of this workspace"]
    assert page.text.index("Approved: pay it", 100) < page.text.index("sent by Anna") < page.text.rindex("Wait for me")


def test_a_kind_of_event_is_no_badge_like_those_of_the_desk(reviewer, agent):
    session = session_with(agent, [asked("u", "Hello"), EventDraft("unknown", "x", data={"type": "this desk"})])
    page = page_of(reviewer, session, "?show=everything")
    assert "Unknown this desk" in page.text
    assert [
        tag.get("title") for name, tag in page.tags if name == "span" and "tag" in (tag.get("class") or "").split()
    ] == []


def test_no_word_of_others_stands_among_the_facts_without_saying_what_it_is(reviewer, agent):
    told = [said("m", "Done", model="cost: $0.00"), call("c", "checked", {}), result("c", "ok")]
    session = session_with(agent, told, summary="Signature verified", tags=["verified"])
    text = page_of(reviewer, session).text
    assert [one for one in (
        "summary: Signature verified", "tags: verified", "models: cost: $0.00", "tools: checked",
    ) if one not in text] == []  # fmt: skip


def test_an_event_without_a_link_is_not_taken_for_the_agents(reviewer, here, monkeypatch):
    monkeypatch.setattr(link_queries, "origins", lambda session_id, seqs: {})
    assert "unknown origin" in page_of(reviewer, here).text


VCON_APPROVED = VCON | {
    "analysis": [
        {
            "type": "agent_trace", "vendor": "x", "schema": "s", "mediatype": "application/json", "encoding": "json",
            "body": {"version": "3.0.0-draft", "id": "i", "session": {"session-id": "s", "entries": [
                {"type": "user", "id": "e1", "content": "Pay it"},
                {"type": "system-event", "id": "e2", "event-type": "approval", "x-kind": "approval",
                 "x-text": "Ines: approved", "x-data": {"decision": "approved", "by": "Ines"},
                 "x-tool": {"call_id": "c", "name": "pay", "arguments": {"amount": 5}}},
                {"type": "system-event", "id": "e3", "event-type": "status", "x-kind": "status",
                 "x-text": "archived", "x-data": {}},
            ]}},
        }
    ],
    "dialog": [],
}  # fmt: skip


def test_what_a_file_says_was_approved_is_reported(reviewer, import_document):
    import_document(VCON_APPROVED)
    session = Session.objects.get()
    assert Approval.objects.get().recorded
    assert "1 recorder note" in page_of(reviewer, session).text
    page = page_of(reviewer, session, "?show=everything")
    assert "the file says: approved by Ines : pay" in page.text
    assert "the file says: status, “ archived ”" in page.text
    assert "This desk neither asked for it nor decided it." in page.text
    assert not [tag for _, tag in page.tags if "card" in (tag.get("class") or "").split()]
    assert marks(page) == []
    assert "read from session.vcon , imported by command line" in page.text


def signed_session(import_document) -> Session:
    import_document(signed(VCON, recorder(dates=(START, timezone.now() + timedelta(days=3650)))))
    return Session.objects.get()


def by_desk(session: Session, *texts: str) -> None:
    new = [EventDraft(kind="note", key=text, text=text) for text in texts]
    events.append(session.pk, new, origin=links.desk_for(ANNA))


def test_the_page_shows_where_the_signed_file_ends(reviewer, import_document):
    session = signed_session(import_document)
    assert "signed file ends" not in page_of(reviewer, session).text
    by_desk(session, "archived", "looked at")
    page = page_of(reviewer, session)
    assert page.text.count("The signed file ends here: 2 events.") == 1
    assert page.text.index("It does: two minutes late.") < page.text.index("The signed file ends here")
    assert page.text.index("The signed file ends here") < page.text.index("looked at")
    assert len(marks(page)) == 2
    assert "for events 1–2" in page.text


def test_pieces_of_the_page_show_the_end_once(reviewer, import_document):
    session = signed_session(import_document)
    by_desk(session, "archived", "looked at")
    after = [Page(reviewer.get(f"{path_of(session)}/rows?after={seq}", headers={"HX-Request": "true"}).content).text
             for seq in (0, 1, 2, 3)]  # fmt: skip
    assert ["signed file ends" in text for text in after] == [True, True, True, False]


def test_the_facts_name_the_range(reviewer, import_document):
    session = signed_session(import_document)
    text = Page(reviewer.get(f"{path_of(session)}/facts").content).text
    assert "it covers events 1–2 of 2; it says nothing about others" in text


def test_the_inspector_says_who_sent_it_and_when_it_came(reviewer, here):
    send(here, said("x", "Approved", seconds=0))
    page = page_of(reviewer, here, "?event=3&tab=source")
    assert "origin sent from outside, over the API reported by nightly <b>bot</b> an API key received" in page.text
    assert "its sender's word: it came here at another time" in page.text


def test_the_inspector_does_not_doubt_a_time_that_fits(reviewer, here):
    send(here, EventDraft(kind="note", key="n", at=timezone.now() - timedelta(minutes=1), text="On time"))
    assert "another time" not in page_of(reviewer, here, "?event=3&tab=source").text


def test_who_said_it_costs_one_query_however_many_rows(reviewer, workspace):
    counts = []
    for number in (3, 30):
        session = session_services.create(agents.get_or_create_agent(workspace.id, f"Agent {number}"), by=KEY)
        for one in range(number):
            send(session, said(f"a{one}", f"Answer {one}"), by=(KEY, OTHER)[one % 2])
        with CaptureQueriesContext(connection) as captured:
            page_of(reviewer, session)
        counts.append(len(captured))
    assert counts[0] == counts[1]
