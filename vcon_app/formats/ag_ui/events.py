"""What each type of event says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

from ...drafts import EventDraft, Finding, Kind, ToolDraft
from ..common.calls import ID_LIMIT, id_of
from ..common.lines import Line
from ..common.values import bounded, dict_of, first_text, list_of, scalars_of, text_of
from .fold import CHUNKS, Open, What
from .messages import called, message_event, result, whole_messages
from .reading import Closer, Handler, Reading
from .usage import usages_of

COMMON = frozenset({"type", "timestamp", "rawEvent"})
LISTED = 100
ENDINGS: dict[str, Literal["cancelled", "crashed"]] = {
    "cancelled": "cancelled", "canceled": "cancelled", "aborted": "cancelled", "abort": "cancelled", "error": "crashed",
    "failed": "crashed",
}  # fmt: skip
"""Outcomes of a run that are no success."""
WORDS = ("message", "reason")
"""Where an outcome says why."""
IDS: dict[What, str] = {"text": "messageId", "reasoning": "messageId", "call": "toolCallId"}
THOUGHT = "thought"
"""Id of thoughts in recordings before 1.0, which had none."""


def begin(reading: Reading, line: Line, what: What) -> Iterable[EventDraft]:
    """A message, a thought or a call starts."""
    value = line.value
    reading.fold.begin(what, text_of(value.get(IDS[what])), line, _about(value))
    return ()


def piece(reading: Reading, line: Line, what: What) -> Iterable[EventDraft]:
    """A further piece of an open message, thought or call."""
    reading.fold.add(what, text_of(line.value.get(IDS[what])), line, line.value.get("delta"))
    return ()


def end(reading: Reading, line: Line, what: What) -> Iterable[EventDraft]:
    """The end of a message, thought or call. An end without a beginning makes no event."""
    return reading.closed(reading.fold.end(what, text_of(line.value.get(IDS[what]))))


def chunk(reading: Reading, line: Line) -> Iterable[EventDraft]:
    """A chunk event: the first one opens the message or call, which stays open for the next."""
    value, (what, _) = line.value, CHUNKS[line.value["type"]]
    id = reading.fold.chunk_id(line)
    opened = reading.fold.begin(what, id, line, _about(value), chunk=not reading.fold.has(what, id))
    opened.pieces.append(text_of(value.get("delta")))
    return ()


def thinking_begins(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The start of a thought without an id (AG-UI before 1.0); it ends an open thought that has text."""
    if reading.fold.has("reasoning", THOUGHT) and line.value["type"] == "THINKING_START":
        yield from reading.closed(reading.fold.end("reasoning", THOUGHT))
    reading.fold.begin("reasoning", THOUGHT, line, {"title": line.value.get("title")})


def thinking_piece(reading: Reading, line: Line) -> Iterable[EventDraft]:
    """A piece of a thought without an id."""
    reading.fold.add("reasoning", THOUGHT, line, line.value.get("delta"))
    return ()


def thinking_ends(reading: Reading, line: Line) -> Iterable[EventDraft]:
    """A thought without an id is complete; the end of all of them then finds none open."""
    return reading.closed(reading.fold.end("reasoning", THOUGHT))


def reasoning_around(reading: Reading, line: Line) -> Iterable[EventDraft]:
    """``REASONING_START`` and ``REASONING_END`` stand around messages, which tell everything."""
    return ()


def closed_text(reading: Reading, line: Line, ended: Open) -> Iterator[EventDraft]:
    """A whole message."""
    about, role = ended.about, text_of(ended.about.get("role")) or "assistant"
    reading.remember_message(role, ended.id, [ended.text, None])
    yield message_event(line, role, ended.text, about.get("name"), model=about.get("model"))


def closed_reasoning(reading: Reading, line: Line, ended: Open) -> Iterator[EventDraft]:
    """A whole thought."""
    reading.remember_message("reasoning", ended.id, [ended.text, None])
    data = scalars_of({"title": ended.about.get("title")}) | ({} if ended.text else {"not_recorded": True})
    yield line.event("reasoning", ended.text, actor=line.agent, model=ended.about.get("model"), data=data)


def closed_call(reading: Reading, line: Line, ended: Open) -> Iterator[EventDraft]:
    """A whole call: its pieces are one JSON text."""
    yield from called(reading, line, id_of(ended.id), id_of(ended.about.get("tool")), ended.text)


