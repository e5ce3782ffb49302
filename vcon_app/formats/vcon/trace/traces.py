"""Finds the agent traces of a vCon, in whichever of the known shapes they come (dialects D1 to D5).

D1 the VAC record (draft-birkholz-verifiable-agent-conversations), D2 the agent_session draft's own example,
D3 the vcon-vac-adapter, D4 the conserver.io page, D5 early snake_case VAC. Shapes are told by their
members, never by ``schema``. Only known keys are folded; what stands inside inputs, outputs and contents
is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ....drafts import FormatError, Json
from ....signing import cbor
from ...common.jsonio import Unreadable
from ...common.values import dict_of, text_or_none
from ..file import MARK, Container, Content, Elided, Notes, parse_json_text, point, report_in_cbor, shown
from . import extension
from .names import ROLES

RECORD_NAMES = ("verifiable-agent-record", "agent-convo-record")
SESSION_NAMES = ("session", "session-trace")


@dataclass
class Trace:
    """One agent_trace analysis, opened. ``entries`` pairs each raw entry with its JSON pointer."""

    dialect: str
    index: int
    pointer: str
    entries: list[tuple[dict[str, Any], str]]
    session: dict[str, Any]
    record: dict[str, Any]
    dialogs: Json = None
    from_text: bool = False
    cbor: bool = False
    agents: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """What is asked for again and again; ``unknown`` is no model, and no provider."""
        first = self.agents[0] if self.agents else {}
        meta = dict_of(member_of(self.session, "agent-meta"))
        model = text_or_none(member_of(meta, "model-id")) or text_or_none(member_of(first, "model-id"))
        provider = text_or_none(member_of(meta, "model-provider", "provider")) or text_or_none(
            member_of(first, "provider", "model-provider")
        )
        tool = text_or_none(member_of(meta, "cli-name")) or text_or_none(member_of(self.session, "source-platform"))
        version = text_or_none(member_of(meta, "cli-version"))
        self.session_id = text_or_none(member_of(self.session, "session-id")) or ""
        self.agent_meta = meta
        self.model = None if model == "unknown" else model
        self.provider = None if provider == "unknown" else provider
        self.client = {key: value for key, value in (("name", tool), ("version", version)) if value}
        """The command line tool that ran the session: ``{name, version}``."""

    def fill_gaps(self, model: str | None, provider: str | None) -> None:
        """Take from the vCon around it what the trace leaves open."""
        self.model, self.provider = self.model or model, self.provider or provider

    @property
    def recorder(self) -> dict[str, str]:
        """Who wrote the record: ``{name, version}``, from a map or from ``name/version``."""
        for place in (self.record, self.session, *self.agents[:1]):
            value = member_of(place, "recording-agent")
            if isinstance(value, str) and value:
                name, _, version = value.partition("/")
                return {"name": name, **({"version": version} if version else {})}
            if isinstance(value, dict):
                return {key: value[key] for key in ("name", "version") if text_or_none(value.get(key))}
        return {}

    @property
    def agent_name(self) -> str:
        """Of an agent that no party names: as we wrote it, else the tool that ran it."""
        return text_or_none(dict_of(member_of(self.session, extension.SESSION)).get("agent_name")) or self.client.get(
            "name", ""
        )


def member_of(holder: Json, name: str, *others: str) -> Json:
    """A member by any of its names, in kebab-case or snake_case; ``None`` when there is none."""
    if isinstance(holder, dict):
        if name in holder:
            return holder[name]
        for other in _spellings(name, *others):
            if other in holder:
                return holder[other]
    return None


@cache
def _spellings(*names: str) -> tuple[str, ...]:
    """Each of our names for a member, and behind it the older form."""
    return tuple(dict.fromkeys(form for name in names for form in (name, name.replace("-", "_"))))


def find_traces(vcon: Container, contents: list[Content], notes: Notes) -> list[Trace]:
    """Every readable agent_trace, in array order; what cannot be read is a finding and stays in its place."""
    found = []
    for index, (item, content) in enumerate(zip(vcon.analysis, contents, strict=True)):
        if item.get("type") == "agent_trace":
            trace = _open(content, item, index, f"{vcon.pointer}/analysis/{index}", notes)
            if trace is not None:
                found.append(trace)
    return found


def _open(content: Content, item: dict[str, Any], index: int, pointer: str, notes: Notes) -> Trace | None:
    body, is_cbor = content.value, False
    if content.kind == "bytes":
        is_cbor = content.value.lstrip()[:1] != b"{"
        body = (_from_cbor if is_cbor else _from_json)(content.value, pointer, notes)
    if isinstance(body, dict) and (trace := trace_of_record(body, index, point(pointer, "body"))):
        trace.dialogs, trace.from_text, trace.cbor = item.get("dialog"), content.from_text, is_cbor
        if trace.dialect == "D4" and trace.session.get("messages") and trace.session.get("tool_calls"):
            notes.info(
                "R69",
                trace.pointer,
                "Messages and tool calls stand in two lists here: without times nothing tells which "
                "call followed which message; the calls are shown last.",
            )
        return trace
    if content.kind == "url":
        where = f"This agent_trace lies outside of the file, at {shown(body)}: it was not fetched, and is not shown."
        notes.warn("R69", point(pointer, "url"), where)
    elif isinstance(body, Elided):
        where = f"This agent_trace is one string of {body.length:,} bytes, too long to be read; it stays in the file."
        notes.error("R69", point(pointer, "body"), where)
    elif content.kind not in ("opaque", "absent"):
        notes.warn(
            "R69",
            point(pointer, "body"),
            f"This agent_trace has none of the known shapes; it is kept and not read. Its body: {shown(body)}.",
        )
    return None


def _from_json(data: bytes, pointer: str, notes: Notes) -> Json:
    """JSON in base64url, which is CBOR's encoding: no CBOR map begins with a brace."""
    try:
        return parse_json_text(data, notes, point(pointer, "body"))
    except (Unreadable, FormatError) as error:
        notes.warn("R57", point(pointer, "body"), f"The trace is base64url of what is neither CBOR nor JSON: {error}.")
        return None


