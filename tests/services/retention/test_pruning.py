"""What each strategy keeps, and what no strategy takes."""

from __future__ import annotations

import pytest

from sessions_app.drafts import ToolDraft
from sessions_app.models import Approval, Event, HiddenSpan, Pruning, Session, SessionRetention, Turn
from sessions_app.queries.retention import hidden, plans, strategies
from sessions_app.queries.sessions import handover_transcript
from sessions_app.runtimes.local.context import Context
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import requests
from sessions_app.services.retention import pruning
from tests.services.build import append, at_once, call, event, result, user

BY = audit.Actor("member", "m-1", "Ines")
pytestmark = pytest.mark.django_db


def said(text="Done", **fields):
    return event("agent_message", text=text, actor_kind="agent", **fields)


def seen(session):
    """Kinds and texts of what is in sight."""
    rows = hidden.in_sight(Event.objects.filter(session=session), session.pk).order_by("seq")
    return [row.seq for row in rows]


def prune(session, name, **numbers):
    return pruning.prune(session.pk, strategies.read(name, **numbers), by=BY)


def test_a_message_takes_with_it_what_was_done_after_it(session):
    append(
        session, event("system"), user("1"), said(), call("a"), result("a"), user("2"), said(), call("b"), result("b")
    )
    done = prune(session, "keep_last_2")
    assert (done.plan.messages, done.plan.events, done.plan.kept) == (3, 5, 2)
    assert seen(session) == [6, 7, 8, 9]


def test_a_call_and_its_result_stay_or_go_together(session):
    append(session, user("1"), call("late"), call("open"), said(), user("2"), result("late"), said("3"))
    prune(session, "keep_last_2")
    assert seen(session) == [2, 3, 5, 6, 7]


def test_what_waits_for_a_person_stays(session):
    append(session, user("1"))
    asked = requests.request(session, requests.Question("refund", {}, client_id="q"), by=BY)
    append(session, *(said(f"{n}") for n in range(5)))
    prune(session, "keep_last_1")
    assert asked.event_seq in seen(session)
    Approval.objects.filter(pk=asked.pk).update(status=Approval.Status.CANCELLED)
    append(session, said("more"))
    prune(session, "keep_last_1")
    assert asked.event_seq not in seen(session)


def test_the_turn_that_an_agent_is_at_stays(session):
    append(session, user("1"), said(), user("2"), said(), said(), said())
    Session.objects.filter(pk=session.pk).update(status=Session.Status.RUNNING)
    assert Turn.objects.get(session=session, index=session.last_turn).first_seq == 3
    prune(session, "keep_last_1")
    assert seen(session) == [3, 4, 5, 6]


def test_keep_important_keeps_what_people_said_what_failed_and_what_was_changed(session):
    append(
        session, user("Mend it"), said("I look"), call("a", "read_file"), result("a"), call("b", "search"),
        result("b", "error"), call("c", "str_replace_editor"), result("c"), event("error", text="no"),
        event("note", text="n"), event("handoff"), said("Done"), user("And this"), *(said(f"{n}") for n in range(10)),
    )  # fmt: skip
    done = prune(session, "keep_important")
    assert (done.method, done.plan.messages) == ("rules", 2)
    assert seen(session) == [1, 5, 6, 7, 8, 9, 11, *range(13, 24)]


def test_a_window_is_counted_on_the_whole_log_and_what_is_gone_is_counted_once(session):
    append(session, *(user(f"{n}") for n in range(30)))
    assert prune(session, "keep_important", window_size=5).plan.messages == 0
    assert prune(session, "keep_last_20").plan.messages == 10
    assert prune(session, "keep_last_25").marker is None
    append(session, *(user(f"{n}") for n in range(5)))
    assert prune(session, "keep_last_20").plan.messages == 5
    span = HiddenSpan.objects.get(session=session)
    assert (span.first_seq, span.last_seq, span.messages) == (1, 15, 15)
    assert plans.messages_in_sight(session.pk) == 20 and Pruning.objects.count() == 2


@pytest.mark.parametrize("kind", ["import", "archived"])
def test_a_session_that_takes_no_events_is_pruned_and_its_log_stays(session, kind):
    append(session, *(user(f"{n}") for n in range(9)))
    if kind == "import":
        Session.objects.filter(pk=session.pk).update(origin=Session.Origin.IMPORT)
    else:
        sessions.archive(session, by=BY)
    before = list(Event.objects.filter(session=session).values())
    assert prune(session, "keep_last_4").plan.messages == 5
    assert list(Event.objects.filter(session=session).values()) == before


class FakeRun:
    """As much of a ``TurnRun`` as its context reads."""

    def __init__(self, session):
        self.session_id, self.session, self.turn = session.pk, session, session.last_turn
        self.agent = session.agent

    def events(self, *, after=0, kinds=()):
        return Event.objects.filter(session=self.session, seq__gt=after, kind__in=kinds).order_by("seq")


def test_an_agent_that_goes_on_reads_a_summary_in_place_of_what_is_out_of_sight(session):
    append(session, user("Find the Heron"), said("It is blue"), user("And the Swan?"), said("White"), user("Go on"))
    assert "Heron" in str(Context(FakeRun(session)).messages())
    prune(session, "keep_last_2")
    messages = Context(FakeRun(session)).messages()
    assert "Heron" not in str(messages) and "Go on" in str(messages) and messages[0]["role"] == "user"
    append(session, said("Well"), user("What else?"))
    prune(session, "summarize_old", threshold=1)
    (message,) = Context(FakeRun(session)).messages()
    told = [part["text"] for part in message["content"]]
    assert "6 earlier messages are left out" in told[0] and told[1] == "What else?"


def test_a_session_that_goes_on_from_it_is_given_what_is_in_sight(session):
    append(session, user("Find it"), said("It is a Heron"), user("And the Swan?"), said("White"))
    prune(session, "keep_last_2")
    given = handover_transcript.transcript_for_successor(session, session.last_seq)
    assert "Heron" not in given and "Swan" in given
    short = handover_transcript.transcript_for_itself(session, session.last_seq, 1_300)
    assert "Heron" not in short


@pytest.mark.django_db(transaction=True)
def test_of_two_that_prune_at_once_one_does_it(session):
    append(session, *(user(f"{n}") for n in range(40)))
    done = at_once(*[lambda: prune(session, "keep_last_10")] * 4)
    assert sorted(one.plan.messages for one in done) == [0, 0, 0, 30]
    assert Pruning.objects.count() == 1 and plans.messages_in_sight(session.pk) == 10


def test_one_that_is_killed_leaves_nothing(session, monkeypatch):
    append(session, *(user(f"{n}") for n in range(9)))
    monkeypatch.setattr(audit, "record", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prune(session, "keep_last_1")
    assert not (Pruning.objects.exists() or HiddenSpan.objects.exists() or SessionRetention.objects.exists())


def test_calls_without_names_and_data_of_strangers_do_no_harm(session):
    append(session, user("\0{}"), event("tool_call", tool=ToolDraft()), *(said("‮") for _ in range(20)))
    assert prune(session, "keep_important").plan.messages == 10
    assert prune(session, "summarize_old", threshold=1).summary
