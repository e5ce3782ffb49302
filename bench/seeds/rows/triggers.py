"""Seed 003: sessions that begin without a member: a schedule's fire, a webhook's delivery, a thread in Slack."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

from bench.drills.desk import Refused
from tests.fakes.slack import SECRET, TOKEN, FakeSlack, envelope

from ..desk import SeedDesk, Seen
from ..row import Checks, row


def runs(desk: SeedDesk, name: str) -> list[dict[str, Any]]:
    """Fires of a trigger, once there is one."""
    path = "/api/v1/trigger-runs?limit=500"
    return desk.wait(lambda: [run for run in desk.call(path)["items"] if run["name"] == name], bool)


@row("3.218", "a fire of a schedule creates a fresh session with its text as the first message")
def schedule(desk: SeedDesk) -> Checks:
    body = {"agent_id": desk.agent("zqcron218")["id"], "name": "zqevery218", "cron": "0 9 * * *",
            "input_text": "zqreport218"}  # fmt: skip
    made = desk.call("/api/v1/schedules", body)
    for _ in range(2):
        desk.call(f"/api/v1/schedules/{made['id']}/run", {})
    found = desk.wait(lambda: runs(desk, "zqevery218"), lambda there: len(there) == 2)
    yield "two fires", len(found) == 2
    yield "a session each", len({run["session_id"] for run in found}) == 2
    one = Seen(desk, found[0]["session_id"]).idle()
    yield "origin", one.json["origin"] == "schedule"
    message = one.of_kind("user_message")[0]
    yield "the text", message["text"] == "zqreport218"
    yield "from a trigger", message["actor"]["kind"] == "trigger"
    yield "both ways", (one.json["trigger_run_id"], one.json["schedule_id"]) == (found[0]["id"], made["id"])
    yield "page", "zqevery218" in one.page
    yield "page of fires", one.id in desk.html("/triggers/runs/")


@row("3.219", "a schedule fires by itself when its minute comes")
def by_itself(desk: SeedDesk) -> Checks:
    body = {"agent_id": desk.agent("zqcron219")["id"], "name": "zqminute219", "cron": "* * * * *",
            "input_text": "zqminute"}  # fmt: skip
    made = desk.call("/api/v1/schedules", body)
    path = "/api/v1/trigger-runs?limit=500"
    found = desk.wait(
        lambda: [run for run in desk.call(path)["items"] if run["name"] == "zqminute219"], bool, seconds=75
    )
    yield "fired", found and found[0]["status"] == "started"
    desk.call(f"/api/v1/schedules/{made['id']}", {"enabled": False}, method="PATCH")


@row("3.220", "a delivery creates a session with its JSON as the first message; the same again creates none")
def webhook(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqhook220")
    hook = desk.call("/api/v1/webhooks", {"name": "zqhook220", "scheme": "generic", "agent_id": agent["id"]})
    path = hook["url"].replace(desk.address, "")
    body, stamp = json.dumps({"zqorder": "zq4711"}).encode(), str(int(time.time()))
    signed = f"v2\n{stamp}\nzq-1\n".encode() + body
    digest = hmac.new(hook["secret"].encode(), signed, hashlib.sha256).hexdigest()
    headers = {"X-Countersign-Timestamp": stamp, "Idempotency-Key": "zq-1", "Authorization": "",
               "X-Countersign-Signature": f"v2={digest}"}  # fmt: skip
    answer = desk.call(path, body, headers=headers)
    one = Seen(desk, answer["session"]).idle()
    yield "origin", one.json["origin"] == "webhook"
    yield "the JSON", json.loads(one.of_kind("user_message")[0]["text"]) == {"zqorder": "zq4711"}
    yield "delivery", one.json["delivery_id"] == answer["delivery"]
    again = desk.call(path, body, headers=headers)
    yield "the same again", again["duplicate"] and again["session"] == one.id
    yield "the run points back", [run["session_id"] for run in runs(desk, "zqhook220")] == [one.id]
    try:
        desk.call(path, body, headers=headers | {"X-Countersign-Signature": "v2=00"})
        yield "a wrong signature", False
    except Refused as refused:
        yield "a wrong signature", refused.status == 401


@row("3.221", "a fire of a paused agent begins nothing, and says why")
def paused(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqpaused221")
    made = desk.call("/api/v1/schedules", {"agent_id": agent["id"], "name": "zqpaused221", "cron": "0 9 * * *",
                                           "input_text": "zq"})  # fmt: skip
    desk.call(f"/api/v1/agents/{agent['id']}", {"status": "paused"}, method="PATCH")
    desk.call(f"/api/v1/schedules/{made['id']}/run", {})
    found = runs(desk, "zqpaused221")
    yield "skipped", found[0]["status"] == "skipped"
    yield "no session", found[0]["session_id"] is None
    yield "why", "paused" in found[0]["error"]


def slack_says(desk: SeedDesk, event: dict[str, Any], number: str) -> None:
    """Slack's signed request."""
    body, stamp = json.dumps(envelope(event, number)).encode(), str(int(time.time()))
    digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}", "Authorization": ""}
    desk.call("/slack/events", body, headers=headers)


