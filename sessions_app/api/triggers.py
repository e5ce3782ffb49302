"""Schedules, webhook endpoints, what came to them, and what each fire led to."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries import triggers as queries
from sessions_app.services.triggers import Refused, schedules, unattended, webhook_deliveries, webhook_endpoints

from .agents import agent_read
from .auth import admin, reader, writer
from .idempotency import once, once_hiding
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import Problem, invalid, not_found
from .schemas.common import NOTHING, NoBody
from .schemas.triggers import (
    Acknowledged,
    Acknowledgement,
    Delivery,
    DeliveryRow,
    NewSchedule,
    NewSecret,
    NewWebhook,
    Schedule,
    ScheduleChanges,
    TriggerRun,
    Webhook,
    WebhookChanges,
    WebhookWithSecret,
)

router = Router(tags=["triggers"])
Status = models.TriggerRun.Status
Kind = models.TriggerRun.Kind
InStatus = Annotated[str, Query("", description=", ".join(Status.values))]
OfKind = Annotated[str, Query("", description=", ".join(Kind.values))]
OfOne = Annotated[UUID | None, Query(description="only runs of this one")]
Seen = Annotated[bool | None, Query(None, description="true or false: only those that are, or are not; else all")]

FAULTS: dict[type[Exception], Any] = {
    Refused: lambda error: invalid(f"/{error.field}", str(error)),
    models.Schedule.DoesNotExist: lambda error: not_found("schedule"),  # somebody else was faster
    webhook_deliveries.NoAgent: lambda error: Problem(409, str(error)),
    webhook_deliveries.Emptied: lambda error: Problem(409, str(error)),
}


# --- schedules --------------------------------------------------------------------------------------------------


@router.get("/schedules", auth=reader, response=Page[Schedule])
def list_schedules(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the schedules of the workspace, newest first."""
    found = models.Schedule.objects.filter(workspace=request.auth.workspace).select_related("agent")
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    rules = _rules(request)
    return reply(Page(items=[Schedule.from_row(row, rules) for row in rows], next_cursor=next_cursor))


@router.post("/schedules", auth=admin, response={201: Schedule})
@once
def create_schedule(request: HttpRequest, schedule: NewSchedule) -> HttpResponse:
    """Have an agent begin a session at the times of a cron expression (five fields) in a time zone. 404 for an agent
    that does not exist.
    """
    fields = schedule.model_dump(exclude={"agent_id"})
    made = schedules.create(agent_read(request, schedule.agent_id), by=request.auth.actor, **fields)
    return reply(Schedule.from_row(made, _rules(request)), 201)


@router.get("/schedules/{uuid:schedule_id}", auth=reader, response=Schedule)
def read_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Return a schedule."""
    return reply(Schedule.from_row(_schedule(request, schedule_id), _rules(request)))


@router.patch("/schedules/{uuid:schedule_id}", auth=admin, response=Schedule)
def change_schedule(request: HttpRequest, schedule_id: UUID, changes: ScheduleChanges) -> HttpResponse:
    """Change the fields that are sent. `enabled` pauses and resumes; times that passed in a pause are
    not made up for.
    """
    changed = schedules.change(_schedule(request, schedule_id), _changes(request, changes), by=request.auth.actor)
    return reply(Schedule.from_row(changed, _rules(request)))


@router.delete("/schedules/{uuid:schedule_id}", auth=admin, response={204: None})
def delete_schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Delete a schedule. Its runs stay."""
    schedules.delete(_schedule(request, schedule_id), by=request.auth.actor)
    return HttpResponse(status=204)


