"""OpenCode: ``opencode export``, the output of ``opencode run --format json``, and dumps of its storage folder.

A dump is one JSON document after the other (projects, sessions, messages, parts), maybe of many sessions; a
part may stand before the message that says whose it is. So a file is read twice: first for what messages and
sessions say, then for the events, in the order of the file. Parts have ids and times of their own and do not
change once they are complete; a key is the part's id with a digest of its content, so a later export of the
same session adds what is new. From ``message-v2.ts`` of 1.4 and files of 1.1.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO

from ..drafts import Draft, EventDraft, FormatError, SessionDraft, ToolDraft, Usage
from .calls import id_of
from .facts import ID_LIMIT, Facts
from .head import Head, open_gzip
from .lines import Actor, Item, Line, fingerprint, json_documents
from .reading import Reading
from .times import from_epoch
from .values import bounded, count_of, dict_of, light, list_of, number_of, text_of

NAME = "opencode"
TITLE = "OpenCode"
GROWS = "lines"

LOOKED_AT = 40
"""Documents at the start of a file that may say whose it is."""
MOST_WAITING = 10_000
MOST_DOLLARS = 10**6
STATUSES = {"completed": "ok", "error": "error"}
REJECTED = ("The user rejected permission", "The user has specified a rule which prevents", "Permission denied by rule")
"""How OpenCode words a refusal: a person's, or that of the rules in its configuration."""
ABORTED = ("Tool execution aborted", "The operation was aborted")
REPEATED = frozenset({"output", "preview", "filediff", "files", "sessionId", "sessionID"})
"""Metadata of tools that stands in the output, or holds whole files before and after an edit."""

Found = tuple[str, dict[str, Any], str]
"""What a document holds: session, message, part, project, share, items, error or other; and its place."""


@dataclass(slots=True)
class Message:
    """What a message says of its parts."""

    role: str = ""
    model: str | None = None
    created: Any = None
    completed: Any = None
    stepped: bool = False
    """Its steps state their own tokens."""


