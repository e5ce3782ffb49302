"""Events as Markdown lines. Every string of a transcript passes ``prose`` on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from sessions_app.rendering import diff, numbers, toolline

from ...drafts import EventDraft, Usage
from ..common import origins
from ..common.jsonio import dumps
from ..common.times import rfc3339
from ..html.pairs import Numbered
from .prose import fence, line, prose, quoted, span

DEEPEST = 6
"""Sub-agents are quoted up to here; deeper ones stand in the same quote."""
MESSAGES = ("user_message", "agent_message")
_LABELS = {
    "user_message": "Person",
    "agent_message": "Agent",
    "tool_result": "Result of a tool",
    "model_request": "Model",
}
COUNTS = (
    ("input_tokens", "in"),
    ("cache_read_tokens", "cache read"),
    ("cache_write_tokens", "cache write"),
    ("output_tokens", "out"),
)


def event(seq: int, draft: EventDraft, result: Numbered | None = None) -> Iterator[str]:
    """The lines of one event with an empty one behind; a tool call together with its result."""
    depth = min(draft.depth, DEEPEST)
    yield from quoted(_lines(seq, draft, result[1] if result else None), depth)
    yield ""


def _lines(seq: int, draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    level = "###" if draft.kind in MESSAGES and not draft.depth else "####"
    said = [_actor_text(draft), *_short_facts(draft, result), draft.at and rfc3339(draft.at)[11:19]]
    yield f"{level} {seq} · {' · '.join(part for part in said if part)}"
    yield ""
    if said := _origin(draft, result):
        yield from (f"*{line(said)}*", "")
    yield from _BODIES.get(draft.kind, _message_lines)(draft, result)


def _origin(draft: EventDraft, result: EventDraft | None) -> str:
    """Who said it, where that does not go without saying; also of a result shown with its call."""
    own, answer = origins.words(draft), origins.words(result) if result else ""
    return "; ".join([own] * bool(own) + [f"result {answer}"] * bool(answer and answer != own))


def _actor_text(draft: EventDraft) -> str:
    if draft.kind == "tool_call":
        told = toolline.describe_call(*_called(draft), draft.tool.server if draft.tool else None)
        return f"{line(told.verb)} {span(told.subject)}".strip()
    label = _LABELS.get(draft.kind, draft.kind.replace("_", " ").capitalize())
    if draft.depth and draft.kind in MESSAGES:
        label = "Task" if draft.kind == "user_message" else "Sub-agent"
    named = draft.actor_name or (draft.tool.name if draft.tool and draft.tool.name else "")
    return f"{label} {line(named)}".strip()


def _called(draft: EventDraft) -> tuple[str | None, Any]:
    return (draft.tool.name, draft.tool.arguments) if draft.tool else (None, None)


def _short_facts(draft: EventDraft, result: EventDraft | None) -> list[str]:
    """Short facts: the outcome of a call, the name of a file, the cost of a response."""
    if draft.kind == "tool_call":
        if result is None:
            return ["no result here"]
        status = (result.tool and result.tool.status) or (draft.tool and draft.tool.status) or None
        name, arguments = _called(draft)
        return [line(toolline.glance(result.text, _result_of(result), status, name=name, arguments=arguments))]
    if draft.kind == "tool_result":
        return [line(draft.tool.status)] if draft.tool and draft.tool.status else []
    named = draft.data.get("path") or draft.data.get("name")
    if draft.kind in ("file_change", "artifact", "injected_context") and isinstance(named, str):
        return [span(named)]
    return _usage_texts(draft) if draft.kind == "model_request" else []


def _usage_texts(draft: EventDraft) -> list[str]:
    said = [line(draft.model)] if draft.model else []
    said += [tokens(draft.usage)] if draft.usage else []
    return said + ([numbers.money(draft.cost)] if draft.cost is not None else [])


def tokens(usage: Usage | Any) -> str:
    """In, cache read, cache write, out, as far as they are known."""
    known = ((getattr(usage, name), label) for name, label in COUNTS)
    return ", ".join(f"{numbers.exact(count)} {label}" for count, label in known if count is not None)


def _message_lines(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    yield from prose(draft.text) if draft.text.strip() else ["*no text recorded*"]
    if draft.kind in ("approval", "escalation", "unknown") and draft.data:
        yield from ("", *_json(draft.data))


def _quoted(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    yield from quoted(prose(draft.text)) if draft.text.strip() else ["*not recorded*"]


def _fenced(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    yield from fence(draft.text) if draft.text else ()
    structured = _result_of(draft)
    if structured is not None and not draft.text:
        yield from _json(structured)
    if draft.kind == "unknown" and draft.data:
        yield from _json(draft.data)


def _tool_call(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    name, arguments = _called(draft)
    files = diff.diffs_of_call(name, arguments, _result_of(result))
    if files:
        yield from _diffs(files)
    elif isinstance(arguments, str):
        yield from fence(arguments)
    elif arguments not in (None, {}):
        yield from _json(arguments)
    if result is not None and (result.text or _result_of(result) is not None):
        yield from ("", "Result:", "", *_fenced(result, None))


def _result_of(result: EventDraft | None) -> Any:
    return result.tool.result if result and result.tool else None


def _file_change(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    files = diff.from_unified(draft.text)
    yield from _diffs(files) if files else fence(draft.text) if draft.text else ()


def _diffs(files: list[diff.FileDiff]) -> Iterator[str]:
    for number, file in enumerate(files):
        yield from ("",) if number else ()
        rows = "\n".join(row.text if row.mark == "@" else f"{row.mark}{row.text}" for row in file.rows)
        yield from (f"{span(file.path)} +{file.added} −{file.removed}", "") if file.path else ()
        yield from fence(rows, "diff")
        yield from ("", "*longer than is shown here*") if file.cut else ()


def _json(value: Any) -> Iterator[str]:
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # what orjson cannot write; on one line then
        text = dumps(value).decode()
    return fence(text, "json")


def _no_lines(draft: EventDraft, result: EventDraft | None) -> Iterator[str]:
    yield from prose(draft.text) if draft.text.strip() else ()


_BODIES: dict[str, Callable[[EventDraft, EventDraft | None], Iterator[str]]] = {
    **dict.fromkeys(("system", "injected_context", "artifact", "unknown", "tool_result"), _fenced),
    "reasoning": _quoted, "tool_call": _tool_call, "file_change": _file_change, "model_request": _no_lines,
}  # fmt: skip
