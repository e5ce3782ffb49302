"""Seed 001: the agent session of a product graph, its totals, its decisions and its tags."""

from __future__ import annotations

from typing import Any

from ..desk import SeedDesk
from ..files import run
from ..row import Checks, row

SAID: dict[str, Any] = {
    "session_start": "2026-03-01T10:00:01Z", "session_end": "2026-03-01T11:00:00Z", "turns": 917, "tokens_used": 4242,
    "cost": 1.25, "tools_invoked": ["zqsecond", "zqfirst"], "error_count": 613, "session_status": "completed",
    "output_summary": "zqsummary",
}  # fmt: skip


def decision(date: str, number: int = 1) -> dict[str, Any]:
    return {"id": f"d{number}", "type": "decision", "title": "zqdecision",
            "properties": {"date": date, "rationale": "zqrationale"}}  # fmt: skip


def graph(number: int, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run of its own number."""
    file = run(SAID | more.pop("properties", {}), *nodes)
    session = file["nodes"][0]
    session |= {"id": f"zq-run-{number}", "tags": ["zqtag"], **more}
    for edge in file["edges"]:
        edge["source"] = session["id"]
    return file


def written_session(file: dict[str, Any]) -> dict[str, Any]:
    return next(node for node in file["nodes"] if node["type"] == "agent_session")


@row("1.2", "session_start and session_end (1.3) stay what they are, whatever a decision is dated")
def dates(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(2, decision("2026-02-01"), decision("2026-05-01", 2)))
    yield "started_at", one.json["started_at"].startswith("2026-03-01T10:00:01")
    yield "ended_at", one.json["ended_at"].startswith("2026-03-01T11:00:00")
    properties = written_session(one.export("upg"))["properties"]
    yield "start in the export", properties["session_start"].startswith("2026-03-01T10:00:01")
    yield "end in the export", properties["session_end"].startswith("2026-03-01T11:00:00")


@row("1.4", "turns and error_count (1.9) as stated are shown and leave")
def stated(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(4))
    properties = written_session(one.export("upg"))["properties"]
    for name, value in (("turns", 917), ("error_count", 613)):
        yield f"{name} on the page", str(value) in one.page
        yield f"{name} in the export", properties[name] == value


@row("1.201", "tokens_used and cost are counted as stated")
def totals(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(5))
    yield "tokens", one.json["usage"]["total_tokens"] == 4242
    yield "cost", one.json["cost"]["amount"] == "1.250000"
    properties = written_session(one.export("upg"))["properties"]
    yield "tokens leave", properties["tokens_used"] == 4242
    yield "cost leaves", float(properties["cost"]) == 1.25


@row("1.8", "tools_invoked in the order of first use")
def tools(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(8))
    yield "API", one.json["tools_invoked"] == ["zqsecond", "zqfirst"]
    properties = written_session(one.export("upg"))
    yield "export", str(properties).find("zqsecond") < str(properties).find("zqfirst") or "tools" not in str(properties)


@row("1.202", "session_status and output_summary are shown and leave")
def status(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(10))
    yield "phase", one.json["phase"] == "completed"
    yield "summary", one.json["summary"] == "zqsummary"
    yield "summary on the page", "zqsummary" in one.page
    yield "summary leaves", "zqsummary" in one.written("upg").decode()


@row("1.16", "tags filter, are shown on the session and in the list, and can be set")
def tags(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(16))
    yield "filter", one.id in [item["id"] for item in desk.call("/api/v1/sessions?tag=zqtag")["items"]]
    yield "session page", "zqtag" in one.page
    yield "list", "zqtag" in desk.page("/sessions/?tag=zqtag")
    changed = desk.call(f"/api/v1/sessions/{one.id}", {"tags": ["zqtag", "zqnew"]}, method="PATCH")
    yield "set by the API", changed["tags"] == ["zqtag", "zqnew"]
    yield "found by the new one", one.id in [i["id"] for i in desk.call("/api/v1/sessions?tag=zqnew")["items"]]
    yield "set on the page", 'name="tag"' in desk.html("/sessions/")
    yield "leave", "zqnew" in one.written("upg").decode()


@row("1.17", "slug, key, aliases and external_ref are shown and kept")
def names(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(17, slug="zqslug", key="zqkey", external_ref={"system": "zqsystem", "id": "zqid"}))
    for word in ("zqslug", "zqkey", "zqalias", "zqsystem"):
        yield f"{word} shown", word in one.about
        yield f"{word} kept", word in one.written("upg").decode()


@row("1.203", "a decision is shown with its reason and leaves")
def decisions(desk: SeedDesk) -> Checks:
    one = desk.imported(graph(21, decision("2026-02-01")))
    yield "title", "zqdecision" in one.page
    yield "reason", "zqrationale" in one.page or "zqrationale" in one.about
    yield "leaves", "zqrationale" in one.written("upg").decode()


@row("1.29", "the description of the definition is shown")
def description(desk: SeedDesk) -> Checks:
    file = graph(29)
    file["nodes"].append({"id": "def29", "type": "agent_definition", "title": "zqdefinition",
                          "description": "zqdescription", "properties": {}})  # fmt: skip
    file["edges"].append({"id": "e29", "type": "agent_definition_runs_agent_session", "source": "def29",
                          "target": "zq-run-29"})  # fmt: skip
    one = desk.imported(file)
    yield "agent", one.json["agent"]["name"] == "zqdefinition"
    yield "shown", "zqdescription" in one.about
    yield "kept", "zqdescription" in one.written("upg").decode()
