"""Messages in the words of many instrumentations, and of repeated histories only what is new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vcon_app.formats.common.spans.forest import Forest, Node
from vcon_app.formats.common.spans.messages import Message, messages_of
from vcon_app.formats.common.spans.parts import Part
from vcon_app.formats.common.spans.telling import Histories

PLUM = {"what": "plum"}
CALL = Part("call", "", "c1", "weigh", PLUM)
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": json.dumps(PLUM)}}
PART = {"type": "text", "text": "Weigh it."}


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "id": ["langchain_core", "messages", name], "kwargs": {"content": "", **kwargs}}


def of(role: str, **more: Any) -> dict[str, Any]:
    return {"role": role, **more}


DIALECTS: list[tuple[str, Any]] = [
    ("text", "Weigh it."),
    ("OpenTelemetry", [of("user", parts=[{"type": "text", "content": "Weigh it."}])]),
    ("OpenAI", {"model": "m", "messages": [of("user", content="Weigh it.")]}),
    ("OpenAI parts", [of("user", content=[PART])]),
    ("OpenAI Responses", {"input": [of("user", type="message", content=[PART | {"type": "input_text"}])]}),
    ("Gemini", {"contents": [of("user", parts=[{"text": "Weigh it."}])]}),
    ("Gemini in short", {"model": "m", "contents": "Weigh it."}),
    ("LangChain", {"messages": [constructor("HumanMessage", content="Weigh it.")]}),
    ("AI SDK", {"prompt": "Weigh it."}),
    ("span events", [{"event.name": "gen_ai.user.message", "content": "Weigh it."}]),
    ("Python", {"messages": ["role='user' content='Weigh it.' name=None"]}),
]
ANSWERS: list[tuple[str, Any]] = [
    ("OpenTelemetry", [of("assistant", parts=[{"type": "tool_call", "id": "c1", "name": "weigh", "arguments": PLUM}])]),
    ("OpenAI", {"choices": [{"message": of("assistant", content=None, tool_calls=[FUNCTION])}]}),
    ("OpenAI Responses", {"output": [{"type": "function_call", "id": "fc", "call_id": "c1", **FUNCTION["function"]}]}),
    ("Anthropic", [{"type": "tool_use", "id": "c1", "name": "weigh", "input": PLUM}]),
    ("Gemini", {"candidates": [
        {"content": of("model", parts=[{"functionCall": {"id": "c1", "name": "weigh", "args": PLUM}}])}]}),
    ("LangChain", constructor("AIMessage", tool_calls=[{"id": "c1", "name": "weigh", "args": PLUM}])),
    ("AI SDK", [{"toolCallId": "c1", "toolName": "weigh", "input": json.dumps(PLUM)}]),
    ("calls in the place of text", [of("assistant", content=json.dumps([FUNCTION]))]),
    ("a choice event", [
        {"event.name": "gen_ai.choice", "message": json.dumps(of("assistant", tool_calls=[FUNCTION]))}]),
]  # fmt: skip
OUTPUT = {"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "61 g"}}
RESULTS: list[tuple[str, Any]] = [
    ("OpenTelemetry", of("tool", parts=[{"type": "tool_call_response", "id": "c1", "response": "61 g"}])),
    ("OpenAI", of("tool", tool_call_id="c1", content="61 g")),
    ("OpenAI Responses", {"type": "function_call_output", "call_id": "c1", "output": "61 g"}),
    ("Anthropic", of("user", content=[{"type": "tool_result", "tool_use_id": "c1", "content": "61 g"}])),
    ("Gemini", of("user", parts=[{"functionResponse": {"id": "c1", "response": "61 g"}}])),
    ("AI SDK", of("tool", content=[OUTPUT])),
]


@pytest.mark.parametrize(("dialect", "value"), DIALECTS)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_prompt_is_found_in_every_dialect(dialect: str, value: Any, as_text: bool) -> None:
    found = messages_of(json.dumps(value) if as_text else value, "user")
    assert [(message.role, [part.text for part in message.parts]) for message in found] == [("user", ["Weigh it."])]


@pytest.mark.parametrize(("dialect", "value"), ANSWERS)
def test_a_call_is_found_in_every_dialect(dialect: str, value: Any) -> None:
    assert messages_of(value, "assistant") == [Message("assistant", (CALL,))], dialect


@pytest.mark.parametrize(("dialect", "value"), RESULTS)
def test_a_result_is_found_in_every_dialect(dialect: str, value: Any) -> None:
    (message,) = messages_of([value], "user")
    (part,) = message.parts
    assert (message.role, part.kind, part.call_id, part.text) == ("tool", "result", "c1", "61 g"), dialect


def test_instructions_come_first_and_thoughts_are_told_apart() -> None:
    found = messages_of(
        {"system_instruction": "Be brief.", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "user"
    )
    assert [message.role for message in found] == ["system", "user"]
    (answer,) = messages_of([{"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}], "assistant")
    assert [part.kind for part in answer.parts] == ["reasoning", "text"]


def test_parts_that_are_no_message_are_kept_as_text_and_pictures_without_their_bytes() -> None:
    assert messages_of({"strange": 1}, "user")[0].parts == (Part("text", '{"strange":1}'),)
    (message,) = messages_of(
        [{"role": "user", "content": [{"type": "image", "mime_type": "image/png", "data": "x"}]}], "user"
    )
    assert message.parts[0].value == {"type": "image", "mime_type": "image/png"}


def test_of_a_history_that_goes_on_only_its_end_is_new() -> None:
    histories = Histories()
    histories.remember("main", ["yes", "ok"])
    assert histories.new_messages("main", ["yes", "ok", "yes"]) == [2]
    assert histories.new_messages("other", ["yes", "ok"]) == [0, 1]


def test_a_history_that_was_shortened_tells_nothing_twice() -> None:
    histories = Histories()
    histories.remember("main", ["rules", "first", "second", "third"])
    assert histories.new_messages("main", ["rules", "summary", "third", "fourth"]) == [1, 3]


def test_of_several_histories_the_one_that_goes_on_is_found() -> None:
    histories = Histories()
    histories.remember("main", ["rules", "first", "answer"])
    histories.remember("main", ["rules", "aside"])
    assert histories.new_messages("main", ["rules", "first", "answer", "second"]) == [3]


def test_a_new_conversation_is_told_whole_though_it_holds_known_words() -> None:
    histories = Histories()
    histories.remember("main", ["hi", "hello"])
    assert histories.new_messages("main", ["good day", "hello"]) == [0, 1]


def test_a_message_is_the_same_without_its_thoughts_and_with_other_blanks_around_it() -> None:
    said = Message("assistant", (Part("reasoning", "Hm."), Part("text", "Yes.\n")))
    assert said.print == Message("assistant", (Part("text", "Yes."),)).print
    assert said.print != Message("user", (Part("text", "Yes."),)).print


def test_agents_below_tools_and_below_busy_agents_are_sub_agents() -> None:
    forest = Forest([
        Node("workflow", None, "agent"), Node("boss", "workflow", "agent"), Node("ask", "boss", "request"),
        Node("tool", "boss", "tool"), Node("helper", "tool", "agent"), Node("inner", "helper", "request"),
        Node("peer", "boss", "agent"), Node("peers", "peer", "request"), Node("lost", "gone", "request"),
    ])  # fmt: skip
    assert [forest.starters(id) for id in ("boss", "ask", "inner", "peers", "lost")] == [
        [], [], ["tool"], ["peer"], [],
    ]  # fmt: skip


def test_circles_of_parents_are_cut() -> None:
    forest = Forest([Node("a", "b", "agent"), Node("b", "a", "request"), Node("c", "c", "tool")])
    assert forest.starters("b") == [] and forest.starters("c") == []
