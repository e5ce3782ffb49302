"""The agent trace of a written vCon: entries after VAC-00, nested as they were, one event at a time."""

from __future__ import annotations

from typing import Any, Iterator

from ...drafts import EventDraft, Events, Json, Losses
from . import own
from .entries import output_text
from .layout import Tree, as_text, laid_out
from .parties import text
from .plan import Plan, left_of
from .steps import NATIVE
from .times import render
from .traces import mapping
from .turns import user_kind
from .usage import family
from .write_parties import vcs_environment

SCHEMA = "https://datatracker.ietf.org/doc/draft-birkholz-verifiable-agent-conversations/"
VERSION = "3.0.0-draft"
PRODUCT = "countersign"
TYPES = {"user_message": "user", "injected_context": "user", "agent_message": "assistant", "reasoning": "reasoning",
         "tool_call": "tool-call", "tool_result": "tool-result"}
NATURAL = {"user": "user_message", "assistant": "agent_message", "reasoning": "reasoning", "tool-call": "tool_call",
           "tool-result": "tool_result", "system-event": "system"}
STATUS = {"ok": "success", "error": "error", "cancelled": "cancelled", "denied": "denied"}
CHILD_LEVEL = 5
"""Depth of ``entries`` in the file: analysis, its item, body, session."""


def trace_item(plan: Plan) -> dict[str, Json]:
    """The analysis object without its body (agent_session s6.1)."""
    held = mapping(plan.record.get("trace"))
    dialogs = list(range(plan.dialogs))
    if plan.record.get("dialect") == "D1":
        item = {**mapping(held.get("item")), "dialog": dialogs, "encoding": "json"}
        item.setdefault("vendor", _provider(plan))
        if held.get("cbor"):
            item |= {"schema": SCHEMA, "mediatype": "application/json"}
        return {**item, "mediatype": item.get("mediatype", "application/json")}
    return {"type": "agent_trace", "dialog": dialogs, "vendor": _provider(plan), "product": _model(plan), "schema": SCHEMA,
            "mediatype": "application/json", "encoding": "json"}


