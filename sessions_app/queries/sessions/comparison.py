"""Sessions beside each other: their numbers, their turns aligned by prompt, their tools and their files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Left

from sessions_app.models import ChangedFile, FileScan, Session, SessionUsage, Turn, UsageKind, Verdict
from sessions_app.queries.log.timeline import NEXT

MOST = 4
"""Sessions beside each other."""
TURNS = 300
"""Turns of each that are aligned; of a longer session its first ones."""
FILES = 100
CANDIDATES = 20
NAMED = 3
"""Tools that a turn names."""
PROMPT = 600
SAME = 200
"""Letters of a prompt, without case and spaces, by which it is the same: what follows is often a path or a date."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the sessions; ``turns`` are at most ``TURNS``, ``more`` whether it has others."""

    session: Session
    turns: list[Turn]
    more: bool
    scan: FileScan | None
    verdicts: list[Verdict]

    @property
    def files_are_read(self) -> bool:
        return self.scan is not None and self.scan.seq >= self.session.last_seq


@dataclass(frozen=True, slots=True)
class Cell:
    """A turn, a number of calls or a file of one side; ``shown`` is None where it has none. ``asked``: the prompt of a
    turn, where it is another than the line's.
    """

    side: Side
    shown: Any
    asked: str = ""

    @property
    def tools(self) -> str:
        """Of a turn: the tools that it called most, with how often: ``Bash ×8, Read ×3``."""
        shares = (self.shown.shares or []) if self.shown else []
        calls = sorted((-share[3], share[1]) for share in shares if share[0] == "tool" and share[1] and share[3])
        named = [f"{name} ×{-number:,}" for number, name in calls[:NAMED]]
        return ", ".join([*named, "…"] if len(calls) > NAMED else named)


@dataclass(frozen=True, slots=True)
class Line:
    """Turns of the same prompt, or a tool or a file, with a cell for each side."""

    name: str
    cells: list[Cell]


def sessions(workspace_id: UUID, ids: Sequence[UUID]) -> list[Session]:
    """Those of the workspace, in the order asked for."""
    found = Session.objects.filter(workspace_id=workspace_id).select_related("agent").defer("source_record")
    by_id = found.in_bulk(ids)
    return [by_id[one] for one in ids if one in by_id]


def sides(compared: Sequence[Session]) -> list[Side]:
    """Everything that is shown of sessions, in three queries and one for the turns of each."""
    ids = [session.pk for session in compared]
    scans = FileScan.objects.in_bulk(ids)
    verdicts = defaultdict(list)
    for verdict in Verdict.objects.filter(session_id__in=ids, is_current=True).exclude(says="").order_by("id"):
        verdicts[verdict.session_id].append(verdict)
    return [
        Side(session, turns[:TURNS], len(turns) > TURNS, scans.get(session.pk), verdicts[session.pk])
        for session in compared
        for turns in [_turns(session.pk)]
    ]


def candidates(session: Session) -> list[Session]:
    """The last sessions of its agent, those with its title first: a task is often tried again under the same words."""
    others = Session.objects.filter(agent=session.agent_id).exclude(pk=session.pk).select_related("agent")
    recent = list(others.defer("source_record").order_by("-created_at", "-pk")[: 5 * CANDIDATES])
    same = [one for one in recent if one.title == session.title]
    return (same + [one for one in recent if one.title != session.title])[:CANDIDATES]


def aligned(compared: Sequence[Side]) -> list[Line]:
    """Turns in rows: those with the same prompt in one; between two such rows by their order.

    The first side gives the order. A turn of another that has no place in it stands after the turn before it, beside
    its like of further sides.
    """
    first, others = compared[0], compared[1:]
    rows: list[list[Turn | None]] = [[turn, *(None for _ in others)] for turn in first.turns]
    extra: defaultdict[int, list[_Row]] = defaultdict(list)
    for number, other in enumerate(others, 1):
        after = -1
        for at, turn in _places(first.turns, other.turns):
            if at is None:
                _place(extra[after], turn, number, len(compared))
            else:
                rows[at][number] = turn
                after = at
    lines = [row for _, row in extra[-1]]
    for at, row in enumerate(rows):
        lines += [row, *(row for _, row in extra[at])]
    return [_turn_line(compared, line) for line in lines]


