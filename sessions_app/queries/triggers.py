"""Schedules and webhook endpoints with their state, their trigger runs and their deliveries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, TypedDict
from uuid import UUID

from django.db.models import BooleanField, Count, ExpressionWrapper, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from sessions_app.models import Schedule, Session, TriggerRun, WebhookDelivery, WebhookEndpoint

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

STARTED_BY_A_TRIGGER = (Session.Origin.SCHEDULE, Session.Origin.WEBHOOK, Session.Origin.SLACK)
HEAVY = ("session__source_record", "session__metadata")
HEAVY_DELIVERY = ("delivery__payload", "delivery__headers", "delivery__endpoint__secret")


class LastRun(TypedDict):
    """What ``schedules`` adds to a schedule."""

    last_run_id: UUID | None


class LastDelivery(TypedDict):
    """What ``endpoints`` adds to an endpoint."""

    last_delivery_id: UUID | None
    waiting: int
    has_secret: bool


ScheduleWithRun: TypeAlias = "WithAnnotations[Schedule, LastRun]"
EndpointWithDelivery: TypeAlias = "WithAnnotations[WebhookEndpoint, LastDelivery]"


def runs(workspace_id: UUID) -> QuerySet[TriggerRun]:
    """Trigger runs, the newest first, each with what it belongs to."""
    found = TriggerRun.objects.filter(workspace_id=workspace_id)
    found = found.select_related("session", "agent", "schedule", "delivery__endpoint")
    return found.defer(*HEAVY, *HEAVY_DELIVERY).order_by("-id")


def schedules(workspace_id: UUID) -> QuerySet[ScheduleWithRun]:
    """Schedules by name, each with its agent and ``last_run_id``."""
    last = TriggerRun.objects.filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    found = Schedule.objects.filter(workspace_id=workspace_id).select_related("agent")
    return found.annotate(last_run_id=Subquery(last)).order_by("name")


def with_last_runs(found: Iterable[ScheduleWithRun]) -> list[ScheduleWithRun]:
    """The same schedules, each with ``last_run`` (None before the first): one query."""
    rows = list(found)
    known = TriggerRun.objects.select_related("session").defer(*HEAVY).in_bulk([row.last_run_id for row in rows])
    for row in rows:
        row.last_run = known.get(row.last_run_id)
    return rows


def endpoints(workspace_id: UUID) -> QuerySet[EndpointWithDelivery]:
    """Endpoints by name, each with its agent, ``has_secret``, ``last_delivery_id`` and ``waiting`` (not acknowledged).

    The secret stays encrypted: one that was encrypted under another ``SECRET_KEY`` must not take the page with it.
    """
    mine = WebhookDelivery.objects.filter(endpoint=OuterRef("pk")).order_by("-id")
    waiting = mine.filter(acknowledged_at=None).order_by().values("endpoint").annotate(number=Count("pk"))
    has_secret = ExpressionWrapper(~Q(secret=""), output_field=BooleanField())
    found = WebhookEndpoint.objects.filter(workspace_id=workspace_id).select_related("agent").defer("secret")
    return found.annotate(
        last_delivery_id=Subquery(mine.values("pk")[:1]),
        waiting=Coalesce(Subquery(waiting.values("number")), 0),
        has_secret=has_secret,
    ).order_by("-active", "name")


def with_last_deliveries(found: Iterable[EndpointWithDelivery]) -> list[EndpointWithDelivery]:
    """The same endpoints, each with ``last_delivery`` (None before the first) and its runs: two queries."""
    rows = list(found)
    known = _light(WebhookDelivery.objects.all()).in_bulk([row.last_delivery_id for row in rows])
    with_latest_runs(known.values())
    for row in rows:
        row.last_delivery = known.get(row.last_delivery_id)
    return rows


def with_latest_runs(found: Iterable[WebhookDelivery]) -> list[WebhookDelivery]:
    """The same deliveries, each with ``latest_run`` of those that came with it (None where it was only kept)."""
    rows = list(found)
    for row in rows:
        row.latest_run = max(row.runs.all(), key=lambda run: run.pk, default=None)
    return rows


def deliveries(endpoint: WebhookEndpoint, acknowledged: bool | None = None) -> QuerySet[WebhookDelivery]:
    """Deliveries to an endpoint, the newest first, each with its runs and without its content."""
    found = WebhookDelivery.objects.filter(endpoint=endpoint)
    if acknowledged is not None:
        found = found.filter(acknowledged_at__isnull=not acknowledged)
    return _light(found).order_by("-id")


def _light(found: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
    of_delivery = TriggerRun.objects.select_related("session").defer(*HEAVY).order_by("id")
    return found.defer("payload", "headers").prefetch_related(Prefetch("runs", of_delivery))


def delivery(workspace_id: UUID) -> QuerySet[WebhookDelivery]:
    """Whole deliveries, each with its endpoint and runs."""
    found = WebhookDelivery.objects.filter(workspace_id=workspace_id).select_related("endpoint__agent")
    of_delivery = TriggerRun.objects.select_related("session").defer(*HEAVY).order_by("id")
    return found.defer("endpoint__secret").prefetch_related(Prefetch("runs", of_delivery))


def that_started(session_id: UUID) -> TriggerRun | None:
    """The trigger run that began a session."""
    found = TriggerRun.objects.filter(session=session_id).select_related("schedule", "delivery__endpoint")
    return found.defer(*HEAVY_DELIVERY).order_by("id").first()


def that_started_each(sessions: Iterable[Session]) -> dict[UUID, TriggerRun]:
    """The trigger run that began each of these sessions: one query, and none where no trigger began any."""
    begun = [session.pk for session in sessions if session.origin in STARTED_BY_A_TRIGGER]
    if not begun:
        return {}
    found = TriggerRun.objects.filter(session_id__in=begun).only("session_id", "schedule_id", "delivery_id")
    return {run.session_id: run for run in found.order_by("-id") if run.session_id}
