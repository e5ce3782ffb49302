"""``cursor-agent -p --output-format stream-json``: dotless types, a call as ``started`` and ``completed``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from ...drafts import EventDraft, Finding, ToolDraft, Usage
from ..common.calls import Call, id_of
from ..common.facts import ID_LIMIT
from ..common.jsonio import Unreadable, loads
from ..common.lines import Line
from ..common.reading import FactsReading, unknown_type
from ..common.times import from_epoch
from ..common.values import bounded, count_of, dict_of, list_of, number_of, scalars_of, text_of
from .transcript import AGENT, split_prompt

OUTCOMES = {
    "success": "ok", "error": "error", "failure": "error", "timeout": "error", "rejected": "denied",
    "permissionDenied": "denied",
}  # fmt: skip
"""How a result says what became of a call: by the name of its only key."""
TEXTS = ("content", "stdout", "output", "result", "message", "error", "errorMessage", "reason", "stderr")
COMMON = frozenset({"session_id", "type", "subtype", "timestamp_ms"})
MOST_DOLLARS = 10**6
THOUGHT_LIMIT = 1024 * 1024


def is_stream(lines: list[dict[str, Any]]) -> bool:
    """An ``init`` without a list of tools (Claude Code's has one), a call in two stages, or the result alone."""
    if lines and all(map(_is_result, lines)):
        return True
    return any(_is_first_line(line) for line in lines) and not any(_is_of_droid(line) for line in lines)


def _is_result(line: dict[str, Any]) -> bool:
    """What ``--output-format json`` prints. Others count turns in it, or name the line."""
    ours = line.keys() >= {"session_id", "duration_ms", "is_error", "result"} and line.get("type") == "result"
    return ours and not {"uuid", "num_turns", "total_cost_usd", "stats"} & line.keys()


def _is_of_droid(line: dict[str, Any]) -> bool:
    """Droid's stream begins alike; its calls and its end do not look like Cursor's."""
    return "toolName" in line or "finalText" in line


def _is_first_line(line: dict[str, Any]) -> bool:
    kind, stage = line.get("type"), line.get("subtype")
    init = kind == "system" and stage == "init" and "tools" not in line
    call = kind == "tool_call" and stage in ("started", "completed") and isinstance(line.get("tool_call"), dict)
    return "session_id" in line and (init or call)


class StreamReading(FactsReading):
    """The state of one run while it is read."""

    name = "cursor"
    title = "Cursor"

    def __init__(self) -> None:
        super().__init__()
        self.partial = 0
        self.thought = ""
        self.said: list[str] = []
        """Pieces of an answer that come one after the other, before it is told as a whole."""
        self.answered = False
        """Whether somebody answered since the result before, which says the answers again."""

    def note_session(self, line: Line) -> bool:
        value = line.value
        line.at = line.at or from_epoch(value.get("timestamp_ms"), 1000)
        self.facts.note_line(line)
        self.facts.session = self.facts.session or text_of(value.get("session_id"))[:ID_LIMIT]
        self.facts.set_environment(cwd=value.get("cwd"))
        self.facts.model = text_of(value.get("model"))[:200] or self.facts.model
        return bool(self.facts.session)

    def assign_key(self, line: Line) -> Iterable[Finding]:
        self.note_session(line)
        line.key = self._keys.derived(text_of(line.value.get("type")) or "line", line)
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind = text_of(line.value.get("type"))
        if kind != "assistant":
            self.said = []
        if handler := HANDLERS.get(kind):
            yield from handler(self, line)
        else:
            yield self.unknown(line, unknown_type(line.value.get("type")))

    def closing(self) -> Iterator[Finding]:
        if self.partial:
            yield Finding(
                "cursor.partial-events", "info", "", f"{self.partial} pieces of thoughts left out; their whole is told"
            )


def _text_of_message(line: Line) -> str:
    content = dict_of(line.value.get("message")).get("content")
    return text_of(content) or "".join(text_of(dict_of(block).get("text")) for block in list_of(content))


def system(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    yield line.event(
        "system", data={"type": text_of(line.value.get("subtype")) or "system"} | scalars_of(line.value, COMMON)
    )


def user(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    typed, around = split_prompt(_text_of_message(line))
    for number, (tag, text) in enumerate(around):
        yield line.event("injected_context", text, part=f":c{number}", at_path="/message", data={"type": tag})
    if typed or not around:
        yield line.event("user_message", typed, at_path="/message", actor=("person", ""))


def assistant(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    """An answer, or with ``--stream-partial-output`` a piece of one; the whole that follows is not told again."""
    text = _text_of_message(line)
    if len(reading.said) > 1 and text == "".join(reading.said):
        reading.said = []
        yield line.event("system", data={"type": "assistant", "repeated": True})
        return
    reading.said.append(text)
    reading.answered = True
    yield line.event("agent_message", text, at_path="/message", actor=AGENT, model=reading.facts.model)


def thinking(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    """Thoughts come in pieces and then are completed without a text."""
    text = text_of(line.value.get("text"))
    if line.value.get("subtype") == "delta":
        reading.partial += 1
        reading.thought = (reading.thought + text)[:THOUGHT_LIMIT]
        return
    whole, reading.thought = text or reading.thought, ""
    data = {} if whole else {"not_recorded": True}
    yield line.event("reasoning", whole, actor=AGENT, model=reading.facts.model, data=data)


def tool_call(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    """The start of a call, or its end; an end without its start tells both."""
    call_id, (name, server, arguments, result) = id_of(line.value.get("call_id")), call_in(line.value)
    call = reading.calls.get(call_id)
    if call is None:
        call = Call(f"{line.key}:call", name, server)
        reading.calls.add(call_id, call)
        tool = ToolDraft(call_id, name or None, server, bounded(arguments, len(line.raw)))
        yield line.event(
            "tool_call", part=":call", at_path="/tool_call", actor=AGENT, model=reading.facts.model, tool=tool
        )
    if line.value.get("subtype") == "completed":
        yield from _completed(line, call, call_id, dict_of(result))
    elif call.key != f"{line.key}:call":
        yield line.event("system", parent=call.key, data={"type": "tool_call"} | scalars_of(line.value, COMMON))


def _completed(line: Line, call: Call, call_id: str | None, result: dict[str, Any]) -> Iterator[EventDraft]:
    outcome = next((name for name in OUTCOMES if name in result), "")
    told = dict_of(result.get(outcome)) if outcome else result
    text = next((found for name in TEXTS if (found := text_of(told.get(name)))), "") or text_of(result.get(outcome))
    facts = {key: value for key, value in told.items() if key not in TEXTS or not isinstance(value, str)}
    if type(code := facts.pop("exitCode", None)) is int:
        facts["exit_code"] = code
    status = OUTCOMES.get(outcome)
    if status == "denied":
        refused = ToolDraft(call_id, call.name, call.server, status="denied")
        by = "user" if outcome == "rejected" else "policy"
        data = {"type": outcome, "decision": "denied", "by": by, "inferred": True}
        yield line.event("approval", text, part=":denied", parent=call.key, tool=refused, data=data)
    tool = ToolDraft(call_id, call.name, call.server, None, bounded(facts, len(line.raw)) or None, status)
    yield line.event("tool_result", text, at_path="/tool_call", actor=("tool", call.name), parent=call.key, tool=tool)


def call_in(value: dict[str, Any]) -> tuple[str, str | None, Any, Any]:
    """Name, server, arguments and result of ``{"readToolCall": {args, result}}`` or ``{"function": {...}}``."""
    told = dict_of(value.get("tool_call"))
    kind = next((name for name in told if name.endswith("ToolCall")), "function")
    inner = dict_of(told.get(kind))
    arguments, result = inner.get("args", inner.get("arguments")), inner.get("result", told.get("result"))
    if kind == "function":
        return text_of(inner.get("name"))[:ID_LIMIT], None, _parsed(arguments), result
    if kind == "mcpToolCall":
        asked = dict_of(arguments)
        name = text_of(asked.get("toolName") or asked.get("name"))[:ID_LIMIT]
        return name or "mcp", text_of(asked.get("providerIdentifier"))[:ID_LIMIT] or None, asked.get("args"), result
    return kind.removesuffix("ToolCall")[:ID_LIMIT], None, arguments, result


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str) or not arguments.startswith("{"):
        return arguments
    try:
        return loads(arguments.encode(errors="replace"))[0]
    except Unreadable:
        return arguments


def query(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    """A question to the person at the terminal, and what was answered: ``{"...Response": {"approved": {}}}``."""
    value = line.value
    call_id = id_of(value.get("call_id")) or id_of(value.get("tool_call_id"))
    call = reading.calls.get(call_id)
    data = {"type": "interaction_query"} | scalars_of(value, COMMON)
    answers = [dict_of(answer) for answer in (value.get("response"), *dict_of(value.get("response")).values())]
    decision = next((name for name in ("approved", "rejected") for answer in answers if name in answer), "")
    if not decision:
        yield line.event("system", parent=call.key if call else None, data=data)
        return
    data |= {"decision": "approved" if decision == "approved" else "denied", "by": "user", "inferred": False}
    asked = value.get("query")
    name = call.name if call else text_of(value.get("query_type"))[:ID_LIMIT]
    tool = ToolDraft(call_id, name or None, None, bounded(asked, len(line.raw)))
    yield line.event("approval", parent=call.key if call else None, tool=tool, data=data)


def result(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    """How a run ended, and the tokens of all its responses together."""
    value = line.value
    failed = value.get("is_error") is True or value.get("subtype") not in ("success", None)
    reading.facts.phase = "crashed" if failed else "completed"
    data = {"type": "result"} | scalars_of(value, COMMON | {"result"})
    said, answered = text_of(value.get("result")), reading.answered
    reading.answered = False
    if said.strip() and not failed and not answered:
        yield line.event("agent_message", said, part=":said", at_path="/result", actor=AGENT, model=reading.facts.model)
    text = said if failed else ""  # else it repeats the answers
    yield line.event("error" if failed else "status", text, data=data)
    counts = dict_of(value.get("usage"))
    usage, dollars = usage_of(counts), number_of(counts.get("totalCost", counts.get("cost")), MOST_DOLLARS)
    if usage or dollars is not None:
        cost = None if dollars is None else Decimal(str(dollars))
        yield line.event(
            "model_request", part=":tokens", at_path="/usage", actor=AGENT, model=reading.facts.model, usage=usage,
            cost=cost, request=f"{line.key}:tokens",
        )  # fmt: skip


def setting_event(reading: StreamReading, line: Line) -> Iterator[EventDraft]:
    yield line.event("system", text_of(line.value.get("message")), data=scalars_of(line.value, COMMON - {"type"}))


def usage_of(counts: dict[str, Any]) -> Usage | None:
    """Tokens of a run. Cursor names the caches beside the input, so they are read as standing beside it."""
    given, output = count_of(counts.get("inputTokens")), count_of(counts.get("outputTokens"))
    read, written = count_of(counts.get("cacheReadTokens")), count_of(counts.get("cacheWriteTokens"))
    if (given, read, written, output) == (None,) * 4:
        return None
    return Usage(given, read, written, output, quality="aggregate")


HANDLERS: dict[str, Callable[[StreamReading, Line], Iterable[EventDraft]]] = {
    "system": system, "user": user, "assistant": assistant, "thinking": thinking, "tool_call": tool_call,
    "interaction_query": query, "result": result, "connection": setting_event, "retry": setting_event,
}  # fmt: skip
