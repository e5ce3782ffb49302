"""Where imports and exports wait for a worker, in words."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sessions_app.queries import waiting
from sessions_app.queries.waiting import Place
from vcon_app.models import Job


def places(workspace_id: UUID, jobs: Iterable[Job]) -> dict[UUID, Place]:
    """Places in line of those that wait; without a query when none does."""
    queued = [job.pk for job in jobs if job.status == Job.Status.QUEUED]
    return waiting.places(workspace_id, queued) if queued else {}


def sentence(requested_by: str, place: Place | None) -> str:
    """Others take their turns in between, so it is the person's own line that says how far it is."""
    if place is None or not place.before:
        return "Waits for a worker."
    number = f"{place.before:,}" if place.is_exact else f"at least {place.before:,}"
    whose = f"of {requested_by}" if requested_by else "of the same sender"
    return f"Waits behind {number} {'other' if place.before == 1 else 'others'} {whose}."
