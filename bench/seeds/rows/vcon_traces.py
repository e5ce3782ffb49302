"""Seed 000: what traces of every shape say, in which order, and how a session ended."""

from __future__ import annotations

import copy
import json
from typing import Any

from ..desk import SeedDesk
from ..files import CHANGE, MESSAGES, MISSED, document, seed, traced
from ..row import Checks, row
from .vcon_agents import OPUS, USED, own

SAID = ["zqasked", "zqsaid"]
END = {"type": "system-event", "event-type": "session-end"}


def texts(one: Any) -> list[str]:
    return [event["text"] for event in one.of_kind("user_message", "agent_message")]


@row("0.34", "an adapter's record: model, product and how long a call took")
def adapter(desk: SeedDesk) -> Checks:
    entries = [{"kind": "user", "content": "zqasked"},
               {"kind": "tool_call", "tool-use-id": "c", "tool-name": "zqtool", "tool-input": {}},
               {"kind": "tool_result", "tool-use-id": "c", "tool-output": "ok", "duration-ms": 12}]  # fmt: skip
    one = desk.imported(own(document({"verifiable-agent-record": {"session-trace": {"entries": entries}}}), 34))
    yield "duration", one.of_kind("tool_result")[0]["data"].get("duration_ms") == 12
    yield "tool", one.json["tools_invoked"] == ["zqtool"]
    yield "model", OPUS in one.about
    yield "product", '"unknown"' not in one.written("vcon").decode()


@row("0.36", "messages of the seed's shape: text and usage")
def seed_messages(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 36))
    yield "texts", texts(one) == SAID
    yield "turn", one.json["turn_count"] == 1
    yield "usage", one.json["usage"]["total_tokens"] == 1100
    yield "search", desk.call("/api/v1/sessions?q=zqsaid")["items"] != []


@row("0.37", "messages of a record with text, time and usage")
def record_messages(desk: SeedDesk) -> Checks:
    timed = [one | {"time": "2026-01-01T00:00:05Z"} for one in MESSAGES]
    one = desk.imported(own(traced([*timed, {"type": "reasoning", "text": "zqthought"}]), 37))
    yield "texts", texts(one) == SAID
    yield "reasoning", [event["text"] for event in one.of_kind("reasoning")] == ["zqthought"]
    yield "times", all(event["at"] for event in one.of_kind("user_message", "agent_message"))
    yield "usage", one.json["usage"]["total_tokens"] == 1100


@row("0.39", "token_usage and model_id of a message in snake_case")
def snake_case(desk: SeedDesk) -> Checks:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    message = {"type": "assistant", "text": "x", "model_id": "claude-haiku-4-5", "token_usage": usage}
    one = desk.imported(own(traced([message]), 39))
    yield "usage", one.json["usage"]["total_tokens"] == 1100
    yield "model", one.json["models"] == ["claude-haiku-4-5"]
    yield "priced", one.json["cost"]["basis"] == "priced"


@row("0.45", "calls and messages in two lists, and changes of files without a time, stand where they can have happened")
def order(desk: SeedDesk) -> Checks:
    body = {"session_trace": {"messages": MESSAGES, "tool_calls": [
        {"id": "c1", "name": "zqtool", "input": {}, "result": "ok"}]}}  # fmt: skip
    change = {key: value for key, value in CHANGE.items() if key != "start"}
    one = desk.imported(own(document(body, attachments=[change]), 45))
    kinds = [event["kind"] for event in one.events]
    yield (
        "a file changes after the agent began",
        "file_change" in kinds and (kinds.index("file_change") > kinds.index("agent_message")),
    )
    yield "said", "R69" in json.dumps(one.file)


@row("0.47", "one trace for each branch: sessions that are linked, and no call without its result")
def branches(desk: SeedDesk) -> Checks:
    parent = [{"type": "user", "content": "zqparent"},
              {"type": "tool-call", "call-id": "t1", "name": "Task", "input": {"prompt": "zqchild"}}]  # fmt: skip
    child = [{"type": "user", "content": "zqchild"}, {"type": "assistant", "content": "zqanswer"}]
    file = own(traced(parent), 47)
    second = copy.deepcopy(file["analysis"][0])
    body = {"id": "zqsecondrecord", "session": {"session-id": "s-child", "parent-session-id": "s47", "entries": child}}
    second["body"] = json.dumps(body)
    taken = desk.taken(file | {"analysis": [file["analysis"][0], second]})
    sessions = [desk.call(f"/api/v1/sessions/{pk}") for pk in taken["sessions"]]
    yield "two sessions", len(sessions) == 2
    children = [one for one in sessions if one["parent_session_id"]]
    yield "linked", len(children) == 1 and children[0]["parent_session_id"] in taken["sessions"]
    if children:
        parent_id = children[0]["parent_session_id"]
        path = f"/dashboard/sub-agents/{sessions[0]['agent']['id']}/chat"
        yield "from the parent's facts", children[0]["id"] in desk.html(f"{path}/{parent_id}/facts")
        yield "from the child's page", parent_id in desk.html(f"{path}/{children[0]['id']}")


@row("0.59", "a missed call beside a complete trace is no crash")
def phase(desk: SeedDesk) -> Checks:
    file = own(traced([USED, END]), 59)
    one = desk.imported(file | {"dialog": [*file["dialog"], MISSED]})
    yield "phase", one.json["phase"] == "completed"
    cancelled = desk.imported(own(traced([USED, END | {"data": {"reason": "cancelled"}}]), 0x159))
    yield "a cancelled end", cancelled.json["phase"] == "cancelled"


@row("0.202", "the body may be a JSON string, JSON or base64url")
def bodies(desk: SeedDesk) -> Checks:
    file = own(seed(), 0x130)
    value = json.loads(file["analysis"][0]["body"])
    file["analysis"][0]["body"] = value
    yield "as a value", texts(desk.imported(file)) == SAID
    import base64

    packed = own(seed(), 0x230)
    packed["analysis"][0] |= {"encoding": "base64url", "body": base64.urlsafe_b64encode(json.dumps(value).encode())
                              .decode().rstrip("=")}  # fmt: skip
    yield "as base64url", texts(desk.imported(packed)) == SAID


@row("0.203", "a vCon without extension is read; a critical one that is unknown is refused, and shown raw")
def critical(desk: SeedDesk) -> Checks:
    taken = desk.taken(own(seed(), 83) | {"critical": ["zqextension"], "extensions": ["zqextension"]})
    yield "refused", taken["status"] == "failed"
    yield "names it", "zqextension" in (taken["error"] or "")
    page = desk.html(f"/imports/{taken['id']}/")
    yield "offers the raw content", f"/imports/{taken['id']}/raw" in page
    yield "raw content", "zqsaid" in desk.page(f"/imports/{taken['id']}/raw")
    older = desk.taken(own(seed(), 0x183) | {"must_support": ["WTF"], "extensions": ["WTF"]})
    yield "an older name of a known one", older["status"] == "done"


@row("0.204", "the same uuid grown adds to its session; the same bytes are the same import")
def grown(desk: SeedDesk) -> Checks:
    file = own(traced([{"type": "user", "content": "zqone"}]), 87)
    first = desk.imported(file)
    again = desk.taken(file)
    yield "same bytes", again["id"] == first.file["id"] or again["duplicate_of"]
    more = traced([{"type": "user", "content": "zqone"}, {"type": "assistant", "content": "zqtwo"}])
    yield "grown", desk.imported(own(more, 87)).id == first.id
