"""Seed 002: session.llmfeed.json in, out, and gone on with."""

from __future__ import annotations

import base64
from typing import Any

from ..desk import SeedDesk, Seen
from ..files import FEED
from ..row import Checks, row
from .vcon_parts import PNG

SEED: dict[str, Any] = {
    "feed_type": "session",
    "metadata": {"origin": "https://agentplatform.com", "title": "Session: Recipe Generation",
                 "generated_at": "2025-05-20T12:00:00Z"},
    "context": {"user_input": "Give me a recipe for lasagna", "agent_profile": "vibe-agent-2.1"},
    "imports": ["https://example.org/.well-known/mcp.llmfeed.json"],
    "decisions": [{"intent": "generate_recipe", "used_prompt": "Give me a recipe for...", "resolved": True}],
    "outputs": [{"type": "text/markdown", "value": "Here is your lasagna recipe..."}],
}  # fmt: skip
OUTPUTS = [
    {"type": "text/markdown", "value": "# zqmarkdown"}, {"type": "code", "value": "zqcode = 1"},
    {"type": "message", "value": "zqmessage"}, {"type": "application/json", "value": {"zqjson": 1}},
    {"type": "image/png", "value": PNG},
]  # fmt: skip


def feed(number: int, **more: Any) -> dict[str, Any]:
    """A feed of its own title."""
    return FEED | {"metadata": FEED["metadata"] | {"title": f"T{number}"}} | more  # type: ignore[dict-item]


def went_on(desk: SeedDesk, one: Seen, name: str) -> str:
    """What the agent that goes on from a session is given."""
    agent = desk.agent(name)
    made = desk.call(f"/api/v1/sessions/{one.id}/continue", {"agent_id": agent["id"]})
    return Seen(desk, made["id"]).of_kind("injected_context")[0]["text"]


@row("2.3", "the example of the seed comes in and goes out: context, decisions, outputs and origin equal")
def example(desk: SeedDesk) -> Checks:
    out = desk.imported(SEED).export("llmfeed")
    for name in ("context", "imports"):
        yield name, out[name] == SEED[name]
    for name in ("decisions", "outputs"):
        kept = [{key: one[key] for key in SEED[name][0] if key in one} for one in out[name]]
        yield name, kept[:1] == SEED[name]
    yield "origin", "https://agentplatform.com" in str(out["metadata"])
    yield "title", out["metadata"]["title"] == SEED["metadata"]["title"]


@row("2.5", "tags of the metadata are shown")
def tags(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(5, metadata=FEED["metadata"] | {"title": "T5", "tags": ["zqfeedtag"]}))  # type: ignore[operator]
    yield "API", one.json["tags"] == ["zqfeedtag"]
    yield "page", "zqfeedtag" in one.page


@row("2.12", "resolved or rejected at a glance")
def outcome(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(12))
    yield "intent", "zqintent" in one.page
    yield "rejected", "rejected" in one.page
    yield "reason", "zqreason" in one.page


@row("2.13", "what people decided leaves as decisions")
def human(desk: SeedDesk) -> Checks:
    policy = {"rules": [{"name": "all", "match": {}, "effect": "ask"}]}
    agent = desk.agent("zqasker213", policy=policy)
    one = desk.begun(agent, message='/tool zqtool {"a": 1}')
    asked = desk.wait(lambda: desk.call(f"/api/v1/approvals?status=pending&session_id={one.id}")["items"], bool)
    asked = [item for item in asked if item["session_id"] == one.id]
    yield "asked", asked
    decision = {"verdict": "deny", "version": asked[0]["version"], "digest": asked[0]["digest"], "reason": "zqno"}
    desk.call(f"/api/v1/approvals/{asked[0]['id']}/decision", decision)
    out = one.idle().export("llmfeed")
    yield "in decisions", any(item.get("reason") == "zqno" for item in out["decisions"])
    back = desk.imported(out | {"metadata": out["metadata"] | {"title": "T213"}})
    yield "and back", "zqno" in back.about


@row("2.14", "outputs as markdown, code (2.15), message (2.16), JSON and image (2.17): each once, each seen")
def outputs(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(14, outputs=OUTPUTS))
    for word in ("zqmarkdown", "zqcode", "zqmessage", "zqjson"):
        yield f"{word} is shown", word in one.page
        yield f"{word} is shown once", one.page.split("Inspector")[0].count(word) == 1
    yield "the message is the agent's", any("zqmessage" in event["text"] for event in one.of_kind("agent_message"))
    yield "no base64 as text", PNG[:40] not in one.page.split("Inspector")[0]
    yield "the image", "/media" in one.html
    written = one.export("llmfeed")["outputs"]
    yield "leave as they came", [{k: o[k] for k in ("type", "value")} for o in written][: len(OUTPUTS)] == OUTPUTS


@row("2.21", "parts can be tried again: from each turn, with another message")
def parts(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(21))
    made = desk.call(f"/api/v1/sessions/{one.id}/continue",
                     {"agent_id": desk.agent("zqforker221")["id"], "after_turn": 1, "message": "zqother"})  # fmt: skip
    yield "fork", made["continues"] == one.id and made["continues_seq"]
    here = desk.begun(desk.agent("zqparts221"), message="zqhi").idle()
    yield "editable_blocks leave", "editable_blocks" in here.export("llmfeed")


@row("2.24", "replay_endpoint, and going on from the page (2.25)")
def replay(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(24))
    yield "replay_endpoint", one.id in str(one.export("llmfeed").get("replay_endpoint"))
    yield "page", "Continue" in one.page


@row("2.28", "an agent that goes on knows the goal, the context, the state, imports and outputs")
def restored(desk: SeedDesk) -> Checks:
    given = went_on(desk, desk.imported(feed(28, imports=["https://example.org/zqimport"],
                                             agent_state={"zq": "zqstate"})), "zqgoer228")  # fmt: skip
    for word in ("zqasked", "zqgoal", "zqimport", "zqstate", "zqmessage"):
        yield word, word in given


@row("2.29", "an agent that goes on knows decisions with prompt, outcome and reason, and asks for none again (2.30)")
def decided(desk: SeedDesk) -> Checks:
    given = went_on(desk, desk.imported(feed(29)), "zqgoer229")
    for word in ("zqintent", "zqprompt", "zqreason", "rejected", "not ask"):
        yield word, word in given


@row("2.201", "a block of base64 that says it is an image is seen, not read as text")
def media(desk: SeedDesk) -> Checks:
    data = "data:image/png;base64," + PNG
    one = desk.imported(feed(31, outputs=[{"type": "image/png", "value": data}]))
    yield "no text", base64.b64encode(b"x").decode() and PNG[:40] not in one.page
    yield "a place for it", "/media" in one.html
