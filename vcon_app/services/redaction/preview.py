"""A session as it would be after a redaction, in pages, and how much of what would go. Nothing is written.

Counting looks at the kind of each event and at which parts it has, never at what it says; only the events of a page are
read whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sessions_app.models import Session
from vcon_app.drafts import EventDraft, Json, Kind, SessionDraft, ToolDraft
from vcon_app.formats.common.jsonio import dumps
from vcon_app.formats.vcon.redacting import EVENT, PEOPLE, Redacted, Selection, pseudonyms, session_without

from ...queries import redactions as queries
from ...queries.log_reader import LogEvents, session_draft
from .redaction_rules import Rule, selection_of

ROWS = 30


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it would be; ``gone`` names the parts that it would have lost."""

    seq: int
    event: EventDraft
    gone: tuple[str, ...]
    renamed: bool
    """Its person would have another name."""

    @property
    def words(self) -> str:
        """The kind as people say it."""
        return self.event.kind.replace("_", " ")

    @property
    def arguments(self) -> str:
        """The arguments that stay, as JSON."""
        return _json(self.event.tool.arguments) if self.event.tool else ""

    @property
    def result(self) -> str:
        """The structured result that stays, as JSON."""
        return _json(self.event.tool.result) if self.event.tool else ""


def _json(value: Json) -> str:
    return "" if value is None else dumps(value).decode()


@dataclass(frozen=True, slots=True)
class Preview:
    """A page of it."""

    session: SessionDraft
    """The session itself, without its events."""
    whole: frozenset[str]
    """What goes of the session as a whole."""
    parts: dict[str, int]
    """Part -> how many events lose it."""
    kinds: dict[str, int]
    """Kind -> how many events of it change."""
    changed: int
    events: int
    rows: list[Row]
    next_after: int | None


def preview(session: Session, rules: list[Rule], *, after: int = 0, changed_only: bool = True) -> Preview:
    """The events behind ``after`` as they would be: those that lose something, or all."""
    last = session.last_seq
    selection = selection_of(session.pk, "", rules, last)
    draft = session_draft(session)
    names = queries.names_of_persons(session.pk, last) if PEOPLE in selection.whole else None
    people = pseudonyms(draft, names) if names is not None else {}
    parts, kinds, changed = _counted(session, selection)
    seqs = changed if changed_only else range(1, last + 1)
    page = [seq for seq in seqs if seq > after][: ROWS + 1]
    return Preview(
        session=session_without(draft, selection, people),
        whole=selection.whole,
        parts=dict(parts),
        kinds=dict(kinds),
        changed=len(changed),
        events=last,
        rows=list(_rows(session, selection, people, page[:ROWS])),
        next_after=page[ROWS - 1] if len(page) > ROWS else None,
    )


def _counted(session: Session, selection: Selection) -> tuple[Counter[str], Counter[str], list[int]]:
    """How often each part goes, of which kinds of events, and the numbers of those events."""
    parts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    changed = []
    only = None if selection.every else list(selection.parts)
    for seq, kind, has_arguments, has_result in queries.shapes(session.pk, session.last_seq, only):
        shape = EventDraft(
            cast(Kind, kind), "", tool=ToolDraft(arguments=has_arguments or None, result=has_result or None)
        )
        if gone := selection.parts_of(seq, shape):
            parts.update(gone)
            kinds[kind] += 1
            changed.append(seq)
    return parts, kinds, changed


def _rows(session: Session, selection: Selection, people: dict[str, str], seqs: list[int]) -> Iterator[Row]:
    log = LogEvents(session)
    redacted = Redacted(log, selection, people)
    for seq, event in log.at(seqs):
        would_be = redacted.one(seq, event)
        gone = tuple(sorted(selection.parts_of(seq, event)))
        yield Row(seq, would_be, gone, would_be.actor_name != event.actor_name and EVENT not in gone)
