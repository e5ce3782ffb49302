"""Seed 003: sessions that begin here, what is asked of them, and what they used."""

from __future__ import annotations

import json
import time
from typing import Any

from bench.drills.desk import Refused

from ..desk import SeedDesk, Seen
from ..files import seed
from ..row import Checks, row
from .vcon_agents import own

ALLOWING = {"rules": [{"name": "all", "match": {}, "effect": "allow"}]}


def refused(desk: SeedDesk, path: str, body: Any) -> tuple[int, str]:
    """Status and words of a refusal; (0, "") when it is taken."""
    try:
        desk.call(path, body)
    except Refused as answer:
        return answer.status, str(answer)
    return 0, ""


@row("3.202", "idle, running and archived; a message queues behind the one in flight; archived takes none")
def lifecycle(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqlife31")
    one = desk.begun(agent)
    yield "idle", one.now["status"] == "idle"
    first = desk.call(f"{one.rest}/messages", {"text": "/wait 2"})
    yield "running", first["queued"] is False and one.now["status"] == "running"
    yield "queued", desk.call(f"{one.rest}/messages", {"text": "zqsecond"})["queued"]
    done = one.idle()
    yield "both turns", done.json["turn_count"] == 2
    desk.call(f"{one.rest}/archive", {})
    yield "archived", one.now["status"] == "archived"
    yield "409", refused(desk, f"{one.rest}/messages", {"text": "zqlate"})[0] == 409


@row("3.8", "the id that the runtime calls a session is in the API")
def runtime_id(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqrun38"), message="zqhi").idle()
    yield "field of a session", "runtime_id" in one.json
    yield "field of a turn", "runtime_id" in one.turns[0]


@row("3.11", "a message to an agent that runs elsewhere waits for it in the log, and the page says that")
def external(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqouter311", runtime="external"))
    desk.call(f"{one.rest}/messages", {"text": "zqhello"})
    yield "in the log", len(one.of_kind("user_message")) == 1
    yield "page", "A message goes into the log" in one.page
    continued = desk.call(f"/api/v1/sessions/{one.id}/continue", {"agent_id": desk.agent("zqinner311")["id"]})
    yield "it can go on here", continued["continues"] == one.id


@row("3.16", "Slack team, channel and thread are readable")
def slack(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqslack316"))
    yield "field", "slack" in one.json
    key = "T1:C2:1760000000.000100"
    desk.ask("UPDATE sessions_app_session SET slack_conversation_key = %s, origin = 'slack' WHERE id = %s", key, one.id)
    found = one.now["slack"]
    yield "parts", found and (found["team_id"], found["channel_id"], found["thread_ts"]) == tuple(key.split(":"))
    yield "key", found and found["conversation_key"] == key
    yield "page", "1760000000.000100" in Seen(desk, one.id).about


@row("3.25", "a session points at its trigger run, and that at its delivery")
def trigger(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqtrigger325")
    schedule = desk.call("/api/v1/schedules", {"agent_id": agent["id"], "name": "zqmorning", "cron": "0 9 * * *",
                                               "input_text": "zqreport"})  # fmt: skip
    desk.submit(f"{desk.address}/triggers/schedules/{schedule['id']}/", {})
    hook = desk.call("/api/v1/webhooks", {"name": "zqhook325", "scheme": "none", "agent_id": agent["id"]})
    address = hook.get("url") or hook.get("path") or ""
    desk.call(address.replace(desk.address, ""), {"zq": "zqpayload"}, headers={"Authorization": ""})
    runs = desk.wait(lambda: [run for run in desk.call("/api/v1/trigger-runs")["items"] if run["session_id"]], bool)
    one = Seen(desk, runs[0]["session_id"])
    yield "trigger_run_id", one.json["trigger_run_id"] == runs[0]["id"]
    yield "delivery_id", one.json["delivery_id"] == runs[0]["delivery_id"] is not None
    yield "schedule_id", "schedule_id" in one.json
    yield "page", "zqhook325" in one.page


@row("3.32", "a question to a person is an event of kind escalation")
def escalation(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqask332"), message="/ask zqmay I?")
    found = desk.wait(lambda: desk.call(f"/api/v1/sessions/{one.id}/events?kind=escalation")["items"], bool)
    yield "?kind=escalation", found
    desk.call(f"{one.rest}/interrupt", {})
    done = one.idle()
    results = [event["tool"] for event in done.of_kind("tool_result")]
    yield (
        "cancelled is a structured error (3.46)",
        results
        and results[-1]["status"] == "cancelled"
        and (
            "cancelled" in json.dumps(results[-1]["result"]) or "cancelled" in done.of_kind("tool_result")[-1]["text"]
        ),
    )


@row("3.35", "a message to an imported session is refused in words")
def imported(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 0x335))
    status, words = refused(desk, f"{one.rest}/messages", {"text": "zqhello"})
    yield "409", status == 409
    yield "says what to do", "continue" in words
    yield "nothing is in the log", len(one.events) == one.json["event_count"]


@row("3.37", "an interrupt that came too late says so")
def late(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqlate337"), message="zqshort")
    until = time.monotonic() + 10
    while one.now["status"] == "running" and time.monotonic() < until:
        time.sleep(0.02)
    answer = desk.call(f"{one.rest}/interrupt", {})
    yield "taken", answer["id"] == one.id
    said = " ".join(event["text"] for event in one.of_kind("status"))
    yield "the log says that no turn was in flight", "no turn" in said or "too late" in said
    yield "and does not say that it was interrupted", "interrupted" not in said


@row("3.49", "each turn says how long its runtime was at work")
def runtime(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqtime349"), message="/wait 0.5").idle()
    yield "turn", (one.turns[-1].get("runtime_ms") or 0) >= 300
    yield "page", "at work" in one.about


def paid(desk: SeedDesk, name: str, price: str) -> tuple[dict[str, Any], str]:
    """An agent with a tool that costs so much, and the message that has it called."""
    tool = {"name": "zqpaid", "description": "d", "input_schema": {"type": "object"}, "price": price}
    return desk.agent(name, tools=[tool], policy=ALLOWING), "/tool zqpaid {}"


@row("3.52", "what a tool call cost is part of its turn and session, equal to the ledger")
def tool_cost(desk: SeedDesk) -> Checks:
    agent, message = paid(desk, "zqpayer352", "0.01")
    one = desk.begun(agent, message=message).idle()
    yield "session", one.json["tool_cost"] == "0.010000"
    yield "turn", one.turns[-1]["tool_cost"] == "0.010000"
    yield "cost holds it", float(one.json["cost"]["amount"]) >= 0.01
    yield "page", "0.01" in one.page


@row("3.55", "a call refused for want of money is among the calls")
def no_money(desk: SeedDesk) -> Checks:
    agent, message = paid(desk, "zqpoor355", "50.00")
    desk.call("/api/v1/wallets/data/credits", {"source": "purchased", "amount": "0.02"})
    one = desk.begun(agent, message=message).idle()
    calls = [call for call in desk.call("/api/v1/calls")["items"] if call["session_id"] == one.id]
    yield "among the calls", [call["status"] for call in calls] == ["denied"]


@row("3.201", "messages, interrupt and archive need their session; the other one's is 404")
def addresses(desk: SeedDesk) -> Checks:
    one, two = desk.begun(desk.agent("zqa360")), desk.agent("zqb360")
    wrong = f"/dashboard/agents/{two['id']}/sessions/{one.id}"
    for door in ("messages", "interrupt", "archive"):
        yield door, refused(desk, f"{wrong}/{door}", {"text": "x"} if door == "messages" else {})[0] == 404
