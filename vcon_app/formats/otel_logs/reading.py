"""The log of one session as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from ...drafts import Draft, EventDraft, ToolDraft, Usage
from ..common.agents.pieces import Piece
from ..common.agents.reading import AgentReading
from ..common.calls import id_of, server_of
from ..common.lines import Item, Line
from ..common.records import part_of
from ..common.spans.messages import Message, messages_of
from ..common.spans.parts import parsed_if_json
from ..common.spans.telling import Teller
from ..common.times import from_epoch
from ..common.usage import first_count, uncached, uncached_if_inside
from ..common.values import count_of, dict_of, first_text, money_of, scalars_of, text_of
from .shape import PROGRAMS

NAME = "otel-logs"
NANOSECONDS = 10**9
DETAILS, CHOICE = "gen_ai.client.inference.operation.details", "gen_ai.choice"
DECISIONS = {
    "accept": "approved", "auto_accept": "approved", "modify": "approved", "approved": "approved",
    "approved_for_session": "approved", "approved_execpolicy_amendment": "approved", "reject": "denied",
    "denied": "denied", "abort": "denied", "cancel": "denied",
}  # fmt: skip
PEOPLE = ("user", "person")
"""How a source of a decision begins that is a person."""
TOLD = frozenset({
    "prompt", "response_text", "request_text", "arguments", "function_args", "output", "tool_parameters", "tool_input",
    "error", "error.message", "error_message", "event.timestamp", "event.name",
    "session.id", "conversation.id", "user.email", "user.account_uuid", "user.id", "organization.id", "user.account_id",
    "installation.id",
})  # fmt: skip
"""Attributes that are told as text or arguments, and who was signed in."""


def folded(items: Iterable[Item]) -> Iterator[Item]:
    """Records with the messages that were sent to a model in the one that says what came back, or alone."""
    waiting: dict[str, tuple[Line, list[Any]]] = {}
    for item in items:
        value = item.value if isinstance(item, Line) else {"name": ""}
        body, key = value.get("body"), value.get("span") or value.get("trace") or ""
        if isinstance(item, Line) and value["name"].startswith("gen_ai.") and value["name"].endswith(".message"):
            told = body if isinstance(body, dict) else {"content": body}
            waiting.setdefault(key, (item, []))[1].append({**told, "event.name": value["name"]})
        elif isinstance(item, Line) and value["name"] == CHOICE:
            _, sent = waiting.pop(key, (item, []))
            yield part_of(item, value | {"sent": sent, "said": dict_of(body).get("message", body)}, "")
        else:
            yield item
    for line, sent in waiting.values():
        yield part_of(line, line.value | {"sent": sent}, "")


class LogReading(AgentReading):
    """The state of one session while its records are read."""

    name = NAME
    title = "Agent"
    ids = ()
    repeated = frozenset({
        "/name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "request_text",
        "response_text", "metadata", "user.email", "user.account_uuid", "user.id", "organization.id",
    })  # fmt: skip

    def __init__(self, own: str) -> None:
        super().__init__()
        self.facts.session = own
        self.has_own_words = False
        """Whether the agent logs under names of its own: what it logs by the conventions says the same again."""
        self._teller = Teller(self.calls, as_events=True)

    @staticmethod
    def tells(item: Item) -> bool:
        """Whether a record is of a session: a message, a call, a request to a model."""
        name = item.value["name"] if isinstance(item, Line) else ""
        return _kind_of(name) in HANDLERS or name.startswith("gen_ai.")

    def note(self, line: Line) -> None:
        name, attributes = line.value["name"], line.value["attributes"]
        program = next((title for start, title in PROGRAMS.items() if title and name.startswith(start)), "")
        if program:
            self.facts.agent, self.has_own_words = program, True
        self.facts.version = line.value["version"] or self.facts.version
        self.facts.model = text_of(attributes.get("model"))[:200] or self.facts.model

    def moment(self, value: dict[str, Any]) -> datetime | None:
        return from_epoch(value.get("time"), NANOSECONDS)

    def timed(self, line: Line) -> Iterator[Any]:
        line.at = self.moment(line.value)
        yield from ()

    def events(self, line: Line) -> Iterator[Draft]:
        name = line.value["name"]
        line.agent = "agent", self.facts.agent
        if name.startswith("gen_ai."):
            yield from self._of_conventions(line, name)
        elif handler := HANDLERS.get(_kind_of(name)):
            yield from handler(self, line, line.value["attributes"])
        else:
            yield self._noted(line)

    def _noted(self, line: Line) -> EventDraft:
        return line.event("system", data={"type": line.value["name"]} | scalars_of(line.value["attributes"], TOLD))

    def _of_conventions(self, line: Line, name: str) -> Iterator[Draft]:
        """Events of OpenTelemetry's conventions: a message each, or a whole request, histories repeated in all."""
        attributes = line.value["attributes"]
        if self.has_own_words:
            yield self._noted(line)
        elif name == DETAILS:
            system = messages_of(attributes.get("gen_ai.system_instructions"), "system")
            sent = system + messages_of(attributes.get("gen_ai.input.messages"), "user")
            said = messages_of(attributes.get("gen_ai.output.messages"), "assistant")
            yield from self._request(line, sent, said)
        elif "sent" in line.value:
            sent = [message for one in line.value["sent"] for message in messages_of(one, "user")]
            if name == CHOICE:
                yield from self._request(line, sent, messages_of(line.value["said"], "assistant"))
            else:
                yield from self._teller.context(line, "", sent)
        else:
            yield self._noted(line)

    def _request(self, line: Line, sent: list[Message], said: list[Message]) -> Iterator[Draft]:
        attributes = line.value["attributes"]
        model = first_text(attributes.get("gen_ai.response.model"), attributes.get("gen_ai.request.model"))[:200]
        self.facts.model = model or self.facts.model
        request = text_of(attributes.get("gen_ai.response.id"))[:200] or line.key
        usage = _usage_of_conventions(attributes)
        yield from self._teller.new_events(
            line, "", sent, said, usage=usage, request=request if usage else None, model=model or None
        )

    def prompt(self, line: Line, attributes: dict[str, Any]) -> Iterator[Draft]:
        text = text_of(attributes.get("prompt"))
        kept = {} if text else {"not_recorded": True, "length": count_of(attributes.get("prompt_length"))}
        yield line.event("user_message", text, actor=("person", ""), data=kept)

    def request(self, line: Line, attributes: dict[str, Any]) -> Iterator[Draft]:
        """A response of an API; of the pieces of a stream that Codex logs the last has the tokens."""
        usage, cost = _usage(line.value["name"], attributes), money_of(attributes.get("cost_usd"))
        text = _text_of_response(attributes.get("response_text"))
        request = first_text(attributes.get("request_id"), attributes.get("response.id"))[:200] or line.key
        model = text_of(attributes.get("model"))[:200] or None
        if usage is None and cost is None and not text:
            yield self._noted(line)
            return
        billing: dict[str, Any] = {"usage": usage, "cost": cost, "request": request, "model": model}
        data = scalars_of(attributes, TOLD)
        if text:
            yield line.event("agent_message", text, actor=line.agent, data=data, **billing)
        else:
            yield line.event("model_request", actor=line.agent, data=data, **billing)

    def error(self, line: Line, attributes: dict[str, Any]) -> Iterator[Draft]:
        text = first_text(attributes.get("error"), attributes.get("error.message"), attributes.get("error_message"))
        yield line.event("error", text, data={"type": line.value["name"]} | scalars_of(attributes, TOLD))

    def decision(self, line: Line, attributes: dict[str, Any]) -> Iterator[Draft]:
        """Whether a call may run; the call itself is logged when it is over."""
        source = text_of(attributes.get("source"))[:100]
        tool = ToolDraft(_call_id(attributes), _tool_name(attributes), status=None)
        yield line.event("approval", tool=tool, data=_decided(attributes.get("decision"), source))

    def call(self, line: Line, attributes: dict[str, Any]) -> Iterator[Draft]:
        """A call and its result: one record, made when it is over."""
        call_id, name = _call_id(attributes) or f"call-{line.key}", _tool_name(attributes)
        given = first_text(*(attributes.get(key) for key in ("arguments", "function_args", "tool_input")))
        arguments = parsed_if_json(given or attributes.get("tool_parameters"))
        yield self.called(line, Piece("call", "", "/attributes", call_id, name, arguments), {}, {"part": ":call"})
        decision = attributes.get("decision")
        if decision is not None:
            tool = ToolDraft(call_id, name, server_of(name))
            data = _decided(decision, "config" if decision == "auto_accept" else "user")
            yield line.event("approval", part=":decided", tool=tool, data=data)
        failed = str(attributes.get("success")).lower() == "false"
        status = "denied" if DECISIONS.get(text_of(decision)) == "denied" else "error" if failed else "ok"
        text = first_text(*(attributes.get(key) for key in ("output", "error", "error.message")))
        piece = Piece("result", text, "/attributes", call_id, name, None, status)
        yield self.returned(line, piece, scalars_of(attributes, TOLD), {"at_path": "/attributes"})