def detect(head: Head) -> bool:
    """By a session, message or part among the first documents; only OpenCode spells ``sessionID`` so."""
    if b'"sessionID"' not in head.data:
        return False
    items = json_documents(io.BytesIO(head.data), NAME)
    documents = islice((item.value for item in items if isinstance(item, Line)), LOOKED_AT)
    shape = head.shape  # a whole export is cut off in the head
    exported = shape.get("messages") == "[" and shape.get("info") == "{" and isinstance(shape.get("info.id"), str)
    return any(map(_is_ours, documents)) or (exported and "info.role" not in shape)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions of a file.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when nothing of a session is
    found in it.
    """
    plain = open_gzip(source)
    packed = plain is not source
    reading = OpenCodeReading()
    for item in json_documents(plain, NAME, packed=packed):
        if isinstance(item, Line):
            reading.learn(item.value)
    plain.seek(0)
    return reading.run(json_documents(plain, NAME, packed=packed))


def _is_ours(value: dict[str, Any]) -> bool:
    told = dict_of(value.get("info")) or dict_of(value.get("part")) or value
    if not isinstance(told.get("sessionID") or value.get("sessionID"), str):
        return False
    return "messageID" in told or told.get("role") in ("user", "assistant") or "part" in value


def found_in(value: dict[str, Any]) -> Iterator[Found]:
    """What a document holds, parts before the message that they belong to: a message tells how they ended."""
    info, messages = dict_of(value.get("info")), value.get("messages")
    if info and isinstance(messages, list):
        yield "session", info, "/info"
        for index, message in enumerate(messages):
            yield from _with_path(dict_of(message), f"/messages/{index}", text_of(info.get("id")))
        if todos := list_of(value.get("todos")):
            yield "items", {"items": todos, "sessionID": info.get("id")}, "/todos"
    elif info:
        yield from _with_path(value, "", "")
    elif isinstance(value.get("part"), dict):
        yield "part", {"sessionID": value.get("sessionID"), "at": value.get("timestamp")} | value["part"], "/part"
    else:
        yield _kind(value), value, ""


def _with_path(message: dict[str, Any], path: str, session: str) -> Iterator[Found]:
    info = {"sessionID": session} | dict_of(message.get("info"))
    for index, part in enumerate(list_of(message.get("parts"))):
        ids = {"sessionID": info["sessionID"], "messageID": info.get("id")}
        yield "part", ids | dict_of(part), f"{path}/parts/{index}"
    yield "message", info, f"{path}/info"


def _kind(value: dict[str, Any]) -> str:
    if "messageID" in value:
        return "part"
    if "role" in value:
        return "message"
    if "error" in value and "sessionID" in value:
        return "error"
    if "items" in value:
        return "items"
    if "worktree" in value:
        return "project"
    if "secret" in value:
        return "share"
    return "session" if "id" in value and value.keys() & {"projectID", "directory", "slug", "title"} else "other"


class OpenCodeReading(Reading):
    """The state of one file while it is read. It grows by a few words for each message."""

    name = NAME
    title = TITLE

    def __init__(self) -> None:
        super().__init__()
        self.messages: dict[str, Message] = {}
        self.sessions: dict[str, Facts] = {}
        self.current = ""
        self._asked = ""
        """The message whose prompt was told last; more text of it begins no turn."""
        self._waiting: list[tuple[Line, Found]] = []
        self._strays: list[EventDraft] = []
        """Broken documents before the first session."""

    def learn(self, value: dict[str, Any]) -> None:
        """The first reading: whose parts are whose, and what sessions are called."""
        for kind, told, _ in found_in(value):
            if kind == "session":
                self._session(text_of(told.get("id")), told)
            elif kind == "message":
                self._message(told)
            elif kind == "part":
                self._part(told)

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The second reading. What belongs to no session waits for the next, or goes to the one before."""
        for item in items:
            if isinstance(item, Line):
                for found in found_in(item.value):
                    yield from self._place_in_session(item, found)
            elif isinstance(item, EventDraft):
                if self.current:
                    yield item
                else:
                    self._strays.append(item)
            else:
                yield from self.findings.let(item)
        if not self.current:
            raise FormatError("it is an OpenCode file, but no session, message or part is in it")
        for line, found in self._waiting:
            yield from self._events(line, found)
        yield from self.findings.close()
        yield self._draft()

    def _place_in_session(self, line: Line, found: Found) -> Iterator[Draft]:
        kind, told, _ = found
        session = text_of(told.get("id" if kind == "session" else "sessionID"))[:ID_LIMIT]
        if not session and (kind in ("project", "share") or not self.current):
            self._waiting.append((line, found))
            if len(self._waiting) > MOST_WAITING:
                raise FormatError(f"it is no OpenCode file: {MOST_WAITING:,} documents together belong to no session")
            return
        if session and session != self.current:
            if self.current:
                yield self._draft()
            self.current = session
            yield self._draft()
        yield from self._strays
        waiting, self._waiting, self._strays = self._waiting, [], []
        for held in (*waiting, (line, found)):
            yield from self._events(*held)

    def _draft(self) -> SessionDraft:
        return self._session(self.current).draft(complete=True)

    def _events(self, line: Line, found: Found) -> Iterator[EventDraft]:
        kind, told, path = found
        yield from HANDLERS[kind](self, replace(line, key=_key(kind, told)), told, path)

    def _session(self, session: str, told: dict[str, Any] | None = None) -> Facts:
        facts = self.sessions.setdefault(session[:ID_LIMIT], Facts(NAME, TITLE, session=session))
        if told is not None:
            times = dict_of(told.get("time"))
            facts.at(from_epoch(times.get("created"), 1000))
            facts.at(from_epoch(times.get("updated"), 1000))
            facts.title, facts.version = text_of(told.get("title")), text_of(told.get("version"))
            facts.parent = text_of(told.get("parentID"))[:ID_LIMIT] or None
            facts.where(cwd=told.get("directory"))
            if summary := light(dict_of(told.get("summary"))):
                facts.more["changes"] = summary
        return facts

    def _message(self, told: dict[str, Any]) -> None:
        message = self.messages.setdefault(text_of(told.get("id"))[:ID_LIMIT], Message())
        times, chosen = dict_of(told.get("time")), dict_of(told.get("model"))
        message.role = text_of(told.get("role"))
        message.model = text_of(told.get("modelID") or chosen.get("modelID"))[:200] or None
        message.created, message.completed = times.get("created"), times.get("completed")
        facts = self._session(text_of(told.get("sessionID")))
        facts.at(from_epoch(message.created, 1000))
        facts.at(from_epoch(message.completed, 1000))
        facts.where(cwd=dict_of(told.get("path")).get("cwd"))
        if message.role == "assistant":
            facts.model = message.model or facts.model

    def _part(self, told: dict[str, Any]) -> None:
        """Parts that only an answer has tell the role of a message that is not in the file."""
        message = self.messages.setdefault(text_of(told.get("messageID"))[:ID_LIMIT], Message())
        kind = text_of(told.get("type"))
        message.stepped = message.stepped or (kind == "step-finish" and isinstance(told.get("tokens"), dict))
        if not message.role and (kind in ANSWERS or (kind == "text" and "time" in told)):
            message.role = "assistant"

    @property
    def agent(self) -> Actor:
        """Who answers in the session that is being told."""
        return "subagent" if self._session(self.current).parent else "agent", TITLE

    def of(self, told: dict[str, Any]) -> Message:
        """What is known of the message that a part belongs to."""
        return self.messages.get(text_of(told.get("messageID"))[:ID_LIMIT], NOBODY)


