"""``events.append``: one log without gaps, in which nothing stands twice."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Session
from sessions_app.services.log import events, links
from sessions_app.services.log.events import BATCH, PARENTS_REMEMBERED
from tests.database_roles import as_owner

from .build import append, at_once, event, log, user

pytestmark = pytest.mark.django_db


def test_events_are_numbered_from_1_without_gaps(session):
    append(session, event(), event())
    done = append(session, event(), event())
    assert [row.seq for row in log(session)] == [1, 2, 3, 4]
    assert (done.first_seq, done.last_seq, done.accepted, done.duplicates) == (3, 4, 2, 0)
    assert (session.last_seq, session.event_count) == (4, 4)


def test_ids_ascend_with_seq(session):
    append(session, *(event() for _ in range(10)))
    ids = [row.id for row in log(session)]
    assert ids == sorted(ids) and len(set(ids)) == 10


def test_a_repeat_in_the_same_batch_is_dropped(session):
    done = append(session, event(key="a"), event(key="b"), event(key="a"))
    assert [row.client_key for row in log(session)] == ["a", "b"]
    assert (done.accepted, done.duplicates) == (2, 1)


def test_a_repeat_in_a_later_call_is_dropped_and_leaves_no_gap(session):
    append(session, event(key="a"))
    done = append(session, event(key="a"), event(key="b"))
    assert [(row.seq, row.client_key) for row in log(session)] == [(1, "a"), (2, "b")]
    assert (done.first_seq, done.last_seq, done.duplicates) == (2, 2, 1)


def test_a_call_of_repeats_alone_changes_nothing(session):
    append(session, event(key="a"))
    before = Session.objects.filter(pk=session.pk).values().get()
    done = append(session, event(key="a"))
    assert (done.first_seq, done.last_seq, done.accepted, done.duplicates) == (None, None, 0, 1)
    assert Session.objects.filter(pk=session.pk).values().get() == before


def test_append_of_no_events_changes_nothing(session):
    assert append(session).accepted == 0
    assert log(session) == []


def test_repeats_and_parents_reach_further_back_than_memory(session, monkeypatch):
    monkeypatch.setattr(events, "KEYS_REMEMBERED", BATCH)
    far = PARENTS_REMEMBERED + BATCH
    stream = [event(key=f"e{i}") for i in range(far)]
    stream += [event(key="e0"), event(key="child", parent="e1")]
    done = append(session, *stream)
    assert (done.accepted, done.duplicates) == (far + 1, 1)
    assert log(session)[-1].parent_seq == 2


@pytest.mark.parametrize("remembered", [1, 4, 9, 100])
def test_a_repeat_is_found_at_the_edge_of_memory(session, monkeypatch, remembered):
    monkeypatch.setattr(events, "BATCH", 4)
    monkeypatch.setattr(events, "KEYS_REMEMBERED", remembered)
    monkeypatch.setattr(events, "PARENTS_REMEMBERED", 1)
    keys = [f"e{n}" for n in range(20)]
    done = append(session, *(event(key=key) for key in [*keys, *keys]))
    assert (done.accepted, done.duplicates) == (20, 20)


@pytest.mark.parametrize("distance", range(8, 40))
def test_a_parent_is_found_at_the_edge_of_memory(session, monkeypatch, distance):
    monkeypatch.setattr(events, "BATCH", 4)
    monkeypatch.setattr(events, "PARENTS_REMEMBERED", 20)
    append(session, event(key="parent"), *(event() for _ in range(distance)), event(key="child", parent="parent"))
    assert log(session)[-1].parent_seq == 1


def test_a_parent_from_an_earlier_call_is_found(session):
    append(session, event(key="a"))
    append(session, event(key="b", parent="a"))
    assert log(session)[-1].parent_seq == 1


def test_a_parent_that_is_unknown_later_or_itself_is_none(session):
    append(session, event(parent="nobody"), event(parent="later"), event(key="later"), event(key="self", parent="self"))
    assert [row.parent_seq for row in log(session)] == [None] * 4


def test_a_turn_starts_at_each_message_of_the_main_conversation(session):
    append(session, event(), user(), event(), user(depth=1), user())
    append(session, event(), user())
    assert [row.turn for row in log(session)] == [0, 1, 1, 1, 2, 2, 3]
    assert (session.last_turn, session.turn_count) == (3, 3)


def test_sessions_have_logs_of_their_own(session, agent):
    other = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    append(session, event(key="same"))
    append(other, event(key="same"), event())
    assert [row.seq for row in log(other)] == [1, 2]
    assert len(log(session)) == 1


def test_everything_an_event_says_is_kept(session):
    at = datetime(2026, 5, 4, 10, 30, 0, 123456, tzinfo=UTC)
    new = EventDraft(
        kind="tool_result", key="k", at=at, actor_kind="tool", actor_name="bash", text="ok", depth=1,
        tool=ToolDraft("c1", "bash", "local", {"a": [1, 2.5, None]}, {"exit": 0}, "ok"), model="m", request="r",
        usage=Usage(1, 2, 3, 4, 5, 6, "interrupted"), data={"x": {"y": "z"}}, pointer="L7/message",
        offset=8, length=9,
    )  # fmt: skip
    events.append(session.pk, [new], document="ab" * 32, origin=links.RUNTIME)
    row = log(session)[0]
    said = {name: getattr(row, name) for name in (
        "kind", "at", "actor_kind", "actor_name", "text", "depth", "call_id", "tool_name", "tool_server", "arguments",
        "result", "tool_status", "model", "request", "data", "pointer", "offset", "length", "document", "client_key",
    )}  # fmt: skip
    assert said == {
        "kind": "tool_result", "at": at, "actor_kind": "tool", "actor_name": "bash", "text": "ok", "depth": 1,
        "call_id": "c1",
        "tool_name": "bash", "tool_server": "local", "arguments": {"a": [1, 2.5, None]}, "result": {"exit": 0},
        "tool_status": "ok", "model": "m", "request": "r", "data": {"x": {"y": "z"}}, "pointer": "L7/message",
        "offset": 8,
        "length": 9, "document": "ab" * 32, "client_key": "k",
    }  # fmt: skip
    tokens = (row.input_tokens, row.cache_read_tokens, row.cache_write_tokens, row.output_tokens, row.reasoning_tokens)
    assert (*tokens, row.cache_write_1h_tokens, row.quality) == (1, 2, 3, 4, 5, 6, "interrupted")


def test_progress_is_reported_after_each_batch(session):
    seen: list[int] = []
    events.append(session.pk, (event() for _ in range(BATCH + 5)), on_progress=seen.append, origin=links.RUNTIME)
    assert seen == [BATCH, BATCH + 5]


def test_a_session_that_is_gone_is_an_error(session):
    with as_owner():
        Session.objects.filter(pk=session.pk).delete()
    with pytest.raises(Session.DoesNotExist):
        events.append(session.pk, [event()], origin=links.RUNTIME)


@pytest.mark.django_db(transaction=True)
def test_two_appends_at_once_share_one_log(session):
    mine, yours = ([event(key=f"{who}{i}") for i in range(300)] for who in "ab")
    both = [event(key="both")]
    done = at_once(
        lambda: events.append(session.pk, mine + both, origin=links.RUNTIME),
        lambda: events.append(session.pk, yours + both, origin=links.RUNTIME),
    )
    assert sorted(d.accepted for d in done) == [300, 301]
    rows = log(session)
    assert [row.seq for row in rows] == list(range(1, 602))
    assert len({row.client_key for row in rows}) == 601
    session.refresh_from_db()
    assert (session.last_seq, session.event_count) == (601, 601)
