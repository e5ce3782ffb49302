"""``/metrics`` in Prometheus' text format: what stands in the database, and what each part of each host has counted.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, version 0.0.4. docs/monitoring.md says
what each means; a test keeps the two lists the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from kombu.exceptions import OperationalError

from config import broker
from config.celery import app
from config.models import PartHeartbeat
from config.processes import heartbeats
from sessions_app.models import Role
from sessions_app.services import workspaces
from sessions_app.services.people import api_keys

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
BROKER_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Metric:
    """A name without its prefix, its type, and what it is."""

    name: str
    kind: str
    help: str
    query: str = ""
    """SQL whose columns but the last are labels by their names, and the last the value."""


OLDEST = "coalesce(extract(epoch FROM now() - min({at})), 0)"
METRICS = (
    Metric("part_heartbeat_age_seconds", "gauge", "since a part last showed that it does its work"),
    Metric("scheduler_leads", "gauge", "1 for the host whose scheduler calls what is due"),
    Metric("queue_messages", "gauge", "messages in a queue of the broker that no worker has taken"),
    Metric("queue_oldest_seconds", "gauge", "age of the oldest message of a queue (queues in PostgreSQL only)"),
    Metric(
        "jobs", "gauge", "imports, exports and turns that wait or run",
        "SELECT 'import' AS kind, status AS state, count(*) FROM vcon_app_import WHERE status IN ('queued', 'running')"
        " GROUP BY status UNION ALL"
        " SELECT 'export', status, count(*) FROM vcon_app_export WHERE status IN ('queued', 'running')"
        " GROUP BY status UNION ALL"
        " SELECT CASE WHEN triggered THEN 'triggered_turn' ELSE 'turn' END, CASE WHEN worker IS NOT NULL THEN 'running'"
        " WHEN rung_at IS NULL THEN 'asks' ELSE 'queued' END, count(*) FROM sessions_app_turninflight GROUP BY 1, 2",
    ),
    Metric(
        "oldest_job_seconds", "gauge", "since the oldest job that no worker has taken waits",
        f"SELECT 'import' AS kind, {OLDEST.format(at='created_at')} FROM vcon_app_import WHERE status = 'queued'"
        " UNION ALL"
        f" SELECT 'export', {OLDEST.format(at='created_at')} FROM vcon_app_export WHERE status = 'queued' UNION ALL"
        f" SELECT 'turn', {OLDEST.format(at='rung_at')} FROM sessions_app_turninflight"
        " WHERE worker IS NULL AND rung_at IS NOT NULL AND NOT triggered UNION ALL"
        f" SELECT 'triggered_turn', {OLDEST.format(at='rung_at')} FROM sessions_app_turninflight"
        " WHERE worker IS NULL AND rung_at IS NOT NULL AND triggered",
    ),
    Metric(
        "approvals_pending", "gauge", "approvals that wait for a person",
        "SELECT count(*) FROM sessions_app_approval WHERE status = 'pending'",
    ),
    Metric(
        "approvals_overdue_seconds", "gauge", "how long ago the most overdue pending approval should have expired",
        f"SELECT {OLDEST.format(at='expires_at')} FROM sessions_app_approval"
        " WHERE status = 'pending' AND expires_at < now()",
    ),
    Metric(
        "approvals_undelivered", "gauge", "decisions whose way to the agent failed or is uncertain, for 5 minutes",
        "SELECT count(*) FROM sessions_app_approval WHERE delivery IN ('queued', 'sending', 'uncertain', 'failed')"
        " AND delivery IN ('uncertain', 'failed') AND decided_at < now() - interval '5 minutes'"
        " AND decided_at > now() - interval '7 days'",
    ),
    Metric(
        "escalation_steps_overdue_seconds", "gauge", "how long ago the most overdue escalation step should have fired",
        f"SELECT {OLDEST.format(at='s.due_at')} FROM sessions_app_escalationstep s JOIN sessions_app_approval a"
        " ON a.id = s.approval_id WHERE s.fired_at IS NULL AND s.due_at < now() AND a.status = 'pending'",
    ),
    Metric(
        "stops_in_force", "gauge", "stops of agents that nobody has lifted",
        "SELECT count(*) FROM sessions_app_stop WHERE lifted_at IS NULL AND (until IS NULL OR until > now())",
    ),
    Metric(
        "stops_unfinished_seconds", "gauge", "for how long a stop has been made and not carried out",
        f"SELECT {OLDEST.format(at='made_at')} FROM sessions_app_stop WHERE carried_out_at IS NULL"
        " AND lifted_at IS NULL",
    ),
    Metric(
        "schedules_overdue_seconds", "gauge", "how long ago the most overdue schedule should have fired",
        f"SELECT {OLDEST.format(at='next_run_at')} FROM sessions_app_schedule WHERE enabled AND next_run_at < now()",
    ),
    Metric(
        "sessions_unsearchable", "gauge", "sessions with events that search does not find yet",
        "SELECT count(*) FROM sessions_app_searchbacklog",
    ),
    Metric(
        "database_connections", "gauge", "connections to the database server",
        "SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL",
    ),
    Metric(
        "database_connections_limit", "gauge", "connections that the server allows",
        "SELECT setting::int FROM pg_settings WHERE name = 'max_connections'",
    ),
    Metric("database_size_bytes", "gauge", "size of the database", "SELECT pg_database_size(current_database())"),
    Metric("open_streams", "gauge", "readers that wait for what is new: pages, streams, long polls"),
    Metric("appends_total", "counter", "batches of events appended to sessions"),
    Metric("events_total", "counter", "events appended"),
    Metric("decisions_total", "counter", "approvals that a person or key decided"),
    Metric("expiries_total", "counter", "approvals that expired"),
    Metric("tasks_total", "counter", "tasks that a worker has done, failed ones among them"),
    Metric("task_failures_total", "counter", "tasks that raised; most are done again"),
    Metric("errors_total", "counter", "errors in the log of a part: every 500 is one"),
)  # fmt: skip
COUNTED = {metric.name.removesuffix("_total"): metric.name for metric in METRICS[-8:]}
"""Counter of ``sessions_app.counts`` -> metric."""
Sample = tuple[dict[str, Any], float]


@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics; 403 to strangers, 503 without the database."""
    if not is_allowed(request):
        return HttpResponse("Ask from this machine, or send an admin's API key of the default workspace.\n", status=403)
    try:
        return HttpResponse("".join(exposition()), content_type=CONTENT_TYPE)
    except (DatabaseError, InterfaceError) as fault:
        return HttpResponse(f"the database does not answer: {str(fault).strip()}\n", "text/plain", 503)


