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
ALWAYS = ("title", "run")
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


def shown(chosen: Sequence[str] | None) -> list[str]:
    """Names of the columns that are shown; one that a later version does not have is left out."""
    names = USUAL if chosen is None else chosen
    return [kind.name for kind in KINDS if kind.name in ALWAYS or kind.name in names]


def choices(names: Sequence[str]) -> list[tuple[Kind, bool]]:
    """The columns that can be chosen, each with whether it is."""
    return [(kind, kind.name in names) for kind in KINDS if kind.name not in ALWAYS]


def heads(read: ReadFilter, names: Sequence[str], widths: Mapping[str, int]) -> list[Column]:
    """Heads of these columns."""
    return [_head(read, kind, widths.get(kind.name)) for kind in KINDS if kind.name in names]


def _head(read: ReadFilter, kind: Kind, width: int | None) -> Column:
    if not kind.order:
        return Column(translated(kind.text), kind.css, name=kind.name, width=width)
    order = read.wanted.sort
    direction = {kind.order: "ascending", f"-{kind.order}": "descending"}.get(order, "")
    first = kind.order if kind.order == "title" else f"-{kind.order}"
    other = order.removeprefix("-") if order.startswith("-") else f"-{order}"
    url = read.query(sort=other if direction else first)
    return Column(translated(kind.text), kind.css, url, direction, kind.name, width)
