"""Events that are sent from outside: appended once each, and refused where an id comes again with other content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Event

from .log.events import Appended, key_of
from .log.heads import Seen
from .log.links import Origin
from .log.sanitise import identifier, plausible, storable, text
from .sessions import append_to_open

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as it was sent. Not ``is_timed``: it has the time of its receipt, which differs when it is repeated."""

    client_id: str
    event: EventDraft
    is_timed: bool


class Repeated(ValueError):
    """A ``client_id`` came again with other content; the message names it and what differs."""


@transaction.atomic
def append_sent(
    session_id: UUID, sent: Sequence[Sent], *, origin: Origin, among: Seen | None = None
) -> Appended:  # fmt: skip
    """``append_to_open``; a repeat has to be the same event again. Raises ``Repeated``, and what that raises."""
    appended = append_to_open(session_id, [one.event for one in sent], origin=origin, among=among)
    if appended.duplicates:  # only then does a batch cost another query
        _check_repeats(session_id, sent)
    return appended


def _check_repeats(session_id: UUID, sent: Sequence[Sent]) -> None:
    """Compare with what the log has, this batch included: two events of one batch may have one id."""
    keys = [key_of(one.event.key) for one in sent]
    rows = {row.key: row for row in Event.objects.filter(session_id=session_id, key__in=keys)}
    parents = {row.seq: row.key for row in _parents(session_id, rows.values())}
    for key, one in zip(keys, sent, strict=True):
        row = rows[key]
        if others := _differing(row, one, parents.get(row.parent_seq)):
            raise Repeated(
                f'client_id "{one.client_id}" is event {row.seq} of this session already, with another '
                f"{' and '.join(others)}; give another event an id of its own"
            )


def _as_kept(cost: Decimal | None) -> Decimal | None:
    """Rounded as PostgreSQL rounds a numeric to the ten places of the column."""
    return None if cost is None else cost.quantize(Decimal("1e-10"), ROUND_HALF_UP)


def _parents(session_id: UUID, rows: Any) -> Any:
    seqs = [row.parent_seq for row in rows if row.parent_seq is not None]
    return Event.objects.filter(session_id=session_id, seq__in=seqs).only("seq", "key") if seqs else ()


def _differing(row: Event, one: Sent, parent: Any) -> list[str]:
    """Names of the fields in which a repeat differs from what was kept of the first."""
    event = plausible(one.event)
    tool, usage = event.tool or ToolDraft(), event.usage or Usage()
    pairs = {
        "kind": (row.kind, event.kind),
        "actor": ((row.actor_kind, row.actor_name), (event.actor_kind, text(event.actor_name))),
        "text": (row.text, text(event.text)),
        "tool.call_id": (row.call_id, identifier(tool.call_id)),
        "tool.name": (row.tool_name, text(tool.name)),
        "tool.server": (row.tool_server, text(tool.server)),
        "tool.status": (row.tool_status, text(tool.status)),
        "tool.arguments": (row.arguments, storable(tool.arguments)),
        "tool.result": (row.result, storable(tool.result)),
        "model": (row.model, text(event.model)),
        "usage": ([getattr(row, name) for name in TOKENS], [getattr(usage, name) for name in TOKENS]),
        "cost": (row.cost, _as_kept(event.cost)),
        "data": (row.data, storable(event.data)),
    }
    names = [name for name, (first, second) in pairs.items() if first != second]
    if one.is_timed and row.at != event.at:
        names.append("at")
    # A parent that had not come yet is not in the row, so only one that is there can be compared.
    if parent is not None and (event.parent is None or key_of(event.parent) != parent):
        names.append("parent_client_id")
    return names
