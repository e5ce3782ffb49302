"""Where sessions came from, as told by the app that imports them: this one must not depend on it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

UNSIGNED: dict[str, Any] = {"state": "unsigned", "signer": None, "detail": ""}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The import that a session was read by. ``signature`` has state, signer and detail."""

    import_id: UUID
    format: str
    signature: dict[str, Any]


Provider = Callable[[Collection[UUID]], dict[UUID, Provenance]]
"""Sessions by id, in one query for all; those that were not imported are left out."""

_providers: list[Provider] = []


def register(provider: Provider) -> None:
    """Called once, by the importing app as it loads."""
    _providers.append(provider)


def provenance_of(session_ids: Collection[UUID]) -> dict[UUID, Provenance]:
    """What is known of where these sessions came from."""
    found: dict[UUID, Provenance] = {}
    for provider in _providers if session_ids else ():
        found |= provider(session_ids)
    return found
