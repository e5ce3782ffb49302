"""The description of the API, and the page that shows it, under the site's own content security policy."""

from __future__ import annotations

import re

from django.test import Client

from .client import ok

LITERALLY = {
    "/dashboard/agents/{agent_id}/sessions": {"get", "post"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}": {"get"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/events": {"get"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/stream": {"get"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/messages": {"post"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/interrupt": {"post"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/archive": {"post"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/queue": {"get"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/queue/{message_id}": {"delete"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/go-on": {"post"},
    "/dashboard/agents/{agent_id}/sessions/{session_id}/retry": {"post"},
    "/api/v1/imports": {"get", "post"},
    "/api/v1/imports/{import_id}": {"get", "delete"},
    "/api/v1/agents": {"get", "post"},
    "/api/v1/agents/{agent_id}": {"get", "patch"},
    "/api/v1/agents/{agent_id}/versions": {"get"},
    "/api/v1/sessions": {"get", "post"},
    "/api/v1/sessions/{session_id}": {"get", "patch", "delete"},
    "/api/v1/sessions/{session_id}/turns": {"get"},
    "/api/v1/sessions/{session_id}/graph": {"get"},
    "/api/v1/sessions/{session_id}/decisions": {"post"},
    "/api/v1/sessions/{session_id}/decisions/{decision_id}": {"patch"},
    "/api/v1/sessions/{session_id}/evidence": {"post"},
    "/api/v1/agents/{agent_id}/graph": {"get"},
    "/api/v1/agents/{agent_id}/graph/export": {"get"},
    "/api/v1/decisions": {"get"},
    "/api/v1/sessions/{session_id}/cost": {"get"},
    "/api/v1/sessions/{session_id}/file-parts": {"get"},
    "/api/v1/sessions/{session_id}/registrations": {"get"},
    "/api/v1/sessions/{session_id}/files": {"get"},
    "/api/v1/sessions/{session_id}/summary": {"get"},
    "/api/v1/sessions/{session_id}/files/diff": {"get"},
    "/api/v1/sessions/{session_id}/overview": {"get"},
    "/api/v1/sessions/{session_id}/waterfall": {"get"},
    "/api/v1/sessions/{session_id}/continue": {"post"},
    "/api/v1/sessions/{session_id}/review": {"get"},
    "/api/v1/sessions/{session_id}/verdict": {"post", "delete"},
    "/api/v1/sessions/{session_id}/comments": {"post"},
    "/api/v1/sessions/{session_id}/comments/{comment_id}": {"patch", "delete"},
    "/api/v1/sessions/{session_id}/calls": {"get"},
    "/api/v1/sessions/{session_id}/requests": {"get"},
    "/api/v1/saved-views": {"get", "post"},
    "/api/v1/search": {"get"},
    "/api/v1/saved-views/{view_id}": {"patch", "delete"},
    "/api/v1/sessions/{session_id}/assign": {"post"},
    "/api/v1/reviews": {"get"},
    "/api/v1/finding-rules": {"get", "patch"},
    "/api/v1/reviews/rubrics": {"get", "post"},
    "/api/v1/reviews/rubrics/{rubric_id}": {"delete"},
    "/api/v1/reviews/queues": {"get", "post"},
    "/api/v1/reviews/queues/{queue_id}": {"get"},
    "/api/v1/reviews/queues/{queue_id}/next": {"post"},
    "/api/v1/reviews/queues/{queue_id}/close": {"post"},
    "/api/v1/sessions/{session_id}/events": {"get", "post"},
    "/api/v1/sessions/{session_id}/stream": {"get"},
    "/api/v1/sessions/{session_id}/replay": {"get"},
    "/api/v1/sessions/{session_id}/share-links": {"get", "post"},
    "/api/v1/sessions/{session_id}/share-links/{share_link_id}": {"delete"},
    "/api/v1/sessions/{session_id}/share-links/{share_link_id}/accept": {"post"},
    "/api/v1/sessions/{session_id}/state": {"get", "put", "delete"},
    "/api/v1/sessions/{session_id}/state/search": {"post"},
    "/api/v1/agents/{agent_id}/state": {"get"},
    "/api/v1/retention": {"get"},
    "/api/v1/retention/due": {"get"},
    "/api/v1/retention/over": {"get"},
    "/api/v1/retention/workspace": {"get", "patch"},
    "/api/v1/sessions/{session_id}/show-pruned": {"post"},
    "/api/v1/sessions/{session_id}/retention": {"get"},
    "/api/v1/sessions/{session_id}/pruned": {"get"},
    "/api/v1/sessions/{session_id}/prune": {"post"},
    "/api/v1/sessions/{session_id}/export": {"get"},
    "/api/v1/sessions/{session_id}/export/report": {"get"},
    "/api/v1/sessions/{session_id}/exports": {"get"},
    "/api/v1/sessions/{session_id}/redactions": {"get", "post"},
    "/api/v1/sessions/{session_id}/redactions/{redaction_id}": {"get"},
    "/api/v1/sessions/{session_id}/redactions/{redaction_id}/accept": {"post"},
    "/api/v1/sessions/{session_id}/redactions/{redaction_id}/file": {"get"},
    "/api/v1/approvals": {"get", "post"},
    "/api/v1/approvals/{approval_id}": {"get"},
    "/api/v1/approvals/{approval_id}/decision": {"post"},
    "/api/v1/approvals/{approval_id}/withdraw": {"post"},
    "/api/v1/approvals/{approval_id}/claim": {"post", "delete"},
    "/api/v1/approvals/{approval_id}/assign": {"post"},
    "/api/v1/approvals/{approval_id}/snooze": {"post"},
    "/api/v1/approvals/{approval_id}/escalate": {"post"},
    "/api/v1/approvals/{approval_id}/cancel": {"post"},
    "/api/v1/approvals/{approval_id}/execution": {"post"},
    "/api/v1/approvals/{approval_id}/receipt": {"get"},
    "/api/v1/absences": {"get", "post"},
    "/api/v1/absences/{absence_id}": {"delete"},
    "/api/v1/outgoing-webhooks": {"get", "post"},
    "/api/v1/outgoing-webhooks/{outgoing_webhook_id}": {"delete", "get", "patch"},
    "/api/v1/outgoing-webhooks/{outgoing_webhook_id}/rotate": {"post"},
    "/api/v1/outgoing-webhooks/{outgoing_webhook_id}/test": {"post"},
    "/api/v1/outgoing-webhooks/{outgoing_webhook_id}/messages": {"get"},
    "/api/v1/outgoing-webhooks/{outgoing_webhook_id}/messages/{message_id}/send-again": {"post"},
    "/api/v1/policy": {"get", "put"},
    "/api/v1/policy/preview": {"post"},
    "/api/v1/policy/shadow": {"get", "delete"},
    "/api/v1/policy/versions": {"get", "post"},
    "/api/v1/policy/versions/{number}": {"get"},
    "/api/v1/policy/versions/{number}/changes": {"get"},
    "/api/v1/policy/versions/{number}/publish": {"post"},
    "/api/v1/policy/versions/{number}/restore": {"post"},
    "/api/v1/policy/versions/{number}/shadow": {"post"},
    "/api/v1/grants": {"get", "post"},
    "/api/v1/grants/{grant_id}/revoke": {"post"},
    "/api/v1/schedules": {"get", "post"},
    "/api/v1/schedules/{schedule_id}": {"get", "patch", "delete"},
    "/api/v1/schedules/{schedule_id}/run": {"post"},
    "/api/v1/webhooks": {"get", "post"},
    "/api/v1/webhooks/{webhook_id}": {"get", "patch", "delete"},
    "/api/v1/webhooks/{webhook_id}/secret": {"post"},
    "/api/v1/webhooks/{webhook_id}/deliveries": {"get"},
    "/api/v1/webhooks/{webhook_id}/deliveries/acknowledge": {"post"},
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": {"get"},
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/acknowledge": {"post"},
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay": {"post"},
    "/api/v1/otlp/v1/traces": {"post"},
    "/v1/traces": {"post"},
    "/api/v1/trigger-runs": {"get"},
    "/api/v1/trigger-runs/{run_id}": {"get"},
    "/api/v1/usage": {"get"},
    "/api/v1/calls": {"get"},
    "/api/v1/wallets": {"get"},
    "/api/v1/wallets/{kind}/entries": {"get"},
    "/api/v1/wallets/{kind}/credits": {"post"},
    "/api/v1/budgets": {"get", "put"},
    "/api/v1/budgets/{budget_id}": {"delete"},
    "/api/v1/stops": {"get", "post"},
    "/api/v1/stops/{stop_id}": {"get"},
    "/api/v1/stops/{stop_id}/lift": {"post"},
    "/api/v1/oversight": {"get"},
    "/api/v1/planted-calls": {"post"},
    "/api/v1/audit": {"get"},
    "/api/v1/audit/export": {"get"},
    "/api/v1/evidence": {"get"},
    "/api/v1/tombstones/{subject_id}": {"get"},
}


def test_the_description_has_every_route_and_says_what_it_takes(db):
    schema = ok(Client().get("/api/v1/openapi.json"))
    assert schema["openapi"].startswith("3.")
    assert {path: set(methods) for path, methods in schema["paths"].items()} == LITERALLY
    ids = [operation["operationId"] for methods in schema["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
    assert all(operation["security"] for methods in schema["paths"].values() for operation in methods.values())
    assert (
        "text/event-stream"
        in schema["paths"]["/api/v1/sessions/{session_id}/stream"]["get"]["responses"]["200"]["content"]
    )


def test_every_reference_in_the_description_leads_somewhere(db):
    text = Client().get("/api/v1/openapi.json").content.decode()
    schemas = ok(Client().get("/api/v1/openapi.json"))["components"]["schemas"]
    assert {"Session", "Event", "Turn", "Approval", "Import", "Usage", "Cost", "Signature"} <= schemas.keys()
    assert set(re.findall(r"#/components/schemas/([^\"]+)", text)) <= schemas.keys()


def test_the_page_loads_everything_from_here(db):
    page = Client().get("/api/v1/docs")
    assert page.status_code == 200
    text = page.content.decode()
    assert re.findall(r'(?:src|href)="([^"]+)"', text)
    assert all(address.startswith("/static/") for address in re.findall(r'(?:src|href)="([^"]+)"', text))
    scripts = re.findall(r"<script(.*?)>", text)
    assert all("src=" in script or "application/json" in script for script in scripts)


def test_every_operation_says_who_may_call_it(db):
    paths = ok(Client().get("/api/v1/openapi.json"))["paths"]
    said = {
        f"{method} {path}": operation["description"].rpartition("\n\n")[2]
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    assert [name for name, roles in said.items() if not roles.startswith("Roles: ")] == []
    assert said["get /api/v1/sessions"] == "Roles: viewer, agent, reviewer, admin."
    assert said["post /api/v1/approvals"] == "Roles: agent, reviewer, admin."
    assert said["get /api/v1/agents"] == "Roles: viewer, reviewer, admin. Not for keys of one agent."
    assert said["put /api/v1/policy"] == "Roles: admin. Not for keys of one agent."
    assert said["get /api/v1/usage"] == (
        "Roles: viewer, reviewer, admin. Not for keys of one agent. Also for members who see numbers only."
    )
