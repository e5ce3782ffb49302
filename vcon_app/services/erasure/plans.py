"""What goes when somebody deletes a session or an import, and what stays: for the page that asks, and for the deed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from sessions_app.models import ModelRequest, Session
from sessions_app.services.log.erasure import CannotErase
from vcon_app.models import Export, Import, ImportedSession, SourceDocument

NAMED = 5
"""Sessions or imports that a message names before it counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Ids of what goes. Imports that go with their last session are among them."""

    sessions: frozenset[UUID]
    imports: frozenset[UUID]
    documents: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class Remains:
    """What is connected with what goes, and stays."""

    children: list[Session] = field(default_factory=list)
    """Sessions of sub-agents, which stand by themselves from then on."""
    continuations: list[Session] = field(default_factory=list)
    """They were begun with the transcript of what goes, which is in their logs."""
    repeating: int = 0
    """Other sessions whose files repeat responses of it, as resumed and forked ones do."""
    imports: list[Import] = field(default_factory=list)
    """Imports whose file tells more sessions, or that other imports brought, too: it stays in the storage."""
    at_provider: list[str] = field(default_factory=list)
    """Ids by which the provider of the agent's runtime knows it."""


def plan_session(session: Session, *, with_children: bool = False) -> Plan:
    """The session, with its sub-agents' where that is wanted, and the imports that nothing else was read from."""
    sessions = {session.pk}
    if with_children:
        grown = True
        while grown:
            found = set(Session.objects.filter(parent__in=sessions).values_list("pk", flat=True))
            grown = bool(found - sessions)
            sessions |= found
    others = ImportedSession.objects.filter(imported=OuterRef("pk")).exclude(session__in=sessions)
    imports = Import.objects.filter(session_links__session__in=sessions).exclude(Exists(others))
    return _plan(sessions, set(imports.values_list("pk", flat=True)))


def plan_import(imported: Import) -> Plan:
    """The import, its repeats, and the sessions that it made. Raises ``CannotErase`` for what must not be torn apart.

    Of a repeat only its row goes: the first import has the bytes and the sessions. A session that a newer file added
    nothing to does not go with that file.
    """
    if imported.status == Import.Status.RUNNING:
        raise CannotErase("this file is being read right now: wait until that is done, then delete it")
    if imported.duplicate_of_id:
        return _plan((), [imported.pk])
    made = Session.objects.filter(import_links__imported=imported).distinct()
    elsewhere = ImportedSession.objects.filter(session=OuterRef("pk"), imported__duplicate_of=None)
    shared = made.filter(Exists(elsewhere.exclude(imported=imported)))
    torn = shared.filter(
        Exists(ImportedSession.objects.filter(session=OuterRef("pk"), imported=imported, events__gt=0))
    )
    if count := torn.count():
        raise CannotErase(_why_torn(imported, list(torn.order_by("pk")[:NAMED]), count))
    alone = made.exclude(pk__in=shared.values("pk")).filter(origin=Session.Origin.IMPORT)
    repeats = Import.objects.filter(duplicate_of=imported).values_list("pk", flat=True)
    return _plan(set(alone.values_list("pk", flat=True)), [imported.pk, *repeats])


def remains_of(plan: Plan) -> Remains:
    """What a page has to say before it is done."""
    here = Session.objects.select_related("agent").defer("source_record").exclude(pk__in=plan.sessions).order_by("pk")
    linked = Q(session_links__session__in=plan.sessions) | Q(document__imports__in=plan.imports)
    kept = Import.objects.filter(linked).exclude(pk__in=plan.imports).exclude(document__in=plan.documents)
    told = Session.objects.filter(pk__in=plan.sessions).exclude(runtime_id="")
    repeating = ModelRequest.objects.filter(counted_in__in=plan.sessions).exclude(session__in=plan.sessions)
    return Remains(
        list(here.filter(parent__in=plan.sessions)),
        list(here.filter(continues__in=plan.sessions)),
        repeating.aggregate(count=Count("session", distinct=True))["count"],
        list(kept.defer("findings").distinct().order_by("pk")),
        list(told.values_list("runtime_id", flat=True)),
    )


def exports_of(sessions: Collection[UUID]) -> list[UUID]:
    """Ids of exports of these sessions, under which their files are stored."""
    return list(Export.objects.filter(session__in=sessions).values_list("pk", flat=True))


def _plan(sessions: Collection[UUID], imports: Collection[UUID]) -> Plan:
    gone = frozenset(imports)
    used = Import.objects.filter(document=OuterRef("pk")).exclude(pk__in=gone)
    documents = SourceDocument.objects.filter(imports__in=gone).exclude(Exists(used)).distinct()
    return Plan(frozenset(sessions), gone, frozenset(documents.values_list("pk", flat=True)))


def _why_torn(imported: Import, torn: Collection[Session], count: int) -> str:
    """Which sessions other files told, too, and what to do."""
    others = Import.objects.filter(session_links__session__in=[each.pk for each in torn], duplicate_of=None)
    names = others.exclude(pk=imported.pk).distinct().order_by("-pk").values_list("filename", flat=True)[:NAMED]
    titles = ", ".join(f'"{session}"' for session in torn)
    more = f" and {count - len(torn)} more" if count > len(torn) else ""
    return (
        f"{titles}{more} was also read from {', '.join(names)}: delete the session itself, and every file that tells "
        "nothing else goes with it"
    )
