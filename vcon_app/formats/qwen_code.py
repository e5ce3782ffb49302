"""Qwen Code: ``~/.qwen/projects/<p>/chats/<session>.jsonl``, lines like Claude Code's around parts of the Gemini API;
and ``qwen -o stream-json`` or ``-o json``.

From ``chatRecordingService.ts`` of 0.21 and files of 0.18 to 0.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from ..drafts import Draft, EventDraft, Finding, Kind, ToolDraft, Usage
from . import claude_code
from .claude_code.detection import is_of
from .claude_code.programs import QWEN_CODE
from .common.calls import Call, id_of, server_of
from .common.facts import ID_LIMIT
from .common.head import Head, open_plain, telling
from .common.lines import Actor, Line, fingerprint
from .common.parts import REFUSED, STATUSES, answer_in, attachments_in, exit_code_in, parts_of, text_in
from .common.reading import REMEMBERED, FactsReading, unknown_type
from .common.records import lines_or_list
from .common.usage import uncached
from .common.values import bounded, count_of, dict_of, forget_oldest, list_of, scalars_of, text_of
from .contract import Spec

NAME = "qwen-code"
SPEC = Spec(
    name=NAME,
    title="Qwen Code",
    grows="lines",
)

TEXT_LIMIT = 64 * 1024
NOT_TYPED = frozenset(
    {"notification", "background_task_completed", "goal_runtime", "agent_launch_prompt", "agent_retry"}
)
"""Subtypes of user lines that nobody typed."""
NOT_A_PERSONS = frozenset({"goal_control", "goal_runtime", "system"})
DECISIONS = {"accept": "approved", "modify": "approved", "reject": "denied"}
"""What a person answered when asked; ``auto_accept`` is no answer, the tool was allowed by its settings."""
NOTES = frozenset({
    "session_notes", "attribution_snapshot", "background_task_completed", "session_source", "session_execution_engine",
    "omni_recall", "session_approval_mode", "agent_session_ready", "agent_retry", "file_history_snapshot",
    "user_text_elements", "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot",
    "branch_checkpoint", "goal_state", "goal_runtime", "goal_turn_end", "realtime_message", "turn_result", "cron",
})  # fmt: skip
"""System lines that only keep a state for Qwen Code itself."""


def detect(head: Head) -> bool:
    """By the parts of a message, which Claude Code does not have, by what only Qwen Code writes beside them, or as a
    stream."""
    return _is_stored(head) or is_of(head, QWEN_CODE)


def _is_stored(head: Head) -> bool:
    first = head.shape  # two objects may be glued on the first line, which is then no line of JSON
    return any(_is_ours(line) for line in head.records) or (
        first.get("message.parts") == "[" and isinstance(first.get("uuid"), str) and "sessionId" in first
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a session, one line in memory at a time.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when the file holds no JSON
    object among its first lines, or unpacks to too much.
    """
    if is_of(telling(open_plain(source), detect), QWEN_CODE):
        return claude_code.read(source)
    return QwenReading().run(lines_or_list(source, NAME))


def _is_ours(line: dict[str, Any]) -> bool:
    if "uuid" not in line or "sessionId" not in line:
        return False
    parts = dict_of(line.get("message")).get("parts")
    return isinstance(parts, list) or "usageMetadata" in line or "systemPayload" in line