def tool_result(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A result ends its call, where the recorder did not."""
    call_id = id_of(line.value.get("toolCallId"))
    yield from reading.closed(reading.fold.end("call", call_id or ""))
    content, id = line.value.get("content"), text_of(line.value.get("messageId"))
    reading.remember_message("tool", id, [content, None])
    reading.assign_key(line, id or "tool-result")
    yield from result(reading, line, call_id, content)


def run_started(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A run begins; its input repeats the conversation and answers interrupts."""
    yield from reading.close_all()
    value = line.value
    reading.run_id = text_of(value.get("runId"))[:ID_LIMIT]
    reading.facts.phase = "active"
    given = dict_of(value.get("input")) if "type" in value else value
    told = {key: value.get(key) for key in ("type", "runId", "parentRunId")}
    data = {"type": "RUN_STARTED"} | scalars_of(told) | scalars_of({"tools": len(list_of(given.get("tools"))) or None})
    reading.assign_key(line, reading.run_id or "RUN_STARTED")
    yield line.event("status", data=data)
    path = "/input" if given is not value else ""
    yield from whole_messages(reading, line, given.get("messages"), f"{path}/messages")
    for index, answer in enumerate(map(dict_of, list_of(given.get("resume")))):
        yield _answer(reading, line, answer, index, f"{path}/resume/{index}")


def run_finished(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The tokens of the run, its outcome, and what it waits for."""
    yield from reading.close_all()
    value, outcome = line.value, line.value.get("outcome")
    kind = text_of(dict_of(outcome).get("type")) or text_of(outcome)
    waiting = list_of(dict_of(outcome).get("interrupts")) or [value["interrupt"] for key in value if key == "interrupt"]
    over = ENDINGS.get(kind.lower(), "completed")
    reading.facts.phase = "active" if kind == "interrupt" or waiting else over
    reading.assign_key(line, "RUN_FINISHED")
    yield from _tokens(reading, line)
    data = {"type": "RUN_FINISHED"} | scalars_of({"runId": value.get("runId"), "outcome": kind})
    told = dict_of(outcome)
    data |= {key: bounded(told[key], len(line.raw)) for key in told if key not in ("type", "interrupts", *WORDS)}
    if value.get("result") is not None:
        data["result"] = bounded(value["result"], len(line.raw))
    yield line.event("status", first_text(*map(told.get, WORDS)), data=data)
    for index, interrupt in enumerate(map(dict_of, waiting)):
        yield _question(reading, line, interrupt, index)


def run_error(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The run failed, or was cancelled, as its code says; what it took until then is stated too."""
    yield from reading.close_all()
    code = line.value.get("code")
    is_cancelled = ENDINGS.get(text_of(code).lower()) == "cancelled"
    reading.facts.phase = "cancelled" if is_cancelled else "crashed"
    reading.assign_key(line, "RUN_ERROR")
    yield from _tokens(reading, line)
    data = ({"type": "RUN_ERROR", "outcome": "cancelled"} if is_cancelled else {}) | scalars_of({"code": code})
    yield line.event("status" if is_cancelled else "error", text_of(line.value.get("message")), data=data)


def snapshot(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """All messages of the thread as they are now; those that were told are not told again."""
    reading.assign_key(line, "MESSAGES_SNAPSHOT")
    yield line.event("system", data={"type": "MESSAGES_SNAPSHOT", "messages": len(list_of(line.value.get("messages")))})
    yield from whole_messages(reading, line, line.value.get("messages"), "/messages")


def setting_event(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """State, steps, activities, and what an application sends of its own."""
    kind = line.value["type"]
    held = {key: bounded(value, len(line.raw)) for key, value in line.value.items() if key not in COMMON}
    if encrypted := held.pop("encryptedValue", None):
        held |= {"encrypted": True, "bytes": len(text_of(encrypted))}
    reading.assign_key(line, kind)
    yield line.event("system", data={"type": kind} | held)


def subagent_started(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A sub-agent was started; its events stand below this one."""
    value = line.value
    run, call = text_of(value.get("subagentRunId")), reading.calls.get(value.get("parentToolCallId"))
    name = text_of(value.get("subagentName")) or text_of(value.get("name"))
    reading.assign_key(line, run or "SUBAGENT_STARTED")
    line.depth, line.parent = 0, None
    event = line.event(
        "handoff", name, actor=line.agent, parent=call.key if call else None, data=scalars_of(value, COMMON)
    )
    if run:
        reading.subagents[run] = event.key, name[:ID_LIMIT]
    yield event


def subagent_ended(reading: Reading, line: Line, kind: Kind) -> Iterator[EventDraft]:
    """A sub-agent is done, or failed."""
    reading.assign_key(line, line.value["type"])
    yield line.event(
        kind, text_of(line.value.get("message")), data={"type": line.value["type"]} | scalars_of(line.value, COMMON)
    )


def _tokens(reading: Reading, line: Line) -> Iterator[EventDraft]:
    for index, (entry, usage, doubt) in enumerate(usages_of(line.value)):
        if doubt:
            reading.doubts.append(Finding(f"{reading.name}.tokens", "warning", f"{line.pointer}/usage/{index}", doubt))
        model = text_of(entry.get("model"))[:ID_LIMIT] or reading.facts.model
        reading.facts.model = model
        yield line.event(
            "model_request", part=f":usage-{index}", at_path=f"/usage/{index}", actor=line.agent, model=model,
            usage=usage, request=f"{line.key}:{index}", data=scalars_of({"provider": entry.get("provider")}),
        )  # fmt: skip


def _question(reading: Reading, line: Line, interrupt: dict[str, Any], index: int) -> EventDraft:
    """The run waits for a decision or an input."""
    call_id, id = id_of(interrupt.get("toolCallId")), text_of(interrupt.get("id"))
    call = reading.calls.get(call_id)
    data = {"type": "interrupt", "decision": "pending"} | scalars_of(interrupt, frozenset({"message", "toolCallId"}))
    if schema := interrupt.get("responseSchema"):
        data["responseSchema"] = bounded(schema, len(line.raw))
    tool = ToolDraft(call_id, call.name if call else None) if call_id else None
    event = line.event(
        "approval", text_of(interrupt.get("message")), part=f":interrupt-{index}",
        at_path=f"/outcome/interrupts/{index}", parent=call.key if call else None, tool=tool, data=data,
    )  # fmt: skip
    if id:
        reading.asked[id] = event.key
    return event


def _answer(reading: Reading, line: Line, answer: dict[str, Any], index: int, path: str) -> EventDraft:
    """What a person (or a program) answered to an interrupt; the protocol does not tell who."""
    payload, id = answer.get("payload"), text_of(answer.get("interruptId"))
    approved = dict_of(payload).get("approved")
    decision = "approved" if approved is True else "denied" if approved is False else "answered"
    if answer.get("status") == "cancelled":
        decision = "cancelled"
    data = {"type": "resume", "decision": decision, "by": "user"} | scalars_of({"interruptId": id})
    for name, given in (("payload", payload), ("metadata", answer.get("metadata"))):
        if given is not None:
            data[name] = bounded(given, len(line.raw))
    return line.event(
        "approval", payload if isinstance(payload, str) else "", part=f":resume-{index}", at_path=path,
        parent=reading.asked.get(id), actor=("person", ""), data=data,
    )  # fmt: skip


def _about(value: dict[str, Any]) -> dict[str, Any]:
    """What the beginning of something says of it."""
    told = {"role": value.get("role"), "name": value.get("name"), "tool": value.get("toolCallName")}
    return told | {"model": _model(value)}


def _model(value: dict[str, Any]) -> str | None:
    """The model that the raw event of the framework names; the protocol itself tells it only with the tokens."""
    raw = dict_of(value.get("rawEvent"))
    return (text_of(raw.get("modelId")) or text_of(raw.get("model")))[:ID_LIMIT] or None


HANDLERS: dict[str, Handler] = {
    "TEXT_MESSAGE_START": partial(begin, what="text"),
    "TEXT_MESSAGE_CONTENT": partial(piece, what="text"),
    "TEXT_MESSAGE_END": partial(end, what="text"),
    "REASONING_MESSAGE_START": partial(begin, what="reasoning"),
    "REASONING_MESSAGE_CONTENT": partial(piece, what="reasoning"),
    "REASONING_MESSAGE_END": partial(end, what="reasoning"),
    "TOOL_CALL_START": partial(begin, what="call"),
    "TOOL_CALL_ARGS": partial(piece, what="call"),
    "TOOL_CALL_END": partial(end, what="call"),
    **dict.fromkeys(CHUNKS, chunk),
    "TOOL_CALL_RESULT": tool_result,
    "REASONING_START": reasoning_around,
    "REASONING_END": reasoning_around,
    "THINKING_START": thinking_begins,
    "THINKING_CONTENT": thinking_piece,
    "THINKING_END": thinking_ends,
    "THINKING_TEXT_MESSAGE_START": thinking_begins,
    "THINKING_TEXT_MESSAGE_CONTENT": thinking_piece,
    "THINKING_TEXT_MESSAGE_END": thinking_ends,
    "RUN_STARTED": run_started,
    "RUN_FINISHED": run_finished,
    "RUN_ERROR": run_error,
    "MESSAGES_SNAPSHOT": snapshot,
    "SUBAGENT_STARTED": subagent_started,
    "SUBAGENT_FINISHED": partial(subagent_ended, kind="system"),
    "SUBAGENT_ERROR": partial(subagent_ended, kind="error"),
    **dict.fromkeys(
        ("STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "RAW", "CUSTOM"), setting_event
    ),
    **dict.fromkeys(("STEP_STARTED", "STEP_FINISHED", "REASONING_ENCRYPTED_VALUE"), setting_event),
}
CLOSERS: dict[What, Closer] = {"text": closed_text, "reasoning": closed_reasoning, "call": closed_call}
