"""The record that an event was read from, as told by the app that imports files: this one must not depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions_app.extensions import EVENT_RECORD, providers
from sessions_app.models import Event


@dataclass(frozen=True, slots=True)
class Record:
    """A record as JSON. ``value`` is the part that the event was read from, ``around`` the whole of it.

    ``problem`` says in words why it cannot be read again.
    """

    value: Any = None
    around: Any = None
    problem: str = ""


NONE = Record()


def record_of(event: Event) -> Record:
    """The record of an event; without values where it was read from no file."""
    found = (provider(event) for provider in providers(EVENT_RECORD))
    return next((record for record in found if record is not None), NONE)
