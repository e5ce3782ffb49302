"""What the events of a wire mean, of both ages, and the rows of a context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ....drafts import Draft, EventDraft, Finding, ToolDraft, Usage
from ...common.agents.chat import ChatReading
from ...common.agents.pieces import Piece, pieces_of, readable
from ...common.apis.openai import arguments_of
from ...common.calls import id_of
from ...common.lines import Actor, Line, fingerprint
from ...common.reading import REMEMBERED, unknown_type
from ...common.usage import first_count
from ...common.values import count_of, dict_of, forget_oldest, scalars_of, text_of
from .wire import WIRE, message_of

NAME = "kimi"
TIMES = frozenset({"time", "agentId"})
PERSON: Actor = ("person", "")
STATES = (
    "tools.", "llm.tools_snapshot", "permission.", "plan_mode.", "full_compaction.", "token_counting.", "runtime.",
    "plugin.", "profile.", "turn.ended", "llm.request", "metadata", "hello", "config.update",
    "goal.", "skill.", "todo.",
)  # fmt: skip
"""Starts of types that keep a state: settings, the tools that are offered, modes."""


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a step; the cache is counted apart."""
    pairs = (("inputOther", "input_other"), ("inputCacheRead", "input_cache_read"),
             ("inputCacheCreation", "input_cache_creation"), ("output",))  # fmt: skip
    counts = [first_count(stated, *names) for names in pairs]
    return Usage(*counts) if any(count is not None for count in counts) else None


class KimiReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Kimi"
    stamps = ("time", "timestamp", "created_at")
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, dict[str, Any]] = {}
        self._said = ""
        self._stated: Counter[str] = Counter()
        """Usage of steps that no record has repeated yet."""
        self._steps = False
        self.apart = 0
        """Tokens that were spent outside of steps."""

    def note(self, line: Line) -> None:
        value = line.value
        if value.get("type") == "config.update" or value.get("type") == "profile.bind":
            self.facts.model = text_of(value.get("modelAlias"))[:200] or self.facts.model
            disclosed = dict_of(value.get("environmentDisclosure"))
            self.facts.set_environment(cwd=value.get("cwd") or disclosed.get("cwd"))
            if (profile := text_of(value.get("profileName"))) not in ("", "agent"):
                self.facts.more["profile"] = profile[:100]
        elif value.get("type") == "llm.request":
            self.facts.model = text_of(value.get("model"))[:200] or self.facts.model

    def tells_apart(self, line: Line) -> bool:
        return line.value.get("role") == "assistant" or "type" in line.value or "timestamp" in line.value

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if isinstance(value.get("role"), str):
            yield from _context(self, line)
        elif "type" in (message := message_of(value)):
            yield from self._old(line, message)
        else:
            kind = text_of(value.get("type"))
            teller = TELLERS.get(kind)
            if teller:
                yield from teller(self, line, value)
            elif kind.startswith(STATES):
                told = scalars_of(value, TIMES | {"systemPrompt"})
                yield line.event("system", text_of(value.get("systemPrompt")), data=told)
            else:
                yield self.unknown(line, unknown_type(value.get("type")))

    def _old(self, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
        kind, payload = text_of(message.get("type")), dict_of(message.get("payload"))
        if kind == "SubagentEvent" and isinstance(payload.get("event"), dict):
            yield from self._of_child(line, payload, payload["event"])
            return
        teller = OLD.get(kind)
        if teller:
            yield from teller(self, line, payload)
        elif kind in WIRE:
            yield line.event("system", data={"type": kind} | scalars_of(payload))
        else:
            yield self.unknown(line, f"message type {kind[:100]!r}")

    def _of_child(self, line: Line, payload: dict[str, Any], event: dict[str, Any]) -> Iterator[Draft]:
        """What a sub-agent did, below the call that started it."""
        call = self.calls.get(id_of(payload.get("parent_tool_call_id", payload.get("task_tool_call_id"))))
        name = text_of(payload.get("subagent_type")) or text_of(payload.get("agent_id"))
        line.agent = "subagent", name[:100] or "Kimi"
        line.depth += 1
        for draft in self._old(line, event):
            speaks = isinstance(draft, EventDraft) and draft.kind == "user_message"
            draft = (
                replace(draft, kind="injected_context", actor_kind="agent", actor_name=self.facts.agent)
                if speaks
                else draft
            )
            below = isinstance(draft, EventDraft) and draft.parent is None and call is not None
            yield replace(draft, parent=call.key) if below else draft

    def closing(self) -> Iterator[Finding]:
        # Not counted as no response of the session: they are told where the record stands.
        if self.apart:
            yield Finding(
                f"{NAME}.total", "info", "",
                f"{self.apart} tokens were spent outside of the steps (compaction); told, and not counted here",
            )  # fmt: skip

    def step(self, line: Line, stated: dict[str, Any], data: dict[str, Any]) -> EventDraft:
        """The end of a step, and what it cost."""
        usage = usage_of(stated)
        if usage is None:
            return line.event("system", data=data)
        self._steps = True
        self._stated[fingerprint(stated)] += 1
        forget_oldest(self._stated, REMEMBERED)
        return line.event(
            "model_request", actor=line.agent, model=self.facts.model, usage=usage, request=line.key, data=data
        )

    def record(self, line: Line, stated: dict[str, Any], data: dict[str, Any]) -> EventDraft:
        """A record of usage: it repeats a step's, is all there is where steps state none, or is of no step."""
        usage, said = usage_of(stated), fingerprint(stated)
        if usage and not self._steps:
            return line.event(
                "model_request", actor=line.agent, model=text_of(data.get("model")) or self.facts.model, usage=usage,
                request=line.key, data=data,
            )  # fmt: skip
        if self._stated[said] > 0:
            self._stated[said] -= 1
            return line.event("system", data=data | {"repeats": "step"})
        counts = scalars_of(stated)
        self.apart += sum(count for value in counts.values() if (count := count_of(value)))
        return line.event("system", data=data | {"outside": counts})

    def prompted(self, line: Line, value: dict[str, Any], content: Any, path: str) -> Iterator[Draft]:
        """A prompt. The context repeats the words of each; what repeats them is no prompt."""
        pieces, origin = pieces_of(content, path), text_of(dict_of(value.get("origin")).get("kind"))
        said = "\n".join(piece.text for piece in pieces)
        if path != "/input" and said == self._said:
            yield line.event("system", data={"type": "context.append_message", "repeats": "prompt"})
            return
        self._said = said if path == "/input" else ""
        typed = origin in ("user", "")
        speaker = PERSON if typed else ("trigger", origin[:100])
        role = "user" if typed or origin == "system_trigger" else "context"
        yield from self.message(line, role, pieces, actor=speaker, data={"origin": origin[:100]} if not typed else {})


def _context(reading: KimiReading, line: Line) -> Iterable[Draft]:
    """A row of an old ``context.jsonl``."""
    value, role = line.value, text_of(line.value.get("role"))
    if role == "_system_prompt":
        return [line.event("system", text_of(value.get("content")), at_path="/content")]
    if role.startswith("_"):  # _usage tells the size of the context, which is no sum
        return [line.event("system", data={"type": role[:100]} | scalars_of(dict_of(value.get("token_count"))))]
    return reading.chat(line, value, model=reading.facts.model)


def prompt(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield from reading.prompted(line, value, value.get("input"), "/input")


def appended(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    message = dict_of(value.get("message"))
    if message.get("role") == "user":
        yield from reading.prompted(line, message, message.get("content"), "/message/content")
    else:
        yield from reading.chat(line, {**message, "tool_calls": message.get("toolCalls")}, model=reading.facts.model)


def cancelled(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield line.event("status", actor=PERSON, data={"type": "turn.cancel"})


def ended(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """The end of a turn, and why where it failed."""
    error = value.get("error")
    text = text_of(error) or text_of(dict_of(error).get("message"))
    yield line.event(
        "error" if text else "system", text, at_path="/error" if text else "", data=scalars_of(value, TIMES)
    )


def usage_record(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    data = {"type": "usage.record"} | scalars_of({"model": value.get("model"), "scope": value.get("usageScope")})
    yield reading.record(line, dict_of(value.get("usage")), data)


def compacted(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    text = text_of(value.get("summary")) or text_of(value.get("contextSummary"))
    yield line.event(
        "compaction", text, data=scalars_of(value, frozenset({"type", "time", "summary", "contextSummary"}))
    )


def decided(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """What a person answered when asked whether a call may be made."""
    result = dict_of(value.get("result"))
    yield _approval(reading, line, id_of(value.get("toolCallId")), id_of(value.get("toolName")), result)


def _approval(
    reading: KimiReading, line: Line, call_id: str | None, name: str | None, result: dict[str, Any]
) -> EventDraft:
    call, said = reading.calls.get(call_id), text_of(result.get("decision")) or text_of(result.get("response"))
    decision = "approved" if said.startswith("approve") else "denied" if said else "unknown"
    status = "denied" if decision == "denied" else None
    data = {"type": "answered", "decision": decision, "by": "user"} | scalars_of(result, frozenset({"decision"}))
    return line.event(
        "approval", text_of(result.get("feedback")), actor=PERSON, data=data, parent=call.key if call else None,
        tool=ToolDraft(call_id, name, status=status),
    )  # fmt: skip


def loop(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """An event of the loop: parts of a response, calls, results, the end of a step."""
    event = dict_of(value.get("event"))
    kind = event.get("type")
    if kind == "content.part":
        yield from reading.message(
            line, "assistant", pieces_of(event.get("part"), "/event/part"), model=reading.facts.model
        )
    elif kind == "tool.call":
        name = id_of(event.get("name"))
        piece = Piece("call", "", "/event/args", id_of(event.get("toolCallId")), name, arguments_of(event.get("args")))
        yield from reading.message(line, "assistant", [piece], model=reading.facts.model)
    elif kind == "tool.result":
        yield from _returned(reading, line, event.get("toolCallId"), dict_of(event.get("result")), "/event/result")
    elif kind == "step.end":
        data = scalars_of(event, frozenset({"uuid"}))
        reading.facts.model = text_of(event.get("model"))[:200] or reading.facts.model
        yield reading.step(line, dict_of(event.get("usage")), data)
    elif kind in ("step.begin", "step.retry", "step.interrupted"):
        yield line.event("system", data=scalars_of(event, frozenset({"uuid"})))
    else:
        yield reading.unknown(line, f"event {str(kind)[:100]!r}", event, at_path="/event")


def _returned(reading: KimiReading, line: Line, call_id: Any, result: dict[str, Any], path: str) -> Iterator[Draft]:
    failed = result.get("isError", result.get("is_error"))
    text, rest = readable(result.get("output"))
    text = text or text_of(result.get("message"))
    status = "error" if failed is True else "ok"
    yield from reading.message(line, "tool", [Piece("result", text, path, id_of(call_id), None, rest, status)])


def began(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    if "user_input" in value:
        yield from reading.message(line, "user", pieces_of(value["user_input"], "/message/payload/user_input"))
    else:
        yield line.event("system", data={"type": "TurnBegin"})


def part(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield from reading.message(line, "assistant", pieces_of(value, "/message/payload"), model=reading.facts.model)


def called(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    inner = dict_of(value.get("function"))
    name, call_id = id_of(inner.get("name")), id_of(value.get("id"))
    piece = Piece("call", "", "/message/payload", call_id, name, arguments_of(inner.get("arguments")))
    yield from reading.message(line, "assistant", [piece], model=reading.facts.model)


def result(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    inner = dict_of(value.get("return_value")) or dict_of(value.get("result"))
    yield from _returned(reading, line, value.get("tool_call_id"), inner, "/message/payload")


def asked(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    if request := text_of(value.get("id")):
        reading.asked[request] = value
        forget_oldest(reading.asked, REMEMBERED)
    call_id = id_of(value.get("tool_call_id"))
    call = reading.calls.get(call_id)
    yield line.event(
        "approval", text_of(value.get("description")), tool=ToolDraft(call_id, call.name if call else None),
        parent=call.key if call else None, data={"type": "requested"} | scalars_of({"action": value.get("action")}),
    )  # fmt: skip


def answered(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    request = reading.asked.pop(text_of(value.get("request_id")), {})
    call_id = id_of(request.get("tool_call_id"))
    call = reading.calls.get(call_id)
    yield _approval(reading, line, call_id, call.name if call else None, value)


def status(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    data = {"type": "StatusUpdate"} | scalars_of(value)
    usage = usage_of(dict_of(value.get("token_usage")))
    if usage is None:
        yield line.event("system", data=data)
        return
    request = text_of(value.get("message_id"))[:200] or line.key
    yield line.event(
        "model_request", actor=line.agent, model=reading.facts.model, usage=usage, request=request, data=data
    )


def aside(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """A question beside the turn, and its answer."""
    if error := text_of(value.get("error")):
        yield line.event("error", error, at_path="/message/payload/error", data={"type": "BtwEnd"})
    elif "question" in value:
        piece = Piece("text", text_of(value["question"]), "/message/payload/question")
        yield from reading.message(line, "user", [piece], data={"type": "BtwBegin"})
    else:
        piece = Piece("text", text_of(value.get("response")), "/message/payload/response")
        yield from reading.message(line, "assistant", [piece], model=reading.facts.model, data={"type": "BtwEnd"})


def planned(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield line.event(
        "artifact", text_of(value.get("content")), actor=line.agent, at_path="/message/payload/content",
        data={"type": "plan"} | scalars_of({"path": value.get("file_path")}),
    )  # fmt: skip


def notified(reading: KimiReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    text = "\n".join(filter(None, (text_of(value.get(name)) for name in ("title", "body"))))
    yield line.event(
        "injected_context", text, at_path="/message/payload",
        data={"type": "Notification"} | scalars_of(value, frozenset({"title", "body", "type", "id"})),
    )  # fmt: skip


Teller = Callable[[KimiReading, Line, dict[str, Any]], Iterable[Draft]]
TELLERS: dict[str, Teller] = {
    "turn.prompt": prompt, "turn.steer": prompt, "turn.cancel": cancelled, "context.append_message": appended,
    "usage.record": usage_record, "context.apply_compaction": compacted, "context.append_loop_event": loop,
    "permission.record_approval_result": decided, "turn.ended": ended,
}  # fmt: skip
OLD: dict[str, Teller] = {
    "TurnBegin": began, "SteerInput": began, "ContentPart": part, "ToolCall": called, "ToolResult": result,
    "ApprovalRequest": asked, "ApprovalResponse": answered, "ApprovalRequestResolved": answered,
    "StatusUpdate": status, "BtwBegin": aside, "BtwEnd": aside, "PlanDisplay": planned, "Notification": notified,
}  # fmt: skip
