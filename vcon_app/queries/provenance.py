"""Which import a session was read by, and what its signature is worth."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, JSONField, QuerySet, Value, When, Window
from django.db.models.functions import FirstValue

from sessions_app.compiled import Compiled
from sessions_app.queries.sessions.provenance import UNSIGNED, Provenance
from vcon_app.models import ImportedSession
from vcon_app.signing.states import RANKS


def provenance_of(session_ids: Collection[UUID]) -> dict[UUID, Provenance]:
    """The newest import that is no repeat of another, of each session that was imported; one query for all.

    The signature is the worst among the files that events were read from: a session that grew shows events of an
    earlier file, too, and what was not signed then is not signed now. Of an archive only its own members count.
    """
    links = _LINKS_OF_ONE(*session_ids) if len(session_ids) == 1 else _links(session_ids)
    return {
        link.session_id: Provenance(link.imported_id, link.session.source_format, link.worst or UNSIGNED)
        for link in links
    }


def _links(session_ids: Collection[UUID]) -> QuerySet[Any]:
    return (
        ImportedSession.objects.filter(session_id__in=session_ids, imported__duplicate_of=None)
        .annotate(worst=_WORST).select_related("session").only("session_id", "imported_id", "session__source_format")
        .order_by("session_id", "-imported__created_at").distinct("session_id")
    )  # fmt: skip


_LINKS_OF_ONE = Compiled[Any](lambda session_id: _links([session_id]))


def sessions_of(import_id: UUID) -> QuerySet[ImportedSession, UUID]:
    """Ids of the sessions that an import gave, or gave more events."""
    return ImportedSession.objects.filter(imported_id=import_id).values_list("session_id", flat=True)


_RANK = Case(
    When(events=0, then=Value(len(RANKS))),
    *(When(signature__state=state, then=Value(rank)) for rank, state in enumerate(RANKS)),
    default=Value(RANKS.index("unsigned")),
    output_field=IntegerField(),
)
_WORST = Window(
    FirstValue("signature", output_field=JSONField()),
    partition_by=[F("session_id")],
    order_by=[_RANK.asc(), F("imported__created_at").desc()],
)
