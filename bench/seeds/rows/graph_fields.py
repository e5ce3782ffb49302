"""Seed 001: each field, phase and edge of an agent session, in and out."""

from __future__ import annotations

from typing import Any

from ..desk import SeedDesk, Seen
from ..files import MESSAGES, seed
from ..row import Checks, row
from .graphs import SAID, decision, graph, written_session
from .vcon_agents import own

STATUSES = {"completed": "completed", "failed": "crashed", "active": "active", "cancelled": "cancelled"}
DEFINITION = {"id": "zqdef", "type": "agent_definition", "title": "zqrunner", "properties": {}}


def run_of(file: dict[str, Any]) -> dict[str, Any]:
    """The graph with a definition that its session is a run of."""
    session = file["nodes"][0]["id"]
    edge = {"id": "zqruns", "type": "agent_definition_runs_agent_session", "source": "zqdef", "target": session}
    return file | {"nodes": [*file["nodes"], DEFINITION], "edges": [*file["edges"], edge]}


@row("1.204", "every field of the type leaves as it came in")
def fields(desk: SeedDesk) -> Checks:
    file = graph(0x2001, description="zqdescription", status="completed")
    given, written = file["nodes"][0], written_session(desk.imported(file).export("upg"))
    for name, value in SAID.items():
        yield name, str(written["properties"].get(name)) == str(value)
    for name in ("id", "type", "title", "description", "status", "tags"):
        yield name, written.get(name) == given[name]


@row("1.205", "id, title and description of the node are shown")
def base_node(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(0x2002, description="zqdescription", title="zqtitle"))
    yield "id", one.json["external_id"] == f"zq-run-{0x2002}"
    yield "title in the API", one.json["title"] == "zqtitle"
    yield "title on the page", "zqtitle" in one.page
    yield "description", "zqdescription" in one.about


@row("1.206", "status and session_status tell the phase")
def phases(desk: SeedDesk) -> Checks:
    for number, (said, phase) in enumerate(STATUSES.items()):
        one = desk.imported(graph(0x2010 + number, properties={"session_status": said}))
        yield f"session_status {said}: {one.json['phase']}", one.json["phase"] == phase


@row("1.207", "tokens, cost, tools, turns and errors stand on the page")
def totals(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(0x2020))
    for word in ("4,242", "1.25", "zqfirst", "zqsecond", "917", "613"):
        yield word, word in one.about or word.replace(",", "") in one.about


@row("1.208", "a run is a session of its definition, which lists it")
def definition(desk: SeedDesk) -> Checks:
    one = desk.imported(run_of(graph(0x2021)))
    yield "agent", one.json["agent"]["name"] == "zqrunner"
    listed = desk.call(f"/dashboard/agents/{one.json['agent']['id']}/sessions")["items"]
    yield "listed", one.id in [item["id"] for item in listed]
    yield "the edge leaves", "agent_definition_runs_agent_session" in one.written("upg").decode()


@row("1.209", "a decision that the run created: an event, linked to it in what goes out")
def created(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(0x2022, decision("2026-03-01", 0x2022)))
    written = one.export("upg")
    edges = [edge for edge in written["edges"] if edge["type"] == "agent_session_creates_decision"]
    yield "edge", [edge["source"] for edge in edges] == [written_session(written)["id"]]
    yield "node", any(node["type"] == "decision" and node["title"] == "zqdecision" for node in written["nodes"])
    yield "found by its words", one.id in str(desk.call("/api/v1/sessions?q=zqrationale&limit=500"))


@row("1.210", "evidence behind a decision is shown and leaves")
def evidence(desk: SeedDesk) -> Checks:
    file = graph(0x2023, decision("2026-03-01", 0x2023))
    file["nodes"].append({"id": "zqev", "type": "evidence", "title": "zqevidence", "properties": {"source": "zqs"}})
    file["edges"].append({"id": "zqi", "type": "node_informs_node", "source": "zqev", "target": f"d{0x2023}"})
    one = desk.imported(file)
    yield "page", "zqevidence" in one.page or "zqevidence" in one.about
    yield "leaves", "zqevidence" in one.written("upg").decode()


@row("1.211", "two runs in one file are two sessions")
def two_runs(desk: SeedDesk) -> Checks:
    first, second = graph(0x2024), graph(0x2025)
    taken = desk.taken(first | {"nodes": [*first["nodes"], *second["nodes"]]})
    yield "two", len(taken["sessions"]) == 2


@row("1.212", "members and types that nobody here knows leave as they came")
def unknown(desk: SeedDesk) -> Checks:
    file = graph(0x2026, properties={"zqproperty": "zqheld"}, zqmember="zqkept")
    one = desk.imported(file)
    for word in ("zqproperty", "zqmember", "zqheld", "zqkept"):
        yield f"{word} kept", word in one.written("upg").decode()
    for word in ("zqheld", "zqkept"):
        yield f"{word} shown", word in one.about


@row("1.213", "a session of another kind leaves as a run, and comes back")
def from_elsewhere(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(MESSAGES), 0x2027))
    written = one.export("upg")
    properties = written_session(written)["properties"]
    yield "tokens", properties["tokens_used"] == 1100
    yield "turns", properties["turns"] == 1
    yield "errors", properties["error_count"] == 0
    yield "said what stays behind", "transcript" in one.lost("upg") or "message" in one.lost("upg")
    back = desk.imported(written)
    yield "and back", back.json["usage"]["total_tokens"] == 1100


@row("1.214", "a decision of a person here is a review gate of the run")
def gate(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqgate1214", policy={"rules": [{"name": "all", "match": {}, "effect": "ask"}]})
    one = desk.begun(agent, message="/tool zqtool {}")
    asked = desk.wait(
        lambda: [
            item for item in desk.call("/api/v1/approvals?status=pending")["items"] if item["session_id"] == one.id
        ],
        bool,
    )
    body = {"verdict": "approve", "version": asked[0]["version"], "digest": asked[0]["digest"], "reason": "zqbecause"}
    desk.call(f"/api/v1/approvals/{asked[0]['id']}/decision", body)
    written = one.idle().written("upg").decode()
    for word in ("review_gate", "approval_record", "zqbecause"):
        yield word, word in written


@row("1.215", "what is wrong with a graph is a finding that names its place")
def faults(desk: SeedDesk) -> Checks:
    file = graph(0x2028)
    file["edges"].append({"id": "zqe", "type": "agent_session_creates_decision", "source": "nobody", "target": "d"})
    found = desk.taken(file)
    yield "read", found["status"] == "done"
    yield "finding", any("nobody" in finding["message"] for finding in found["findings"])


@row("1.216", "a filter by tag, error and phase finds the run among others")
def filters(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(0x2029, tags=["zqonly"]))
    for query in ("tag=zqonly", "origin=import&tag=zqonly", "tag=zqonly&min_cost=1"):
        found = desk.call(f"/api/v1/sessions?{query}")["items"]
        yield query, [item["id"] for item in found] == [one.id]
    yield "page", one.id in desk.html("/sessions/?tag=zqonly")
    yield "not another", not desk.call("/api/v1/sessions?tag=zqnobody")["items"]


@row("1.217", "older envelopes and names of the format are read")
def older(desk: SeedDesk) -> Checks:
    for number, version in enumerate(("0.11.0", "0.41.0")):
        one = desk.imported(graph(0x2030 + number) | {"upg_version": version})
        yield version, one.json["usage"]["total_tokens"] == 4242
    target = Seen(desk, desk.imported(graph(0x2032)).id).export("upg", target_version="0.11.0")
    yield "written as 0.11.0", target["$upg"]["spec_version"] == "0.11.0"
