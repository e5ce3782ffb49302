"""Seed 002: each block of a session feed, what is shown of it, and what goes out."""

from __future__ import annotations

import json
from typing import Any

from ..desk import SeedDesk
from ..files import FEED, MESSAGES, seed
from ..row import Checks, row
from .feeds import feed
from .vcon_agents import own

TRACE = [{"role": "user", "content": "zqtraced"}, {"role": "assistant", "content": "zqtold"}]


@row("2.202", "title, origin and time of the metadata are shown and leave")
def metadata(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x202))
    yield "title", one.json["title"] == f"T{0x202}"
    yield "origin", "https://example.org" in one.about
    yield "time", "2026-05-20" in one.about
    written = one.export("llmfeed")["metadata"]
    yield "title leaves", written["title"] == f"T{0x202}"
    yield "origin leaves", "https://example.org" in json.dumps(written)


@row("2.203", "user, goal and agent of the context are shown and leave")
def context(desk: SeedDesk) -> Checks:
    given = {"user_input": "zqinput", "goal": "zqaim", "agent_profile": "zqprofile", "zqother": {"a": "zqdeep"}}
    one = desk.imported(feed(0x203, context=given))
    for word in ("zqinput", "zqaim", "zqprofile", "zqdeep"):
        yield word, word in one.about
    yield "the prompt", [event["text"] for event in one.of_kind("user_message")] == ["zqinput"]
    yield "agent", one.json["agent"]["name"] == "zqprofile"
    yield "leave", one.export("llmfeed")["context"] == given


@row("2.204", "imports are shown and leave")
def imports(desk: SeedDesk) -> Checks:
    given = ["https://example.org/zqone", {"url": "https://example.org/zqtwo", "type": "mcp"}]
    one = desk.imported(feed(0x204, imports=given))
    for word in ("zqone", "zqtwo"):
        yield word, word in one.about
    yield "leave", one.export("llmfeed")["imports"] == given


@row("2.205", "decisions: intent, prompt, resolved or rejected, and other members, shown and leaving")
def decisions(desk: SeedDesk) -> Checks:
    given = [{"intent": "zqdone", "used_prompt": "zqp1", "resolved": True, "zqmember": "zqm1"},
             {"intent": "zqundone", "used_prompt": "zqp2", "resolved": False}]  # fmt: skip
    one = desk.imported(feed(0x205, decisions=given))
    for word in ("zqdone", "zqundone", "resolved", "zqp1", "zqm1"):
        details = " ".join(desk.page(f"{one.path}/events/{event['seq']}") for event in one.of_kind("note"))
        yield word, word in one.page or word in details
    written = one.export("llmfeed")["decisions"]
    yield (
        "leave",
        [{name: item[name] for name in wanted} for wanted, item in zip(given, written, strict=False)] == given,
    )


@row("2.206", "words of intents, prompts and outputs are found")
def searched(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x206, context={"user_input": "zqfeedprompt"},
                             decisions=[{"intent": "zqfeedintent", "resolved": True}],
                             outputs=[{"type": "text/markdown", "value": "zqfeedoutput"}]))  # fmt: skip
    for word in ("zqfeedprompt", "zqfeedintent", "zqfeedoutput"):
        yield word, [item["id"] for item in desk.call(f"/api/v1/sessions?q={word}")["items"]] == [one.id]


@row("2.207", "agent_state, editable_blocks and trust_scope are shown and leave")
def reserved(desk: SeedDesk) -> Checks:
    blocks: dict[str, Any] = {"agent_state": {"memory": "zqmemory"}, "editable_blocks": ["/context/zqeditable"],
                              "trust_scope": ["zqscope"]}  # fmt: skip
    one = desk.imported(feed(0x207, **blocks))
    for name, word in (("agent_state", "zqmemory"), ("editable_blocks", "zqeditable"), ("trust_scope", "zqscope")):
        yield f"{name} shown", word in one.about
        yield f"{name} leaves", one.export("llmfeed")[name] == blocks[name]


@row("2.208", "a conversation inside the feed is a transcript, with its turns")
def trace(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x208, conversation_trace=TRACE, context={"user_input": "zqtraced"}, outputs=[]))
    said = [event["text"] for event in one.of_kind("user_message", "agent_message")]
    yield f"said {said}", said == ["zqtraced", "zqtold"]
    yield "page", "zqtold" in one.page
    yield "one turn", one.json["turn_count"] == 1


