"""The same write twice at the same moment: one change, one entry in the audit log, and no fault of ours."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from sessions_app.models import Absence, Agent, AuditEntry, Budget, OutgoingWebhook, Role, SavedView, Schedule, Session
from sessions_app.models import WebhookEndpoint as Webhook
from sessions_app.services import audit, workspaces
from sessions_app.services.escalations import absences
from sessions_app.services.money import budgets
from sessions_app.services.notices import outgoing_webhooks
from sessions_app.services.people import members
from sessions_app.services.retention import workspaces as retention_of_workspaces
from sessions_app.services.reviews import saved_views
from sessions_app.services.triggers import schedules, webhook_endpoints
from tests.services.build import at_once

from ..client import refused

BY = audit.COMMAND


def statuses(*work):
    return sorted(getattr(answer, "status_code", answer) for answer in at_once(*work))


def entries(action):
    return AuditEntry.objects.filter(action=action).count()


@pytest.mark.django_db(transaction=True)
def test_of_agents_of_one_name_one_is_made_and_the_others_are_told_that_it_is_taken(api):
    """The second found no such agent, and then one that it could not be made beside: a fault of ours."""
    assert statuses(*[lambda: api.post("agents", {"name": "A"})] * 6) == [201] + [409] * 5
    assert Agent.objects.count() == 1 and entries("agent.created") == 1


@pytest.mark.django_db(transaction=True)
def test_changes_of_a_session_wait_for_each_other(api, session):
    """Retention and tags take locks of one row; in the other order two of them wait for each other for ever."""
    body = {"tags": ["vip"], "retention": {"ttl_days": 30}}
    assert statuses(*[lambda: api.patch(f"sessions/{session.id}", body)] * 6) == [200] * 6
    assert entries("session.tagged") == entries("session.retention_set") == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [
    lambda id: workspaces.turn_rules_off(id, [], by=BY),
    lambda id: retention_of_workspaces.change(id, {"ttl_days": 30}, by=BY),
])  # fmt: skip
def test_who_changes_a_workspace_lets_others_add_to_it(workspace, agent, change):
    """What is added waits for the key of its workspace at its end, and by then it has the audit log: two that wait for
    each other (503)."""

    def add():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'")
        Session.objects.create(workspace=workspace, agent=agent)
        return "added"

    with transaction.atomic():
        change(workspace.pk)
        assert at_once(add) == ["added"]


REMOVALS = {
    "absence.removed": (Absence, "absence_id", lambda row: absences.remove(row, by=BY, role=Role.ADMIN)),
    "budget.removed": (Budget, "budget_id", lambda row: budgets.remove(row, by=BY)),
    "schedule.deleted": (Schedule, "schedule_id", lambda row: schedules.delete(row, by=BY)),
    "outgoing_webhook.removed": (
        OutgoingWebhook, "outgoing_webhook_id", lambda row: outgoing_webhooks.remove(row, by=BY),
    ),
    "webhook.changed": (
        Webhook, "webhook_id", lambda row: webhook_endpoints.change(row, {"active": False}, by=BY),
    ),
}  # fmt: skip
"""What is deleted or closed, by the entry that the audit log has of it."""


@pytest.mark.parametrize("action", REMOVALS)
def test_who_removes_what_was_removed_since_it_was_read_adds_nothing_to_the_audit_log(things, action):
    model, name, remove = REMOVALS[action]
    for row in [model.objects.get(pk=things[name]) for _ in range(2)]:
        remove(row)
    assert entries(action) == 1


def test_a_view_that_was_removed_since_it_was_read_is_removed_once(workspace, things):
    boss = members.add_member(workspace, "boss@example.org", "Boss", Role.ADMIN, by=BY)[0]
    for view in [SavedView.objects.get(pk=things["view_id"]) for _ in range(2)]:
        saved_views.remove(view, boss, by=BY)
    assert entries("saved_view.removed") == 1


@pytest.mark.parametrize(("service", "function", "method", "path", "body"), [
    (outgoing_webhooks, "change", "PATCH", "outgoing-webhooks/{outgoing_webhook_id}", '{"name": "b"}'),
    (outgoing_webhooks, "rotate", "POST", "outgoing-webhooks/{outgoing_webhook_id}/rotate", ""),
    (outgoing_webhooks, "send_test", "POST", "outgoing-webhooks/{outgoing_webhook_id}/test", ""),
    (schedules, "change", "PATCH", "schedules/{schedule_id}", '{"name": "b"}'),
])  # fmt: skip
def test_what_is_deleted_between_being_found_and_being_changed_is_404(
    admin, things, monkeypatch, service, function, method, path, body
):
    does = getattr(service, function)

    def too_late(row, *args, **kwargs):
        type(row).objects.filter(pk=row.pk).delete()
        return does(row, *args, **kwargs)

    monkeypatch.setattr(service, function, too_late)
    refused(admin.send(method, path.format(**things), body), 404)