def _from_cbor(data: bytes, pointer: str, notes: Notes) -> Json:
    """``?encoding=cbor`` in schema says so (agent_session s6.3), yet writers leave it out: the bytes decide."""
    doubled: list[str] = []
    try:
        value = cbor.loads(data, doubled=doubled)
    except ValueError as error:
        notes.warn("R57", point(pointer, "body"), f"The trace is base64url but not readable as CBOR: {error}.")
        return None
    report_in_cbor(doubled, notes, point(pointer, "body"))
    notes.marked = notes.marked or MARK in data
    return value


def trace_of_record(body: dict[str, Any], index: int, pointer: str) -> Trace | None:
    """The trace of a record, its dialect told by its members (first match wins); ``None`` for what is none."""
    dialect, record = "D1", body
    for name in RECORD_NAMES:
        wrapped = member_of(body, name)
        if isinstance(wrapped, dict):
            record, key = wrapped, name if name in body else name.replace("-", "_")
            dialect, pointer = ("D3" if name == RECORD_NAMES[0] else "D5"), point(pointer, key)
    for name in SESSION_NAMES:
        for key in (name, name.replace("-", "_")):
            session = record.get(key)
            if isinstance(session, dict):
                if dialect == "D1" and name != "session":
                    dialect = "D2"
                return _with_entries(dialect, record, session, index, point(pointer, key))
    return None


def _with_entries(
    dialect: str, record: dict[str, Any], session: dict[str, Any], index: int, pointer: str
) -> Trace | None:
    listed = member_of(record, "agents")
    agents = [agent for agent in listed if isinstance(agent, dict)] if isinstance(listed, list) else []
    if isinstance(session.get("entries"), list):
        entries = _numbered(session["entries"], point(pointer, "entries"))
    elif "messages" in session or "tool_calls" in session:
        dialect, entries = "D4", _seed_entries(session, pointer)
    else:
        return None
    if dialect == "D1" and ("vendor_ext" in record or any(raw.get("type") == "tool_call" for raw, _ in entries[:50])):
        dialect = "D5"
    return Trace(dialect, index, pointer, entries, session, record, agents=agents)


def _numbered(values: Json, pointer: str) -> list[tuple[dict[str, Any], str]]:
    """Raw entries with their pointers; an entry that is no object becomes one of no known type."""
    items = values if isinstance(values, list) else []
    return [
        (item if isinstance(item, dict) else {"type": "not-an-object", "value": item}, f"{pointer}/{n}")
        for n, item in enumerate(items)
    ]


def _seed_entries(session: dict[str, Any], pointer: str) -> list[tuple[dict[str, Any], str]]:
    """D4: ``messages`` and ``tool_calls`` stand apart; the calls follow the messages unless times tell more."""
    entries: list[tuple[dict[str, Any], str]] = []
    for raw, where in _numbered(session.get("messages"), point(pointer, "messages")):
        kind = ROLES.get(str(raw.get("role")), raw.get("type") or raw.get("role"))
        entries.append(({**{key: value for key, value in raw.items() if key != "role"}, "type": kind}, where))
    for raw, where in _numbered(session.get("tool_calls"), point(pointer, "tool_calls")):
        call = {
            key: value for key, value in raw.items() if key not in ("result", "output", "status", "is_error", "error")
        }
        entries.append(({**call, "type": "tool-call", "call-id": raw.get("id")}, where))
        output = raw.get("result", raw.get("output", raw.get("error")))
        if output is not None:
            status = "error" if raw.get("error") or raw.get("is_error") else raw.get("status")
            entries.append(
                (
                    {
                        "type": "tool-result",
                        "call-id": raw.get("id"),
                        "output": output,
                        "timestamp": raw.get("timestamp"),
                        **({"status": status} if status else {}),
                    },
                    point(where, "result"),
                )
            )
    if all(isinstance(raw.get("timestamp"), str) for raw, _ in entries):
        entries.sort(key=lambda entry: entry[0]["timestamp"])
    return entries
