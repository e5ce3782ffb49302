"""What a strategy would take out of sight in a session, now. Nothing here writes.

A message is an event of a person, an agent or the system in the main flow; what an agent did between two messages goes
with the first of them. Whatever the strategy, these stay in sight: the turn that an agent is at, what waits for a
person, and a call that has no result yet; a call and its result stay or go together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import F, Q

from sessions_app.compiled import Compiled
from sessions_app.models import Approval, Comment, Event, FileChange, HiddenSpan, Session, ToolCall, Turn
from sessions_app.summary.calls import kind_of

from .strategies import Strategy

MESSAGES = ("user_message", "agent_message", "system")
IMPORTANT = (
    "user_message", "system", "error", "approval", "escalation", "handoff", "compaction", "file_change", "artifact",
)  # fmt: skip
"""Kinds that ``keep_important`` keeps: what people told the agent, what was decided, what failed, what was made."""
FAILED = ("error", "denied", "cancelled")
"""Statuses of calls that it keeps."""
AUTOMATIC = (Approval.Status.AUTO_ALLOWED, Approval.Status.AUTO_DENIED)
"""Of the approvals those that nobody waited for."""
IN_SIGHT = """
SELECT (SELECT count(*) FROM sessions_app_event WHERE session_id = %(session)s AND depth = 0 AND kind = ANY(%(kinds)s))
     - (SELECT coalesce(sum(messages), 0) FROM sessions_app_hiddenspan WHERE session_id = %(session)s)
"""
_SAID = Compiled[int](
    lambda session_id: (
        Event.objects.filter(session_id=session_id, kind__in=MESSAGES, depth=0)
        .order_by("seq")
        .values_list("seq", flat=True)
    )
)
_HIDDEN = Compiled[HiddenSpan](
    lambda session_id: HiddenSpan.objects.filter(session_id=session_id).order_by("first_seq")
)
_LATE = Compiled[int](
    lambda session_id, cut: ToolCall.objects.filter(
        Q(result_seq=None) | Q(result_seq__gte=cut), session_id=session_id, seq__lt=cut
    ).values_list("seq", flat=True)
)
_WAITING = Compiled[int | None](
    lambda session_id, cut: Approval.objects.filter(
        session_id=session_id, status=Approval.Status.PENDING, event_seq__lt=cut
    ).values_list("event_seq", flat=True)
)


@dataclass(frozen=True, slots=True)
class Span:
    """Events that stand together."""

    first_seq: int
    last_seq: int
    messages: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What would go. ``kept``: messages in sight afterwards."""

    strategy: Strategy
    spans: tuple[Span, ...]
    kept: int
    through_seq: int
    """The last event of what is old: what a summary tells of."""

    @property
    def messages(self) -> int:
        return sum(span.messages for span in self.spans)

    @property
    def events(self) -> int:
        return sum(span.last_seq - span.first_seq + 1 for span in self.spans)


def plan(session: Session, strategy: Strategy, also: Collection[int] = (), *, shown_through: int = 0) -> Plan:
    """What the strategy takes of a session. ``also``: events that a model wants to be kept, too; ``shown_through``: up
    to this event all is kept, for a person showed it again."""
    said = _SAID(session.pk)  # the window is counted on the whole log, and not on what is in sight of it
    hidden = _HIDDEN(session.pk)
    cut = _cut(session, strategy, said)
    kept = _tied(session.pk, cut)
    if strategy.kind == "keep_important":
        kept |= _with_results(session.pk, cut, _important(session.pk, cut) | {seq for seq in also if seq < cut})
    taken = _between(cut, kept, [*((span.first_seq, span.last_seq) for span in hidden), (1, shown_through)])
    spans = tuple(Span(first, last, _count(said, first, last)) for first, last in taken)
    gone = sum(span.messages for span in hidden) + sum(span.messages for span in spans)
    return Plan(strategy, spans, len(said) - gone, cut - 1)