NOBODY = Message()
ANSWERS = frozenset({"step-start", "step-finish", "reasoning", "tool", "patch", "snapshot"})


def _key(kind: str, told: dict[str, Any]) -> str:
    """The id of what it is; a project is told again by each session of it."""
    own = id_of(told.get("id"))
    return own if own and kind in ("part", "message", "session") else f"{kind}:{own or ''}"


def _ended(line: Line, *moments: Any) -> Line:
    """The line at the first of the times that is one."""
    return replace(line, at=next((at for moment in moments if (at := from_epoch(moment, 1000))), None))


def part(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterable[EventDraft]:
    """Parts by their type."""
    kind, message = text_of(told.get("type")).replace("_", "-"), reading.of(told)
    times = dict_of(told.get("time"))
    line = _ended(line, times.get("start"), times.get("created"), told.get("at"), message.created)
    if handler := PARTS.get(kind):
        return handler(reading, line, told, path)
    place = f":{fingerprint(told)}"
    return [reading.unknown(line, f"part type {kind[:100]!r}", told, part=place, at_path=path)]


def _text(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text, message = text_of(told.get("text")), reading.of(told)
    place: dict[str, Any] = {"part": f":{fingerprint(text)}", "at_path": path}
    if message.role == "assistant" or "at" in told:
        yield line.event("agent_message", text, actor=reading.agent, model=message.model, **place)
    elif told.get("synthetic") is True or told.get("ignored") is True or reading._asked == told.get("messageID"):
        yield line.event(
            "injected_context", text, data={"type": "synthetic" if told.get("synthetic") else "more"}, **place
        )
    else:
        reading._asked = told.get("messageID") or ""
        by: Actor = ("agent", "") if reading.agent[0] == "subagent" else ("person", "")
        yield line.event("user_message", text, actor=by, **place)


def _reasoning(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text, metadata = text_of(told.get("text")), dict_of(told.get("metadata"))
    sealed = any("reasoningEncryptedContent" in dict_of(value) for value in metadata.values())
    data = {"encrypted": True} if sealed else {} if text else {"not_recorded": True}
    yield line.event(
        "reasoning",
        text,
        part=f":{fingerprint(text)}",
        at_path=path,
        actor=reading.agent,
        model=reading.of(told).model,
        data=data,
    )


def _tool(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A call and, once it has ended, its result."""
    state, call_id, name = dict_of(told.get("state")), id_of(told.get("callID")), text_of(told.get("tool"))[:200]
    times = dict_of(state.get("time"))
    arguments = bounded(state.get("input"), len(line.raw))
    call = f":call:{fingerprint(arguments)}"
    line = _ended(line, times.get("start")) if times else line
    yield line.event(
        "tool_call", part=call, at_path=path, actor=reading.agent, model=reading.of(told).model,
        tool=ToolDraft(call_id, name or None, None, arguments), data=light({"title": state.get("title")}),
    )  # fmt: skip
    if text_of(state.get("status")) in STATUSES:
        line = _ended(line, times.get("end"), times.get("start"))
        yield from _tool_result(line, told, state, path, line.key + call)


def _tool_result(
    line: Line, told: dict[str, Any], state: dict[str, Any], path: str, parent: str
) -> Iterator[EventDraft]:
    call_id, name = id_of(told.get("callID")), text_of(told.get("tool"))[:200]
    text = text_of(state.get("output")) or text_of(state.get("error"))
    metadata = dict_of(state.get("metadata"))
    facts: dict[str, Any] = bounded({k: v for k, v in metadata.items() if k not in REPEATED}, len(line.raw))
    if "exit" in facts:
        facts["exit_code"] = facts.pop("exit")
    status: str | None = STATUSES[state["status"]]
    if status == "error" and text.startswith(REJECTED):
        status = "denied"
        yield line.event(
            "approval", part=":denied", at_path=path, parent=parent,
            tool=ToolDraft(call_id, name or None, status="denied"),
            data={"type": "rejected", "decision": "denied", "by": "user" if text.startswith(REJECTED[0]) else "policy",
                  "inferred": True},
        )  # fmt: skip
    elif status == "error" and text.startswith(ABORTED):
        status = "cancelled"
    child = text_of(metadata.get("sessionId") or metadata.get("sessionID"))[:ID_LIMIT]
    attachments = [_attachment(dict_of(file)) for file in list_of(state.get("attachments"))[:50]]
    data = ({"child_session": child} if child else {}) | ({"attachments": attachments} if attachments else {})
    yield line.event(
        "tool_result", text, part=f":result:{fingerprint([text, status, facts])}", at_path=path, actor=("tool", name),
        parent=parent, tool=ToolDraft(call_id, name or None, None, None, facts or None, status), data=data,
    )  # fmt: skip


def _step_finish(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """One response of the model: its tokens and what OpenCode says it cost."""
    message = reading.of(told)
    line = _ended(line, message.completed, told.get("at"), message.created)
    data = light({"reason": told.get("reason")})
    yield _billed(reading, line, told, path, message.model, data)


def _billed(
    reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str, model: str | None, data: dict[str, Any]
) -> EventDraft:
    tokens, dollars = told.get("tokens"), number_of(told.get("cost"), MOST_DOLLARS)
    usage = usage_of(tokens) if isinstance(tokens, dict) else None
    cost = None if dollars is None else Decimal(str(dollars))
    place: dict[str, Any] = {"part": f":tokens:{fingerprint([tokens, dollars])}", "at_path": path}
    return line.event(
        "model_request", actor=reading.agent, model=model, usage=usage, cost=cost, request=line.key, data=data, **place
    )


def _file(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    source = dict_of(dict_of(told.get("source")).get("text"))
    data = {"type": "file", "attachments": [_attachment(told)]}
    yield line.event(
        "injected_context", text_of(source.get("value")), part=f":{fingerprint(data)}", at_path=path, data=data
    )


def _attachment(file: dict[str, Any]) -> dict[str, Any]:
    url = text_of(file.get("url"))
    payload = url.partition(",")[2] if url.startswith("data:") else ""
    size = {"bytes": len(payload) * 3 // 4 - payload[-2:].count("=")} if payload else light({"url": url})
    return (
        {"type": "file", "media_type": text_of(file.get("mime"))[:100] or None}
        | size
        | light({"title": file.get("filename")})
    )


def _patch(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """Files that a step changed; the diffs stand with the calls."""
    files = [text_of(name)[:1000] for name in list_of(told.get("files"))[:200]]
    data = {"type": "patch", "path": files[0] if files else "", "paths": files} | light({"hash": told.get("hash")})
    yield line.event("file_change", part=f":{fingerprint(data)}", at_path=path, actor=reading.agent, data=data)


def _compaction(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield line.event("compaction", at_path=path, data={"type": "compaction"} | light(told, IDS))


def _subtask(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A task that a person gave to another agent directly."""
    yield line.event(
        "handoff", text_of(told.get("prompt")), at_path=path, data={"type": "subtask"} | light(told, IDS | {"prompt"})
    )


def _retry(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text = _failure(told.get("error"))
    yield line.event("error", text, at_path=path, data={"type": "retry"} | light({"attempt": told.get("attempt")}))


def _note(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield line.event("system", at_path=path, data=light(told, IDS))


PartHandler = Callable[[OpenCodeReading, Line, dict[str, Any], str], Iterable[EventDraft]]
PARTS: dict[str, PartHandler] = {
    "text": _text, "reasoning": _reasoning, "tool": _tool, "step-finish": _step_finish, "file": _file,
    "patch": _patch, "compaction": _compaction, "subtask": _subtask, "retry": _retry,
    **dict.fromkeys(("step-start", "snapshot", "agent"), _note),
}  # fmt: skip
IDS = frozenset({"id", "sessionID", "messageID", "at"})


def message(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A message itself: agent and model, and how it ended. Its tokens and cost are the sum of its steps (equal to
    1e-9 for all 330 messages of two real files), so they count only where no step states them.
    """
    known = reading.messages.get(text_of(told.get("id"))[:ID_LIMIT], NOBODY)
    line = _ended(line, known.completed, known.created)
    data = {"type": "message"} | light(told, IDS | {"cost"})
    failure, place = dict_of(told.get("error")), f":{fingerprint([data, told.get('error')])}"
    if failure.get("name") == "MessageAbortedError":
        yield line.event("status", part=place, at_path=path, actor=("person", ""), data=data | {"type": "interrupted"})
    elif failure:
        yield line.event("error", _failure(failure), part=place, at_path=path, data=data)
    else:
        yield line.event("system", part=place, at_path=path, data=data)
    if not known.stepped and isinstance(told.get("tokens"), dict):
        yield _billed(reading, line, told, path, known.model, {})


def _failure(error: Any) -> str:
    error = dict_of(error)
    return (
        text_of(dict_of(error.get("data")).get("message"))
        or text_of(error.get("message"))
        or text_of(error.get("name"))
    )


def session(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """The session itself, with the rules that decide which tools may run."""
    line = _ended(line, dict_of(told.get("time")).get("updated"))
    data = {"type": "session"} | light(told)
    if rules := list_of(told.get("permission")):
        data["permission"] = bounded(rules[:100], len(line.raw))
    yield line.event("system", part=f":{fingerprint(told)}", at_path=path, data=data)


def project(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield line.event("system", part=f":{fingerprint(told)}", at_path=path, data={"type": "project"} | light(told))


def share(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A public link; the secret that can take it back is not shown."""
    data = {"type": "share"} | light(told, frozenset({"secret"}))
    yield line.event("system", part=f":{fingerprint(data)}", at_path=path, data=data)


def items(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A list in a document of its own: a plan, or the files that the session changed (without their contents)."""
    entries = [light(dict_of(item), frozenset({"before", "after"})) for item in list_of(told.get("items"))[:500]]
    kind = "session_diff" if any("file" in entry for entry in entries) else "todo"
    yield line.event("system", part=f":{fingerprint(entries)}", at_path=path, data={"type": kind, "items": entries})


def error(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """``{"type": "error"}`` of ``opencode run``."""
    line = _ended(line, told.get("timestamp"))
    yield line.event(
        "error", _failure(told.get("error")), part=f":{fingerprint(told)}", at_path=path, data={"type": "error"}
    )


def other(reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield reading.unknown(
        line, "document that is no session, message or part", told, part=f":{fingerprint(told)}", at_path=path
    )


HANDLERS: dict[str, PartHandler] = {
    "part": part, "message": message, "session": session, "project": project, "share": share, "items": items,
    "error": error, "other": other,
}  # fmt: skip


def usage_of(tokens: dict[str, Any]) -> Usage:
    """Both caches stand beside ``input``. ``reasoning`` stands beside ``output`` and is billed as output."""
    cache, output, reasoning = (
        dict_of(tokens.get("cache")),
        count_of(tokens.get("output")),
        count_of(tokens.get("reasoning")),
    )
    return Usage(
        input_tokens=count_of(tokens.get("input")),
        cache_read_tokens=count_of(cache.get("read")),
        cache_write_tokens=count_of(cache.get("write")),
        output_tokens=None if output is None and reasoning is None else (output or 0) + (reasoning or 0),
        reasoning_tokens=reasoning,
    )
