"""Outline of a session: a mark for each turn with its prompt, relative cost, errors, pending approvals, sub-agents,
compactions, and lines that it changed."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Coalesce, Left

from sessions_app.compiled import Compiled
from sessions_app.models import Approval, Event, FileChange, Session, SessionOverview, Turn
from sessions_app.rendering.overview.buckets import NAMED
from sessions_app.summary.calls import kind_of

from .timeline import rewinds

PAGE = 24
"""Turns of the outline that come with the page; others are fetched ``MORE`` at a time as it is scrolled."""
MORE = 16
"""48 were the longest task of a browser that reads on: 41 ms to style, lay out and paint, after 25 to put them in."""
PROMPT = 600
"""Characters of a prompt that are read for its title: some begin with sections that are left out of it."""
STEPS = 20
"""Widths that a cost bar can have."""
STRETCH = 250
"""Turns among which the dearest gives bars their scale: 0 to 249, 250 to 499 and so on, whichever of them are shown."""
CHANGES = 1_000
"""Changes of files that are added up for the turns of one answer; turns beyond them say nothing of theirs."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A turn in the outline. ``bar`` is its share of the dearest turn of its stretch in ``STEPS``; 0 where nothing is
    known. ``is_partial``: it cost at least ``spent``.
    """

    index: int
    first_seq: int
    prompt: str
    tool_calls: int
    errors: int
    waiting: bool
    bar: int
    spent: Decimal | None
    is_partial: bool
    is_abandoned: bool
    """A person went back to before it, see ``timeline.rewinds``."""
    sub_agents: int
    """Calls that started one."""
    compactions: int
    """As far as the session's overview was read."""
    lines: tuple[int, int] | None
    """Added and removed; None where it changed no file, or nobody has asked for its files yet."""


@dataclass(frozen=True, slots=True)
class Outline:
    marks: list[Mark]
    earlier: bool
    later: bool


