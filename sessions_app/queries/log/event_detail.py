"""One event in full, each of its long values cut at a limit that a page can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, Sum, TextField
from django.db.models.expressions import Func
from django.db.models.functions import Left, Length

from sessions_app.models import Approval, Event, ModelRequest, Session, ToolCall, Turn

from . import links
from .links import EventOrigin
from .timeline import Entry, Light, read

SHOWN = 12 * 1024
WHOLE = 2 * 1024 * 1024
"""Characters that the inspector shows, and that "show all" loads at most."""
CARD = 512 * 1024
COUNTED = 1_000
"""So many tool calls of a session are counted by tool without being asked."""
CHILDREN = 100
"""Sessions that one started, of which it is told."""
JSON = ("arguments", "result", "data")
COLUMNS = {"text": F("text")} | {
    name: Func(F(name), function="jsonb_pretty", output_field=TextField()) for name in JSON
}


@dataclass(frozen=True, slots=True)
class Value:
    """The beginning of a text or of indented JSON, and how many characters there are in all."""

    text: str
    characters: int

    @property
    def cut(self) -> bool:
        return len(self.text) < self.characters


@dataclass(frozen=True, slots=True)
class Inspected:
    """An event and everything that is known of it. ``result`` is the event that answered a call."""

    entry: Entry
    row: Event
    """Without its long columns."""
    call: ToolCall | None
    result: Entry | None
    request: ModelRequest | None
    approval: Approval | None
    turn: Turn | None
    origin: EventOrigin | None
    """None where no link says how it came in."""


def event(session_id: UUID, seq: int) -> Inspected | None:
    """An event by its number, or None. A result that belongs to a call is found with that call."""
    own = {"session_id": session_id}
    row = Event.objects.filter(seq=seq, **own).defer("text", "arguments", "result", "data").first()
    if row is None:
        return None
    call = ToolCall.objects.filter(seq=seq, **own).first()
    entries = {entry.seq: entry for entry in read(Event.objects.filter(seq__in=[seq, call and call.result_seq], **own))}
    return Inspected(
        entry=entries[seq],
        row=row,
        call=call,
        result=entries.get(call.result_seq) if call and call.result_seq else None,
        request=_request(row),
        approval=Approval.objects.filter(event_seq=seq, **own).first(),
        turn=Turn.objects.filter(index=row.turn, **own).first(),
        origin=links.origins(session_id, [seq]).get(seq),
    )


def _request(row: Event) -> ModelRequest | None:
    """The model response this event is part of, whichever event shows its tokens."""
    return ModelRequest.objects.filter(session_id=row.session_id, key=row.request or f"seq:{row.seq}").first()


def value(session_id: UUID, seq: int, column: str, limit: int = SHOWN) -> Value | None:
    """A long value of an event: ``text``, or ``arguments``, ``result`` or ``data`` as indented JSON.

    None when there is no such event or value.
    """
    found = Event.objects.filter(session_id=session_id, seq=seq).annotate(shown=COLUMNS[column])
    row = found.annotate(head=Left("shown", limit), size=Length("shown")).values_list("head", "size").first()
    return Value(*row) if row and row[0] is not None else None


def kind_of(session_id: UUID, seq: int) -> str:
    """Kind of an event; empty when there is none."""
    return Event.objects.filter(session_id=session_id, seq=seq).values_list("kind", flat=True).first() or ""


def card(session_id: UUID, seq: int) -> dict[str, Any] | None:
    """Kind, tool name, text and JSON of an event, for the body of its card; None when there is no such event.

    JSON is whole up to ``CARD`` bytes, so that the diff of a long edit is the whole diff.
    """
    found = Event.objects.filter(session_id=session_id, seq=seq)
    cut = {
        "head": Left("text", SHOWN),
        "light_arguments": Light("arguments", CARD),
        "light_result": Light("result", CARD),
    }
    return found.annotate(**cut).values("kind", "tool_name", *cut).first()


KEPT = tuple(
    field.attname for field in Event._meta.concrete_fields
    if field.attname not in ("session_id", "key", "text", *JSON)
)  # fmt: skip


def kept(session_id: UUID, seq: int) -> dict[str, Any] | None:
    """The columns of an event that say something, long values cut as those of a card; None when there is none."""
    found = Event.objects.filter(session_id=session_id, seq=seq)
    cut = {"text_": Left("text", CARD), **{f"{name}_": Light(name, CARD) for name in JSON}}
    row = found.annotate(**cut).values(*KEPT, *cut).first()
    if row is None:
        return None
    return {name.removesuffix("_"): value for name, value in row.items() if value not in (None, "", {}, [])}


def tool_counts(session_id: UUID) -> list[dict[str, Any]]:
    """Calls, failures and time of each tool of a session, the most used first; reads all of its calls.

    Of a call whose result has its own time nobody knows how long it took.
    """
    took = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    is_known = Q(ended_at__gt=F("started_at"))
    counts = ToolCall.objects.filter(session_id=session_id).values("name", "server")
    return list(
        counts.annotate(
            calls=Count("seq"), failed=Count("seq", filter=Q(status="error")), took=Sum(took, filter=is_known)
        ).order_by("-calls", "name")[:200]
    )


def children(session_id: UUID) -> list[Session]:
    """Sessions that this one started, the oldest first; at most ``CHILDREN``."""
    found = Session.objects.filter(parent_id=session_id).select_related("agent").defer("source_record", "metadata")
    return list(found.order_by("started_at", "id")[:CHILDREN])


def seq_at(session_id: UUID, pointer: str) -> int | None:
    """The first event read from a place of the source document: that very place, inside it, or what holds it."""
    events, pointer = Event.objects.filter(session_id=session_id), pointer.replace("\0", "")
    inside = events.filter(Q(pointer=pointer) | Q(pointer__startswith=f"{pointer}/")).order_by("seq")
    found = inside.values_list("seq", flat=True).first()
    if found is None and pointer:
        parts = pointer.split("/")[:200]
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        around = events.filter(pointer__in=[path for path in above if path]).order_by(Length("pointer").desc(), "seq")
        found = around.values_list("seq", flat=True).first()
    return found
