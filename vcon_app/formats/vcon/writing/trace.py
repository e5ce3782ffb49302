"""The agent trace of a written vCon: entries after VAC-00, nested as they were, one event at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....drafts import EventDraft, Events, Json, Losses
from ...common import origins
from ...common.times import rfc3339_short
from ...common.values import dict_of, text_or_none
from ..file import ANALYSIS_MEMBERS, NestedObjects, in_member_order, indented_json, json_string
from ..trace import NATIVE, agent_facts, cddl_repair, extension, kept_by_reader, provider_family
from .entry import CONTENTS, TYPES, needed_members, timestamp_of, token_usage, tool_of
from .fitting import Fitting
from .parties import vcs_environment
from .plan import Plan

SCHEMA = "https://datatracker.ietf.org/doc/draft-birkholz-verifiable-agent-conversations/"
VERSION = "3.0.0-draft"
PRODUCT = "countersign"
UNKNOWN = "unknown"
"""Where a member is required and nothing in the file says it."""
RECORD_MEMBERS = ("version", "id", "created", "recording-agent", "vcs", "file-attribution")
SESSION_MEMBERS = ("format", "session-id", "session-start", "session-end", "agent-meta", "environment")


def trace_item(plan: Plan) -> dict[str, Json]:
    """The analysis object without its body (agent_session s6.1)."""
    held = dict_of(plan.record.get("trace"))
    dialogs = list(range(plan.dialogs))
    if plan.record.get("dialect") == "D1":
        item = {**dict_of(held.get("item")), "dialog": dialogs, "encoding": "json"}
        item.setdefault("vendor", _provider(plan))
        if held.get("cbor"):
            item |= {"schema": SCHEMA, "mediatype": "application/json"}
        return {**item, "mediatype": item.get("mediatype", "application/json")}
    return {
        "type": "agent_trace",
        "dialog": dialogs,
        "vendor": _stated(plan, "vendor") or _provider(plan),
        "product": _stated(plan, "product") or _model(plan),
        "schema": SCHEMA,
        "mediatype": "application/json",
        "encoding": "json",
    }


def stated_schema(plan: Plan) -> str:
    """What the trace of the file said of a shape that is not written again; empty where it is, or said nothing."""
    stated = text_or_none(dict_of(dict_of(plan.record.get("trace")).get("item")).get("schema")) or ""
    return "" if plan.record.get("dialect") == "D1" or stated == SCHEMA else stated


def trace_bytes(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    """The whole analysis object, laid out as an item of the array ``analysis``."""
    head = indented_json(in_member_order(_fitted(plan, losses), ANALYSIS_MEMBERS), 2)
    yield head[: -len(b"\n    }")] + b',\n      "body": '
    body = record_bytes(plan, events, losses, 3)
    yield from json_string(body) if plan.options.get("bodies") == "string" else body
    yield b"\n    }"


def _fitted(plan: Plan, losses: Losses) -> dict[str, Json]:
    """The analysis object as core-04 allows it. Its body stands in it, whatever the file said of a place elsewhere."""
    item = trace_item(plan)
    if plan.options.get("faithful"):
        return item
    fitting = Fitting(
        {name: value for name, value in item.items() if name not in ("body", "url")}, "analysis", plan, losses
    )
    if not text_or_none(item.get("vendor")):
        fitting.replace("vendor", _provider(plan))
    return fitting.finished()


def record_bytes(plan: Plan, events: Events, losses: Losses, level: int) -> Iterator[bytes]:
    """The record that stands ``level`` deep in the file: in a vCon inside of analysis, its item and body."""
    record, session = trace_frame(plan)
    if plan.alone:
        record, session = cddl_repair.record(record, losses), cddl_repair.session(session, losses)
    outer, inner = (b"\n" + b"  " * (level + more) for more in (0, 1))
    yield (
        indented_json(in_member_order(record, RECORD_MEMBERS), level)[: -len(outer) - 1] + b"," + inner + b'"session": '
    )
    yield (
        indented_json(in_member_order(session, SESSION_MEMBERS), level + 1)[: -len(inner) - 1]
        + b","
        + inner
        + b'  "entries": '
    )
    yield from _Entries(plan, losses, level + 2).write(events)
    yield inner + b"}" + outer + b"}"


def trace_frame(plan: Plan) -> tuple[dict[str, Json], dict[str, Json]]:
    """The record without its session, and the session without its entries: as they came, else of what is known."""
    held = dict_of(plan.record.get("trace"))
    session = dict(held["session"] if held else _session(plan))
    if plan.generated:
        session[extension.GENERATED] = True
    session.setdefault("session-id", plan.session.external_id)
    if (stated := stated_schema(plan)) and not plan.alone:
        session.setdefault(extension.SCHEMA, stated)
    session["agent-meta"] = _with_known(session["agent-meta"], plan) if "agent-meta" in session else _agent_meta(plan)
    record = {**_recorder_of_party(plan), **held["record"]} if held else _record(plan)
    return {"version": VERSION, "id": plan.options["uuid"], **record}, session


def _record(plan: Plan) -> dict[str, Json]:
    version = text_or_none(plan.options.get("product_version"))
    return {
        "created": rfc3339_short(plan.options["created_at"]),
        "recording-agent": {"name": PRODUCT, **({"version": version} if version else {})},
    }


def _recorder_of_party(plan: Plan) -> dict[str, Json]:
    """In a record by itself: who recorded it, as the party says, which has no place there."""
    told = dict_of(plan.session.metadata.get("recorder")) if plan.alone else {}
    kept = {name: told[name] for name in ("name", "version") if text_or_none(told.get(name))}
    return {"recording-agent": kept} if "name" in kept else {}


def _session(plan: Plan) -> dict[str, Json]:
    """The session-trace of a session that came from elsewhere: only what is known of it."""
    session = plan.session
    made: dict[str, Json] = {
        "format": "interactive" if plan.interactive else "autonomous",
        "session-id": session.external_id,
    }
    if session.started_at:
        made["session-start"] = rfc3339_short(session.started_at)
    if session.ended_at:
        made["session-end"] = rfc3339_short(session.ended_at)
    made["agent-meta"] = _agent_meta(plan)
    environment = vcs_environment(session)
    vcs = {
        name: environment[key]
        for name, key in (("branch", "vcs_branch"), ("revision", "vcs_commit"))
        if key in environment
    }
    repository = text_or_none(dict_of(session.metadata.get("environment")).get("repository"))
    vcs |= {"repository": repository} if repository else {}
    if "cwd" in environment:
        made["environment"] = {"working-dir": environment["cwd"], **({"vcs": {"type": "git", **vcs}} if vcs else {})}
    return made | {extension.SESSION: extension.session_member(session)}


def _agent_meta(plan: Plan) -> dict[str, Json]:
    client = dict_of(plan.session.metadata.get("client")) or dict_of(plan.session.metadata.get("recorder"))
    told = {
        "model-id": _model(plan),
        "model-provider": _provider(plan),
        "models": plan.models if len(plan.models) > 1 else None,
        "cli-name": text_or_none(client.get("name")),
        "cli-version": text_or_none(client.get("version")),
    }
    return {key: value for key, value in told.items() if value}


def _with_known(meta: Json, plan: Plan) -> Json:
    """What a trace says of its model, with what the file says elsewhere where it says unknown."""
    if not isinstance(meta, dict):
        return meta
    known = {"model-id": _model(plan), "model-provider": _provider(plan)}
    return meta | {name: value for name, value in known.items() if meta.get(name, UNKNOWN) == UNKNOWN}


def _stated(plan: Plan, name: str) -> str | None:
    """What the analysis of the file says of its agent; ``unknown`` says nothing."""
    said = text_or_none(dict_of(dict_of(plan.record.get("trace")).get("item")).get(name))
    return None if said == UNKNOWN else said


def _model(plan: Plan) -> str:
    """Of the session, else of its events, else as the agent's party or the analysis has it (agent_session s4, s6)."""
    product = _stated(plan, "product")
    return (
        plan.session.model
        or next(iter(plan.models), None)
        or _of_agent(plan, "model-id", "model")
        or product
        or UNKNOWN
    )


