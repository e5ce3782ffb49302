"""One of each thing that a path of the API can name, so that a test can walk every operation that there is."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID, uuid4

from django.utils import timezone

from sessions_app.models import (
    Absence,
    Agent,
    Budget,
    Comment,
    Grant,
    GraphNode,
    ReviewQueue,
    Role,
    Rubric,
    SavedView,
    Session,
    TriggerRun,
    WebhookDelivery,
)
from sessions_app.services import agents, audit
from sessions_app.services.approvals import requests
from sessions_app.services.money import budgets
from sessions_app.services.notices import outgoing_webhooks
from sessions_app.services.people import members
from sessions_app.services.policies import versions
from sessions_app.services.stops import stops
from sessions_app.services.triggers import schedules, webhook_endpoints
from vcon_app.models import Import, SourceDocument

BY = audit.Actor("member", "somebody", "Somebody")


def make_things(agent: Agent, session: Session) -> dict[str, UUID]:
    """Ids by the name of the path's parameter. What is not made (a message that waits) has an id that nobody has."""
    workspace_id = agent.workspace_id
    somebody, _ = members.add_member(agent.workspace, "sue@example.org", "Sue", Role.VIEWER, by=BY)
    idle = agents.get_or_create_agent(workspace_id, "Idle")
    schedule = schedules.create(
        agent, by=BY, name="Daily", cron="0 9 * * *", timezone="UTC", input_text="Go", enabled=False,
        missed="skip", overlap="allow",
    )  # fmt: skip
    endpoint, _ = webhook_endpoints.create(workspace_id, "orders", "none", agent=None, by=BY, secret="")
    outgoing, _ = outgoing_webhooks.create(workspace_id, "ops", "https://ops.example.com/", [], by=BY)
    stop = stops.make(agent.workspace, by=audit.COMMAND, role=Role.ADMIN, reason="A test", agent=idle)
    versions.save_draft(workspace_id, [], by=BY)
    grant = Grant.objects.create(  # of another tool than the one that is asked about below, which it would allow
        workspace_id=workspace_id, agent=agent, tool_name="look_up", agent_version=agent.version, made_by="Somebody",
        expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    absence = Absence.objects.create(
        workspace_id=workspace_id, member=somebody, begins_at=timezone.now(), ends_at=timezone.now() + timedelta(days=1)
    )
    document = SourceDocument.objects.create(workspace_id=workspace_id, sha256="0" * 64, size=1)
    return {
        "agent_id": agent.pk,
        "session_id": session.pk,
        "approval_id": requests.request(session, requests.Question("refund", {"amount": 4}), by=BY).pk,
        "budget_id": budgets.set_budget(workspace_id, Decimal(5), Budget.Period.DAY, by=BY).pk,
        "schedule_id": schedule.pk,
        "webhook_id": endpoint.pk,
        "delivery_id": WebhookDelivery.objects.create(
            workspace_id=workspace_id, endpoint=endpoint, delivery_id="1", size=2, payload={}
        ).pk,
        "run_id": TriggerRun.objects.create(
            workspace_id=workspace_id, kind="schedule", name="Daily", status="skipped", fired_at=agent.created_at
        ).pk,
        "stop_id": stop.pk,
        "absence_id": absence.pk,
        "outgoing_webhook_id": outgoing.pk,
        "grant_id": grant.pk,
        "import_id": Import.objects.create(workspace_id=workspace_id, document=document, filename="a.json").pk,
        "redaction_id": uuid4(),
        "share_link_id": uuid4(),
        "message_id": uuid4(),
        "subject_id": uuid4(),
        "queue_id": ReviewQueue.objects.create(workspace_id=workspace_id, name="Queue", seed="s").pk,
        "comment_id": Comment.objects.create(workspace_id=workspace_id, session=session, by="Sue", text="Why?").pk,
        "view_id": SavedView.objects.create(workspace_id=workspace_id, name="Failures", is_shared=True).pk,
        "decision_id": GraphNode.objects.create(
            workspace_id=workspace_id,
            agent=agent,
            session=session,
            kind="decision",
            title="Go",
            status="proposed",
            is_first=True,
        ).pk,
        "rubric_id": Rubric.objects.create(workspace_id=workspace_id, name="Tone", kind="scale").pk,
    }


def address(path: str, things: dict[str, UUID]) -> str:
    """A path of the OpenAPI description with its parameters filled in."""
    return path.format(kind="ai", number=1, **things)
