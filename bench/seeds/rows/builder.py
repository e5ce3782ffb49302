"""Seed 003: the Builder and its read-only tools; questions to people that nobody answers."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from ..desk import SeedDesk, Seen
from ..row import Checks, row
from .dashboard import ALLOWING
from .routes import asked_of

PROTOCOL = "2025-11-25"


def tool(desk: SeedDesk, name: str, **arguments: Any) -> Any:
    """What a tool of the desk's MCP server answers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {
        "Authorization": f"Bearer {desk.key}", "Content-Type": "application/json", "MCP-Protocol-Version": PROTOCOL,
        "Accept": "application/json, text/event-stream",
    }  # fmt: skip
    asked = Request(f"{desk.address}/mcp", json.dumps(body).encode(), headers)
    with urlopen(asked, timeout=30) as answer:
        result = json.loads(answer.read())["result"]
    assert not result.get("isError"), result
    return json.loads(result["content"][0]["text"])


def run_of(desk: SeedDesk, number: int) -> Seen:
    """A session with a call, of an agent of its own."""
    agent = desk.agent(f"zqbuilder{number}", policy=ALLOWING)
    return desk.begun(agent, message=f'zqword{number}\n/tool zqtool {{"a": 1}}').idle()


@row("3.57", "list_live_agent_sessions lists the sessions of an agent")
def listed(desk: SeedDesk) -> Checks:
    one = run_of(desk, 57)
    found = tool(desk, "list_live_agent_sessions", agent=one.json["agent"]["id"])["sessions"]
    yield "the session", [item["id"] for item in found] == [one.id]


@row("3.58", "read_live_agent_session reads the events")
def read(desk: SeedDesk) -> Checks:
    one = run_of(desk, 58)
    found = tool(desk, "read_live_agent_session", session_id=one.id)
    yield "words", "zqword58" in json.dumps(found["events"])
    yield "the call", "zqtool" in json.dumps(found["events"])
    yield "all", found["last_seq"] == one.json["last_seq"]


@row("3.59", "search_live_agent_sessions finds words")
def searched(desk: SeedDesk) -> Checks:
    one = run_of(desk, 59)
    found = desk.wait(lambda: tool(desk, "search_live_agent_sessions", query="zqword59"), lambda it: one.id in str(it))
    yield "the session", one.id in json.dumps(found)


@row("3.60", "get_agent_session_usage has tokens, runtime and cost")
def used(desk: SeedDesk) -> Checks:
    one = run_of(desk, 60)
    found = tool(desk, "get_agent_session_usage", session_id=one.id)
    yield "tokens", one.json["usage"]["total_tokens"] == found["session"]["usage"]["total_tokens"]
    yield "cost", one.json["cost"]["amount"] in json.dumps(found["session"])


@row("3.61", "list_agent_trigger_runs pairs sessions with what fired them")
def fired(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqbuilder61")
    schedule = {"agent_id": agent["id"], "name": "zqrun61", "cron": "0 0 1 1 *", "input_text": "zqfired"}
    made = desk.call("/api/v1/schedules", schedule)
    desk.call(f"/api/v1/schedules/{made['id']}/run", {})
    found = desk.wait(lambda: tool(desk, "list_agent_trigger_runs"), lambda it: "zqrun61" in json.dumps(it))
    (session,) = desk.call(f"/dashboard/agents/{agent['id']}/sessions")["items"]
    yield "the session", session["id"] in json.dumps(found)
    yield "the schedule", "zqrun61" in json.dumps(found)


@row("3.62", "Build with AI: a chat on the page of the agent answers about its sessions")
def built(desk: SeedDesk) -> Checks:
    one = run_of(desk, 62)
    yield "the agent", one.json["agent"]["name"] == "zqbuilder62"
    yield "a door", "build/" in desk.html("/agents/zqbuilder62/")
    page = desk.html("/agents/zqbuilder62/build/")
    yield "a composer", "<textarea" in page or 'name="text"' in page


@row("3.46", "an escalation that is cancelled is a structured error for the agent")
def cancelled(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqcancel46"), message="/ask zqquestion46?")
    asked_of(desk, one)
    desk.call(f"{one.rest}/interrupt", {})
    told = desk.wait(lambda: one.of_kind("tool_result"), bool)
    yield "cancelled", told and told[-1]["tool"]["status"] == "cancelled"
    text = told[-1]["text"] if told else ""
    yield "structured", text.startswith("{") and "cancelled" in json.dumps(json.loads(text))


@row("3.47", "what waits for a person is found: among sessions, in the inbox, by its agent")
def waiting(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqwait47"), message="/ask zqquestion47?")
    asked_of(desk, one)
    found = tool(desk, "list_live_agent_sessions", needs_approval=True)["sessions"]
    yield "by a tool", one.id in [item["id"] for item in found]
    found = desk.call(f"/api/v1/sessions?needs_approval=true&agent={one.json['agent']['id']}")["items"]
    yield "by the list", [item["id"] for item in found] == [one.id]
    yield "in the inbox", "zqquestion47" in desk.page("/approvals/")
