"""The rows of a session with what is done at a stretch joined: runs of tool calls, and notes of the recorder.

A window is put together from light rows (number, kind, tool), of which only those that stand alone are read whole: a
run of 200 calls takes as much of a page as one call. The rows of a run are read when somebody opens it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from sessions_app.models import Event, EventLink, Session, ToolCall

from ..retention import folds, hidden
from . import links
from .links import EventOrigin
from .timeline import BEFORE, ROWS, Entry, Timeline, Window, calls_at, read_at

SPAN = 256
"""Light rows that one window is made of at most."""
CALLS = 4
"""So many calls at a stretch are one line; with notes of the recorder between them ``CALLS_AMONG_NOTES`` are."""
CALLS_AMONG_NOTES = 2
END = 2**31 - 1
"""Behind every event."""
NOTES = frozenset({"system", "model_request", "injected_context", "status"})
"""Kinds that recorders write for themselves: 62 % of the rows of a Codex session (defect 0.22). Of states those alone
that ``Story`` takes for notes."""
LATE_SPANS = Q(kind="status", data__contains={"late": True})
"""A span that came when those that run in it were told: it began before all of them, and would stand behind them."""
NEAR = (4, 8)
"""Rows above an event that a link leads to, and from it on, that stand alone: it is read in its context."""
BELOW = """
SELECT parent_seq FROM sessions_app_event
WHERE session_id = %(session)s AND depth > 0 AND parent_seq = ANY(%(seqs)s) AND kind NOT IN ('status', 'system')
UNION
SELECT c.seq FROM sessions_app_session s
JOIN sessions_app_toolcall c ON c.session_id = s.parent_id AND c.call_id = s.metadata ->> 'tool_use_id'
WHERE s.parent_id = %(session)s
UNION
SELECT (metadata ->> 'call_seq')::int FROM sessions_app_session
WHERE parent_id = %(session)s AND jsonb_typeof(metadata -> 'call_seq') = 'number'
UNION
SELECT c.seq FROM sessions_app_event e
JOIN sessions_app_toolcall c ON c.session_id = e.session_id AND c.result_seq = e.seq AND c.seq = ANY(%(seqs)s)
WHERE e.session_id = %(session)s AND e.data ? 'child_session' AND e.seq = ANY(%(results)s)
"""
"""Events below which sub-agents stand: their own events, or the sessions that they are here."""
LIGHT = ("seq", "kind", "turn", "depth", "call_id", "tool_name", "actor_kind", "actor_name")


@dataclass(frozen=True, slots=True)
class LightRow:
    """What tells whether a row is part of a run."""

    seq: int
    kind: str
    turn: int
    depth: int
    call_id: str | None
    tool_name: str | None
    actor_kind: str
    actor_name: str


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of one turn that are one line: calls with what lies between them, or notes of the recorder alone."""

    seq: int
    last: int
    turn: int
    calls: int
    tools: Counter[str]
    failed: list[int]
    """Calls that did."""
    thoughts: int
    notes: int
    changes: int = 0
    """Files that the log says were changed, beside the calls."""
    kind: str = "run"
    depth: int = 0
    call_id: None = None
    actor_kind: str = "system"
    actor_name: str = ""
    data: dict[str, Any] = field(default_factory=dict)


Marked = Callable[[Any, Mapping[int, EventOrigin]], bool]
"""Whether a row says by whom it was sent, which no fold may hide."""