@row("2.209", "blocks that nobody here knows are shown and leave")
def unknown(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x209, zqblock={"zqmember": "zqvalue"}))
    yield "shown", "zqvalue" in one.about
    yield "leaves", one.export("llmfeed")["zqblock"] == {"zqmember": "zqvalue"}


@row("2.210", "a session of another kind leaves as a feed: trace, outputs, replay, scope; and comes back")
def from_elsewhere(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(MESSAGES), 0x2A0))
    written = one.export("llmfeed")
    yield "type", written["feed_type"] == "session"
    for block in ("metadata", "context", "decisions", "outputs", "replay_endpoint", "conversation_trace"):
        yield block, block in written
    yield "prompt", written["context"]["user_input"] == "zqasked"
    written["metadata"]["title"] = "T2a0"
    back = desk.imported(written)
    said = ("user_message", "agent_message")
    yield "and back", [e["text"] for e in back.of_kind(*said)] == [e["text"] for e in one.of_kind(*said)]
    yield "tokens", back.json["usage"]["total_tokens"] == one.json["usage"]["total_tokens"]


@row("2.211", "the media type of what is handed out, and the name of the file")
def media_type(desk: SeedDesk) -> Checks:
    from urllib.request import Request, urlopen

    one = desk.imported(feed(0x211))
    asked = Request(f"{desk.address}/api/v1/sessions/{one.id}/export?format=llmfeed",
                    headers={"Authorization": f"Bearer {desk.key}"})  # fmt: skip
    with urlopen(asked, timeout=30) as answer:
        yield "type", answer.headers["Content-Type"].startswith("application/session+llmfeed")
        yield "name", ".llmfeed.json" in answer.headers["Content-Disposition"]
        yield "losses counted", answer.headers["Countersign-Loss"] is not None


@row("2.212", "a signed feed verifies here, and a changed one does not")
def signed(desk: SeedDesk) -> Checks:
    written = desk.imported(feed(0x212)).export("llmfeed", signed="true")
    good = desk.taken(written, "signed.json")
    yield "valid", good["signature"]["state"] == "valid"
    changed = written | {"context": written["context"] | {"user_input": "zqforged"}}
    yield "invalid", desk.taken(changed, "changed.json")["signature"]["state"] == "invalid"


@row("2.213", "a feed of another type is refused by its name")
def other(desk: SeedDesk) -> Checks:
    found = desk.taken(FEED | {"feed_type": "mcp"})
    yield "refused", found["status"] == "failed"
    yield "says which", "mcp" in (found["error"] or "")


@row("2.214", "the session replays: as events over the API, step by step on the page")
def replayed(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x214))
    stream = desk.bytes_of(f"/api/v1/sessions/{one.id}/replay?speed=60&max_pause=0").decode()
    yield "events", "event: event" in stream and "zqasked" in stream
    yield "its end", "event: end" in stream
    yield "page", "zqasked" in desk.page(f"{one.path}?replay=1")


@row("2.215", "going on from it: the page asks which agent, and the new session says from where")
def resumed(desk: SeedDesk) -> Checks:
    one = desk.imported(feed(0x215))
    agent = desk.agent("zqresumer215")
    yield "the page offers", "zqresumer215" in desk.page(f"{one.path}/continue")
    made = desk.call(f"/api/v1/sessions/{one.id}/continue", {"agent_id": agent["id"], "message": "zqgoon"})
    yield "from where", made["continues"] == one.id
    yield "both ways", made["id"] in one.now["continued_by"]
    yield "answered", desk.wait(lambda: desk.call(f"/api/v1/sessions/{made['id']}"), lambda now: now["turn_count"])


@row("2.216", "what is shared carries no secret")
def secrets(desk: SeedDesk) -> Checks:
    key = "sk-ant-" + "api03-" + "Zq9" * 30
    one = desk.imported(feed(0x216, context={"user_input": f"zquse {key}"}))
    written = one.written("llmfeed").decode()
    yield "masked", key not in written
    yield "said", "secret" in one.lost("llmfeed")