@router.post("/schedules/{uuid:schedule_id}/run", auth=writer, response={201: TriggerRun})
@once
def run_schedule(request: HttpRequest, schedule_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Fire a schedule now, even while it is paused. The run says what came of it."""
    run = schedules.run_now(_schedule(request, schedule_id), by=request.auth.actor)
    return reply(TriggerRun.from_row(run), 201)


# --- webhook endpoints ------------------------------------------------------------------------------------------


@router.get("/webhooks", auth=reader, response=Page[Webhook])
def list_webhooks(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the webhook endpoints of the workspace, newest first, with those that are deactivated."""
    rows, next_cursor = keyset(queries.endpoints(request.auth.workspace.id), "id", limit, cursor, UUID)
    rules = _rules(request)
    items = [Webhook.from_row(row, _url(request, row), rules) for row in rows]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.post("/webhooks", auth=admin, response={201: WebhookWithSecret})
@once_hiding("secret")
def create_webhook(request: HttpRequest, webhook: NewWebhook) -> HttpResponse:
    """Make an address for others to post to. Only this answer has a secret that was made here. 404
    without the agent.
    """
    agent = agent_read(request, webhook.agent_id) if webhook.agent_id else None
    fields = {"agent": agent, "by": request.auth.actor, "secret": webhook.secret, "when_asking": webhook.when_asking}
    endpoint, secret = webhook_endpoints.create(request.auth.workspace.id, webhook.name, webhook.scheme, **fields)
    return _with_secret(request, endpoint.pk, secret, 201)


@router.get("/webhooks/{uuid:webhook_id}", auth=reader, response=Webhook)
def read_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Return a webhook endpoint."""
    return _webhook_reply(request, webhook_id)


@router.patch("/webhooks/{uuid:webhook_id}", auth=admin, response=Webhook)
def change_webhook(request: HttpRequest, webhook_id: UUID, changes: WebhookChanges) -> HttpResponse:
    """Give it another agent (null: none), deactivate it, or activate it again."""
    webhook_endpoints.change(_webhook(request, webhook_id), _changes(request, changes), by=request.auth.actor)
    return _webhook_reply(request, webhook_id)


@router.delete("/webhooks/{uuid:webhook_id}", auth=admin, response={204: None})
def delete_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Deactivate a webhook endpoint: posts to it get 404. Its deliveries stay, and its name stays reserved."""
    webhook_endpoints.change(_webhook(request, webhook_id), {"active": False}, by=request.auth.actor)
    return HttpResponse(status=204)


@router.post("/webhooks/{uuid:webhook_id}/secret", auth=admin, response=WebhookWithSecret)
def rotate_secret(request: HttpRequest, webhook_id: UUID, new: NewSecret) -> HttpResponse:
    """Replace its secret, at once; an unsigned endpoint (scheme `none`) gets another address instead."""
    secret = webhook_endpoints.rotate(_webhook(request, webhook_id), by=request.auth.actor, secret=new.secret)
    return _with_secret(request, webhook_id, secret, 200)


# --- deliveries -------------------------------------------------------------------------------------------------


@router.get("/webhooks/{uuid:webhook_id}/deliveries", auth=reader, response=Page[DeliveryRow])
def list_deliveries(
    request: HttpRequest, webhook_id: UUID, limit: Limit, cursor: Cursor, acknowledged: Seen
) -> HttpResponse:
    """List what came to a webhook endpoint, newest first, without its content."""
    found = queries.deliveries(_webhook(request, webhook_id), acknowledged)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[DeliveryRow.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/webhooks/{uuid:webhook_id}/deliveries/{uuid:delivery_id}", auth=reader, response=Delivery)
def read_delivery(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Return a delivery with its content."""
    return reply(Delivery.from_row(_delivery(request, webhook_id, delivery_id)))


@router.post("/webhooks/{uuid:webhook_id}/deliveries/acknowledge", auth=writer, response=Acknowledged)
def acknowledge_deliveries(request: HttpRequest, webhook_id: UUID, those: Acknowledgement) -> HttpResponse:
    """Acknowledge deliveries; the answer is how many were not acknowledged before. Unknown ids are left out."""
    mine = queries.deliveries(_webhook(request, webhook_id)).filter(pk__in=those.ids).values_list("pk", flat=True)
    changed = webhook_deliveries.acknowledge(request.auth.workspace.id, list(mine), by=request.auth.actor)
    return reply(Acknowledged(acknowledged=changed))


@router.post("/webhooks/{uuid:webhook_id}/deliveries/{uuid:delivery_id}/acknowledge", auth=writer, response=Delivery)
def acknowledge_delivery(
    request: HttpRequest, webhook_id: UUID, delivery_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:
    """Acknowledge a delivery; a second time changes nothing."""
    delivery = _delivery(request, webhook_id, delivery_id)
    webhook_deliveries.acknowledge(delivery.workspace_id, [delivery.pk], by=request.auth.actor)
    return reply(Delivery.from_row(_delivery(request, webhook_id, delivery_id)))


@router.post(
    "/webhooks/{uuid:webhook_id}/deliveries/{uuid:delivery_id}/replay", auth=writer, response={201: TriggerRun}
)
@once
def replay_delivery(
    request: HttpRequest, webhook_id: UUID, delivery_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:
    """Give a delivery to the agent again, in a new session. 409 when there is no agent, or its content
    is kept no more.
    """
    run = webhook_deliveries.replay(_delivery(request, webhook_id, delivery_id), by=request.auth.actor)
    return reply(TriggerRun.from_row(run), 201)


# --- trigger runs -----------------------------------------------------------------------------------------------


@router.get("/trigger-runs", auth=reader, response=Page[TriggerRun])
def list_runs(
    request: HttpRequest,
    limit: Limit,
    cursor: Cursor,
    status: InStatus,
    kind: OfKind,
    schedule_id: OfOne = None,
    webhook_id: OfOne = None,
    session_id: OfOne = None,
) -> HttpResponse:
    """List every time that a trigger fired, failed and skipped ones too, newest first."""
    for name, value, choices in (("status", status, Status), ("kind", kind, Kind)):
        if value and value not in choices.values:
            raise invalid(f"/{name}", f'"{value}" is no {name}; use one of {", ".join(choices.values)}')
    wanted = {
        "status": status, "kind": kind, "schedule": schedule_id, "delivery__endpoint": webhook_id,
        "session": session_id,
    }  # fmt: skip
    found = queries.runs(request.auth.workspace.id).filter(**{name: value for name, value in wanted.items() if value})
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[TriggerRun.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/trigger-runs/{uuid:run_id}", auth=reader, response=TriggerRun)
def read_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Return a trigger run."""
    return reply(TriggerRun.from_row(_found_or_404(queries.runs(request.auth.workspace.id), run_id, "trigger run")))


def _schedule(request: HttpRequest, schedule_id: UUID) -> models.Schedule:
    found = models.Schedule.objects.filter(workspace=request.auth.workspace).select_related("agent")
    return _found_or_404(found, schedule_id, "schedule")


def _webhook(request: HttpRequest, webhook_id: UUID) -> models.WebhookEndpoint:
    return _found_or_404(queries.endpoints(request.auth.workspace.id), webhook_id, "webhook endpoint")


def _delivery(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> models.WebhookDelivery:
    found = queries.delivery(request.auth.workspace.id).filter(endpoint=webhook_id)
    return _found_or_404(found, delivery_id, "webhook delivery")


def _found_or_404(found: Any, id_: UUID, noun: str) -> Any:
    row = found.filter(pk=id_).first()
    if row is None:
        raise not_found(noun)
    return row


def _rules(request: HttpRequest) -> unattended.Rules:
    return unattended.Rules(request.auth.workspace.id)


def _changes(request: HttpRequest, changes: Any) -> dict[str, Any]:
    """Only what was sent; an agent by its id becomes the agent."""
    sent = changes.model_dump(exclude_unset=True)
    if "agent_id" in sent:
        agent_id = sent.pop("agent_id")
        sent["agent"] = agent_read(request, agent_id) if agent_id else None
    return sent


def _webhook_reply(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    row = _webhook(request, webhook_id)
    return reply(Webhook.from_row(row, _url(request, row), _rules(request)))


def _with_secret(request: HttpRequest, webhook_id: UUID, secret: str, status: int) -> HttpResponse:
    row = _webhook(request, webhook_id)
    shown = Webhook.from_row(row, _url(request, row), _rules(request)).model_dump()
    return reply(WebhookWithSecret(**shown, secret=secret or None), status)


def _url(request: HttpRequest, row: models.WebhookEndpoint) -> str | None:
    if request.auth.role != models.Role.ADMIN:
        return None
    return webhook_endpoints.url_of(row, request.build_absolute_uri("/"))
