"""Turns: what belongs to which, and what stands at their head."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.models import Session
from sessions_app.services.log import projections

from ..build import answer, append, call, event, user

pytestmark = pytest.mark.django_db


def test_events_before_the_first_message_are_turn_0(session):
    append(session, event("system"), event(), user("Hello"), event())
    rows = list(session.turns.order_by("index").values_list("index", "first_seq", "last_seq", "event_count", "prompt"))
    assert rows == [(0, 1, 2, 2, ""), (1, 3, 4, 2, "Hello")]
    assert session.turn_count == 1


def test_a_session_without_messages_has_no_turn_but_turn_0(session):
    append(session, event())
    assert (session.turn_count, session.last_turn, session.turns.count()) == (0, 0, 1)


def test_sub_agents_work_inside_the_turn(session):
    append(session, user("Go"), call(), user("You are a scout", depth=1), event(depth=1), event())
    turn = session.turns.get()
    assert (turn.index, turn.event_count, turn.prompt) == (1, 5, "Go")


def test_a_turn_grows_with_later_appends(session):
    append(session, user("Go"), call())
    append(session, call(), event("error"))
    turn = session.turns.get()
    assert (turn.event_count, turn.last_seq, turn.tool_calls, turn.errors) == (4, 4, 2, 1)


def test_a_long_prompt_is_kept_to_2000_characters(session):
    append(session, user("é" * 5_000))
    assert session.turns.get().prompt == "é" * 2_000


def test_a_session_without_a_title_is_called_by_its_first_prompt(session):
    append(session, event(), user("  Mend\n the   clock  " + "x" * 200))
    assert session.title == ("Mend the clock " + "x" * 200)[:119] + "…"
    append(session, user("Another"))
    assert session.title.startswith("Mend")


def test_a_title_is_cut_only_where_it_is_longer_than_120_characters(agent):
    for prompt, title in (("x" * 120, "x" * 120), ("x" * 121, "x" * 119 + "…"), ("x" * 118 + " yes", "x" * 118 + "…")):
        session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
        append(session, user(prompt))
        session.refresh_from_db()
        assert session.title == title


def test_a_title_is_not_what_a_program_says_in_tags_before_the_prompt(workspace, agent):
    place = "x" * 150
    for prompt, title in (
        (f"<ide_opened_file>The user opened {place}.</ide_opened_file>\nMend the clock", "Mend the clock"),
        (f"<git-context>\nRemote: {place}\n</git-context>\n<system-reminder>a</system-reminder>\nMend it", "Mend it"),
        (f"<context>\n{place}\n</context>", f"<context> {place}"[:119] + "…"),
        (f"<context>\n{place}\n</context>\n<task>Mend it", "Mend it"),
        (f"We're currently solving the following issue here. ISSUE:\nThe clock is slow. {place}",
         f"The clock is slow. {place}"[:119] + "…"),
        (f"The ISSUE: it is slow. {place}\n<task>Mend it</task>", f"The ISSUE: it is slow. {place}"[:119] + "…"),
        (f"You are a clockmaker of {place}.\n\nMend the clock of the town hall", "Mend the clock of the town hall"),
    ):  # fmt: skip
        session = Session.objects.create(workspace_id=workspace.id, agent=agent)
        append(session, user(prompt))
        session.refresh_from_db()
        assert session.title == title


def test_a_title_that_is_there_stays(session):
    session.title = "Mine"
    session.save()
    append(session, user("Yours"))
    assert session.title == "Mine"


def test_earlier_turns_are_left_as_they_are(session):
    append(session, user("one"), event())
    append(session, user("two"), event(), event())
    assert list(session.turns.order_by("index").values_list("index", "event_count", "first_seq")) == [
        (1, 2, 1),
        (2, 3, 3),
    ]
    assert (session.event_count, session.turn_count, session.last_turn) == (5, 2, 2)


def test_models_are_known_from_their_messages_where_no_tokens_are_recorded(session):
    append(session, user(), event("agent_message", model="gpt-5"), event("agent_message", model="gpt-4o"))
    append(session, user(), answer(model="claude-opus-4-5", input_tokens=1), event("reasoning", model="a draft"))
    session.refresh_from_db()
    assert session.model_names == ["claude-opus-4-5", "gpt-4o", "gpt-5"]


def test_a_decision_on_a_run_from_elsewhere_moves_neither_its_beginning_nor_its_end(agent):
    began, ended = datetime(2026, 3, 2, 9, tzinfo=UTC), datetime(2026, 3, 2, 10, tzinfo=UTC)
    kinds = ("approval", "escalation", "status")
    for origin in ("import", "otlp", "api"):
        session = Session.objects.create(
            workspace_id=agent.workspace_id, agent=agent, origin=origin, created_at=began - timedelta(days=1)
        )
        append(session, user(at=began), event("agent_message", "said", at=ended))
        append(session, *(event(kind, kind, at=ended + timedelta(days=7)) for kind in kinds))
        append(session, event("approval", "before", at=began - timedelta(days=7)))
        session.refresh_from_db()
        turn = session.turns.get(index=1)
        is_elsewhere = origin != "api"
        assert (turn.ended_at == ended, turn.started_at == began) == (is_elsewhere, is_elsewhere), origin
        assert not is_elsewhere or (session.started_at, session.ended_at) == (began, ended)
        before = (session.started_at, session.ended_at, turn.started_at, turn.ended_at)
        projections.rebuild(session.pk)
        session.refresh_from_db()
        turn.refresh_from_db()
        assert (session.started_at, session.ended_at, turn.started_at, turn.ended_at) == before