def _kind_of(name: str) -> str:
    start = next((start for start in PROGRAMS if name.startswith(start)), "")
    return name.removeprefix(start) if start != "gen_ai." else name


def _call_id(attributes: dict[str, Any]) -> str | None:
    return id_of(attributes.get("tool_use_id")) or id_of(attributes.get("call_id"))


def _tool_name(attributes: dict[str, Any]) -> str | None:
    return id_of(attributes.get("tool_name")) or id_of(attributes.get("function_name"))


def _decided(decision: Any, source: str) -> dict[str, Any]:
    told = DECISIONS.get(text_of(decision))
    by = "user" if source.lower().startswith(PEOPLE) else "policy"
    answer = {"decision": told, "by": by, "inferred": False} if told else {}
    return {"type": "tool_decision", "answer": text_of(decision)[:100], "source": source, **answer}


def _text_of_response(text: Any) -> str:
    """The words of a response; Gemini CLI logs all of it as JSON."""
    value = parsed_if_json(text)
    if isinstance(value, str):
        return value
    messages = [message for one in (value if isinstance(value, list) else [value]) for message in messages_of(one, "")]
    return "".join(part.text for message in messages for part in message.parts if part.kind == "text")


def _usage(name: str, attributes: dict[str, Any]) -> Usage | None:
    """Tokens of a response. Claude Code counts caches apart; the others have them inside of the input."""
    if name.startswith("claude_code."):
        names = ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens")
        counts = [count_of(_number(attributes.get(key))) for key in names]
        return Usage(*counts) if any(count is not None for count in counts) else None
    numbers = {key: _number(value) for key, value in attributes.items() if key.endswith("_token_count")}
    given, output = count_of(numbers.get("input_token_count")), count_of(numbers.get("output_token_count"))
    if given is None and output is None:
        return None
    cached = first_count(numbers, "cached_token_count", "cached_content_token_count")
    written, thoughts = count_of(numbers.get("cache_write_token_count")), count_of(numbers.get("thoughts_token_count"))
    uncounted = count_of(numbers.get("tool_token_count")) if "thoughts_token_count" in numbers else None
    return Usage(
        input_tokens=(uncached(given, cached, written) or 0) + (uncounted or 0),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=(output or 0) + (thoughts or 0),
        reasoning_tokens=thoughts if thoughts is not None else count_of(numbers.get("reasoning_token_count")),
    )


def _usage_of_conventions(attributes: dict[str, Any]) -> Usage | None:
    names = ("input_tokens", "cache_read.input_tokens", "cache_creation.input_tokens", "output_tokens")
    given, read, written, output = (count_of(_number(attributes.get(f"gen_ai.usage.{name}"))) for name in names)
    if given is None and output is None:
        return None
    return Usage(uncached_if_inside(given, read, written), read, written, output)


def _number(value: Any) -> Any:
    """Exporters write some numbers as text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


HANDLERS: dict[str, Callable[[LogReading, Line, dict[str, Any]], Iterator[Draft]]] = {
    "user_prompt": LogReading.prompt, "api_request": LogReading.request, "api_response": LogReading.request,
    "sse_event": LogReading.request, "websocket_event": LogReading.request, "api_error": LogReading.error,
    "tool_decision": LogReading.decision, "tool_result": LogReading.call, "tool_call": LogReading.call,
}  # fmt: skip