def trace_bytes(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    """The whole analysis object, laid out as an item of the array ``analysis``."""
    head = laid_out(trace_item(plan), 2)
    yield head[: -len(b"\n    }")] + b',\n      "body": '
    body = _body(plan, events, losses)
    yield from as_text(body) if plan.options.get("string_bodies") else body
    yield b"\n    }"


def _body(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    held = mapping(plan.record.get("trace"))
    record = held["record"] if held else _record(plan)
    session = dict(held["session"] if held else _session(plan))
    if plan.generated:
        session[own.GENERATED] = True
    session.setdefault("session-id", plan.session.external_id)
    session.setdefault("agent-meta", _agent_meta(plan))
    front = {"version": record.get("version", VERSION), "id": record.get("id", plan.options["uuid"])}
    rest = {key: value for key, value in record.items() if key not in front}
    yield laid_out({**front, **rest}, 3)[: -len(b"\n      }")] + b',\n        "session": '
    yield laid_out(session, 4)[: -len(b"\n        }")] + b',\n          "entries": '
    yield from _Entries(plan, losses).write(events)
    yield b"\n        }\n      }"


def _record(plan: Plan) -> dict[str, Json]:
    version = text(plan.options.get("product_version"))
    return {"created": render(plan.options["created_at"]),
            "recording-agent": {"name": PRODUCT, **({"version": version} if version else {})}}


def _session(plan: Plan) -> dict[str, Json]:
    """The session-trace of a session that came from elsewhere: only what is known of it."""
    session = plan.session
    made: dict[str, Json] = {"format": "interactive" if plan.interactive else "autonomous", "session-id": session.external_id}
    if session.started_at:
        made["session-start"] = render(session.started_at)
    if session.ended_at:
        made["session-end"] = render(session.ended_at)
    made["agent-meta"] = _agent_meta(plan)
    environment = vcs_environment(session)
    vcs = {name: environment[key] for name, key in (("branch", "vcs_branch"), ("revision", "vcs_commit")) if key in environment}
    repository = text(mapping(session.metadata.get("environment")).get("repository"))
    vcs |= {"repository": repository} if repository else {}
    if "cwd" in environment:
        made["environment"] = {"working-dir": environment["cwd"], **({"vcs": {"type": "git", **vcs}} if vcs else {})}
    return made


def _agent_meta(plan: Plan) -> dict[str, Json]:
    client = mapping(plan.session.metadata.get("client")) or mapping(plan.session.metadata.get("recorder"))
    told = {"model-id": _model(plan), "model-provider": _provider(plan), "models": plan.models if len(plan.models) > 1 else None,
            "cli-name": text(client.get("name")), "cli-version": text(client.get("version"))}
    return {key: value for key, value in told.items() if value}


def _model(plan: Plan) -> str:
    return plan.session.model or (plan.models[0] if plan.models else "unknown")


def _provider(plan: Plan) -> str:
    return text(plan.session.metadata.get("provider")) or family(None, _model(plan), None) or "unknown"


class _Entries:
    """Writes the entries, and remembers which calls are still open for sub-agents to stand under."""

    def __init__(self, plan: Plan, losses: Losses) -> None:
        self._plan, self._losses = plan, losses
        self._tree = Tree(CHILD_LEVEL)
        self._ids: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        """Of events inside sub-agents, the key of the call they run under."""
        self._path: list[tuple[int, str, int]] = []
        """Open calls: level, key, depth."""
        self._prompt: str | None = None

    def write(self, events: Events) -> Iterator[bytes]:
        for number, event in enumerate(events, 1):
            if not self._plan.is_entry(event):
                continue
            left = left_of(event)
            name = self._plan.entry_id(event, number)
            self._ids[event.key] = name
            level, flat = (left.get("level", 0), False) if "id" in left else self._level(event)
            if "wrapper" in left:
                yield self._tree.add(max(level - 1, 0), left["wrapper"])
            if not left.get("derived"):
                yield self._tree.add(level, self._entry(event, left, name, flat))
            self._remember(event, level)
        yield self._tree.finish()

    def _level(self, event: EventDraft) -> tuple[int, bool]:
        """Sub-agents stand under their call as long as the log keeps them together; the flag says they do not."""
        if event.depth == 0:
            return 0, False
        owner = self._owner(event)
        for level, key, depth in reversed(self._path):
            if depth == event.depth - 1 and (owner is None or owner == key):
                self._owners[event.key] = key
                return level + 1, False
        if owner is not None:
            self._owners[event.key] = owner
        return 0, True

    def _owner(self, event: EventDraft) -> str | None:
        """The call an event runs under: its parent, or that of its parent."""
        if event.parent is None:
            return None
        return self._owners.get(event.parent, event.parent)

    def _remember(self, event: EventDraft, level: int) -> None:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if event.kind == "tool_call":
            self._path.append((level, event.key, event.depth))

    def _entry(self, event: EventDraft, left: dict[str, Any], name: str, flat: bool) -> dict[str, Json]:
        if event.kind == "unknown" and "id" in left and "raw" in event.data:
            return event.data["raw"]
        kind = left.get("type") or TYPES.get(event.kind, "system-event")
        entry: dict[str, Json] = {"type": kind, "id": name}
        parent_id = left.get("parent_id") or (self._parent_id(event) if "id" not in left else None)
        if parent_id:
            entry["parent-id"] = parent_id
        if (timestamp := _timestamp(event, left)) is not None:
            entry["timestamp"] = timestamp
        if model := left.get("model", event.model):
            entry["model-id"] = model
        entry |= _CONTENTS[kind](event, left)
        if (usage := left["usage"] if "usage" in left else token_usage(event)) is not None:
            entry["token-usage"] = usage
        entry |= left.get("odd", {})
        entry |= left.get("native", {})
        return entry | self._own(event, left, entry, flat)

    def _parent_id(self, event: EventDraft) -> str | None:
        return self._ids.get(event.parent) if event.parent else None

    def _own(self, event: EventDraft, left: dict[str, Any], entry: dict[str, Json], flat: bool) -> dict[str, Json]:
        """Our own members: those it was restored from, and for events of other origin those that are needed."""
        if "id" in left:
            wanted = set(left.get("own", ()))
        else:
            wanted = _needed(event, entry) | ({own.ACTOR} if self._actor_is_lost(event) else set())
            wanted |= {own.KIND} if self._looks_doubled(event) else set()
        made: dict[str, Json] = {}
        if flat:
            made["isSidechain"] = True
            wanted |= {own.DEPTH} if event.depth != 1 else set()
        if event.request and "id" not in left:
            made["request-id"] = event.request
        if event.actor_kind == "subagent" and "id" not in left and (agent_id := self._agent_id(event)):
            made["agent-id"] = agent_id
        values = {own.KIND: event.kind, own.ACTOR: [event.actor_kind, event.actor_name], own.DEPTH: event.depth,
                  own.DATA: {key: value for key, value in event.data.items() if key != NATIVE},
                  own.RESULT: event.tool.result if event.tool else None, own.TOOL: _tool(event), own.TEXT: event.text}
        return made | {name: value for name, value in values.items() if name in wanted}

    def _looks_doubled(self, event: EventDraft) -> bool:
        """A prompt with the words of the one before would be read as logged twice (see turns.Doubles)."""
        if event.kind != "user_message" or event.depth:
            return False
        before, self._prompt = self._prompt, event.text.strip()
        return before == self._prompt

    def _agent_id(self, event: EventDraft) -> str | None:
        place = self._plan.party(event)
        return self._plan.cast[place].agent_id if place is not None else None

    def _actor_is_lost(self, event: EventDraft) -> bool:
        """Would reading name another actor, from the parties and the type of the entry alone?"""
        actor, people = (event.actor_kind, event.actor_name), self._plan.cast
        agent = people.agent.actor if people.agent else ("agent", "")
        if self._plan.is_dialog(event) and actor[0] != "trigger" and self._plan.party(event) is not None:
            return False
        if event.kind == "tool_result":
            return actor != ("tool", event.tool.name or "" if event.tool else "")
        if event.kind == "user_message":
            return actor != (("agent", agent[1]) if event.depth else people.human.actor if people.human else ("person", ""))
        if event.kind in ("agent_message", "reasoning", "tool_call"):
            if event.depth:
                return actor[0] != "subagent" or (bool(actor[1]) and not self._agent_id(event))
            return actor != agent
        return actor != ("system", "")


def _needed(event: EventDraft, entry: dict[str, Json]) -> set[str]:
    """Members without which reading would give another event."""
    wanted = set()
    kind = str(entry["type"])
    natural = user_kind(entry, event.text) if kind == "user" else NATURAL[kind]
    if natural != event.kind:
        wanted.add(own.KIND)
    if kind == "system-event":
        wanted |= {own.DATA} | ({own.TEXT} if not event.text else set())
    elif event.data.keys() - {NATIVE}:
        wanted.add(own.DATA)
    if event.tool is not None and (kind not in ("tool-call", "tool-result") or event.tool.server or not event.tool.name
                                   or (kind == "tool-call" and (event.tool.result is not None or event.tool.status))):
        wanted.add(own.TOOL)
    if kind == "tool-result" and event.tool and event.tool.result is not None and "output" in entry and (
            entry["output"] is not event.tool.result):
        wanted.add(own.RESULT)
    if kind in ("tool-call",) and event.text:
        wanted.add(own.TEXT)
    return wanted


def _tool(event: EventDraft) -> Json:
    if event.tool is None:
        return None
    if event.kind in ("tool_call", "tool_result"):
        return {name: value for name in ("name", "server") if (value := getattr(event.tool, name)) or name == "name"} | (
            {name: value for name in ("result", "status") if event.kind == "tool_call" and (value := getattr(event.tool, name)) is not None})
    return {name: value for name in own.TOOL_FIELDS if (value := getattr(event.tool, name)) is not None}


def _timestamp(event: EventDraft, left: dict[str, Any]) -> Json:
    if "timestamp" in left:
        return left["timestamp"]
    if event.at is None or (event.data.get("time_inherited") and "id" in left):
        return None
    return render(event.at)


def _content(event: EventDraft, left: dict[str, Any]) -> dict[str, Json]:
    if "content" in left:
        return {"content": left["content"]}
    if "blocks" in left:
        return {"content": [{"type": left["blocks"], "text": event.text}]}
    return {} if left.get("bare") else {"content": event.text}


def _reasoning(event: EventDraft, left: dict[str, Any]) -> dict[str, Json]:
    extra = {"subject": event.data["subject"]} if isinstance(event.data.get("subject"), str) else {}
    if "encrypted" in left:
        extra["encrypted"] = left["encrypted"]
    return {**({"content": ""} if left.get("bare") else _content(event, left)), **extra}


def _call(event: EventDraft, left: dict[str, Any]) -> dict[str, Json]:
    tool = event.tool
    given = tool.arguments if tool else None
    call_id = {"call-id": tool.call_id} if tool and tool.call_id else {}
    return {"name": (tool.name if tool else None) or "unknown", "input": left.get("input", given), **call_id}


def _result(event: EventDraft, left: dict[str, Any]) -> dict[str, Json]:
    tool = event.tool
    made: dict[str, Json] = {"call-id": tool.call_id} if tool and tool.call_id else {}
    structured = tool.result if tool else None
    native = structured is not None and own.RESULT not in left.get("own", ()) and output_text(structured) == event.text
    made["output"] = structured if native else event.text
    if "id" in left:
        made |= {member: left[name] for member, name in (("status", "status"), ("is-error", "is_error")) if name in left}
        return made | ({"name": tool.name} if tool and left.get("named") else {})
    if tool and tool.status in STATUS:
        made["status"] = STATUS[tool.status]
        made |= {"is-error": True} if tool.status == "error" else {}
    return made | ({"name": tool.name} if tool and tool.name and not event.parent else {})


def _system(event: EventDraft, left: dict[str, Any]) -> dict[str, Json]:
    event_type = left.get("event_type", event.data.get("event_type"))
    details = left.get("details", event.data.get("details"))
    if "id" in left:
        return {"event-type": event_type or "", **({"data": details} if details is not None else {})}
    name = "agent-handoff" if event.kind == "handoff" else event_type if isinstance(event_type, str) and event_type else event.kind
    return {"event-type": name, **({"data": {"text": event.text}} if event.text else {})}


_CONTENTS = {"user": _content, "assistant": _content, "reasoning": _reasoning, "tool-call": _call, "tool-result": _result,
             "system-event": _system}


def token_usage(event: EventDraft) -> dict[str, Json] | None:
    """Counts that do not overlap, with a total that proves it (fixture f01 writes them so)."""
    usage = event.usage
    if usage is None:
        return {"cost": float(event.cost)} if event.cost is not None else None
    answer = usage.output_tokens
    if answer is not None and usage.reasoning_tokens is not None:
        answer -= min(usage.reasoning_tokens, answer)
    counts = {"input": usage.input_tokens, "output": answer, "cached": usage.cache_read_tokens,
              "reasoning": usage.reasoning_tokens, "cache_creation_input_tokens": usage.cache_write_tokens}
    made: dict[str, Json] = {name: count for name, count in counts.items() if count is not None}
    if made:
        made["total"] = sum(made.values())
    if usage.cache_write_1h_tokens is not None:
        made["cache_creation"] = {"ephemeral_1h_input_tokens": usage.cache_write_1h_tokens}
    if usage.quality != "final":
        made[own.QUALITY] = usage.quality
    if event.cost is not None:
        made["cost"] = float(event.cost)
    return made
