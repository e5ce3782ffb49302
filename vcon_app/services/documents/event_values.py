"""The record of an event as JSON values: what a page looks through for images and sound."""

from __future__ import annotations

import re
from typing import Any

from sessions_app.models import Event
from sessions_app.queries.log.event_record import Record
from vcon_app.formats.common import jsonio
from vcon_app.queries import sources

from . import event_bytes

MOST = 32 * 1024 * 1024
"""Bytes of one record that are parsed for a page."""
_IN_LINE = re.compile(r"(?:^|: )L\d+((?:/[^:]*)?)$")
"""Of a pointer into a line (``L12/message/content/0``) the place in its JSON."""


def record_of(event: Event) -> Record | None:
    """The record that an event was read from; None for an event that came from no file."""
    link = sources.link_of(event)
    if link is None:
        return None
    try:
        found = event_bytes.read(event, link.document, MOST)
        if found.cut:
            return Record(problem="Its record in the file is too large to be looked through here.")
        value = jsonio.loads(found.data)[0]
    except event_bytes.NotShown as reason:
        return Record(problem=str(reason))
    except jsonio.Unreadable:
        return Record()  # a record that is no JSON holds its media as nothing that is known here
    return Record(_part(value, event.pointer), value)


def _part(value: Any, pointer: str) -> Any:
    inside = _IN_LINE.search(pointer)
    if not inside:
        return value
    try:
        return event_bytes.at_pointer(value, inside[1])
    except (LookupError, ValueError, jsonio.Unreadable):
        return value
