"""Events as HTML. Every string of a transcript passes ``escape`` or ``markdown.render`` on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from sessions_app.rendering import diff, markdown, numbers, toolline
from sessions_app.rendering.text import escape, first_line

from ...drafts import EventDraft, Usage
from ..common import origins
from ..common.jsonio import dumps
from ..common.times import rfc3339
from .pairs import Numbered
from .shown import removed_parts, shown_data

DEEPEST = 4
"""Sub-agents are indented up to here; deeper ones stay in the same column."""
_LABELS = {
    "user_message": "person", "agent_message": "agent", "injected_context": "context", "tool_result": "result",
    "model_request": "model", "file_change": "file", "unknown": "unknown event",
}  # fmt: skip
_FOLDED = ("reasoning", "system", "injected_context", "artifact", "unknown", "tool_result")
_SPOKEN = (
    "user_message",
    "agent_message",
    "note",
    "handoff",
    "error",
    "approval",
    "escalation",
    "status",
    "compaction",
)


def event(seq: int, draft: EventDraft, result: Numbered | None = None) -> str:
    """One event; a tool call together with its result."""
    kind = draft.kind.replace("_", "-")
    nested = f" d{min(draft.depth, DEEPEST)}" if draft.depth else ""
    anchor = f'<span id="e{result[0]}"></span>' if result else ""
    body = _BODIES.get(draft.kind, _message_body)(draft, result[1] if result else None)
    head = _origin(draft, result[1] if result else None) + _removed(draft, result[1] if result else None)
    return f'<div class="event {kind}{nested}" id="e{seq}">{anchor}{_link_to_event(seq, draft)}{head}{body}</div>\n'


def _origin(draft: EventDraft, result: EventDraft | None) -> str:
    """Who said it, where that does not go without saying; also of a result on the card of its call."""
    own, answer = origins.words(draft), origins.words(result) if result else ""
    said = [own] if own else []
    said += [f"result {answer}"] if answer and answer != own else []
    return f'<p class="head"><span class="tag">{escape("; ".join(said))}</span></p>' if said else ""


def _removed(draft: EventDraft, result: EventDraft | None) -> str:
    """What was taken out of an event, and of the result on its card, before they came here."""
    parts = {*removed_parts(draft), *(removed_parts(result) if result else ())}
    return f'<p class="removed">Left out here: {escape(", ".join(sorted(parts)))}</p>' if parts else ""


def shows_all(draft: EventDraft) -> bool:
    """Whether nothing of the event's data stays out of sight."""
    return draft.kind in ("unknown", "approval", "escalation") or not (draft.data.keys() - {"decision"})


def time_of_day(draft: EventDraft) -> str:
    """Time of day, with the full date and time in the title."""
    if not draft.at:
        return ""
    full = rfc3339(draft.at)
    return f'<time datetime="{full}" title="{full}">{full[11:19]}</time>'


def _link_to_event(seq: int, draft: EventDraft) -> str:
    source = f' title="source: {escape(draft.pointer)}"' if draft.pointer else ""
    return f'<a class="seq" href="#e{seq}"{source}>{seq}</a>'


def _actor_text(draft: EventDraft) -> str:
    label = _LABELS.get(draft.kind, draft.kind.replace("_", " "))
    if draft.depth and draft.kind in ("user_message", "agent_message"):
        label = "task" if draft.kind == "user_message" else "sub-agent"
    name = f' <b class="name">{escape(draft.actor_name)}</b>' if draft.actor_name else ""
    return f'<span class="who">{escape(label)}</span>{name} {time_of_day(draft)}'


def _message_body(draft: EventDraft, result: EventDraft | None) -> str:
    nothing = "" if removed_parts(draft) else '<p class="none">no text recorded</p>'
    text = markdown.render(draft.text) if draft.text.strip() else nothing
    details = shown_data(draft) if draft.kind in ("approval", "escalation") else {}
    data = _folded_json("details", details) if details else ""
    return f'<p class="head">{_actor_text(draft)}{_decided(draft)}</p><div class="text">{text}</div>{data}'


def _decided(draft: EventDraft) -> str:
    """``resolved`` of a decision is the recorder's word; it is told as that."""
    decision = draft.data.get("decision")
    if not isinstance(decision, dict):
        return ""
    flag = decision.get("resolved")
    word = f", {'resolved' if flag else 'not resolved'}" if isinstance(flag, bool) else ""
    return f' <span class="tag">decision{word}</span>'


def _folded(draft: EventDraft, result: EventDraft | None) -> str:
    words = len(draft.text.split())
    if draft.kind == "reasoning" and not words:
        return f'<p class="head">{_actor_text(draft)} <span class="none">not recorded</span></p>'
    named = draft.data.get("name") or draft.data.get("path") or draft.data.get("mediatype")
    shown = first_line(named if isinstance(named, str) else draft.text, 90)
    size = f'<span class="glance">{numbers.exact(words)} words</span>' if words else ""
    summary = f'{_actor_text(draft)} <span class="subject">{escape(shown)}</span> {size}'
    body = markdown.render(draft.text) if draft.kind in ("reasoning", "injected_context") else _pre(draft.text)
    data = _json(shown_data(draft)) if draft.kind == "unknown" and not removed_parts(draft) else ""
    status = (
        f' <span class="bad">{escape(draft.tool.status)}</span>'
        if draft.tool and draft.tool.status not in (None, "ok")
        else ""
    )
    return f"<details><summary>{summary}{status}</summary>{body}{data}{_tool_rest(draft)}</details>"


