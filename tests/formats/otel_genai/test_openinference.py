"""Spans of OpenInference however Phoenix and others hand them over: lists, single spans, trees, rows of a table."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest

from vcon_app import registry
from vcon_app.drafts import EventDraft, SessionDraft, Usage

TRACE, RUN, ASKED, RAN = "a1" * 16, "b1" * 8, "b2" * 8, "b3" * 8
AGENT = {"openinference.span.kind": "AGENT", "agent.name": "pruner", "session.id": "orchard-7"}
MODEL = {
    "openinference.span.kind": "LLM", "llm.model_name": "gpt-5", "session.id": "orchard-7", "user.id": "mira",
    "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Prune the pears.",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "I prune tree 3.",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "prune",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"tree": 3}',
    "llm.token_count.prompt": 100, "llm.token_count.completion": 20, "llm.token_count.total": 120,
    "llm.token_count.prompt_details.cache_read": 40, "llm.token_count.completion_details.reasoning": 5,
    "llm.cost.total": 0.0123,
}  # fmt: skip
TOOL = {
    "openinference.span.kind": "TOOL", "tool.name": "prune", "tool_call.id": "c1", "session.id": "orchard-7",
    "input.value": '{"tree": 3}', "output.value": "The saw is blunt.",
}  # fmt: skip


def span(id: str, parent: str | None, attributes: dict[str, Any], second: int, code: str = "OK") -> dict[str, Any]:
    return {
        "name": "step", "context": {"trace_id": TRACE, "span_id": id}, "parent_id": parent,
        "start_time": f"2026-11-01T10:00:0{second}+00:00", "end_time": f"2026-11-01T10:00:0{second + 1}+00:00",
        "status_code": code, "status_message": "", "attributes": attributes, "events": [],
    }  # fmt: skip


SPANS = [span(RUN, None, AGENT, 0), span(ASKED, RUN, MODEL, 1), span(RAN, RUN, TOOL, 3, "ERROR")]


def tree(flat: dict[str, Any]) -> dict[str, Any]:
    """Attributes as Phoenix keeps them: each part of a name an object, numbers a list."""
    root: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        holder = root
        for part in path:
            holder = holder.setdefault(part, {})
        holder[last] = value
    return dict(_with_lists(root))


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _with_lists(item) for name, item in value.items()}
    return list(inner.values()) if inner and all(name.isdecimal() for name in inner) else inner


def nested(value: dict[str, Any]) -> dict[str, Any]:
    return value | {"attributes": tree(value["attributes"])}


def without_kind(value: dict[str, Any]) -> dict[str, Any]:
    """The kind beside the attributes, as Phoenix's API has it."""
    rest = {name: item for name, item in value["attributes"].items() if name != "openinference.span.kind"}
    return value | {"span_kind": value["attributes"]["openinference.span.kind"], "attributes": tree(rest)}


def row(value: dict[str, Any]) -> dict[str, Any]:
    """A row of a table: names of columns with points, an empty cell for what the span has not."""
    attributes = value["attributes"]
    lists = {name: held for name in ("input_messages", "output_messages") if (held := _messages(attributes, name))}
    cells = {name: item for name, item in attributes.items() if "_messages." not in name}
    empty = {f"attributes.{name}": None for name in MODEL if "_messages." not in name}
    return (
        {name: item for name, item in value.items() if name not in ("context", "attributes")}
        | {f"context.{name}": item for name, item in value["context"].items()}
        | empty
        | {f"attributes.{name}": item for name, item in cells.items()}
        | {f"attributes.llm.{name}": held for name, held in lists.items()}
        | {"start_time": 1_793_527_200_000 + 1000 * int(value["start_time"][18])}
        | {"end_time": 1_793_527_200_000 + 1000 * int(value["end_time"][18])}
    )


