"""Operation, messages and tokens of a span, in the dialects of the instrumentations.

OpenTelemetry's conventions for generative AI (1.28 to 1.37 and after), OpenLLMetry before them (``llm.`` up to 0.13),
OpenInference, Langfuse, and the AI SDK's own names.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import Usage
from ..common.documents import dollars
from ..common.spans import observations
from ..common.spans.messages import Message, messages_of
from ..common.spans.parts import parsed_if_json
from ..common.usage import uncached_if_inside
from ..common.values import count_of, text_of
from .attributes import listed
from .span import OPENINFERENCE, Span

REQUESTS = ("chat", "text_completion", "generate_content")
AGENTS = ("invoke_agent", "agent")
STRUCTURE = (
    "create_agent", "agent_step", "invoke_workflow", "plan", "embeddings", "retrieval", "workflow", "task", "chain", "",
)  # fmt: skip
OPENLLMETRY = {"workflow": "workflow", "agent": "invoke_agent", "task": "task", "tool": "execute_tool"}
LANGFUSE = {
    "generation": "chat", "tool": "execute_tool", "agent": "invoke_agent", "embedding": "embeddings",
    "retriever": "retrieval", "span": "chain", "chain": "chain", "event": "chain", "evaluator": "chain",
    "guardrail": "chain",
}  # fmt: skip
AI_SDK = {"ai.toolCall": "execute_tool", "ai.embed": "embeddings", "ai.embedMany": "embeddings"}
INPUTS = (
    "gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", "langfuse.observation.input",
    "traceloop.entity.input", "input.value",
)  # fmt: skip
OUTPUTS = (
    "gen_ai.output.messages", "gen_ai.completion", "langfuse.observation.output", "traceloop.entity.output",
    "output.value",
)  # fmt: skip
GIVEN = (
    "gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "langfuse.observation.input",
    "traceloop.entity.input", "input.value", "tool.parameters",
)  # fmt: skip
BROUGHT = (
    "gen_ai.tool.call.result", "anthropic.tool_result.content", "ai.toolCall.result", "tool_response",
    "langfuse.observation.output", "traceloop.entity.output", "output.value",
)  # fmt: skip
ASKED = ("llm.input_messages", "gen_ai.prompt", "llm.prompts")
ANSWERED = ("llm.output_messages", "gen_ai.completion", "llm.completions")
"""Lists that are spelled out in names: ``gen_ai.prompt.0.content``."""
SPOKEN = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")


def operation(span: Span) -> str:
    """The operation in the words of the conventions, "" for a span that is none of theirs."""
    if name := span.text("gen_ai.operation.name"):
        return name
    if name := OPENINFERENCE.get(span.text("openinference.span.kind").upper(), ""):
        return name
    if name := span.text("ai.operationId"):
        return "chat" if name.endswith((".doGenerate", ".doStream")) else AI_SDK.get(name, "chain")
    if span.text("llm.request.type") in ("chat", "completion"):
        return "chat"
    if name := OPENLLMETRY.get(span.text("traceloop.span.kind"), ""):
        return name
    if name := LANGFUSE.get(span.text("langfuse.observation.type"), ""):
        return name
    return _by_attributes(span)


def _by_attributes(span: Span) -> str:
    """Before operations had names: a tool's span names the tool, a request's the vendor and the model."""
    if span.text("gen_ai.tool.name"):
        return "execute_tool"
    whose = span.text("gen_ai.agent.name", "gen_ai.agent.id", "agent_name")
    if span.text("gen_ai.system", "gen_ai.provider.name") and span.text("gen_ai.request.model") and not whose:
        return "chat"
    return "invoke_agent" if whose else ""


def usage_of(span: Span) -> Usage | None:
    """Tokens of a request. Input contains both cache counts as long as they are not more than it."""
    counts = [_count(span, *names) for names in COUNTS]
    if all(count is None for count in counts):
        return observations.usage_of(_observed(span))
    request_messages, read, written, output, reasoning = counts
    kept_long = _count(span, "anthropic.usage.cache_creation.ephemeral_1h_input_tokens")
    fresh = uncached_if_inside(request_messages, read, written)
    return Usage(fresh, read, written, output, reasoning, cache_write_1h_tokens=kept_long)


COUNTS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens",
     "ai.usage.inputTokens", "ai.usage.promptTokens"),
    ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "ai.usage.cachedInputTokens",
     "ai.usage.inputTokenDetails.cacheReadTokens", "llm.token_count.prompt_details.cache_read"),
    ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens",
     "gen_ai.usage.cache_creation_input_tokens", "ai.usage.inputTokenDetails.cacheWriteTokens",
     "llm.token_count.prompt_details.cache_write"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
     "llm.usage.completion_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
    ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "ai.usage.reasoningTokens",
     "ai.usage.outputTokenDetails.reasoningTokens",
     "llm.token_count.completion_details.reasoning"),
)  # fmt: skip
"""Names of input, cache read, cache write, output and reasoning, the conventions' own first."""


def _observed(span: Span) -> dict[str, Any]:
    """What a span of Langfuse counts, as its exports have it."""
    names = {"usageDetails": "langfuse.observation.usage_details", "costDetails": "langfuse.observation.cost_details"}
    return {name: parsed_if_json(span.attributes.get(told)) for name, told in names.items()}


def _count(span: Span, *names: str) -> int | None:
    for name in names:
        value = span.attributes.get(name)
        if value is not None and (count := count_of(_number(value))) is not None:
            return count
    return None


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


def cost_of(span: Span) -> Decimal | None:
    """Cost that the instrumentation computed or was given; the conventions have no name for it, OpenInference has."""
    costs = (dollars(span.attributes.get(name)) for name in ("gen_ai.usage.cost", "llm.cost.total"))
    return next((cost for cost in costs if cost is not None), observations.cost_of(_observed(span)))


def request_messages(span: Span) -> list[Message]:
    """The messages of a request, instructions first."""
    instructions = messages_of(span.attributes.get("gen_ai.system_instructions"), "system")
    found = _messages_of(span, "user", INPUTS, ASKED, SPOKEN)
    return instructions + found


def answered(span: Span) -> list[Message]:
    """The messages of the answer."""
    found = _messages_of(span, "assistant", OUTPUTS, ANSWERED, ("gen_ai.choice",))
    if not found:
        found = messages_of(span.text("ai.response.text"), "assistant")
        found += messages_of(span.attributes.get("ai.response.toolCalls"), "assistant")
    return found


def _messages_of(
    span: Span, role: str, names: tuple[str, ...], numbered: tuple[str, ...], events: tuple[str, ...]
) -> list[Message]:
    holders = [span.attributes, *(event for event in span.events if not event["event.name"].endswith(".message"))]
    for holder in holders:
        if found := messages_of(holder.get(names[0]), role):
            return found
    for prefix in numbered:
        if found := messages_of(listed(span.attributes, prefix), role):
            return found
    if found := messages_of([event for event in span.events if event["event.name"] in events], role):
        return found
    values = (holder.get(name) for name in names[1:] for holder in holders)
    return next((found for value in values if (found := messages_of(value, role))), [])


def tool_texts(span: Span) -> tuple[Any, Any]:
    """Arguments and result of a tool, as they were recorded; ``None`` where they were not."""
    return _first(span, GIVEN), _first(span, BROUGHT)


def _first(span: Span, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := span.attributes.get(name)) is not None), None)


def exceptions(span: Span) -> str:
    """The message of an exception that was recorded with the span."""
    messages = (text_of(event.get("exception.message")) for event in span.events if event["event.name"] == "exception")
    return next(filter(None, messages), "")