class QwenReading(FactsReading):
    """The state of one file while it is read."""

    name = NAME
    title = SPEC.title

    def __init__(self) -> None:
        super().__init__()
        self.agent_id = ""
        self.open: dict[str, str] = {}
        """Tool and arguments -> id of the latest such call: telemetry names a call by these alone."""
        self.decided: str | None = None
        """The call that an answer was recorded for last; its result need not be read for one."""
        self.named = False
        """A person gave the session its title."""
        self.counted = self.reported = 0
        """Output tokens on the responses, and in the telemetry of all requests."""
        self._id_is_fixed = False

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        value = line.value
        if not self._id_is_fixed and not self.facts.session and (session := text_of(value.get("sessionId"))[:ID_LIMIT]):
            self._claim(value, session)
        self.facts.version = text_of(value.get("version")) or self.facts.version
        self.facts.set_environment(cwd=value.get("cwd"), git_branch=value.get("gitBranch"))
        return bool(self.facts.session)

    def fix_session_id(self) -> None:
        self._id_is_fixed = True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        own = text_of(line.value.get("uuid"))[:ID_LIMIT]
        line.key = self._keys.named(own, line) if own else self._keys.derived("line", line)
        self.note_session(line)
        agent_id = text_of(line.value.get("agentId"))[:ID_LIMIT]
        if self.agent_id:
            line.agent, line.depth = ("subagent", self.title), int(agent_id not in ("", self.agent_id))
        elif line.value.get("isSidechain") is True:
            line.agent, line.depth = ("subagent", text_of(line.value.get("agentName"))[:200] or agent_id), 1
        else:
            line.agent = "agent", self.title
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind, origin = line.value.get("type"), dict_of(line.value.get("forkedFrom"))
        if text_of(origin.get("sessionId")):
            yield self._copied(line, origin)
        elif handler := HANDLERS.get(kind) if isinstance(kind, str) else None:
            yield from handler(self, line)
        else:
            yield self.unknown(line, unknown_type(kind))

    def closing(self) -> Iterator[Finding]:
        # Not an error: telemetry counts side requests too, which no line of the file shows.
        if self.reported > self.counted:
            yield Finding(
                f"{NAME}.total", "info", "",
                f"telemetry reports {self.reported} output tokens, the responses in the file {self.counted}: side "
                "requests (titles, summaries, sub-agents in files of their own) are not counted here",
            )  # fmt: skip

    def _claim(self, value: dict[str, Any], session: str) -> None:
        """A sub-agent's own file begins with a line of the sub-agent and carries its parent's session id."""
        self.facts.session = session
        if value.get("isSidechain") is True:
            self.agent_id = text_of(value.get("agentId"))[:ID_LIMIT] or "unnamed"
            self.facts.session, self.facts.parent = f"{session}/agent-{self.agent_id}", session

    def _copied(self, line: Line, origin: dict[str, Any]) -> EventDraft:
        """``/branch`` copies the lines of the parent and marks each; they are no work of this session."""
        if "forked_from" not in self.facts.more:
            self.facts.more["forked_from"] = origin["sessionId"][:ID_LIMIT]
        text = text_in(dict_of(line.value.get("message")).get("parts"), "\n")[:TEXT_LIMIT]
        data = {"type": "replayed", "of": origin["sessionId"][:ID_LIMIT]} | scalars_of(
            {"line_type": line.value.get("type")}
        )
        return line.event("injected_context", text, data=data)


def user(reading: QwenReading, line: Line) -> Iterator[EventDraft]:
    """What a person typed (``displayText``), with what was added before it was sent."""
    value, parts = line.value, dict_of(line.value.get("message")).get("parts")
    payload, subtype = dict_of(value.get("systemPayload")), text_of(value.get("subtype"))
    text, typed, attachments = text_in(parts, "\n"), text_of(payload.get("displayText")), attachments_in(parts)
    data: dict[str, Any] = scalars_of({"subtype": subtype}) | ({"attachments": attachments} if attachments else {})
    if subtype in NOT_TYPED or text_of(value.get("provenance")) in NOT_A_PERSONS:
        yield line.event("injected_context", text or typed, data={"type": subtype or value["provenance"]} | data)
        return
    asks: Actor = ("agent", "") if line.depth or reading.agent_id else ("person", "")
    if subtype == "cron":
        asks = "trigger", "cron"
    yield line.event("user_message", typed or text, at_path="/message/parts", actor=asks, data=data)
    if typed and text.strip() not in ("", typed.strip()):
        yield line.event(
            "injected_context", text, part=":sent", at_path="/message/parts", data={"type": "expanded_prompt"}
        )


def assistant(reading: QwenReading, line: Line) -> Iterator[EventDraft]:
    """The parts of a response; its usage stands on the last event of the line."""
    model = text_of(line.value.get("model"))[:200] or None
    reading.facts.model = model or reading.facts.model
    usage = usage_of(dict_of(line.value.get("usageMetadata")))
    reading.counted += (usage and usage.output_tokens) or 0
    billing: dict[str, Any] = {"usage": usage, "request": line.key} if usage else {}
    groups = list(_groups(parts_of(dict_of(line.value.get("message")).get("parts"))))
    if not groups:
        empty: Kind = "model_request" if usage else "system"
        data = {} if usage else {"type": "assistant", "empty": True}
        yield line.event(empty, actor=line.agent, model=model, data=data, **billing)
    for number, (index, parts) in enumerate(groups, 1):
        place = {"part": f":{index}" if index else "", "at_path": f"/message/parts/{index}", "model": model}
        yield _part(reading, line, parts, place | (billing if number == len(groups) else {}))