def _tool_rest(draft: EventDraft) -> str:
    return _json(draft.tool.result) if draft.tool and draft.tool.result is not None else ""


def _tool_call(draft: EventDraft, result: EventDraft | None) -> str:
    tool = draft.tool
    name, arguments, server = (tool.name, tool.arguments, tool.server) if tool else (None, None, None)
    line = toolline.describe_call(name, arguments, server)
    summary = (
        f'<svg class="icon" aria-hidden="true"><use href="#i-{line.icon}"/></svg>'
        f'<span class="verb">{escape(line.verb)}</span>'
        f' <code class="subject">{escape(line.subject)}</code> {_short_facts(draft, result)} {time_of_day(draft)}'
    )
    return f"<details><summary>{summary}</summary>{_call_body(name, arguments, result)}{_result_body(result)}</details>"


def _short_facts(draft: EventDraft, result: EventDraft | None) -> str:
    if result is None:
        return '<span class="glance">no result here</span>'
    status = (result.tool.status if result.tool else None) or (draft.tool.status if draft.tool else None)
    name, arguments = (draft.tool.name, draft.tool.arguments) if draft.tool else (None, None)
    text = toolline.glance(result.text, _result_of(result), status, name=name, arguments=arguments)
    return f'<span class="{"bad" if status not in (None, "ok") else "glance"}">{escape(text)}</span>'


def _call_body(name: str | None, arguments: Any, result: EventDraft | None) -> str:
    files = diff.diffs_of_call(name, arguments, _result_of(result))
    if files:
        return "".join(map(_diff, files))
    if isinstance(arguments, dict):
        pairs = (f"<dt>{escape(str(key))}</dt><dd>{_value(value)}</dd>" for key, value in arguments.items())
        return f'<dl class="arguments">{"".join(pairs)}</dl>'
    return _value(arguments) if arguments is not None else ""


def _result_body(result: EventDraft | None) -> str:
    if result is None:
        return ""
    structured = _result_of(result)
    shown = isinstance(structured, dict) and "structuredPatch" in structured
    rest = _folded_json("structured result", structured) if structured is not None and not shown else ""
    text = _pre(result.text) if result.text else ""
    return f'<div class="result"><p class="head">{_actor_text(result)}</p>{text}{rest}</div>'


def _result_of(result: EventDraft | None) -> Any:
    return result.tool.result if result and result.tool else None


def _file_change(draft: EventDraft, result: EventDraft | None) -> str:
    path = draft.data.get("path")
    label = escape(first_line(path, 160)) if isinstance(path, str) else escape(first_line(draft.text, 90))
    files = diff.from_unified(draft.text)
    body = "".join(map(_diff, files)) if files else _pre(draft.text)
    return f'<details><summary>{_actor_text(draft)} <code class="subject">{label}</code></summary>{body}</details>'


def _model_request(draft: EventDraft, result: EventDraft | None) -> str:
    said = [escape(draft.model)] if draft.model else []
    said += [tokens(draft.usage)] if draft.usage else []
    said += [numbers.money(draft.cost)] if draft.cost is not None else []
    return f'<p class="head">{_actor_text(draft)} {" · ".join(said)}</p>'


def tokens(usage: Usage | Any) -> str:
    """In, cache read, cache write, out: each with its exact number in the title."""
    names = (
        ("input_tokens", "in"),
        ("cache_read_tokens", "cache read"),
        ("cache_write_tokens", "cache write"),
        ("output_tokens", "out"),
    )
    return " · ".join(
        f'<span title="{numbers.exact(getattr(usage, name))}">{numbers.tokens(getattr(usage, name))} {label}</span>'
        for name, label in names
    )


def _diff(file: diff.FileDiff) -> str:
    rows = "".join(_rows(file))
    more = '<p class="none">longer than is shown here</p>' if file.cut else ""
    path = (
        f'<p class="path">{escape(file.path)} <span class="glance">+{file.added} −{file.removed}</span></p>'
        if file.path
        else ""
    )
    return f'{path}<table class="diff">{rows}</table>{more}'


_ROW = {"+": "add", "-": "del", "@": "hunk", " ": "same"}


def _rows(file: diff.FileDiff) -> Iterator[str]:
    for row in file.rows:
        number = row.new if row.new is not None else row.old
        yield (
            f'<tr class="{_ROW[row.mark]}"><td>{"" if number is None else number}</td>'
            f"<td>{row.mark if row.mark in '+-' else ''}</td><td>{escape(row.text)}</td></tr>"
        )


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _pre(value) if "\n" in value or len(value) > 200 else f"<code>{escape(value)}</code>"
    return _json(value) if isinstance(value, (dict, list)) else f"<code>{escape(dumps(value).decode())}</code>"


def _json(value: Any) -> str:
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # what orjson cannot write; on one line then
        text = dumps(value).decode()
    return _pre(text)


def _folded_json(label: str, value: Any) -> str:
    return f"<details><summary>{escape(label)}</summary>{_json(value)}</details>"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


_BODIES: dict[str, Callable[[EventDraft, EventDraft | None], str]] = {
    **dict.fromkeys(_FOLDED, _folded), **dict.fromkeys(_SPOKEN, _message_body),
    "tool_call": _tool_call, "file_change": _file_change, "model_request": _model_request,
}  # fmt: skip