def _provider(plan: Plan) -> str:
    stated = text_or_none(plan.session.metadata.get("provider"))
    told = None if stated == UNKNOWN else stated
    return told or _of_agent(plan, "provider", "model-provider") or provider_family(None, _model(plan), None) or UNKNOWN


def _of_agent(plan: Plan, *names: str) -> str | None:
    """What the first agent among the parties of the file says of itself."""
    parties = zip(plan.record.get("parties") or (), plan.record.get("kinds") or (), strict=False)
    for raw, kind in parties:
        facts = agent_facts(dict_of(raw)) if kind == "agent" else {}
        for told in filter(None, (text_or_none(facts.get(name)) for name in names)):
            if told != UNKNOWN:
                return told
    return None


class _Entries:
    """Writes the entries, and remembers which calls are still open for sub-agents to stand under."""

    def __init__(self, plan: Plan, losses: Losses, level: int) -> None:
        self._plan, self._losses = plan, losses
        self._tree = NestedObjects(level)
        self._ids: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        """Of events inside sub-agents, the key of the call they run under."""
        self._path: list[tuple[int, str, int]] = []
        """Open calls: level, key, depth."""
        self._call_depths: dict[str, int] = {}
        self._prompt: str | None = None

    def write(self, events: Events) -> Iterator[bytes]:
        for number, event in enumerate(events, 1):
            if not self._plan.is_entry(event):
                continue
            kept = kept_by_reader(event)
            name = self._plan.entry_id(event, number)
            self._ids[event.key] = name
            level, flat = (kept.get("level", 0), False) if "id" in kept else self._level(event)
            if "wrapper" in kept:
                wrapper = kept["wrapper"]
                wrapper = cddl_repair.entry(wrapper, self._losses) if self._plan.alone else wrapper
                yield self._tree.add(max(level - 1, 0), wrapper)
            if not kept.get("derived"):
                entry = self._entry(event, kept, name, flat)
                yield self._tree.add(level, cddl_repair.entry(entry, self._losses) if self._plan.alone else entry)
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
        # Calls at this level or deeper have ended: nothing can be nested in them any more.
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if event.kind == "tool_call":
            self._path.append((level, event.key, event.depth))
            if event.tool and event.tool.call_id:
                self._call_depths[event.tool.call_id] = event.depth

    def _entry(self, event: EventDraft, kept: dict[str, Any], name: str, flat: bool) -> dict[str, Json]:
        """The event as a trace entry (VAC s3.8) without its children; an unknown one of the file as it was."""
        was_entry = "id" in kept
        if event.kind == "unknown" and was_entry and "raw" in event.data and extension.KIND not in kept.get("own", ()):
            # Written back untouched: what nobody could read, nobody may repair (rule R67).
            return event.data["raw"]
        kind = kept.get("type") or TYPES.get(event.kind, "system-event")
        entry: dict[str, Json] = {"type": kind, "id": name}
        if parent_id := kept.get("parent_id") or self._parent_id(event, kept):
            entry["parent-id"] = parent_id
        if (timestamp := self._timestamp(event, kept)) is not None:
            entry["timestamp"] = timestamp
        if model := kept.get("model", event.model or ("unknown" if event.usage else None)):
            entry["model-id"] = model
        entry |= CONTENTS[kind](event, kept)
        if (usage := kept["usage"] if "usage" in kept else token_usage(event)) is not None:
            entry["token-usage"] = usage
        entry |= kept.get("odd", {})
        entry |= kept.get("native", {})
        return entry | self._own(event, kept, entry, flat)

    def _timestamp(self, event: EventDraft, kept: dict[str, Any]) -> Json:
        stated = timestamp_of(event, kept)
        if stated is None and self._plan.alone and event.data.get("time_source") and event.at:
            return rfc3339_short(event.at)  # of a dialog, and there are none beside a record that stands alone
        return stated

    def _parent_id(self, event: EventDraft, kept: dict[str, Any]) -> str | None:
        """The id that the parent was written under; an entry of the file has a parent only if it stated one."""
        return self._ids.get(event.parent) if event.parent and "id" not in kept else None

    def _own(self, event: EventDraft, kept: dict[str, Any], entry: dict[str, Json], flat: bool) -> dict[str, Json]:
        """Our own members: those it was restored from, and for events of other origin those that are needed."""
        if "id" in kept:
            wanted = set(kept.get("own", ()))
            made: dict[str, Json] = {}
            if self._plan.alone:
                flat = bool(event.depth) and not kept.get("level") and extension.DEPTH not in wanted
        else:
            wanted = needed_members(event, entry)
            made = self._ids_of(event)
            if self._looks_doubled(event):
                wanted.add(extension.KIND)
            if self._is_told_elsewhere(event):
                wanted.add(extension.DEPTH)
        if (self._plan.alone or "id" not in kept) and self._actor_is_lost(event):
            wanted.add(extension.ACTOR)
        if flat:  # one level below is what readers take a side chain for; deeper ones are said
            made = {"isSidechain": True, **made}
            wanted |= {extension.DEPTH} if event.depth != 1 else set()
        return made | {name: value for name, value in _own_values(event).items() if name in wanted}

    def _is_told_elsewhere(self, event: EventDraft) -> bool:
        """A result at another depth than its call, where readers would put it."""
        call_id = event.tool.call_id if event.tool and event.kind == "tool_result" else None
        return call_id is not None and self._call_depths.get(call_id, event.depth) != event.depth

    def _ids_of(self, event: EventDraft) -> dict[str, Json]:
        """The ids of the model request and of the sub-agent, for which VAC has no members."""
        made: dict[str, Json] = {}
        if event.request:
            made["request-id"] = event.request
        if event.depth and (agent_id := self._agent_id(event)):
            made["agent-id"] = agent_id
        return made

    def _looks_doubled(self, event: EventDraft) -> bool:
        """A prompt with the words of the one before would be read as logged twice (see turns.Doubles)."""
        if event.kind != "user_message" or event.depth:
            return False
        before, self._prompt = self._prompt, event.text.strip()
        return before == self._prompt

    def _agent_id(self, event: EventDraft) -> str | None:
        if event.actor_kind != "subagent":
            return None
        place = self._plan.party(event)
        return self._plan.people[place].agent_id if place is not None else None

    def _actor_is_lost(self, event: EventDraft) -> bool:
        """Would reading name another actor, from the parties and the type of the entry alone?"""
        actor, people = (event.actor_kind, event.actor_name), self._plan.people
        agent = people.agent.actor if people.agent else ("agent", "")
        if self._plan.is_dialog(event) and actor[0] != "trigger" and self._plan.party(event) is not None:
            return False
        if event.kind == "tool_result":
            return actor != ("tool", event.tool.name or "" if event.tool else "")
        if event.kind == "user_message":
            return actor != (
                ("agent", agent[1]) if event.depth else people.human.actor if people.human else ("person", "")
            )
        if event.kind in ("agent_message", "reasoning", "tool_call"):
            if event.depth:
                return actor[0] != "subagent" or (bool(actor[1]) and not self._agent_id(event))
            return actor != agent
        return actor != ("system", "")


def _own_values(event: EventDraft) -> dict[str, Json]:
    """Our own member -> what it says of this event."""
    return {
        extension.KIND: event.kind,
        extension.ACTOR: [event.actor_kind, event.actor_name],
        extension.DEPTH: event.depth,
        extension.DATA: {key: value for key, value in origins.data_without(event).items() if key != NATIVE},
        extension.RESULT: event.tool.result if event.tool else None,
        extension.TOOL: tool_of(event),
        extension.TEXT: event.text,
        extension.ORIGIN: origins.to_write(event),
    }