def is_allowed(request: HttpRequest) -> bool:
    """Whether it comes from this machine itself, or with an admin's key of the default workspace.

    Behind a proxy every request comes from this machine, so there a key is needed: where a public address is set, or a
    header says that the request was passed on.
    """
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        key = api_keys.find_api_key(secret.strip())
        return key is not None and key.role == Role.ADMIN and key.workspace == workspaces.default_workspace()
    dropped = getattr(request, "scope", {}).get("forwarded", False)  # by config.web.proxies
    passed_on = settings.PUBLIC_URL or dropped or any(name in request.headers for name in FORWARDED)
    return not passed_on and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:  # of a socket without addresses
        return False


def exposition() -> Iterator[str]:
    """Lines of the text format."""
    samples = counted_samples() | queue_samples()
    for metric in METRICS:
        name = f"countersign_{metric.name}"
        yield f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n"
        for labels, value in _queried(metric.query) if metric.query else samples.get(metric.name, ()):
            yield f"{name}{_labels(labels)} {value:.15g}\n"


def _queried(query: str) -> list[Sample]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        names = [column.name for column in cursor.description][:-1]
        return [(dict(zip(names, row, strict=False)), float(row[-1])) for row in cursor.fetchall()]


def counted_samples() -> dict[str, list[Sample]]:
    """Heartbeats' ages, and what the parts have counted, as their hosts last copied it."""
    found: dict[str, list[Sample]] = {}
    for row in PartHeartbeat.objects.annotate(now=Now()).order_by("host", "part"):
        labels = {"host": row.host, "part": row.part}
        age = max((row.now - row.beat_at).total_seconds(), 0.0)
        found.setdefault("part_heartbeat_age_seconds", []).append((labels, age))
        if row.part == "scheduler":
            # One that is dead keeps its row, which nobody renews; /readyz counts it no longer than this, either.
            leads = row.leads and age < heartbeats.LEADER_SECONDS
            found.setdefault("scheduler_leads", []).append(({"host": row.host}, float(leads)))
        for counter, value in row.counters.items():
            if counter in COUNTED:
                found.setdefault(COUNTED[counter], []).append((labels, float(value)))
    return found


def queue_samples() -> dict[str, list[Sample]]:
    """Lengths of the queues; nothing while a broker of its own is away."""
    if settings.CELERY_BROKER_URL == broker.URL:
        query = "SELECT queue_name AS queue, {} FROM pgmq.metrics_all() WHERE queue_name = ANY(%s)"
        with connection.cursor() as cursor:
            cursor.execute(query.format("queue_visible_length, coalesce(oldest_msg_age_sec, 0)"), [list(broker.QUEUES)])
            rows = cursor.fetchall()
        lengths = [({"queue": queue}, float(length)) for queue, length, _ in rows]
        return {"queue_messages": lengths, "queue_oldest_seconds": [({"queue": q}, float(age)) for q, _, age in rows]}
    reading: Any = app.connection_for_read(connect_timeout=BROKER_SECONDS)
    away = (OperationalError, *reading.connection_errors, *reading.channel_errors)
    try:
        with reading:
            declare = reading.default_channel.queue_declare
            found = {queue: declare(queue=queue, passive=True).message_count for queue in broker.QUEUES}
    except away:
        return {}
    return {"queue_messages": [({"queue": queue}, float(length)) for queue, length in found.items()]}


def _labels(labels: dict[str, Any]) -> str:
    escaped = (f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return f"{{{','.join(escaped)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
