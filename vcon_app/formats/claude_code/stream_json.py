"""Output of ``claude -p --output-format stream-json`` and of the Agent SDK, read as stored lines.

It differs from the stored file in snake_case keys, in partial ``stream_event`` lines, and in a final
``result`` that states a cost. With ``--output-format json`` that one stands alone, and says all that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, Finding, ToolDraft
from ..common.lines import Item, Line
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .others import COMMON, setting_event, system
from .reading import Handler, Reading
from .usage import cost_of

ALONE = "isAlone"
"""Member that a result gets here, whatever a file says: whether nobody answered before it."""
COUNTS = {
    "input_tokens": "inputTokens", "output_tokens": "outputTokens", "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}  # fmt: skip
LISTED = 200
"""Tools, servers and denials of one line that are kept."""


def as_stored(items: Iterable[Item], name: str) -> Iterator[Item]:
    """The lines under the names of the stored file, without the partial ones (their content comes whole)."""
    partial = 0
    answered = False
    for item in items:
        if not isinstance(item, Line):
            yield item
        elif item.value.get("type") == "result":
            item.value[ALONE] = not answered
            answered = False
            yield item
        elif item.value.get("type") == "stream_event":
            partial += 1
        else:
            answered |= item.value.get("type") == "assistant"
            _rename(item.value)
            yield item
    if partial:
        yield Finding(
            f"{name}.partial-events",
            "info",
            "",
            f"{partial} partial stream events left out; later lines hold their text",
        )


def _result(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The outcome of a run, then each call that was not allowed.

    ``total_cost_usd`` is that of the whole connection, sub-agents and side calls included: what is new in it covers
    everything since the result before, whose responses are then in no sum with a price of their own.
    """
    value = line.value
    failed = value.get("is_error") is True or value.get("subtype") not in ("success", None)
    reading.facts.phase = "crashed" if failed else "completed"
    cost = reading.facts.state_cost(cost_of(value.get("total_cost_usd")))
    data = {"type": "result"} | scalars_of(value, COMMON | {"result", ALONE})
    if isinstance(value.get("modelUsage"), dict):
        data["model_usage"] = bounded(value["modelUsage"], len(line.raw))
    if value.get(ALONE) is True:
        yield from _answer(reading, line, "" if failed else text_of(value.get("result")))
    text = _failure(value) if failed else ""  # else it repeats the last message
    if cost is not None:
        data["cost_covers"] = "everything since the statement before"
    yield line.event("error" if failed else "status", text, data=data, cost=cost)
    denials = value.get("permission_denials")
    for index, denial in enumerate(denials[:LISTED] if isinstance(denials, list) else ()):
        yield _denial(reading, line, index, denial)


def _failure(value: dict[str, Any]) -> str:
    """Why a run failed: Claude Code says so as its result or in a list, Amp as a text, Qwen Code in an object."""
    error, listed = value.get("error"), [text_of(one) for one in list_of(value.get("errors"))]
    said = (text_of(error), text_of(dict_of(error).get("message")), text_of(value.get("result")), "\n".join(listed))
    return next(filter(None, said), "")


def _answer(reading: Reading, line: Line, text: str) -> Iterator[EventDraft]:
    """What a run said at its end and used, where no line says it: of several models by each."""
    models = {name[:200]: dict_of(told) for name, told in dict_of(line.value.get("modelUsage")).items()}
    reading.facts.model = next(iter(models), "") or reading.facts.model
    stated = {name: {ours: told.get(theirs) for ours, theirs in COUNTS.items()} for name, told in models.items()}
    if len(stated) < 2:
        stated = {next(iter(stated), ""): dict_of(line.value.get("usage"))}
    if text.strip():
        model = reading.facts.model or None
        yield line.event("agent_message", text, part=":said", at_path="/result", actor=line.agent, model=model)
    for name, told in stated.items():
        usage = reading.program.usage_of({"usage": told})
        if usage and (usage.input_tokens or usage.output_tokens):
            yield line.event(
                "model_request", part=f":{name}", actor=line.agent, model=name or None, usage=usage,
                request=f"{line.key}:{name}", data={"type": "run_total"},
            )  # fmt: skip


def _denial(reading: Reading, line: Line, index: int, refused: Any) -> EventDraft:
    """A refused call; Amp says of it in words alone."""
    denial = dict_of(refused)
    call_id, name = text_of(denial.get("tool_use_id")) or None, text_of(denial.get("tool_name")) or None
    call = reading.links.get(call_id)
    return line.event(
        "approval", text_of(refused), part=f":{index + 1}", at_path=f"/permission_denials/{index}",
        parent=call.key if call else None,
        tool=ToolDraft(call_id, name, arguments=bounded(denial.get("tool_input"), len(line.raw)), status="denied"),
        data={"type": "permission_denial", "decision": "denied"},
    )  # fmt: skip


def _system(reading: Reading, line: Line) -> Iterator[EventDraft]:
    value = line.value
    if value.get("subtype") != "init":
        yield from system(reading, line)
        return
    data = {"type": "init"} | scalars_of(value, COMMON | {"subtype"})
    for name in ("tools", "mcp_servers"):
        if isinstance(value.get(name), list):
            data[name] = bounded(value[name][:LISTED], len(line.raw))
    yield line.event("system", data=data)


def _rename(value: dict[str, Any]) -> None:
    for ours, theirs in (
        ("toolUseResult", "tool_use_result"),
        ("version", "claude_code_version"),
        ("version", "qwen_code_version"),
        ("isMeta", "isSynthetic"),
    ):
        if theirs in value:
            value.setdefault(ours, value[theirs])
    if value.get("parent_tool_use_id"):
        value["isSidechain"] = True


HANDLERS: dict[str, Handler] = {
    "system": _system, "result": _result, "rate_limit_event": setting_event,
    "tool_progress": setting_event, "auth_status": setting_event,
}  # fmt: skip
"""Readers of the types that only stream-json has."""
