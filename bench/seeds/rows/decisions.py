"""Seed 001: decisions and evidence that are recorded here, and the graph that they stand in."""

from __future__ import annotations

import json

from ..desk import SeedDesk, Seen
from ..row import Checks, row


def run_of(desk: SeedDesk, number: int) -> Seen:
    return desk.begun(desk.agent(f"zqgraph{number}"), message="zqasked").idle()


@row("1.22", "a decision is recorded here, and leaves as one that the run created")
def recorded(desk: SeedDesk) -> Checks:
    one = run_of(desk, 22)
    made = desk.call(f"/api/v1/sessions/{one.id}/decisions", {"title": "zqdecision22", "rationale": "zqreason22"})
    yield "listed", made["id"] in json.dumps(desk.call(f"/api/v1/sessions/{one.id}/graph"))
    yield "page", "zqdecision22" in desk.page(f"{one.path}/graph")
    graph = one.export("upg")
    (node,) = [item for item in graph["nodes"] if item["title"] == "zqdecision22"]
    yield "leaves", node["properties"]["rationale"] == "zqreason22"
    edges = [(edge["type"], edge["target"]) for edge in graph["edges"]]
    yield "edge", ("agent_session_creates_decision", node["id"]) in edges


@row("1.24", "evidence for a decision is recorded here")
def evidence(desk: SeedDesk) -> Checks:
    one = run_of(desk, 24)
    decision = desk.call(f"/api/v1/sessions/{one.id}/decisions", {"title": "zqdecision24"})
    body = {"title": "zqevidence24", "decision_id": decision["id"], "direction": "supports", "summary": "zqsummary24"}
    desk.call(f"/api/v1/sessions/{one.id}/evidence", body)
    yield "page", "zqevidence24" in desk.page(f"{one.path}/graph")
    yield "leaves", "zqsummary24" in one.written("upg").decode()


@row("1.25", "from a decision to its session and the version of the definition, and back; the page (1.26)")
def traced(desk: SeedDesk) -> Checks:
    one = run_of(desk, 25)
    made = desk.call(f"/api/v1/sessions/{one.id}/decisions", {"title": "zqdecision25"})
    yield "session", made["session_id"] == one.id
    yield "version", made["agent_version"] == 1
    page = desk.html("/agents/zqgraph25/graph/")
    yield "page of the agent", "zqdecision25" in page and one.id in page


@row("1.27", "all runs of an agent leave as one graph")
def whole(desk: SeedDesk) -> Checks:
    one = run_of(desk, 27)
    other = Seen(desk, desk.call(one.rest.rpartition("/")[0], {"message": "zqmore"})["id"]).idle()
    graph = json.loads(desk.bytes_of(f"/api/v1/agents/{one.json['agent']['id']}/graph/export"))
    runs = [node for node in graph["nodes"] if node["type"] == "agent_session"]
    yield "both runs", len(runs) == 2 and {one.id, other.id} <= set(_texts(runs))


def _texts(runs: list[dict[str, object]]) -> list[str]:
    return [word for run in runs for word in json.dumps(run).replace("/", '"').split('"')]