@row("3.222", "a mention in Slack creates one session a thread; replies are messages to it, and it answers there")
def slack(desk: SeedDesk) -> Checks:
    with FakeSlack().serving() as server:
        server.user("U0KIM0001", "Kim", "kim@example.org")
        yield from _in_slack(desk.again({"SLACK_API_URL": server.api_url}), server)


def _in_slack(desk: SeedDesk, server: FakeSlack) -> Checks:
    agent = desk.agent("zqslack222")
    page = desk.submit(f"{desk.address}/settings/slack/", {"token": TOKEN, "signing_secret": SECRET},
                       to="/settings/slack/connect/")  # fmt: skip
    yield "connected", "is connected" in page
    installation = desk.ask("SELECT id FROM sessions_app_slackinstallation")[0][0]
    desk.submit(f"{desk.address}/settings/slack/", {"agent": agent["id"], "outsiders": "reject"},
                to=f"/settings/slack/{installation}/")  # fmt: skip
    thread = "1760000000.000100"
    said = {"type": "app_mention", "channel": "C0GENERAL", "user": "U0KIM0001", "channel_type": "channel"}
    slack_says(desk, said | {"text": "<@U0BOT0001> zqhello", "ts": thread}, "Ev1")
    path = f"/dashboard/agents/{agent['id']}/sessions"
    listed = desk.wait(lambda: desk.call(path)["items"], bool)
    yield "a session", len(listed) == 1
    one = Seen(desk, listed[0]["id"]).idle()
    yield "origin", one.json["origin"] == "slack"
    yield "thread", one.json["slack"]["thread_ts"] == thread
    yield "said", "zqhello" in one.of_kind("user_message")[0]["text"]
    yield "on the page", "zqhello" in one.page
    answers = desk.wait(lambda: [m.text for m in server.posted("C0GENERAL") if "zqhello" in str(m)], bool)

    yield "answered in the thread", answers
    reply = said | {"text": "<@U0BOT0001> zqmore", "ts": "1760000001.000100", "thread_ts": thread}
    slack_says(desk, reply, "Ev2")
    slack_says(desk, reply, "Ev2")
    desk.wait(lambda: one.of_kind("user_message"), lambda found: len(found) > 1)
    yield "the same session", len(desk.call(path)["items"]) == 1
    yield "a reply, once", ["zqmore" in event["text"] for event in one.of_kind("user_message")] == [False, True]
    slack_says(desk, said | {"text": "<@U0BOT0001> zqother", "ts": "1760000002.000100"}, "Ev3")
    yield "another thread is another", len(desk.wait(lambda: desk.call(path)["items"], lambda found: found[1:])) == 2
