"""A desk with something on every page, and the addresses of all its pages."""

from __future__ import annotations

from decimal import Decimal

from django.urls import reverse

from sessions_app.models import Agent, Approval, Member, ReviewQueue, Role, Session, Tombstone, Workspace
from sessions_app.queries.retention import strategies
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals import requests
from sessions_app.services.graph import recording
from sessions_app.services.money import budgets, totals
from sessions_app.services.notices import outgoing_webhooks
from sessions_app.services.people import members
from sessions_app.services.policies import versions
from sessions_app.services.retention import pruning
from sessions_app.services.reviews import comments, queues, rubrics, verdicts
from sessions_app.services.triggers import schedules, webhook_endpoints
from vcon_app.models import Import
from vcon_app.services.erasure import erasing
from vcon_app.services.imports import demo, import_jobs
from vcon_app.services.shares import share_links

BY = audit.Actor("command", name="demo")
EDITED = "tax-exempt-invoices.jsonl"
"""The example session that changed files."""
ASKED = (
    ("run_sql", {"query": "UPDATE invoices SET status = 'void' WHERE due < '2026-01-01'"}, "medium"),
    ("send_email", {"to": "kim@example.org", "subject": "Your refund", "body": "It is on its way."}, "low"),
    ("Bash", {"command": "cd /srv/shop && make deploy && systemctl restart shop"}, "high"),
)

RULES = [{"name": "SQL", "match": {"tool": "run_sql"}, "effect": "ask", "ask": {"risk": "medium"}}]


def furnish(workspace: Workspace, transcripts: tuple[bytes, ...] = ()) -> Member:
    """Fill an empty workspace: the example sessions, approvals, reviews, rules, triggers, money. Returns its admin."""
    admin = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=BY)[0]
    members.add_member(workspace, "kim@example.org", "Kim", Role.REVIEWER, by=BY)
    by = audit.Actor("person", str(admin.user_id), "Ada")
    demo.load(workspace, by=BY)
    for number, data in enumerate(transcripts):
        import_jobs.run(import_jobs.start_import(workspace, f"transcript-{number}.jsonl", [data], by=BY).id)
    import_jobs.run(import_jobs.start_import(workspace, "notes.txt", [b"no transcript"], by=BY).id)
    here = agents.create(workspace.pk, "Parrot", by=by, runtime="scripted", description="Says what it is told to say.")
    session = _edited(workspace)
    for tool, arguments, risk in ASKED:
        requests.request(session, requests.Question(tool, arguments, risk=risk), by=audit.Actor("api_key", name="CI"))
    _review(admin, session, by)
    _keep(workspace, session, by)
    erasing.erase_session(sessions.create(here, by=by, title="Not to be kept"), by=by, reason="asked for")
    outgoing_webhooks.create(workspace.pk, "Tickets", "https://tickets.example.org/desk", [], by=by)
    versions.publish(versions.save_draft(workspace.pk, RULES, by=by), by=by)
    schedules.create(here, by=by, name="Every morning", cron="0 7 * * *", timezone="Europe/Berlin", input_text="Begin")
    webhook_endpoints.create(workspace.pk, "orders", "standard", agent=here, by=by)
    budgets.set_budget(workspace.pk, Decimal(20), "day", by=by)
    totals.fold()
    return admin


def _edited(workspace: Workspace) -> Session:
    return Session.objects.filter(workspace=workspace, import_links__imported__filename=EDITED).earliest("started_at")


def _review(admin: Member, session: Session, by: audit.Actor) -> None:
    rubrics.add(admin, "Tone", "scale", by=by)
    verdicts.give(session.pk, admin, verdicts.Said("fail", note="The last test was left failing."), by=by)
    comments.add(session.pk, admin, "Why was this not asked first? @Kim", by=by)
    queues.make(admin, queues.Rules("All failures", "has_errors=true"), by=by)


def _keep(workspace: Workspace, session: Session, by: audit.Actor) -> None:
    """What a session led to, one of which most is out of sight, and links by which others may read them."""
    told = recording.Recorded("Tax-exempt invoices get a number of their own", {"layer": "product"}, (1, 3))
    decided = recording.decide(session.pk, told, Role.REVIEWER, by=by)
    recording.support(session.pk, recording.Recorded("The last test fails", about=decided.pk), by=by)
    pruning.prune(_pruned(workspace).pk, strategies.read("sliding_window", window_size=1), by=by)
    share_links.switch(workspace, True, by=by)


def _pruned(workspace: Workspace) -> Session:
    return Session.objects.filter(workspace=workspace, import_links__imported__filename=demo.ASKS).earliest("pk")


def pages(workspace: Workspace) -> dict[str, str]:
    """The addresses of the desk's pages, by the names of their pictures."""
    session, other = _edited(workspace), _other(workspace)
    page = reverse("session-detail", args=[session.agent_id, session.pk])
    further = _of_records(workspace, session) | _settings()
    return _lists() | _session(session, page, other) | _things(workspace, session.agent) | further


