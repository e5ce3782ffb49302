"""Schedules, webhooks, deliveries and trigger runs over the API."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from sessions_app.models import IdempotentAnswer, Schedule, Session, TriggerRun, WebhookEndpoint
from sessions_app.services import agents, audit

from .client import ok, pointers, refused
from .test_lists import _queries

CRON = {"name": "Morning report", "cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "input_text": "Write it"}


@pytest.fixture
def runner(workspace):
    return agents.create(workspace.id, "Reporter", by=audit.SYSTEM, runtime="scripted")


@pytest.fixture
def schedule(admin, runner) -> dict:
    return ok(admin.post("schedules", CRON | {"agent_id": str(runner.id)}), 201)


@pytest.fixture
def webhook(admin, runner) -> dict:
    return ok(admin.post("webhooks", {"name": "orders", "scheme": "none", "agent_id": str(runner.id)}), 201)


def post(webhook: dict, body: object) -> dict:
    """What a sender posts, without a key."""
    path = webhook["url"].removeprefix("http://testserver")
    return ok(Client().post(path, json.dumps(body), content_type="application/json"))


def test_a_schedule_is_made_read_changed_and_deleted(admin, api, viewer, runner, schedule):
    assert schedule["agent"] == {"id": str(runner.id), "name": "Reporter"}
    assert (schedule["enabled"], schedule["missed"], schedule["overlap"]) == (True, "once", "allow")
    assert schedule["next_run_at"].endswith("Z") and "09:00" in schedule["in_words"]
    path = f"schedules/{schedule['id']}"
    assert ok(viewer.get(path)) == schedule == api.all("schedules")[0]
    paused = ok(admin.patch(path, {"enabled": False, "input_text": "Write less"}))
    assert (paused["enabled"], paused["next_run_at"], paused["input_text"]) == (False, None, "Write less")
    assert admin.send("DELETE", path, "").status_code == 204
    refused(admin.get(path), 404)


def test_running_a_schedule_now_answers_with_the_run(api, schedule):
    run = ok(api.post(f"schedules/{schedule['id']}/run"), 201)
    assert (run["kind"], run["status"], run["cause"]) == ("schedule", "started", "run now by reviewer key")
    assert run["session_id"] == str(Session.objects.get().id)
    assert ok(api.get(f"trigger-runs/{run['id']}")) == run == api.all("trigger-runs", {"status": "started"})[0]
    assert api.all("trigger-runs", {"session_id": run["session_id"]}) == [run]


def test_a_run_of_a_paused_agent_says_why_there_is_no_session(admin, api, runner, schedule):
    ok(admin.patch(f"agents/{runner.id}", {"status": "paused"}))
    run = ok(api.post(f"schedules/{schedule['id']}/run"), 201)
    assert (run["status"], run["session_id"]) == ("skipped", None)
    assert "Reporter is paused" in run["error"]


@pytest.mark.parametrize(("change", "pointer"), [
    ({"cron": "0 9 * * * *"}, "/cron"), ({"cron": "0 0 30 2 *"}, "/cron"), ({"cron": "x" * 201}, "/cron"),
    ({"timezone": "Mars/Olympus"}, "/timezone"), ({"input_text": "  "}, "/input_text"), ({"name": ""}, "/name"),
    ({"missed": "maybe"}, "/missed"), ({"overlap": "maybe"}, "/overlap"), ({"agent_id": "x"}, "/agent_id"),
])  # fmt: skip
def test_invalid_trigger_is_refused_with_json_pointers(admin, runner, schedule, change, pointer):
    new = CRON | {"agent_id": str(runner.id), "name": "Another"} | change
    assert pointer in pointers(refused(admin.post("schedules", new), 422))
    assert pointer in pointers(refused(admin.patch(f"schedules/{schedule['id']}", change), 422))
    assert Schedule.objects.count() == 1


def test_a_webhook_tells_its_secret_once(admin, runner):
    made = ok(admin.post("webhooks", {"name": "github-issues", "scheme": "github", "agent_id": str(runner.id)}), 201)
    assert len(made["secret"]) >= 43
    read = admin.get(f"webhooks/{made['id']}")
    assert made["secret"] not in read.content.decode() and ok(read)["has_secret"]
    new = ok(admin.post(f"webhooks/{made['id']}/secret"))
    assert new["secret"] != made["secret"]
    assert ok(admin.post(f"webhooks/{made['id']}/secret", {"secret": "of the sender"}))["secret"] is None
    assert WebhookEndpoint.objects.get().secret == "of the sender"


def test_a_repeated_creation_is_the_same_endpoint_and_keeps_no_secret(admin):
    body = {"name": "orders"}
    first = ok(admin.post("webhooks", body, **{"Idempotency-Key": "k"}), 201)
    again = ok(admin.post("webhooks", body, **{"Idempotency-Key": "k"}), 201)
    assert again == first | {"secret": None}
    assert first["secret"] not in json.dumps(IdempotentAnswer.objects.get().answer)
    refused(admin.post("webhooks", {"name": "others"}, **{"Idempotency-Key": "k"}), 409)


def test_only_admins_are_told_the_address(api, viewer, webhook):
    assert webhook["url"].startswith("http://testserver/hooks/")
    for one in (api, viewer):
        assert ok(one.get(f"webhooks/{webhook['id']}"))["url"] is None


def test_deleting_a_webhook_deactivates_it_and_reserves_its_name(admin, webhook):
    assert admin.send("DELETE", f"webhooks/{webhook['id']}", "").status_code == 204
    answer = Client().post(webhook["url"].removeprefix("http://testserver"), "{}", content_type="application/json")
    assert refused(answer, 404)["detail"] == "Webhook endpoint not found"
    assert ok(admin.get(f"webhooks/{webhook['id']}"))["active"] is False
    assert pointers(refused(admin.post("webhooks", {"name": "orders"}), 422)) == {"/name"}
    assert ok(admin.patch(f"webhooks/{webhook['id']}", {"active": True, "agent_id": None}))["agent"] is None
    assert post(webhook, {})["session"] is None


def test_deliveries_are_listed_read_acknowledged_and_replayed(api, webhook):
    ids = [post(webhook, {"n": number})["delivery"] for number in range(3)]
    path = f"webhooks/{webhook['id']}/deliveries"
    rows = api.all(path, {"limit": 2})
    assert [row["id"] for row in rows] == ids[::-1]
    assert "payload" not in rows[0] and rows[0]["session_ids"]
    assert ok(api.get(f"{path}/{ids[0]}"))["payload"] == {"n": 0}
    assert ok(api.post(f"{path}/{ids[0]}/acknowledge"))["acknowledged_by"] == "reviewer key"
    assert ok(api.post(f"{path}/acknowledge", {"ids": ids})) == {"acknowledged": 2}
    assert api.all(path, {"acknowledged": "false"}) == []
    assert len(api.all(path, {"acknowledged": "true"})) == 3
    run = ok(api.post(f"{path}/{ids[1]}/replay", None, **{"Idempotency-Key": "r"}), 201)
    assert run == ok(api.post(f"{path}/{ids[1]}/replay", None, **{"Idempotency-Key": "r"}), 201)
    assert (run["cause"], run["webhook_id"]) == ("replayed by reviewer key", webhook["id"])
    assert len(api.all("trigger-runs", {"webhook_id": webhook["id"]})) == 4


def test_a_replay_without_an_agent_is_a_conflict(admin, api, webhook):
    delivery = post(webhook, {})["delivery"]
    ok(admin.patch(f"webhooks/{webhook['id']}", {"agent_id": None}))
    refused(api.post(f"webhooks/{webhook['id']}/deliveries/{delivery}/replay"), 409)


CHANGES = [
    ("POST", "schedules"), ("PATCH", "schedules/S"), ("DELETE", "schedules/S"), ("POST", "webhooks"),
    ("PATCH", "webhooks/W"), ("DELETE", "webhooks/W"), ("POST", "webhooks/W/secret"),
]  # fmt: skip
ACTS = [
    ("POST", "schedules/S/run"), ("POST", "webhooks/W/deliveries/D/acknowledge"),
    ("POST", "webhooks/W/deliveries/D/replay"), ("POST", "webhooks/W/deliveries/acknowledge"),
]  # fmt: skip
READS = [
    ("GET", "schedules/S"), ("GET", "webhooks/W"), ("GET", "webhooks/W/deliveries"),
    ("GET", "webhooks/W/deliveries/D"), ("GET", "trigger-runs/R"),
]  # fmt: skip


@pytest.fixture
def paths(schedule, webhook):
    delivery = post(webhook, {})["delivery"]
    ids = {"S": schedule["id"], "W": webhook["id"], "D": delivery, "R": str(TriggerRun.objects.latest("id").pk)}
    return lambda path: "/".join(ids.get(part, part) for part in path.split("/"))


def test_a_viewer_reads_a_reviewer_acts_an_admin_changes(viewer, api, paths):
    for method, path in [*CHANGES, *ACTS]:
        refused(viewer.send(method, paths(path), "{}"), 403)
    for method, path in CHANGES:
        refused(api.send(method, paths(path), "{}"), 403)
    for method, path in READS:
        ok(viewer.send(method, paths(path), ""))


def test_another_workspace_finds_nothing(stranger, key_for, other_workspace, paths):
    weak = key_for(other_workspace, "viewer")
    for method, path in [*READS, *ACTS, *CHANGES]:
        if "/" not in path:
            continue
        body = json.dumps({"ids": ["019a0000-0000-7000-8000-000000000000"]}) if method != "GET" else ""
        refused(stranger.send(method, paths(path), body), 404)
        refused(weak.send(method, paths(path), body), 404)
    assert [stranger.all(path) for path in ("schedules", "webhooks", "trigger-runs")] == [[], [], []]
    assert TriggerRun.objects.count() == 1


def test_an_agent_of_another_workspace_is_not_found(admin, schedule, webhook, other_workspace):
    theirs = str(agents.get_or_create_agent(other_workspace.id, "Theirs").id)
    refused(admin.post("schedules", CRON | {"name": "x", "agent_id": theirs}), 404)
    refused(admin.patch(f"schedules/{schedule['id']}", {"agent_id": theirs}), 404)
    refused(admin.post("webhooks", {"name": "theirs", "agent_id": theirs}), 404)
    refused(admin.patch(f"webhooks/{webhook['id']}", {"agent_id": theirs}), 404)


@pytest.mark.parametrize("query", ["status=x", "kind=x", "schedule_id=x", "cursor=x", "limit=0"])
def test_filters_that_mean_nothing_are_refused(api, query):
    refused(api.get(f"trigger-runs?{query}"), 422)


def test_lists_run_no_more_queries_with_more_rows(admin, runner, webhook):
    lists = ("schedules", "webhooks", "trigger-runs", f"webhooks/{webhook['id']}/deliveries")

    def fill(start: int, stop: int) -> None:
        for number in range(start, stop):
            plan = CRON | {"name": f"Plan {number}", "agent_id": str(runner.id)}
            made = ok(admin.post("schedules", plan), 201)
            ok(admin.post(f"schedules/{made['id']}/run"), 201)
            ok(admin.post("webhooks", {"name": f"hook-{number}", "agent_id": str(runner.id)}), 201)
            post(webhook, {"n": number})

    fill(0, 2)
    few = {path: _queries(admin, path) for path in lists}
    fill(2, 8)
    assert {path: _queries(admin, path) for path in lists} == few