def _messages(attributes: dict[str, Any], name: str) -> list[dict[str, Any]]:
    prefix = f"llm.{name}.0."
    message = {key[len(prefix) :]: item for key, item in attributes.items() if key.startswith(prefix)}
    calls = {key: item for key, item in message.items() if ".tool_calls." in key}
    rest = {key: item for key, item in message.items() if key not in calls}
    if calls:
        rest["message.tool_calls"] = [{key.partition(".0.")[2]: item for key, item in calls.items()}]
    return [rest] if rest else []


def as_json(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent).encode()


def as_lines(values: list[dict[str, Any]]) -> bytes:
    return b"".join(as_json(value) + b"\n" for value in values)


FILES = {
    "a list": as_json(SPANS),
    "a list, indented": as_json(SPANS, 2),
    "a list of trees": as_json([nested(one) for one in SPANS]),
    "a list of trees with the kind beside": as_json([without_kind(one) for one in SPANS]),
    "a page of Phoenix's API": as_json({"data": [without_kind(one) for one in SPANS], "next_cursor": None}),
    "an object with spans": as_json({"spans": SPANS}),
    "lines": as_lines(SPANS),
    "indented spans, one after the other": b"\n".join(as_json(nested(one), 4) for one in SPANS),
    "rows of a table": as_json([row(one) for one in SPANS]),
    "rows of a table on lines": as_lines([row(one) for one in SPANS]),
}


def told(data: bytes) -> tuple[SessionDraft, list[EventDraft]]:
    name, _ = registry.detect(io.BytesIO(data))
    assert name == "otel-genai"
    drafts = list(registry.reader(name).read(io.BytesIO(data)))
    (session,) = (draft for draft in drafts if isinstance(draft, SessionDraft))
    return session, [draft for draft in drafts if isinstance(draft, EventDraft)]


@pytest.mark.parametrize("file", FILES)
def test_a_run_is_read_whatever_holds_its_spans(file: str) -> None:
    session, events = told(FILES[file])
    assert (session.external_id, session.agent_name, session.model, session.user_id) == (
        "orchard-7", "pruner", "gpt-5", "mira",
    )  # fmt: skip
    assert session.started_at and session.started_at.isoformat() == "2026-11-01T10:00:00+00:00"
    assert [(event.kind, event.text) for event in events[1:]] == [
        ("user_message", "Prune the pears."), ("agent_message", "I prune tree 3."), ("tool_call", ""),
        ("tool_result", "The saw is blunt."),
    ]  # fmt: skip
    called, brought = events[3].tool, events[4].tool
    assert called and (called.call_id, called.name, called.arguments) == ("c1", "prune", {"tree": 3})
    assert brought and (brought.call_id, brought.status) == ("c1", "error")
    assert [event.usage for event in events if event.usage] == [Usage(60, 40, None, 20, 5)]
    assert [event.cost for event in events if event.cost is not None] == [Decimal("0.0123")]


@pytest.mark.parametrize("one", [SPANS[1], nested(SPANS[1]), without_kind(SPANS[1]), row(SPANS[1])])
@pytest.mark.parametrize("indent", [None, 2])
def test_one_span_alone_is_a_session(one: dict[str, Any], indent: int | None) -> None:
    session, events = told(as_json(one, indent))
    assert session.external_id == "orchard-7"
    assert [event.text for event in events] == ["Prune the pears.", "I prune tree 3."]
    assert events[-1].usage == Usage(60, 40, None, 20, 5)
    assert events[-1].data["calls"] == [{"id": "c1", "name": "prune", "arguments": {"tree": 3}}]


@pytest.mark.parametrize("value", [
    {"data": [{"id": "1", "name": "Mira", "llm": "none"}]},
    {"spans": [{"context": {"trace_id": TRACE, "span_id": RUN}, "attributes": {"http.route": "/pears"}}]},
    [{"name": "GET", "context.span_id": RUN, "context.trace_id": TRACE, "attributes.http.route": "/pears"}],
])  # fmt: skip
def test_spans_and_data_of_anything_else_are_left_alone(value: Any) -> None:
    with pytest.raises(registry.Unrecognised):
        registry.detect(io.BytesIO(as_json(value)))
