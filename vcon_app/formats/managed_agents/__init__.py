"""Events of Anthropic Managed Agents: pages of ``GET /v1/sessions/{id}/events``, and recorded event streams.

Read from JSON Lines, server-sent events, a list, or a page (``data`` or ``events``), each with or without the
session object. No recording has been published: the types are those of the Python SDK 2.10 and of the
documentation of November 2026. An event has an id, and processed_at, which is null while it is queued. The API
asks for a confirmation where ``evaluated_permission`` is ask; both become ``approval`` events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.head import Head
from ..common.records import first_records, records
from ..common.values import text_of
from ..contract import Spec
from .events import HANDLERS
from .reading import Reading
from .stream import events_of

NAME = "managed-agents"
SPEC = Spec(
    name=NAME,
    title="Managed Agents",
    grows="lines",
    spread=True,
)

PLACES = ("", "item.", "data.item.", "events.item.", "session.")


def detect(head: Head) -> bool:
    """By an event (an id of its kind, or a type and ``processed_at``) or a session object."""
    return any(map(_is_ours, first_records(head))) or any(_is_ours(_object_at(head, place)) for place in PLACES)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, one event in memory at a time. Raises ``FormatError`` for what is no JSON."""
    return Reading(HANDLERS).run(events_of(records(source, NAME), NAME))


def _is_ours(value: dict[str, Any]) -> bool:
    kind, id = value.get("type"), text_of(value.get("id"))
    if not isinstance(kind, str):
        return False
    if kind == "session":
        return id.startswith("sesn_")
    return id.startswith("sevt_") or ("processed_at" in value and "uuid" not in value)


def _object_at(head: Head, place: str) -> dict[str, Any]:
    """The scalars of an object in the head's shape."""
    found = {name: head.shape.get(place + name, "{") for name in ("type", "id", "processed_at", "uuid")}
    return {name: value for name, value in found.items() if value not in ("{", "[")}