def around(session: Session, index: int) -> Outline:
    """At most 24 turns with turn ``index`` among them: up to 12 above it, and the others from it on."""
    above = _ABOVE(session.pk, index) if index > 0 else []
    room = PAGE - min(len(above), PAGE // 2)
    below = _BELOW(session.pk, index)
    shown = above[: PAGE // 2][::-1] + below[:room]
    return Outline(_marks(session, shown), len(above) > PAGE // 2, len(below) > room)


def after(session: Session, index: int) -> Outline:
    """The next turns below ``index``."""
    found = list(_turns(session.pk).filter(index__gt=index).order_by("index")[: MORE + 1])
    return Outline(_marks(session, found[:MORE]), False, len(found) > MORE)


def before(session: Session, index: int) -> Outline:
    """The last turns above ``index``."""
    found = list(_turns(session.pk).filter(index__lt=index).order_by("-index")[: MORE + 1])
    return Outline(_marks(session, found[:MORE][::-1]), len(found) > MORE, False)


def first_seq(session_id: UUID, index: int) -> int | None:
    """First event of turn ``index``, or of the next turn when there is none of this number; None after the last."""
    turns = Turn.objects.filter(session_id=session_id, index__gte=index).order_by("index")
    return turns.values_list("first_seq", flat=True).first()


def turns_of(session_id: UUID, seqs: list[int]) -> set[int]:
    """The turns in which these events lie."""
    if not seqs:
        return set()
    return set(Event.objects.filter(session_id=session_id, seq__in=seqs).values_list("turn", flat=True))


COST = Coalesce(F("cost_recorded"), Decimal(0)) + Coalesce(F("cost_priced"), Decimal(0))
TOKENS = sum(
    (Coalesce(F(f"{name}_tokens"), 0) for name in ("cache_read", "cache_write", "output")),
    start=Coalesce(F("input_tokens"), 0),
)


def _turns(session_id: UUID) -> QuerySet[Turn, dict[str, Any]]:
    found = Turn.objects.filter(session_id=session_id).annotate(line=Left("prompt", PROMPT), spent=COST, used=TOKENS)
    return found.values(
        "index", "first_seq", "last_seq", "line", "tool_calls", "errors", "spent", "used", "cost_recorded",
        "cost_priced", "unpriced_tokens", "under_reported", "shares",
    )  # fmt: skip


_ABOVE = Compiled[dict[str, Any]](
    lambda session_id, index: _turns(session_id).filter(index__lt=index).order_by("-index")[: PAGE // 2 + 1]
)
_BELOW = Compiled[dict[str, Any]](
    lambda session_id, index: _turns(session_id).filter(index__gte=index).order_by("index")[: PAGE + 1]
)


def _marks(session: Session, turns: list[dict[str, Any]]) -> list[Mark]:
    dearest = _dearest(session.pk, turns)
    waiting = pending_seqs(session.pk) if session.pending_approvals else []
    gone = rewinds(session.pk)
    lines, compactions = _lines(session.pk, turns), _compactions(session.pk, turns)
    return [
        Mark(
            index=turn["index"],
            first_seq=turn["first_seq"],
            prompt=turn["line"],
            tool_calls=turn["tool_calls"],
            errors=turn["errors"],
            waiting=any(turn["first_seq"] <= seq <= turn["last_seq"] for seq in waiting),
            bar=_bar(turn, dearest[turn["index"] // STRETCH]),
            spent=None if turn["cost_recorded"] is turn["cost_priced"] is None else turn["spent"],
            is_partial=bool(turn["unpriced_tokens"] or turn["under_reported"]),
            is_abandoned=any(first <= turn["first_seq"] < later for first, later in gone),
            sub_agents=_sub_agents(turn["shares"] or []),
            compactions=sum(turn["first_seq"] <= seq <= turn["last_seq"] for seq in compactions),
            lines=lines.get(turn["index"]),
        )
        for turn in turns
    ]


def _compactions(session_id: UUID, turns: list[dict[str, Any]]) -> list[int]:
    """Events of the compactions among some turns in a row, as far as the overview was read. It names the first
    ``NAMED`` of a session; of later ones it has the number in each bucket, and the events of those few are read."""
    named = _COMPACTIONS.first(session_id) or []
    if not turns or len(named) < NAMED or turns[-1]["last_seq"] <= named[-1]:
        return named
    begin, end = max(turns[0]["first_seq"], named[-1] + 1), turns[-1]["last_seq"]
    with connection.cursor() as cursor:
        cursor.execute(LATER_COMPACTIONS, {"session": session_id, "begin": begin, "end": end})
        return named + [seq for (seq,) in cursor.fetchall()]


_COMPACTIONS = Compiled[list[int]](
    lambda session_id: SessionOverview.objects.filter(pk=session_id).values_list("buckets__compactions", flat=True)[:1]
)
LATER_COMPACTIONS = """
SELECT found.seq FROM sessions_app_sessionoverview o
CROSS JOIN LATERAL (SELECT (o.buckets->>'step')::int AS step) AS size
CROSS JOIN LATERAL jsonb_array_elements_text(o.buckets#>'{counts,compactions}') WITH ORDINALITY AS bucket(number, place)
CROSS JOIN LATERAL (
    SELECT seq FROM sessions_app_event
    WHERE session_id = %(session)s AND kind = 'compaction'
        AND seq BETWEEN greatest(%(begin)s, (bucket.place - 1) * size.step + 1)
        AND least(%(end)s, bucket.place * size.step)
) AS found
WHERE o.session_id = %(session)s AND bucket.number <> '0'
    AND bucket.place * size.step >= %(begin)s AND (bucket.place - 1) * size.step < %(end)s
ORDER BY found.seq
"""


def _sub_agents(shares: Iterable[Sequence[Any]]) -> int:
    """Calls of tools that start a sub-agent, of what ``Turn.shares`` says of a turn."""
    called = ((name, calls) for kind, name, _, calls, *_ in shares if kind == "tool" and name and calls)
    return sum(int(calls) for name, calls in called if kind_of(name) == "agent")


def _lines(session_id: UUID, turns: list[dict[str, Any]]) -> dict[int, tuple[int, int]]:
    """Lines that each of some turns in a row added and removed, by its index; none of turns that changed no file."""
    if not turns:
        return {}
    found = _CHANGES(session_id, turns[0]["first_seq"], turns[-1]["last_seq"])
    starts = [turn["first_seq"] for turn in turns]
    added: Counter[int] = Counter()
    removed: Counter[int] = Counter()
    for seq, more, less in found[:CHANGES]:
        index = turns[bisect_right(starts, seq) - 1]["index"]
        added[index] += more
        removed[index] += less
    known_to = found[CHANGES][0] if len(found) > CHANGES else turns[-1]["last_seq"] + 1
    known = (turn["index"] for turn in turns if turn["last_seq"] < known_to)
    return {index: (added[index], removed[index]) for index in known if added[index] or removed[index]}


def _changes(session_id: UUID, first: int, last: int) -> QuerySet[FileChange, tuple[int, int, int]]:
    made = FileChange.objects.filter(session_id=session_id, seq__gte=first, seq__lte=last)
    made = made.filter(outcome__in=("done", "unknown")).exclude(kind__in=("shell", "stated", "seen"))
    return made.order_by("seq", "number").values_list("seq", "added", "removed")[: CHANGES + 1]


_CHANGES = Compiled[tuple[int, int, int]](_changes)


def _dearest(session_id: UUID, turns: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The most that a turn cost and used in each stretch that some turns are of."""
    if not turns:
        return {}
    first, last = (turns[place]["index"] // STRETCH for place in (0, -1))
    found = _STRETCHES(session_id, first * STRETCH, (last + 1) * STRETCH, STRETCH)
    return {row["stretch"]: row for row in found}


def _stretches(session_id: UUID, first: int, end: int, length: int) -> QuerySet[Turn, dict[str, Any]]:
    around = Turn.objects.filter(session_id=session_id, index__gte=first, index__lt=end)
    return around.order_by().values(stretch=F("index") / length).annotate(spent=Max(COST), used=Max(TOKENS))


_STRETCHES = Compiled[dict[str, Any]](_stretches)


def _bar(turn: dict[str, Any], dearest: dict[str, Any]) -> int:
    basis = "spent" if dearest["spent"] else "used"  # without any price the tokens are the next best measure
    return round(STEPS * float(turn[basis] / dearest[basis])) if dearest[basis] else 0


def pending_seqs(session_id: UUID) -> list[int]:
    """Events of the pending approvals of a session, in order."""
    waiting = Approval.objects.filter(session_id=session_id, status=Approval.Status.PENDING, event_seq__isnull=False)
    return sorted(seq for seq in waiting.values_list("event_seq", flat=True) if seq is not None)
