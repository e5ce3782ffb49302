"""OpenHands V1 (SDK, CLI, agent server): one event a file in ``~/.openhands/conversations/ID/events/``, or JSON lines.

``base_state.json`` beside the events tells what the conversation cost; of its events only those that a server sends of
its state do. Times are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, ToolDraft, Usage
from ..common.agents.pieces import Piece, pieces_of, readable
from ..common.agents.places import session_of
from ..common.agents.reading import PERSON, AgentReading
from ..common.apis.openai import arguments_of
from ..common.calls import id_of
from ..common.documents import dollars
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.times import moment_of
from ..common.usage import uncached
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "openhands"
SPEC = Spec(name=NAME, title="OpenHands", grows="lines", spread=True)
PLACE = re.compile(r"conversations/([^/]+)/(?:base_state\.json|events/[^/]+\.json)$")
EVENT = ("kind", "source", "timestamp")
SOURCES = ("user", "agent", "environment", "hook")
STATES = frozenset({
    "PauseEvent", "InterruptEvent", "HookExecutionEvent", "ConversationStateUpdateEvent", "CondensationRequest",
    "LLMCompletionLogEvent", "StreamingDeltaEvent", "TokenEvent",
})  # fmt: skip


def detect(head: Head) -> bool:
    """By events with a kind and a source, on lines, in a list or alone; or by the state with its statistics."""
    shape = head.shape
    if any(map(_is_event, head.lines[:10])):
        return True
    if any(_is_event({name: shape.get(f"{at}{name}") for name in EVENT}) for at in ("", "item.")):
        return True
    return shape.get("stats.usage_to_metrics") == "{"


def _is_event(value: dict[str, Any]) -> bool:
    """An event of a known kind, or one that is named so and says when it was and from whom."""
    kind, source = text_of(value.get("kind")), value.get("source")
    if kind in KINDS or kind in STATES:
        return source in SOURCES or value.get("timestamp") is not None
    return kind.endswith("Event") and source in SOURCES and value.get("timestamp") is not None


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of the events in a file. Raises ``FormatError``."""
    return OpenHandsReading().run(records(source, NAME))


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens that were added up; what was read from or written to the cache is part of the prompt."""
    given, output = count_of(stated.get("prompt_tokens")), count_of(stated.get("completion_tokens"))
    read, written = count_of(stated.get("cache_read_tokens")), count_of(stated.get("cache_write_tokens"))
    if given is None and output is None:
        return None
    reasoning = count_of(stated.get("reasoning_tokens"))
    return Usage(uncached(given, read, written), read, written, output, reasoning, quality="aggregate")


class OpenHandsReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "OpenHands"

    def timed(self, line: Line) -> Iterator[Any]:
        """Times state no zone and are UTC: nothing is odd about them."""
        found = moment_of(line.value.get("timestamp"))
        line.at = found.at or line.at
        if found.fault == "unreadable":
            yield from super().timed(line)

    def note(self, line: Line) -> None:
        value = line.value
        if "stats" in value:
            self.claim(value.get("id"))
            self.facts.model = text_of(dict_of(dict_of(value.get("agent")).get("llm")).get("model"))[:200] or None
            self.facts.set_environment(cwd=dict_of(value.get("workspace")).get("working_dir"))
        observed = dict_of(dict_of(value.get("observation")).get("metadata"))
        self.facts.set_environment(cwd=observed.get("working_dir"))

    def events(self, line: Line) -> Iterator[Draft]:
        value, kind = line.value, text_of(line.value.get("kind"))
        if teller := KINDS.get(kind):
            yield from teller(self, line, value)
        elif "stats" in value:
            yield from self._totals(line, value["stats"])
        elif kind in STATES:
            skip = frozenset({"id", "timestamp", "kind"})
            yield line.event("status", data={"type": kind} | scalars_of(value, skip))
            yield from self._totals(line, _stats_in(value))
        else:
            yield self.unknown(line, f"kind {kind[:100]!r}")

    def _totals(self, line: Line, stats: Any) -> Iterator[Draft]:
        """What was used up to here. The totals run up under one name, so that the last counts, wherever it stands."""
        for name, found in dict_of(dict_of(stats).get("usage_to_metrics")).items():
            metrics = dict_of(found)
            usage = usage_of(dict_of(metrics.get("accumulated_token_usage")))
            cost = dollars(metrics.get("accumulated_cost"))
            if usage:
                yield line.event(
                    "model_request", part=f":{name[:50]}", actor=line.agent, usage=usage, cost=cost,
                    request=f"total:{name[:100]}", model=text_of(metrics.get("model_name"))[:200] or self.facts.model,
                    data={"type": "session_total", "of": name[:100]},
                )  # fmt: skip


def _stats_in(update: dict[str, Any]) -> Any:
    """The statistics in an update of the state, which tells them alone or with all of it."""
    value = update.get("value")
    return value if update.get("key") == "stats" else dict_of(value).get("stats")


def system(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield from reading.message(line, "system", pieces_of(value.get("system_prompt"), "/system_prompt"))


def message(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    told = dict_of(value.get("llm_message"))
    pieces = [*_thoughts(told), *pieces_of(told.get("content"), "/llm_message/content")]
    role = "assistant" if told.get("role") == "assistant" or value.get("source") == "agent" else "user"
    role = "context" if value.get("source") in ("environment", "hook") else role
    yield from reading.message(line, role, pieces)  # type: ignore[arg-type]
    for index, piece in enumerate(pieces_of(value.get("extended_content"), "/extended_content")):
        yield line.event(
            "injected_context", piece.text, part=f":x{index}", at_path=piece.path, data={"type": "extended"}
        )


def action(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """A call, with what the model thought before it, and how risky it took it to be."""
    call = dict_of(value.get("tool_call"))
    arguments = arguments_of(call.get("arguments", dict_of(call.get("function")).get("arguments")))
    arguments = arguments if arguments is not None else value.get("action")
    call_id, name = id_of(value.get("tool_call_id")), id_of(value.get("tool_name"))
    data = scalars_of({"security_risk": value.get("security_risk"), "summary": value.get("summary")})
    pieces = [
        *_thoughts(value),
        *pieces_of(value.get("thought"), "/thought"),
        Piece("call", "", "/tool_call", call_id, name, arguments, data=data),
    ]
    yield from reading.message(line, "assistant", pieces)


def observation(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    seen = dict_of(value.get("observation"))
    text, _ = readable(seen.get("content", seen.get("output")))
    facts = scalars_of(seen, frozenset({"content", "output", "kind", "is_error", "full_output_save_dir"}))
    failed = seen.get("is_error")
    code = count_of(seen.get("exit_code"))
    status = "error" if failed is True or code else "ok" if failed is False or code == 0 else None
    call_id, name = id_of(value.get("tool_call_id")), id_of(value.get("tool_name"))
    yield from reading.message(
        line, "tool", [Piece("result", text, "/observation", call_id, name, facts or None, status)]
    )


def acp_call(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """A call that an agent behind the Agent Client Protocol made, with what came of it where it has ended."""
    call_id, name = id_of(value.get("tool_call_id")), id_of(value.get("tool_kind")) or id_of(value.get("title"))
    if reading.calls.get(call_id) is None:
        data = scalars_of({"title": value.get("title"), "kind": value.get("tool_kind")})
        piece = Piece("call", "", "/raw_input", call_id, name, value.get("raw_input"), data=data)
        yield from reading.message(line, "assistant", [piece])
    failed, state = value.get("is_error"), text_of(value.get("status"))
    if state not in ("completed", "failed") and failed is not True:
        return
    blocks = [dict_of(block) for block in list_of(value.get("content"))]
    text, rest = readable([block.get("content") for block in blocks if block.get("type") == "content"])
    output, more = readable(value.get("raw_output"))
    told = {"diffs": [block for block in blocks if block.get("type") == "diff"], "output": more or rest}
    result = {key: item for key, item in told.items() if item} or None
    status = "error" if failed is True or state == "failed" else "ok"
    piece = Piece("result", text or output, "/raw_output", call_id, name, result, status)
    yield reading.returned(line, piece, {}, {"part": ":r", "at_path": "/raw_output"})


def rejected(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    """A person, or a hook, did not let the call be made."""
    call_id, name = id_of(value.get("tool_call_id")), id_of(value.get("tool_name"))
    call, reason = reading.calls.get(call_id), text_of(value.get("rejection_reason"))
    by = text_of(value.get("rejection_source"))[:100] or "user"
    yield line.event(
        "approval", reason, part=":a", actor=PERSON if by == "user" else ("system", by),
        parent=call.key if call else None,
        tool=ToolDraft(call_id, name, status="denied"), data={"type": "rejected", "decision": "denied", "by": by},
    )  # fmt: skip
    yield from reading.message(line, "tool", [Piece("result", reason, "", call_id, name, None, "denied")])


def failed(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    text = text_of(value.get("error")) or text_of(value.get("detail"))
    call_id, name = id_of(value.get("tool_call_id")), id_of(value.get("tool_name"))
    if call_id:
        yield from reading.message(line, "tool", [Piece("result", text, "/error", call_id, name, None, "error")])
    else:
        yield line.event("error", text, data=scalars_of({"code": value.get("code")}))


def condensed(reading: OpenHandsReading, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
    yield line.event("compaction", text_of(value.get("summary")), data={"type": text_of(value.get("kind"))[:100]})


def _thoughts(value: dict[str, Any]) -> list[Piece]:
    """The reasoning is said as a text and again as blocks with signatures."""
    if text := text_of(value.get("reasoning_content")):
        return [Piece("reasoning", text, "/reasoning_content")]
    return [piece for piece in pieces_of(value.get("thinking_blocks"), "/thinking_blocks") if piece.kind == "reasoning"]


KINDS: dict[str, Callable[[OpenHandsReading, Line, dict[str, Any]], Iterable[Draft]]] = {
    "SystemPromptEvent": system, "MessageEvent": message, "ActionEvent": action, "ObservationEvent": observation,
    "UserRejectObservation": rejected, "AgentErrorEvent": failed, "ConversationErrorEvent": failed,
    "Condensation": condensed, "CondensationSummaryEvent": condensed, "ACPToolCallEvent": acp_call,
}  # fmt: skip
