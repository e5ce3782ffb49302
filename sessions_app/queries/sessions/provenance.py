"""Where sessions came from, as told by the app that imports them: this one must not depend on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.extensions import PROVENANCE, providers

UNSIGNED: dict[str, Any] = {"state": "unsigned", "signer": None, "detail": ""}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The import that a session was read by.

    ``signature`` has state, signer and detail, and where events were verified ``covers``: their first and last ``seq``.
    """

    import_id: UUID
    format: str
    signature: dict[str, Any]

    @property
    def is_signed(self) -> bool:
        """Whether its file carries a signature, also one that is worth nothing."""
        return self.signature["state"] not in ("unsigned", "encrypted")


def provenance_of(session_ids: Collection[UUID]) -> dict[UUID, Provenance]:
    """What is known of where these sessions came from, in one query for all; of those not imported nothing.

    The app that imports sessions fills the slot ``PROVENANCE`` with a function that takes and gives the same.
    """
    found: dict[UUID, Provenance] = {}
    for provider in providers(PROVENANCE) if session_ids else ():
        found |= provider(session_ids)
    return found
