"""A replay of past calls against rules that are not in force: how many they would let pass, ask about and deny."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Agent, Approval, Event, PolicyInForce, Session, ToolCall
from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import Outcome, RuleSet, evaluate
from sessions_app.policy.reading import compile_rules, read_rules
from sessions_app.policy.rules import TRIGGERS

from . import compiled

CALLS = 1_000
MOST_SESSIONS = 500
AT_ONCE = 100
"""Calls whose arguments are in memory at the same time."""
MOST_SHOWN = 100
ESCALATE = "escalate_to_human"


@dataclass(frozen=True, slots=True)
class Differing:
    """A past call that the draft answers otherwise than the rules in force."""

    session: Session
    tool: str
    server: str | None
    at: datetime | None
    live: Outcome
    draft: Outcome


@dataclass(slots=True)
class Preview:
    """What a draft makes of the last calls. ``live``: what the rules in force make of the same calls now."""

    calls: int = 0
    since: datetime | None = None
    draft: Counter[str] = field(default_factory=Counter)
    live: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    """Rule of the draft -> calls whose answer it led to."""
    unmatched: list[str] = field(default_factory=list)
    """Rules of the draft that led to no answer."""
    undecidable: int = 0
    """Calls of which it could not be told for some rule whether it matches."""
    differing: int = 0
    shown: list[Differing] = field(default_factory=list)
    """The first of those that differ."""


@dataclass(frozen=True, slots=True)
class _Past:
    """A call that was made or asked, without its arguments. ``seq`` is of its event, ``approval`` its id."""

    session_id: UUID
    tool: str
    server: str | None
    at: datetime | None
    seq: int | None = None
    approval: UUID | None = None


def replay(workspace_id: UUID, rules: Any) -> Preview:
    """The last calls against a draft. Arguments are those of then; agents, their costs and rules those of now.

    Raises ``policy.faults.Invalid``.
    """
    read_rules(rules, "/rules")
    draft = RuleSet(compile_rules(rules), "draft")
    live_id = PolicyInForce.objects.filter(workspace_id=workspace_id).values_list("live", flat=True).first()
    live = [compiled.of_version(live_id)] if live_id else []
    past = _past_calls(workspace_id)
    sessions = _sessions(past)
    preview = Preview(calls=len(past), since=min((one.at for one in past if one.at), default=None))
    for one, call in _with_arguments(past, sessions):
        own = compiled.of_agent(sessions[one.session_id].agent)
        before, after = _outcome(call, [*live, own]), _outcome(call, [draft, own])
        _count(preview, one, sessions[one.session_id], before, after)
    preview.unmatched = [rule.rule.name for rule in draft.rules if rule.rule.name not in preview.matched]
    return preview


def _count(preview: Preview, one: _Past, session: Session, before: Outcome, after: Outcome) -> None:
    preview.live[before.effect] += 1
    preview.draft[after.effect] += 1
    preview.undecidable += bool(after.faults)
    preview.matched.update({verdict.name for verdict in after.verdicts if verdict.source == "draft"})
    if before.effect != after.effect:
        preview.differing += 1
        if len(preview.shown) < MOST_SHOWN:
            preview.shown.append(Differing(session, one.tool, one.server, one.at, before, after))


def _outcome(call: Call, rule_sets: Sequence[RuleSet]) -> Outcome:
    outcome = evaluate(call, rule_sets)
    return Outcome("ask") if call.tool == ESCALATE and outcome.effect != "ask" else outcome


def _past_calls(workspace_id: UUID) -> list[_Past]:
    """The last calls that were made here or asked over the API, the newest first; each once."""
    made = _calls_of_sessions(workspace_id)
    asked = Approval.objects.filter(workspace_id=workspace_id, recorded=False).order_by("-id")
    columns = ("id", "session_id", "tool_name", "tool_server", "requested_at", "client_id")
    rows = asked.values_list(*columns)[:CALLS]
    known = {(row.session_id, row.call_id) for row in made}
    found = [_Past(row.session_id, row.name, row.server, row.started_at, seq=row.seq) for row in made]
    found += [
        _Past(session_id, tool, server, at, approval=id_)
        for id_, session_id, tool, server, at, client_id in rows
        if (session_id, client_id) not in known
    ]
    oldest = datetime.min.replace(tzinfo=timezone.get_default_timezone())
    return sorted(found, key=lambda one: one.at or oldest, reverse=True)[:CALLS]


def _calls_of_sessions(workspace_id: UUID) -> list[ToolCall]:
    """Calls of as many of the newest sessions as hold enough of them."""
    sessions = Session.objects.filter(workspace_id=workspace_id, tool_call_count__gt=0).order_by("-created_at")
    ids, calls = [], 0
    for session_id, count in sessions.values_list("id", "tool_call_count")[:MOST_SESSIONS]:
        ids.append(session_id)
        calls += count
        if calls >= CALLS:
            break
    return list(ToolCall.objects.filter(session_id__in=ids).order_by("-session_id", "-seq")[:CALLS])


def _sessions(past: Sequence[_Past]) -> dict[UUID, Session]:
    """Sessions by id, those of one agent with the same object of it."""
    found = Session.objects.in_bulk({one.session_id for one in past})
    agents = Agent.objects.in_bulk({session.agent_id for session in found.values()})
    for session in found.values():
        session.agent = agents[session.agent_id]
    return found


def _with_arguments(past: Sequence[_Past], sessions: dict[UUID, Session]) -> Iterator[tuple[_Past, Call]]:
    for start in range(0, len(past), AT_ONCE):
        some = past[start : start + AT_ONCE]
        wanted = Q(pk__in=[(one.session_id, one.seq) for one in some if one.seq is not None])
        rows = Event.objects.filter(wanted).values_list("session_id", "seq", "arguments", "depth")
        events = {(session_id, seq): (arguments, depth) for session_id, seq, arguments, depth in rows}
        ids = [one.approval for one in some if one.approval]
        asked = dict(Approval.objects.filter(pk__in=ids).values_list("id", "arguments"))
        for one in some:
            if one.approval:
                arguments, depth = asked.get(one.approval), 0
            else:
                arguments, depth = events.get((one.session_id, one.seq or 0), (None, 0))
            yield one, _call(one, sessions[one.session_id], arguments, depth)


def _call(one: _Past, session: Session, arguments: Any, depth: int) -> Call:
    return Call(
        tool=one.tool,
        arguments=arguments,
        server=one.server,
        agent_slug=session.agent.slug,
        agent_name=session.agent.name,
        trigger=session.origin if session.origin in TRIGGERS else None,
        sub_agent=depth > 0 or session.parent_id is not None,
        cost=session.cost_amount or Decimal(0),
        cost_is_whole=session.unpriced_tokens == 0,
        now=one.at,
    )
