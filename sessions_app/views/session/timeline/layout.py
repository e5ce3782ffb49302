"""Rows put in order: as many as fit a window, runs of them folded, and turns around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.utils.translation import gettext, ngettext

from sessions_app.models import Turn
from sessions_app.queries.log.story import Run
from sessions_app.queries.log.timeline import Window
from sessions_app.queries.retention.folds import Fold
from sessions_app.rendering import pauses, text
from sessions_app.rendering.titles import title_of_prompt

from ... import zones
from ...translated import translated
from .row_kinds import Call, Message, PrunedRow, Quiet, Row, RunRow
from .rows import row_of
from .said import Said

BYTES = 120_000
"""HTML of the rows of one window. With the frame around it a first page stays below 300 KB."""
PRUNED = "sessions/_pruned.html"
RUN = 4
"""So many tool calls in a row are folded into one line; so many quiet rows, too."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of a lens are put together: what makes a row, whether runs are folded, how a turn looks."""

    row_of: Callable[[Any, Window, Said | None], Row]
    folds: bool = False
    template: str = "sessions/_section.html"
    by_turn: bool = True
    """Whether a window has a section for each turn, or is one."""


STEPS = Form(row_of, folds=True)
"""Each row of the timeline, long runs of them folded."""
ALONE = Form(row_of)
"""Each row by itself."""


def _row_of_story(entry: Any, window: Window, mark: Said | None) -> Row:
    if isinstance(entry, Fold):
        return PrunedRow.of(entry)
    return RunRow.of(entry) if isinstance(entry, Run) else row_of(entry, window, mark)


JOINED = Form(_row_of_story)
"""The story: its runs are joined where it is read."""


@dataclass(frozen=True, slots=True)
class Group:
    """A run of rows folded into one line: ``14 tool calls · 6 Read, 4 Edit · 1 failed``."""

    rows: list[Row]
    open: bool

    template = "sessions/rows/_group.html"

    @property
    def calls(self) -> list[Call]:
        return [row for row in self.rows if isinstance(row, Call)]

    @property
    def failed(self) -> int:
        return sum(call.failed for call in self.calls)

    @property
    def names(self) -> str:
        """Names of the tools in it, the most frequent first: ``6 Read, 4 Edit, 2 others``."""
        if self.calls:
            counts = Counter(text.first_line(call.entry.tool_name or gettext("unnamed"), 30) for call in self.calls)
        else:
            counts = Counter(
                text.first_line(translated(row.what or row.label), 30) for row in self.rows if isinstance(row, Quiet)
            )
        shown = [f"{count} {name}" for name, count in counts.most_common(4)]
        others = sum(counts.values()) - sum(count for _, count in counts.most_common(4))
        return ", ".join(
            shown + ([ngettext("%(count)s other", "%(count)s others", others) % {"count": others}] if others else [])
        )

    @property
    def others(self) -> int:
        """Quiet rows between the calls."""
        return len(self.rows) - len(self.calls) if self.calls else 0


@dataclass(frozen=True, slots=True)
class SignedEnd:
    """The place where the events end that a signature covers."""

    first_seq: int
    last_seq: int
    before: int
    """The first row behind it."""

    template: ClassVar[str] = "sessions/rows/_signed_end.html"


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one turn in a window. ``head`` is the prompt when the head of the turn says all of it."""

    turn: Turn | None
    index: int
    continued: bool
    head: Message | None
    items: list[Row | Group | SignedEnd]
    template: str
    abandoned_by: int | None = None
    """The prompt for which a person went back to before this turn."""
    instead_of: int | None = None
    """The prompt that the one of this turn took the place of."""
    folded_at: int | None = None
    """The first row of a turn of which only the head is shown."""

    @property
    def seq(self) -> int | None:
        """The event that the head stands for."""
        return self.head.entry.seq if self.head else self.folded_at

    @property
    def pause(self) -> pauses.Pause | None:
        """The time before the turn, where the page tells it."""
        return None if self.continued or self.turn is None else _pause_before(self.turn)

    @property
    def first_line(self) -> str:
        return title_of_prompt(self.turn.prompt, 140) if self.turn else ""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Part of a window that fits a page, and the rows between which it lies."""

    sections: list[Section]
    first_seq: int | None
    last_seq: int | None
    earlier: bool
    later: bool


def sections(
    window: Window,
    opened: frozenset[int] = frozenset(),
    marks: Mapping[int, Said] | None = None,
    signed_end: SignedEnd | None = None,
    *,
    whole: bool = False,
    form: Form | None = None,
    folded: frozenset[int] = frozenset(),
) -> Fitted:
    """The rows of a window that fit, by turn. A run that holds a seq of ``opened`` is shown unfolded.

    ``folded``: turns that are their heads alone. ``whole``: the window is known to begin where the rows of a turn do,
    which an event without a row may precede.
    """
    form = form or STEPS
    rows, cut_above, cut_below = _fit(window, marks or {}, form)
    return Fitted(
        sections=[
            _folded_section(run, window, form)
            if run[0].entry.turn in folded and not isinstance(run[0], PrunedRow)
            else _section(run, window, opened, signed_end, top=is_top, form=form)
            for run, is_top in _with_tops(_by_turn(rows) if form.by_turn else [rows] if rows else [], whole)
        ],
        first_seq=rows[0].entry.seq if rows else None,
        last_seq=rows[-1].last if rows else None,
        earlier=window.earlier or cut_above,
        later=window.later or cut_below,
    )


