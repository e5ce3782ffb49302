"""Columns of the session list: which there are, and which a reader sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sessions_app.phrases import gettext as _
from sessions_app.queries.sessions.session_filter import ReadFilter

from .translated import translated


@dataclass(frozen=True, slots=True)
class Kind:
    """A column that there is; one with an order can be sorted by."""

    name: str
    text: str
    css: str = ""
    order: str = ""


KINDS = (
    Kind("title", _("Session"), order="title"),
    Kind("run", _("Run"), "cell-strip"),
    Kind("agent", _("Agent")),
    Kind("models", _("Models")),
    Kind("started", _("Started"), order="started"),
    Kind("duration", _("Duration"), "right"),
    Kind("turns", _("Turns"), "right", "turns"),
    Kind("calls", _("Tool calls"), "right"),
    Kind("tokens", _("Tokens"), "right", "tokens"),
    Kind("cost", _("Cost"), "right", "cost"),
    Kind("errors", _("Errors"), "right", "errors"),
    Kind("verdict", _("Verdict")),
    Kind("assignee", _("Assigned to")),
    Kind("tags", _("Tags")),
    Kind("origin", _("Source")),
    Kind("added", _("Added"), order="created"),
)
BY_NAME = {kind.name: kind for kind in KINDS}
ALWAYS = ("title", "run")
"""They come first: a row begins with what it is of."""
WAYS = {"left": -1, "right": 1}
MOVED = "columns"
"""What says in the address which column was just moved, and so that the menu is open."""
CHOICE = tuple(kind.name for kind in KINDS if kind.name not in ALWAYS)
SIZED = tuple(kind.name for kind in KINDS if kind.name != "title")
"""Columns that a reader makes wider or narrower; the title has what is left."""
USUAL = ("agent", "started", "turns", "tokens", "cost", "errors", "verdict")


@dataclass(frozen=True)
class Column:
    """A head of the table; ``url`` sorts by it, or the other way round when it is sorted by it already."""

    text: str
    css: str
    url: str = ""
    sorted: str = ""
    """ascending, descending or nothing."""
    name: str = ""
    width: int | None = None
    """In CSS pixels, where the reader chose one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A column in the menu. ``focus``: left or right, the button that a key goes on with after a move."""

    kind: Kind
    on: bool
    can_left: bool
    can_right: bool
    focus: str = ""


def shown(chosen: Sequence[str] | None) -> list[str]:
    """Names of the columns that are shown, in order; one that a later version does not have is left out."""
    names = USUAL if chosen is None else chosen
    return [*ALWAYS, *(name for name in names if name in CHOICE)]


def choices(names: Sequence[str], moved: str = "") -> list[Choice]:
    """The columns that can be chosen, those that are shown before the others; ``moved`` as ``move`` was told it."""
    on = [name for name in names if name in CHOICE]
    name, _colon, way = moved.partition(":")
    rows = []
    for one in (*on, *(other for other in CHOICE if other not in on)):
        can = {"left": one in on[1:], "right": one in on[:-1]}
        focus = (way if can[way] else next((other for other in can if can[other]), "")) if way in WAYS else ""
        rows.append(Choice(BY_NAME[one], one in on, can["left"], can["right"], focus if one == name else ""))
    return rows


def move(names: Sequence[str], wanted: str) -> list[str]:
    """The names with one of them moved: ``wanted`` is ``cost:left`` or ``cost:right``. Another text changes nothing."""
    order, (name, _colon, way) = list(names), wanted.partition(":")
    if name not in order or way not in WAYS:
        return order
    here = order.index(name)
    there = min(max(here + WAYS[way], 0), len(order) - 1)
    order.insert(there, order.pop(here))
    return order


def heads(read: ReadFilter, names: Sequence[str], widths: Mapping[str, int]) -> list[Column]:
    """Heads of these columns."""
    return [_head(read, BY_NAME[name], widths.get(name)) for name in names]


def _head(read: ReadFilter, kind: Kind, width: int | None) -> Column:
    if not kind.order:
        return Column(translated(kind.text), kind.css, name=kind.name, width=width)
    order = read.wanted.sort
    direction = {kind.order: "ascending", f"-{kind.order}": "descending"}.get(order, "")
    first = kind.order if kind.order == "title" else f"-{kind.order}"
    other = order.removeprefix("-") if order.startswith("-") else f"-{order}"
    url = read.query(sort=other if direction else first)
    return Column(translated(kind.text), kind.css, url, direction, kind.name, width)
