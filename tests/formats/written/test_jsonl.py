"""Events as JSON Lines, in the shape of the API."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import jsonl

from ..llmfeed.test_write import SESSION, START, Log, everything


def lines(log: list[EventDraft], losses: Losses | None = None, **options: Any) -> list[dict[str, Any]]:
    data = b"".join(jsonl.write(SESSION, Log(log), losses or Losses(), options=options))
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def test_every_line_is_an_event_with_every_field() -> None:
    shapes = lines(everything())
    assert len(shapes) == len(everything())
    assert [shape["seq"] for shape in shapes] == list(range(1, len(shapes) + 1))
    for shape in shapes:
        assert {"seq", "id", "kind", "at", "turn", "actor", "text", "tool", "model", "usage", "cost", "parent_seq",
                "depth", "data", "source"} <= shape.keys()  # fmt: skip


def test_an_event_is_told_in_the_shape_of_the_api() -> None:
    event = EventDraft(
        "tool_result", "k", START, "tool", "sh", "ok", ToolDraft("c1", "Bash", status="ok"), "m",
        Usage(1, 2, None, 4, 3), "r", Decimal("0.0000012"), None, 1, {"x": 1.5}, "/a/0",
    )  # fmt: skip
    (shape,) = lines([event], document="ab12")
    assert shape["at"] == "2026-03-01T08:00:00Z"
    assert shape["actor"] == {"kind": "tool", "name": "sh"}
    assert shape["tool"] == {
        "call_id": "c1",
        "name": "Bash",
        "server": None,
        "arguments": None,
        "result": None,
        "status": "ok",
    }
    assert shape["usage"] | {"input_tokens": 1, "cache_write_tokens": None, "total_tokens": 7} == shape["usage"]
    assert shape["cost"] == {"amount": "0.0000012", "currency": "USD", "basis": "recorded", "unpriced_tokens": 0}
    assert shape["source"] == {"document": "ab12", "pointer": "/a/0"}
    assert (shape["depth"], shape["data"]) == (1, {"x": 1.5})


def test_unknown_values_are_null() -> None:
    (shape,) = lines([EventDraft("note", "k", usage=Usage())])
    assert [shape[name] for name in ("at", "tool", "model", "cost", "parent_seq", "source")] == [None] * 6
    assert shape["usage"]["total_tokens"] is None


def test_turns_are_counted_and_parents_resolved() -> None:
    shapes = {shape["id"]: shape for shape in lines(everything())}
    assert shapes["a"]["turn"] == 0
    assert shapes["b"]["turn"] == shapes["h"]["turn"] == 1
    assert shapes["g"]["parent_seq"] == shapes["f"]["seq"]


def test_a_parent_that_is_not_there_is_null_and_a_loss() -> None:
    losses = Losses()
    shapes = lines([EventDraft("note", "a", parent="b"), EventDraft("note", "b", parent="zzz")], losses)
    assert [shape["parent_seq"] for shape in shapes] == [None, None]
    assert losses.rows()[0]["count"] == 2


def test_a_line_is_a_line_whatever_is_in_it() -> None:
    text = "a\nb\r\u2028\u0085\0\ud800"
    (shape,) = lines([EventDraft("note", "k", text=text, data={"deep": [[[{text: text}]]], "huge": 2**80})])
    assert shape["text"] == text.replace("\ud800", "\ufffd")
    assert shape["data"]["huge"] == 2**80


def test_a_session_without_events_is_an_empty_file() -> None:
    assert b"".join(jsonl.write(SessionDraft("x"), Log([]), Losses(), options={})) == b""
