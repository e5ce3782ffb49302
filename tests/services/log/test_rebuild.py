"""Projections are nothing but the log: a rebuild changes nothing, nor does the size of the pieces it came in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Event, ModelRequest, Session, ToolCall, Turn
from sessions_app.services.log import events, links, projections

from ..build import forget_search

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
few = st.sampled_from(["a", "b", "c"])
maybe = st.none() | st.integers(0, 5)
usages = st.none() | st.builds(
    Usage, input_tokens=maybe, cache_read_tokens=maybe, cache_write_tokens=maybe, output_tokens=maybe,
    reasoning_tokens=maybe, quality=st.sampled_from(["final", "placeholder"]),
)  # fmt: skip
tools = st.none() | st.builds(
    ToolDraft, call_id=st.none() | few, name=st.none() | few, arguments=st.none() | st.just({"q": "x"}),
    status=st.sampled_from([None, "ok", "error", "denied"]),
)  # fmt: skip
new_events = st.builds(
    EventDraft,
    kind=st.sampled_from(["user_message", "agent_message", "tool_call", "tool_result", "error", "note"]),
    key=st.sampled_from([f"k{n}" for n in range(25)]),
    at=st.none() | st.integers(-9, 9).map(lambda minutes: NOON + timedelta(minutes=minutes)),
    text=st.sampled_from(["", " ", "words", "other words"]),
    tool=tools,
    model=st.sampled_from([None, "claude-opus-4-5", "no-such-model"]),
    usage=usages,
    request=st.none() | few,
    cost=st.sampled_from([None, Decimal("0.5"), Decimal("0.25")]),
    parent=st.none() | st.sampled_from([f"k{n}" for n in range(25)]),
    depth=st.sampled_from([0, 0, 0, 1]),
)
logs = st.lists(new_events, min_size=1, max_size=25)
quick = settings(
    max_examples=30, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def state(session: Session) -> dict[str, Any]:
    """Everything that is computed, without what differs by nature between two sessions with the same log: ids, when a
    session was made, and so when a turn without a time began.
    """
    session = Session.objects.get(pk=session.pk)
    own = {field.attname: getattr(session, field.attname) for field in Session._meta.concrete_fields}
    tables = {model.__name__: _rows(model, session) for model in (Event, ToolCall, ModelRequest, Turn)}
    for row in tables["Event"]:
        del row["id"]
    own["words"] = _words(session)
    return {name: own[name] for name in own if name not in ("id", "created_at", "updated_at")} | tables


def _words(session: Session) -> list[str]:
    """What the session is found by. In which rows of the index it stands depends on how the events came."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT lexeme FROM sessions_app_searchblock, unnest(words)"
            " WHERE session_id = %s AND lexeme !~ '^@' ORDER BY 1",
            [session.pk],
        )
        return [word for (word,) in cursor.fetchall()]


def _rows(model: Any, session: Session) -> list[dict[str, Any]]:
    order = {ModelRequest: "key", Turn: "index"}.get(model, "seq")
    rows = model.objects.filter(session=session).order_by(order).values()
    return [
        {name: value for name, value in row.items() if name not in ("pk", "session_id", "began_at")} for row in rows
    ]


def fresh(agent) -> Session:
    """A session that ran elsewhere: one that begins here begins when it is made, and no two are made at once."""
    return Session.objects.create(workspace_id=agent.workspace_id, agent=agent, origin=Session.Origin.IMPORT)


@quick
@given(log=logs)
def test_a_rebuild_changes_nothing(agent, log):
    session = fresh(agent)
    events.append(session.pk, log, origin=links.RUNTIME)
    before, changed_at = state(session), Session.objects.get(pk=session.pk).updated_at
    projections.rebuild(session.pk)
    assert state(session) == before
    assert Session.objects.get(pk=session.pk).updated_at == changed_at


@quick
@given(log=logs, cuts=st.lists(st.integers(0, 25), max_size=6), batch=st.integers(1, 30))
def test_a_log_in_pieces_is_the_log_at_once(agent, log, cuts, batch, monkeypatch):
    whole, pieces = fresh(agent), fresh(agent)
    events.append(whole.pk, log, origin=links.RUNTIME)
    with monkeypatch.context() as patch:
        patch.setattr(events, "BATCH", batch)
        edges = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
        for start, end in pairwise(edges):
            events.append(pieces.pk, log[start:end], origin=links.RUNTIME)
    assert state(pieces) == state(whole)


@quick
@given(log=logs, cut=st.integers(0, 25))
def test_a_rebuild_between_two_pieces_changes_nothing(agent, log, cut):
    whole, mended = fresh(agent), fresh(agent)
    events.append(whole.pk, log, origin=links.RUNTIME)
    events.append(mended.pk, log[:cut], origin=links.RUNTIME)
    projections.rebuild(mended.pk)
    events.append(mended.pk, log[cut:], origin=links.RUNTIME)
    assert state(mended) == state(whole)


def test_rebuild_of_an_empty_session_changes_nothing(session):
    before = state(session)
    projections.rebuild(session.pk)
    assert state(session) == before


def test_rebuild_repairs_damaged_projections(session):
    events.append(
        session.pk,
        [EventDraft("user_message", "u", text="Hello"), EventDraft("tool_call", "c", tool=ToolDraft("a", "bash"))],
        origin=links.RUNTIME,
    )
    before = state(session)
    Turn.objects.filter(session=session).update(prompt="spoilt", tool_calls=7)
    ToolCall.objects.filter(session=session).delete()
    Session.objects.filter(pk=session.pk).update(tool_call_count=9, last_turn=5, tools_invoked=["x"])
    projections.rebuild(session.pk)
    assert state(session) == before


def test_rebuild_indexes_events_missing_from_the_search_index(session):
    events.append(session.pk, [EventDraft("note", f"n{i}", text="word") for i in range(5)], origin=links.RUNTIME)
    forget_search(session)
    projections.rebuild(session.pk)
    assert Session.objects.get(pk=session.pk).indexed_seq == 5