class Story(Timeline):
    """The timeline of a session with its runs joined, and a line in place of what is out of sight (pruned).

    No run goes on over the end of the events ``breaks``.
    """

    def __init__(
        self, session: Session, is_marked: Marked, breaks: Iterable[int] = (), folded: Iterable[int] = ()
    ) -> None:
        super().__init__(session.pk, folded=folded)
        self.spans = hidden.known_of(session)
        self.is_running = session.status == Session.Status.RUNNING
        self.is_of_spans = session.origin == Session.Origin.OTLP
        self.is_marked, self.breaks = is_marked, tuple(breaks)
        self.calls: dict[int, ToolCall] = {}
        self.known: dict[int, EventOrigin] = {}
        self.parents: set[int] | None = None
        self.entries: dict[int, Entry] = {}

    def _rows(self) -> QuerySet[Event]:
        rows = super()._rows().exclude(LATE_SPANS) if self.is_of_spans else super()._rows()
        return hidden.in_sight(rows, self.session_id) if self.spans else rows

    def after(self, seq: int) -> Window:
        return self._folded(super().after(seq), seq)

    def between(self, seq: int, last: int) -> Window:
        return self._folded(super().between(seq, last), seq, last + 1)

    def before(self, seq: int) -> Window:
        window = super().before(seq)
        return self._folded(window, self._behind(window), seq)

    def around(self, seq: int, least: int = BEFORE) -> Window:
        window = self._around(seq, least)
        return self._folded(window, self._behind(window))

    def _folded(self, window: Window, floor: int, ceiling: int = END) -> Window:
        return folds.folded(self.session_id, window, self.spans, floor, ceiling) if self.spans else window

    def _behind(self, window: Window) -> int:
        """The row before a window, from which on what is out of sight belongs to it; 0 where there is none."""
        if not (self.spans and window.earlier and window.entries):
            return 0
        before = self.rows().filter(seq__lt=window.entries[0].seq).order_by("-seq")
        return before.values_list("seq", flat=True).first() or 0

    def _around(self, seq: int, least: int) -> Window:
        above, earlier = self._light(self.rows().filter(seq__lt=seq).order_by("-seq"), SPAN // 2)
        below, later = self._light(self.rows().filter(seq__gte=seq).order_by("seq"), SPAN // 2)
        alone = self._alone(above[::-1] + below)
        if least:  # who came for one event reads it by itself
            alone |= {row.seq for row in (*above[: NEAR[0]], *below[: NEAR[1]])}
        before = self._joined(above[::-1], alone)
        after = self._joined(below, alone)
        filling = 0 if later and not least else ROWS - len(after)
        kept = min(len(before), max(least, filling))
        items = before[len(before) - kept :] + after[: ROWS - kept]
        earlier, later = earlier or len(before) > kept, later or items[-1:] != after[-1:]
        return self._complete(Window(self._whole(items), kept, earlier, later))

    def _read(self, found: QuerySet[Any], limit: int) -> tuple[list[Any], bool]:
        rows, more = self._light(found, SPAN)
        is_upwards = len(rows) > 1 and rows[0].seq > rows[-1].seq
        items = self._joined(rows[::-1] if is_upwards else rows, self._alone(rows))
        taken = (items[::-1] if is_upwards else items)[:limit]
        return self._whole(taken), more or len(items) > limit

    def _light(self, found: QuerySet[Any], span: int) -> tuple[list[LightRow], bool]:
        rows = [LightRow(*row) for row in found.values_list(*LIGHT)[: span + 1]]
        return rows[:span], len(rows) > span

    def _whole(self, items: list[LightRow | Run]) -> list[Any]:
        """Runs as they are, and the rows that stand alone with all that they show; their results are read with them."""
        seqs = [item.seq for item in items if isinstance(item, LightRow)]
        answers = [self.calls[seq].result_seq for seq in seqs if seq in self.calls]
        wanted = [*seqs, *filter(None, answers)]
        self.entries = {one.seq: one for one in read_at(self.session_id, wanted)}
        return [item if isinstance(item, Run) else self.entries[item.seq] for item in items]

    def _results_of(self, calls: dict[int, ToolCall]) -> dict[int, Entry]:
        wanted = {seq: call.result_seq for seq, call in calls.items() if call.result_seq}
        if not self.entries.keys() >= set(wanted.values()):
            return super()._results_of(calls)
        return {seq: self.entries[answer] for seq, answer in wanted.items()}

    def _joined(self, rows: list[LightRow], alone: set[int]) -> list[LightRow | Run]:
        """Rows in order, with each run of them as one."""
        items: list[LightRow | Run] = []
        run: list[LightRow] = []
        for row in rows:
            if run and (row.turn != run[0].turn or any(run[-1].seq <= seq < row.seq for seq in self.breaks)):
                items += _run(run, self.calls)
                run = []
            if row.seq in alone:
                items += [*_run(run, self.calls), row]
                run = []
            else:
                run.append(row)
        return items + list(_run(run, self.calls))

    def _alone(self, rows: list[LightRow]) -> set[int]:
        """Rows that are part of no run."""
        asked = [row.seq for row in rows if row.kind == "tool_call"]
        self.calls = {call.seq: call for call in calls_at(self.session_id, asked)}
        results = [call.result_seq for call in self.calls.values() if call.result_seq]
        self.known = links.origins(self.session_id, [1, *(row.seq for row in rows), *results])
        self.parents = parents = self._with_sub_agents([row.seq for row in rows], results)
        alone = set(parents)
        for row in rows:
            call = self.calls.get(row.seq)
            said = [row, Result(call.result_seq)] if call and call.result_seq else [row]
            if not self._is_part(row, call) or any(self.is_marked(one, self.known) for one in said):
                alone.add(row.seq)
        return alone

    def _is_part(self, row: LightRow, call: ToolCall | None) -> bool:
        """Whether a row may be part of a run. A call that is being done is not: the page waits for its result."""
        if call is not None:
            return not self.is_running or call.result_seq is not None
        if row.kind == "status":  # of a program; what a person did, and what this desk says, is part of the story
            origin = self.known.get(row.seq)
            return row.actor_kind == "system" and origin is not None and origin.kind == EventLink.Origin.FILE
        return row.kind in NOTES or row.kind in ("reasoning", "file_change")

    def _with_sub_agents(self, seqs: list[int], results: list[int]) -> set[int]:
        """Rows that something of a sub-agent stands below."""
        with connection.cursor() as cursor:
            cursor.execute(BELOW, {"session": self.session_id, "seqs": seqs, "results": results})
            return {seq for (seq,) in cursor.fetchall() if seq is not None}

    def _calls_of(self, seqs: list[int]) -> Iterable[ToolCall]:
        known = set(self.calls)
        return [self.calls[seq] for seq in seqs] if known.issuperset(seqs) else super()._calls_of(seqs)

    def _origins_of(self, seqs: list[int]) -> dict[int, EventOrigin]:
        known = set(self.known)
        return self.known if known.issuperset(seqs) else super()._origins_of(seqs)

    def _starters(self, window: Window) -> list[Entry]:
        calls = super()._starters(window)
        return calls if self.parents is None else [call for call in calls if call.seq in self.parents]


@dataclass(frozen=True, slots=True)
class Result:
    """A result, as far as it matters who sent it."""

    seq: int
    kind: str = "tool_result"
    actor_name: str = ""


def _run(rows: list[LightRow], calls: dict[int, ToolCall]) -> Iterable[LightRow | Run]:
    """Rows at a stretch as one line where they hold enough calls; else calls and thoughts alone, notes joined."""
    asked = sum(row.seq in calls for row in rows)
    notes = sum(_is_note(row) for row in rows)
    if asked >= (CALLS_AMONG_NOTES if notes else CALLS):
        yield _line(rows, calls)
        return
    stretch: list[LightRow] = []
    for row in rows:
        if _is_note(row):
            stretch.append(row)
            continue
        if stretch:
            yield _line(stretch, calls)
            stretch = []
        yield row
    if stretch:
        yield _line(stretch, calls)


def _is_note(row: LightRow) -> bool:
    return row.kind in NOTES


def _line(rows: list[LightRow], calls: dict[int, ToolCall]) -> Run:
    done = [calls[row.seq] for row in rows if row.seq in calls]
    return Run(
        seq=rows[0].seq,
        last=rows[-1].seq,
        turn=rows[0].turn,
        calls=len(done),
        tools=Counter(call.name for call in done),
        failed=[call.seq for call in done if call.status == "error"],
        thoughts=sum(row.kind == "reasoning" for row in rows),
        notes=sum(_is_note(row) for row in rows),
        changes=sum(row.kind == "file_change" for row in rows),
    )