def messages_in_sight(session_id: UUID) -> int:
    """How many messages of a session are in sight."""
    with connection.cursor() as cursor:
        cursor.execute(IN_SIGHT, {"session": session_id, "kinds": list(MESSAGES)})
        return int(cursor.fetchone()[0])


def said_before(session_id: UUID, seq: int) -> int:
    """How many messages stand before an event."""
    return Event.objects.filter(session_id=session_id, kind__in=MESSAGES, depth=0, seq__lt=seq).count()


def _cut(session: Session, strategy: Strategy, said: list[int]) -> int:
    """The first event that stays whatever it is."""
    cut = session.last_seq + 1
    if strategy.window:
        cut = said[-strategy.window] if len(said) > strategy.window else 0
    if session.status == Session.Status.RUNNING:
        began = Turn.objects.filter(session_id=session.pk, index=session.last_turn).values_list("first_seq", flat=True)
        cut = min(cut, began.first() or 0)
    return cut


def _tied(session_id: UUID, cut: int) -> set[int]:
    """Old events that belong to what stays: calls without a result or with a late one, and what waits for a person."""
    return {*_LATE(session_id, cut), *filter(None, _WAITING(session_id, cut))}


def _important(session_id: UUID, cut: int) -> set[int]:
    """Old events that the rules of ``keep_important`` keep."""
    old = Event.objects.filter(session_id=session_id, seq__lt=cut)
    wanted = Q(kind__in=IMPORTANT) | Q(kind="tool_result", tool_status__in=FAILED)
    wanted |= Q(kind="note", actor_kind="person") | Q(kind="tool_call", tool_name__in=_writing(session_id))
    found = set(old.filter(wanted).values_list("seq", flat=True))
    asked = Approval.objects.filter(session_id=session_id, event_seq__lt=cut).exclude(status__in=AUTOMATIC)
    found |= set(filter(None, asked.values_list("event_seq", flat=True)))
    found |= set(FileChange.objects.filter(session_id=session_id, seq__lt=cut).exclude(kind="seen").values_list(
        "seq", flat=True))  # fmt: skip
    told = Comment.objects.filter(session_id=session_id, first_seq__lt=cut, deleted_at=None)
    for first, last in told.values_list("first_seq", "last_seq"):
        found |= set(old.filter(seq__gte=first, seq__lte=last or first).values_list("seq", flat=True))
    return found


def _writing(session_id: UUID) -> list[str]:
    """Names of tools of a session that change something, also where nobody has asked for its files yet."""
    names = ToolCall.objects.filter(session_id=session_id).values_list("name", flat=True).distinct()
    return [name for name in names if kind_of(name) == "edit"]


def _with_results(session_id: UUID, cut: int, kept: set[int]) -> set[int]:
    """The same with the other half of each call and result, and with the call that an approval is about."""
    asked = Event.objects.filter(session_id=session_id, seq__lt=cut, kind="approval", parent_seq__isnull=False)
    kept = kept | {parent for seq, parent in asked.values_list("seq", "parent_seq") if seq in kept and parent}
    answered = ToolCall.objects.filter(session_id=session_id, seq__lt=cut, result_seq__isnull=False)
    pairs = answered.annotate(answer=F("result_seq")).values_list("seq", "answer")
    return kept | {one for pair in pairs if kept & {*pair} for one in pair}


def _between(cut: int, kept: Iterable[int], others: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of the events before the cut without those that are kept, and the spans that are not to be taken."""
    held = sorted([*((seq, seq) for seq in kept), *others])
    spans, begin = [], 1
    for first, last in [*held, (cut, cut)]:
        if first >= cut:
            first = cut
        if begin < first:
            spans.append((begin, first - 1))
        begin = max(begin, last + 1)
        if first == cut:
            break
    return spans


def _count(said: list[int], first: int, last: int) -> int:
    return bisect_left(said, last + 1) - bisect_left(said, first)