def _groups(parts: list[dict[str, Any]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Parts with the index of the first; pieces of one text, or of one thought, are together."""
    group: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        if group and (_kind(part) != _kind(group[0]) or not _kind(part)):
            yield index - len(group), group
            group = []
        group.append(part)
    if group:
        yield len(parts) - len(group), group


def _kind(part: dict[str, Any]) -> str:
    if not isinstance(part.get("text"), str) or "functionCall" in part:
        return ""
    return "thought" if part.get("thought") is True else "text"


def _part(reading: QwenReading, line: Line, parts: list[dict[str, Any]], place: dict[str, Any]) -> EventDraft:
    part, text = parts[0], "".join(text_of(part.get("text")) for part in parts)
    if call := dict_of(part.get("functionCall")):
        return _called(reading, line, call, place)
    if kind := _kind(part):
        return line.event("reasoning" if kind == "thought" else "agent_message", text, actor=line.agent, **place)
    if attachments := attachments_in(part):
        return line.event("agent_message", actor=line.agent, data={"attachments": attachments}, **place)
    return reading.unknown(line, f"part with {', '.join(sorted(part))[:100] or 'nothing'}", part, **place)


def _called(reading: QwenReading, line: Line, call: dict[str, Any], place: dict[str, Any]) -> EventDraft:
    call_id, name = id_of(call.get("id")), text_of(call.get("name"))[:200]
    reading.calls.add(call_id, Call(line.key + place["part"], name, server_of(name)))
    if call_id:
        reading.open[f"{name}:{fingerprint(call.get('args'))}"] = call_id
        forget_oldest(reading.open, REMEMBERED)
    tool = ToolDraft(call_id, name or None, server_of(name), bounded(call.get("args"), len(line.raw)))
    return line.event("tool_call", actor=line.agent, tool=tool, **place)


def tool_result(reading: QwenReading, line: Line) -> Iterator[EventDraft]:
    """What the model was given, and what the screen showed."""
    parts = parts_of(dict_of(line.value.get("message")).get("parts"))
    shown = dict_of(line.value.get("toolCallResult"))
    answers = [(i, found) for i, part in enumerate(parts) if (found := dict_of(part.get("functionResponse")))]
    for index, answer in answers or [(0, {})]:
        place = {"part": f":{index}" if index else "", "at_path": f"/message/parts/{index}" if answers else ""}
        yield from _returned(reading, line, answer, shown if len(answers) <= 1 else {}, attachments_in(parts), place)


def _returned(
    reading: QwenReading, line: Line, answer: dict[str, Any], told: dict[str, Any], attachments: list[dict[str, Any]],
    place: dict[str, Any],
) -> Iterator[EventDraft]:  # fmt: skip
    call_id = id_of(answer.get("id")) or id_of(told.get("callId"))
    call = reading.calls.get(call_id)
    name, parent = (call.name if call else text_of(answer.get("name"))[:200]), call.key if call else None
    text, failed = answer_in(answer.get("response"))
    shown = told.get("resultDisplay")
    text = text or text_of(shown)
    status = STATUSES.get(text_of(told.get("status"))) or failed
    if status in ("cancelled", "error") and REFUSED.search(text[:500]):
        status = "denied"
        if call_id is None or call_id != reading.decided:
            yield line.event(
                "approval", part=f"{place['part']}:denied", parent=parent,
                tool=ToolDraft(call_id, name or None, status="denied"),
                data={"type": "rejected", "decision": "denied", "by": "user", "inferred": True},
            )  # fmt: skip
    facts = (
        exit_code_in(text) | bounded(dict_of(shown), len(line.raw)) | scalars_of({"error_type": told.get("errorType")})
    )
    tool = ToolDraft(call_id, name or None, call.server if call else server_of(name), None, facts or None, status)
    data = {"attachments": attachments} if attachments else {}
    yield line.event("tool_result", text, actor=("tool", name), parent=parent, tool=tool, data=data, **place)


def system(reading: QwenReading, line: Line) -> Iterable[EventDraft]:
    """System lines by ``subtype``."""
    subtype, payload = text_of(line.value.get("subtype")), dict_of(line.value.get("systemPayload"))
    if handler := SUBTYPES.get(subtype):
        return handler(reading, line, payload)
    if subtype in NOTES:
        return [line.event("system", data={"type": subtype} | scalars_of(payload))]
    return [reading.unknown(line, f"system line of subtype {subtype[:100]!r}")]


def _telemetry(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Measurements. Their tokens repeat those of the responses: of two requests of a real file both name 25."""
    event = dict_of(payload.get("uiEvent"))
    name = text_of(event.get("event.name")).removeprefix("qwen-code.")[:100]
    data = {"type": "ui_telemetry", "event": name} | scalars_of(event, frozenset({"event.name", "response_text"}))
    reading.reported += count_of(event.get("output_token_count")) or 0
    decision, tool_name = DECISIONS.get(text_of(event.get("decision"))), text_of(event.get("function_name"))[:200]
    if decision:
        call_id = reading.open.get(f"{tool_name}:{fingerprint(event.get('function_args'))}")
        call = reading.calls.get(call_id)
        reading.decided = call_id
        data |= {"decision": decision, "answer": event["decision"], "by": "user", "inferred": False}
        tool = ToolDraft(call_id, tool_name or None, None, bounded(event.get("function_args"), len(line.raw)))
        yield line.event("approval", tool=tool, parent=call.key if call else None, data=data)
    elif "error_message" in event:
        yield line.event("error", text_of(event["error_message"]), data=data)
    else:
        yield line.event("system", data=data)


def _title(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A person's title stays, also when one is generated later."""
    title, by_hand = text_of(payload.get("customTitle")), payload.get("titleSource") != "auto"
    if title and (by_hand or not reading.named):
        reading.facts.title, reading.named = title, reading.named or by_hand
    yield line.event(
        "system", title, data={"type": "custom_title"} | scalars_of({"source": payload.get("titleSource")})
    )


def _command(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A slash command as it was typed, then what it showed."""
    raw = text_of(payload.get("rawCommand"))
    command, _, arguments = raw.partition(" ")
    if payload.get("phase") == "invocation" and payload.get("sentToModel") is not True:
        yield line.event("user_message", raw, actor=("person", ""), data={"command": command, "args": arguments})
        return
    texts = [text_of(dict_of(item).get("text")) for item in list_of(payload.get("outputHistoryItems"))]
    yield line.event("system", "\n".join(filter(None, texts)), data={"type": "slash_command", "command": command[:200]})


def _compressed(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    history, info = list_of(payload.get("compressedHistory")), scalars_of(dict_of(payload.get("info")))
    text = text_in(dict_of(history[0]).get("parts"), "\n") if history else ""
    metadata = {"preTokens": info.get("originalTokenCount"), "postTokens": info.get("newTokenCount")}
    yield line.event(
        "compaction", text[:TEXT_LIMIT], data={"type": "chat_compression", "compact_metadata": metadata} | info
    )


def _parent(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    reading.facts.parent = reading.facts.parent or text_of(payload.get("parentSessionId"))[:ID_LIMIT] or None
    yield line.event("system", data={"type": "parent_session"} | scalars_of(payload))


def _model(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    reading.facts.model = text_of(payload.get("modelId"))[:200] or reading.facts.model
    yield line.event("system", data={"type": "session_model"} | scalars_of(payload))


def _rewind(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The person went back. What lies between has happened, so it stays."""
    yield line.event("status", actor=("person", ""), data={"type": "rewind"} | scalars_of(payload))


def _context(reading: QwenReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Files, notices and inherited history that were put before the model."""
    text = text_of(payload.get("displayText")) or text_of(payload.get("message")) or text_of(payload.get("userText"))
    data = {"type": line.value["subtype"]} | scalars_of(payload, frozenset({"displayText", "message", "userText"}))
    if files := [text_of(name)[:1000] for name in list_of(payload.get("filesRead"))[:50]]:
        data["files"] = files
    yield line.event("injected_context", text[:TEXT_LIMIT], data=data)


SUBTYPES: dict[str, Callable[[QwenReading, Line, dict[str, Any]], Iterable[EventDraft]]] = {
    "ui_telemetry": _telemetry, "custom_title": _title, "slash_command": _command, "chat_compression": _compressed,
    "parent_session": _parent, "session_model": _model, "rewind": _rewind, "at_command": _context,
    "notification": _context, "agent_bootstrap": _context, "agent_launch_prompt": _context,
}  # fmt: skip
HANDLERS: dict[str, Callable[[QwenReading, Line], Iterable[EventDraft]]] = {
    "user": user, "assistant": assistant, "tool_result": tool_result, "system": system,
}  # fmt: skip


def usage_of(counts: dict[str, Any]) -> Usage | None:
    """The cached part is inside the prompt. Thoughts are inside the candidates with OpenAI's counting and outside
    with Gemini's; the total tells which, and without one they count as Gemini's.
    """
    given, cached = count_of(counts.get("promptTokenCount")), count_of(counts.get("cachedContentTokenCount"))
    output, thoughts = count_of(counts.get("candidatesTokenCount")), count_of(counts.get("thoughtsTokenCount"))
    if given is None and output is None and thoughts is None:
        return None
    # total == prompt + output holds only when the thoughts are part of the output.
    inside = count_of(counts.get("totalTokenCount")) == (given or 0) + (output or 0) and bool(thoughts)
    return Usage(
        input_tokens=uncached(given, cached),
        cache_read_tokens=cached,
        output_tokens=output if inside or not thoughts else (output or 0) + thoughts,
        reasoning_tokens=thoughts,
    )