def _other(workspace: Workspace) -> Session:
    found = Session.objects.filter(workspace=workspace).exclude(pk=_edited(workspace).pk)
    return found.order_by("-event_count", "pk")[0]


def _lists() -> dict[str, str]:
    return {
        "home": "/", "sessions": "/sessions/", "nothing-found": "/sessions/?q=quagga", "inbox": "/approvals/",
        "reasons": "/approvals/reasons/", "reviews": "/reviews/", "agents": "/agents/", "new-agent": "/agents/+/",
        "imports": "/imports/", "usage": "/usage/", "usage-tools": "/usage/?by=tool", "wallets": "/usage/wallets/",
        "calls": "/usage/calls/", "stops": "/stops/", "triggers": "/triggers/", "runs": "/triggers/runs/",
        "new-schedule": "/triggers/schedules/new/", "new-webhook": "/triggers/webhooks/new/", "audit": "/audit/",
        "oversight": "/oversight/", "relevance": "/search/?q=the&sort=relevance", "not-found": "/nowhere/",
    }  # fmt: skip


def _session(session: Session, page: str, other: Session) -> dict[str, str]:
    lenses = {f"session-{lens}": f"{page}?lens={lens}" for lens in ("story", "tools", "requests", "raw")}
    parts = {part: f"{page}/{part}" for part in ("files", "cost", "waterfall", "continue", "review")}
    return lenses | parts | {
        "session-event": f"{page}?event=3",
        "session-long": reverse("session-detail", args=[other.agent_id, other.pk]),
        "compare": f"/sessions/compare/?session={session.pk}&session={other.pk}",
        "redaction": reverse("redaction", args=[session.pk]),
        "delete": reverse("session-delete", args=[session.pk]),
    }  # fmt: skip


def _of_records(workspace: Workspace, session: Session) -> dict[str, str]:
    """What is kept of sessions, taken out of sight, handed on and deleted."""
    pruned, gone = _pruned(workspace), Tombstone.objects.filter(workspace=workspace).earliest("pk")
    return {
        "session-pruned": reverse("session-detail", args=[pruned.agent_id, pruned.pk]),
        "session-graph": reverse("session-graph", args=[session.agent_id, session.pk]),
        "agent-graph": reverse("agent-graph", args=[session.agent.slug]),
        "file-parts": reverse("file-parts", args=[session.pk]),
        "file-parts-found": f"{reverse('file-parts', args=[session.pk])}?q=e",
        "share-links": reverse("share-links", args=[session.pk]),
        "tombstone": reverse("tombstone", args=[gone.subject_id]),
    }  # fmt: skip


def _things(workspace: Workspace, agent: Agent) -> dict[str, str]:
    here = workspace.agents.filter(runtime="scripted").earliest("pk")
    queue = ReviewQueue.objects.filter(workspace=workspace).earliest("pk")
    asked = Approval.objects.filter(workspace=workspace).earliest("requested_at")
    failed = Import.objects.filter(workspace=workspace, status=Import.Status.FAILED).earliest("pk")
    return {
        "agent": reverse("agent-detail", args=[agent.slug]),
        "chat": reverse("agent-chat", args=[here.slug]),
        "build": reverse("agent-build", args=[agent.slug]),
        "edit-agent": reverse("agent-edit", args=[here.slug]),
        "versions": reverse("agent-versions", args=[here.slug]),
        "card": reverse("approval-detail", args=[asked.pk]),
        "queue": reverse("review-queue", args=[queue.pk]),
        "queue-progress": reverse("review-queue-progress", args=[queue.pk]),
        "import": reverse("import-detail", args=[failed.pk]),
        "agent-version": reverse("agent-version", args=[here.slug, here.version]),
        "outgoing-webhook": reverse("outgoing-webhook", args=[workspace.outgoing_webhooks.earliest("pk").pk]),
        "edit-schedule": reverse("schedule-edit", args=[workspace.schedules.earliest("pk").pk]),
        "schedule": reverse("schedule-detail", args=[workspace.schedules.earliest("pk").pk]),
        "webhook": reverse("webhook-detail", args=[workspace.webhook_endpoints.earliest("pk").pk]),
    }  # fmt: skip


def _settings() -> dict[str, str]:
    return {
        "settings": "/settings/", "rubrics": "/settings/rubrics/", "notices": "/settings/notices/",
        "webhooks": "/settings/webhooks/", "slack": "/settings/slack/",
        "absences": "/settings/absences/", "retention": "/settings/retention/", "findings": "/settings/findings/",
        "keep-days": "/settings/retention/keep/?keep_days=1",
        "policies": "/settings/policies/", "new-policy": "/settings/policies/new",
        "policy-version": "/settings/policies/versions/1/", "grants": "/settings/grants/",
    }  # fmt: skip