def _fit(window: Window, marks: Mapping[int, Said], form: Form) -> tuple[list[Row], bool, bool]:
    """Rows from the anchor down and then from the anchor up, until the window is full; one always fits."""
    budget = BYTES
    below, budget = _fill(form, window, marks, window.entries[window.anchor :], budget, least=1)
    above, _ = _fill(form, window, marks, window.entries[: window.anchor][::-1], budget, least=0 if below else 1)
    cut_above = len(above) < window.anchor
    cut_below = len(below) < len(window.entries) - window.anchor
    return above[::-1] + below, cut_above, cut_below


def _fill(
    form: Form, window: Window, marks: Mapping[int, Said], entries: Sequence, budget: int, least: int
) -> tuple[list[Row], int]:
    rows: list[Row] = []
    for entry in entries:
        row = form.row_of(entry, window, marks.get(entry.seq))
        if row.size > budget and len(rows) >= least:
            return rows, 0
        rows.append(row)
        budget -= row.size
    return rows, budget


def _by_turn(rows: list[Row]) -> Iterable[list[Row]]:
    run: list[Row] = []
    for row in rows:
        if run and (row.entry.turn != run[0].entry.turn or isinstance(row, PrunedRow) or isinstance(run[0], PrunedRow)):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _with_tops(runs: Iterable[list[Row]], whole: bool) -> Iterable[tuple[list[Row], bool]]:
    """Each with whether its turn may have begun before it: at the top of a window, and behind what is out of sight."""
    is_top = not whole
    for run in runs:
        yield run, is_top
        is_top = isinstance(run[0], PrunedRow)


def _section(
    rows: list[Row],
    window: Window,
    opened: frozenset[int],
    signed_end: SignedEnd | None,
    *,
    top: bool,
    form: Form,
) -> Section:
    first, turn = rows[0], window.turns.get(rows[0].entry.turn)
    if isinstance(first, PrunedRow):
        return Section(None, first.entry.turn, True, None, [*rows], PRUNED)
    continued = top and turn is not None and first.entry.seq > turn.first_seq
    is_prompt = (
        isinstance(first, Message) and first.entry.kind == "user_message" and first.short and not first.entry.depth
    )
    is_behind_end = signed_end is not None and first.entry.seq == signed_end.before
    head = first if is_prompt and not continued and turn and turn.index and not is_behind_end else None
    rewound = {later: before for before, later in window.rewinds}
    return Section(
        turn,
        first.entry.turn,
        continued,
        head,
        list(_bracketed(list(_with_end(rows[1:] if head else rows, opened, signed_end, form)))),
        form.template,
        abandoned_by=None if first.entry.depth else window.abandoned_by(first.entry.seq),
        instead_of=None if continued else rewound.get(turn.first_seq) if turn else None,
    )


def _pause_before(turn: Turn) -> pauses.Pause | None:
    """Of a turn in a window, by the reader's clock."""
    since, until = getattr(turn, "previous_ended_at", None), turn.started_at
    return pauses.between(since and zones.local(since), until and zones.local(until))


def _folded_section(rows: list[Row], window: Window, form: Form) -> Section:
    """The head of a turn, with its prompt in one line however long that is."""
    first = rows[0].entry
    return Section(
        window.turns.get(first.turn), first.turn, False, None, [], form.template,
        abandoned_by=window.abandoned_by(first.seq), folded_at=first.seq,
    )  # fmt: skip


def _with_end(
    rows: list[Row], opened: frozenset[int], signed_end: SignedEnd | None, form: Form
) -> Iterable[Row | Group | SignedEnd]:
    """Rows, folded, with the end of what is signed between them where it is among them."""
    folded = _folded if form.folds else lambda rows, _: rows
    places = [place for place, row in enumerate(rows) if signed_end and row.entry.seq == signed_end.before]
    if not signed_end or not places:
        yield from folded(rows, opened)
        return
    yield from folded(rows[: places[0]], opened)
    yield signed_end
    yield from folded(rows[places[0] :], opened)


def _folded(rows: list[Row], opened: frozenset[int]) -> Iterable[Row | Group]:
    run: list[Row] = []
    for row in rows:
        if row.folds and not row.mark:  # what others sent does not hide in a fold
            run.append(row)
        else:
            yield from _fold(run, opened)
            yield row
            run = []
    yield from _fold(run, opened)


def _fold(run: list[Row], opened: frozenset[int]) -> Iterable[Row | Group]:
    """A run as one group when there is enough of it; else its rows, with long stretches of quiet ones folded."""
    calls = sum(isinstance(row, Call) for row in run)
    if calls >= RUN or (not calls and len(run) >= RUN):
        yield Group(list(_bracketed(run)), open=any(row.entry.seq in opened for row in run))
    else:
        yield from run


def _bracketed(items: Sequence[Any]) -> Iterable[Any]:
    """Items, with neighbours of one response of the model told so: what it used stands on one of its rows only."""
    responses = [item.entry.request if isinstance(item, Row) and item.brackets else None for item in items]
    for item, before, own, after in zip(items, [None, *responses], responses, [*responses[1:], None], strict=False):
        if own is None or own not in (before, after) or not isinstance(item, Row):
            yield item
        else:
            ends = " is-first" * (before != own) + " is-last" * (after != own)
            yield replace(item, bracket=f"of-response{ends}")