def _turn_line(compared: Sequence[Side], turns: Sequence[Turn | None]) -> Line:
    """A row of turns, named by the prompt of the first that is there; by their order others may stand beside it."""
    first = next(turn for turn in turns if turn)
    cells = [
        Cell(side, turn, turn.prompt if turn and _key(turn) != _key(first) else "")
        for side, turn in zip(compared, turns, strict=True)
    ]
    return Line(first.prompt, cells)


_Row = tuple[str, list[Turn | None]]
"""The key of a prompt, and its turn of each side."""


def _place(rows: list[_Row], turn: Turn, number: int, sides: int) -> None:
    """Put a turn of one side into the first row of the same prompt behind its turn before, or into one of its own."""
    key = _key(turn) if turn.index else ""  # what comes before the first message has no prompt
    since = 1 + max((at for at, (_, row) in enumerate(rows) if row[number]), default=-1)
    beside = next((row for prompt, row in rows[since:] if prompt == key), None)
    if beside is None:
        beside = [None] * sides
        rows.append((key, beside))
    beside[number] = turn


def _line(name: str, compared: Sequence[Side], shown: Sequence[Any]) -> Line:
    return Line(name, [Cell(side, one) for side, one in zip(compared, shown, strict=True)])


def _places(first: Sequence[Turn], other: Sequence[Turn]) -> Iterable[tuple[int | None, Turn]]:
    """For each turn of ``other`` the number of the turn of ``first`` that it stands beside.

    What comes before the first message is no turn of a prompt, and stands beside its like alone.
    """
    ours, theirs = bool(first and not first[0].index), bool(other and not other[0].index)
    if theirs:
        yield (0 if ours else None), other[0]
    first, other = first[ours:], other[theirs:]
    matcher = SequenceMatcher(None, [_key(turn) for turn in first], [_key(turn) for turn in other], autojunk=False)
    for _, since, until, from_, to in matcher.get_opcodes():
        for offset in range(to - from_):
            at = since + offset
            yield (at + ours if at < until else None), other[from_ + offset]


def _key(turn: Turn) -> str:
    return re.sub(r"\W+", "", turn.prompt).lower()[:SAME]


def tools(compared: Sequence[Side]) -> list[Line]:
    """Calls by tool, the most called first."""
    ids = [side.session.pk for side in compared]
    rows = SessionUsage.objects.filter(session_id__in=ids, kind=UsageKind.TOOL, name__isnull=False, calls__gt=0)
    calls: defaultdict[str, dict[UUID, int]] = defaultdict(dict)
    for row in rows.values("session_id", "name").annotate(all=Sum("calls")).order_by("name"):
        calls[row["name"]][row["session_id"]] = row["all"]
    names = sorted(calls, key=lambda name: (-sum(calls[name].values()), name))
    return [_line(name, compared, [calls[name].get(id_) for id_ in ids]) for name in names]


def files(compared: Sequence[Side]) -> list[Line]:
    """Changed files by path, the most edited first; at most ``FILES`` of each side are looked at."""
    by_path: defaultdict[str, dict[UUID, ChangedFile]] = defaultdict(dict)
    for side in compared:
        found = ChangedFile.objects.filter(session_id=side.session.pk).order_by("-edits", "path")
        for file in found[:FILES]:
            by_path[file.path][side.session.pk] = file
    paths = sorted(by_path, key=lambda path: (-sum(file.edits for file in by_path[path].values()), path))
    return [_line(path, compared, [by_path[path].get(side.session.pk) for side in compared]) for path in paths[:FILES]]


def _turns(session_id: UUID) -> list[Turn]:
    """Of a session, each with the beginning of its prompt, and when the next one began."""
    found = Turn.objects.filter(session_id=session_id).annotate(line=Left("prompt", PROMPT)).annotate(**NEXT)
    found = found.defer("prompt", "bought")
    turns: list[Turn] = []
    for turn in found.order_by("index")[: TURNS + 1]:
        turn.prompt = turn.line
        turns.append(turn)
    return turns
