"""``/metrics``: who may read it, what stands in it, and that the page in docs/ says the same."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from config import broker, metrics
from config.models import PartHeartbeat
from config.web.proxies import ForwardedHeaders
from sessions_app import counts
from sessions_app.models import Approval, Role, TurnInFlight
from sessions_app.services import audit, workspaces
from sessions_app.services.approvals import endings, requests
from sessions_app.services.people import api_keys
from sessions_app.services.turns import messages
from tests.places import DOCS

BY = audit.Actor("member", "m", "Ines")
SAMPLE = re.compile(r"(countersign_\w+)(\{[^}]*\})? ([-+.e0-9]+)")
PAGE = (DOCS / "monitoring.md").read_text()
pytestmark = pytest.mark.django_db(transaction=True)


def read(client, **headers: str) -> dict[tuple[str, str], float]:
    """Samples by name and labels; fails on a line that is none."""
    answer = client.get("/metrics", headers=headers)
    assert (answer.status_code, answer["Content-Type"]) == (200, metrics.CONTENT_TYPE), answer.content
    lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
    found = [SAMPLE.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {(match[1], match[2] or ""): float(match[3]) for match in found}


def test_the_page_names_every_metric_with_its_labels_and_no_other(client, workspace):
    PartHeartbeat.objects.create(
        host="a", part="scheduler", leads=True, beat_at=Now(), started_at=Now(),
        counters=dict.fromkeys(metrics.COUNTED, 1),
    )  # fmt: skip
    told = dict(re.findall(r"\| `(countersign_\w+)` \| ([^|]*?) ?\|", PAGE))
    assert set(told) == {f"countersign_{metric.name}" for metric in metrics.METRICS}
    for name, labels in read(client):
        assert re.findall(r"(\w+)=", labels) == (told[name].split(", ") if told[name] else []), name
    alerts = set(re.findall(r"countersign_\w+", PAGE.split("## Alerts")[1]))
    assert alerts <= set(told)


def test_types_and_help_stand_before_the_samples(client):
    text = client.get("/metrics").content.decode()
    for metric in metrics.METRICS:
        assert (
            f"# HELP countersign_{metric.name} {metric.help}\n# TYPE countersign_{metric.name} {metric.kind}\n" in text
        )


def test_what_waits_is_in_the_numbers(client, scripted_agent):
    with connection.cursor() as cursor:
        for queue in broker.QUEUES:
            cursor.execute(f"DELETE FROM pgmq.q_{queue}")
    session = messages.start_session(scripted_agent, "Hello", by=BY, origin="chat")
    TurnInFlight.objects.update(rung_at=timezone.now() - timedelta(seconds=90))
    question = requests.Question("refund", {"amount": 5}, expires_in=60)
    approval = requests.request(session, question, by=BY)
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now() - timedelta(seconds=40))
    found = read(client)
    assert found["countersign_jobs", '{kind="turn",state="queued"}'] == 1
    assert found["countersign_oldest_job_seconds", '{kind="turn"}'] >= 90
    assert found["countersign_queue_messages", '{queue="countersign_people"}'] >= 1
    assert found["countersign_approvals_pending", ""] == 1
    assert found["countersign_approvals_overdue_seconds", ""] >= 40
    before = counts.snapshot()
    assert endings.expire_due() == 1
    after = counts.snapshot()
    assert after["expiries"] == before.get("expiries", 0) + 1
    assert after["events"] > before["events"] and after["appends"] > before["appends"]


def test_parts_are_counted_by_host(client):
    PartHeartbeat.objects.create(
        host='quoted "a"', part="web", beat_at=Now() - timedelta(seconds=50), started_at=Now(),
        counters={"errors": 3, "unknown": 9},
    )  # fmt: skip
    found = read(client)
    labels = '{host="quoted \\"a\\"",part="web"}'
    assert found["countersign_errors_total", labels] == 3
    assert found["countersign_part_heartbeat_age_seconds", labels] >= 50


@pytest.mark.parametrize(("silent", "leads"), [(0, 1), (31, 0)])
def test_a_scheduler_that_is_dead_leads_no_more(client, silent, leads):
    PartHeartbeat.objects.create(
        host="a", part="scheduler", leads=True, beat_at=Now() - timedelta(seconds=silent), started_at=Now()
    )
    assert read(client)["countersign_scheduler_leads", '{host="a"}'] == leads


def test_strangers_and_whoever_comes_through_a_proxy_need_an_admins_key(client, settings, workspace):
    def status(remote: str = "127.0.0.1", **headers: str) -> int:
        return client.get("/metrics", REMOTE_ADDR=remote, headers=headers).status_code

    def key(role: Role, place=workspace) -> str:
        return f"Bearer {api_keys.create_api_key(place, 'metrics', role, by=BY)[1]}"

    assert (status(), status("::1"), status("10.0.0.7"), status("")) == (200, 200, 403, 403)
    assert status(**{"X-Forwarded-For": "10.0.0.7"}) == status(Forwarded="for=10.0.0.7") == 403
    assert status("10.0.0.7", Authorization=key(Role.ADMIN)) == 200
    assert status(Authorization=key(Role.REVIEWER)) == status(Authorization="Bearer cs_wrong") == 403
    other = workspaces.create_workspace("other", by=BY)
    assert status(Authorization=key(Role.ADMIN, other)) == 403
    settings.PUBLIC_URL = "https://desk.example.com"
    assert status() == 403


def test_what_an_unnamed_proxy_passes_on_is_not_from_this_machine(rf):
    """Its headers are dropped before Django sees them, because nobody vouches for what they say."""
    seen: list[dict] = []

    async def application(scope, receive, send) -> None:
        seen.append(scope)

    for headers in ([], [(b"x-forwarded-for", b"10.0.0.7")]):
        scope = {"type": "http", "headers": headers, "client": ("127.0.0.1", 4711)}
        async_to_sync(ForwardedHeaders(application))(scope, None, None)
    allowed = []
    for scope in seen:
        request = rf.get("/metrics")
        request.scope = scope
        allowed.append(metrics.is_allowed(request))
    assert allowed == [True, False]
