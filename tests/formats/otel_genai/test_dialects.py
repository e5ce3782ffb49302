"""Spans in the words of Langfuse, of the AI SDK and of Claude Code, and a request that two instrumentations tell of."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from vcon_app import registry
from vcon_app.drafts import EventDraft, SessionDraft, Usage
from vcon_app.formats.common.reading import Findings
from vcon_app.formats.otel_genai import wire
from vcon_app.formats.otel_genai.reading import Conversation

PROMPT = [{"role": "user", "content": "Which pear first?"}]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"tree": 3}'}}
CALLED = {"role": "assistant", "tool_calls": [CALL]}
TWICE = [*PROMPT, CALLED, {"role": "tool", "tool_call_id": "c1", "content": "ripe"}]
FIRST = {"role": "assistant", "content": "Tree 3."}
TOKENS = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 7}


def span(id: int, parent: int, attributes: dict[str, Any], name: str = "step", **more: Any) -> dict[str, Any]:
    at = 1_795_000_000 * 10**9
    return {
        "traceId": "a1" * 16, "spanId": f"{id:016x}", "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name, "startTimeUnixNano": at + id * 1000, "endTimeUnixNano": at + (id + 100) * 1000,
        "attributes": attributes, **more,
    }  # fmt: skip


def read(*spans: dict[str, Any], **others: list[dict[str, Any]]) -> tuple[SessionDraft, list[EventDraft]]:
    """The session and its events; nothing is left over that is not understood. ``others``: spans by who made them."""
    findings = Findings("test")
    scopes = [{"scope": {"name": name}, "spans": made} for name, made in others.items()]
    records: list[dict[str, Any]] = [{"scopeSpans": [{"spans": list(spans)}, *scopes]}]
    session, *events = Conversation("orchard", findings).drafts(wire.spans_in(records))
    assert isinstance(session, SessionDraft)
    told = [event for event in events if isinstance(event, EventDraft)]
    assert not [event for event in told if event.kind == "unknown"]
    return session, told


def said(events: list[EventDraft]) -> list[tuple[str, str]]:
    return [(e.kind, e.text or (e.tool.name if e.tool else "") or "") for e in events if e.kind != "status"]


def generation(id: int, messages: list[Any], answer: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return span(id, 1, {
        "langfuse.observation.type": "generation", "langfuse.observation.model.name": "gpt-5",
        "langfuse.observation.input": json.dumps({"messages": messages, "tools": []}),
        "langfuse.observation.output": json.dumps(answer),
        "langfuse.observation.usage_details": json.dumps(details),
        "langfuse.observation.cost_details": json.dumps({"total": 0.5}),
    })  # fmt: skip


OF_OPENAI = {
    "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "completion_tokens_details": None,
    "prompt_tokens_details": {"cached_tokens": 60},
}  # fmt: skip
OF_LANGFUSE = {"input": 40, "input_cached_tokens": 60, "output": 7, "total": 107}


@pytest.mark.parametrize("details", [OF_OPENAI, OF_LANGFUSE])
def test_langfuse(details):
    tool = {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"tree": 3}',
            "langfuse.observation.output": "ripe"}  # fmt: skip
    session, events = read(
        span(1, 0, {"langfuse.observation.type": "agent", "session.id": "orchard", "user.id": "mira"}),
        generation(2, PROMPT, CALLED, details), span(200, 1, tool, "look"), generation(400, TWICE, FIRST, details),
    )  # fmt: skip
    assert (session.user_id, session.model) == ("mira", "gpt-5")
    assert said(events) == [
        ("user_message", "Which pear first?"), ("model_request", ""), ("tool_call", "look"), ("tool_result", "ripe"),
        ("agent_message", "Tree 3."),
    ]  # fmt: skip
    call = next(event for event in events if event.kind == "tool_call")
    assert call.tool and call.tool.arguments == {"tree": 3}
    assert [event.usage for event in events if event.usage] == [Usage(40, 60, None, 7, None)] * 2
    assert {str(event.cost) for event in events if event.cost} == {"0.5"}


def test_what_a_program_or_langfuse_puts_into_usage_may_be_anything():
    for odd in ("[]", "3", "{", '{"prompt_tokens": -1}', '{"prompt_tokens_details": [1], "input": "x"}'):
        attributes = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": odd}
        assert not [event for event in read(span(1, 0, attributes))[1] if event.usage]


def request(id: int, parent: int, messages: list[Any] | None, answer: Any, **more: Any) -> dict[str, Any]:
    """A request as one instrumentation tells it; without messages as the vendor's client does by itself."""
    content = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps([answer])}
    named = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5"} | TOKENS | more
    return span(id, parent, named | (content if messages else {}))


def test_a_request_in_a_request_that_says_nothing_leaves_the_word_to_the_outer_one():
    _, events = read(request(1, 0, PROMPT, FIRST), request(2, 1, None, None))
    assert said(events) == [("user_message", "Which pear first?"), ("agent_message", "Tree 3."), ("model_request", "")]
    assert [event.usage for event in events if event.usage] == [Usage(100, None, None, 7, None)]
    _, events = read(request(1, 0, PROMPT, FIRST), request(2, 1, PROMPT, FIRST))
    assert [kind for kind, _ in said(events)] == ["model_request", "user_message", "agent_message"]


def test_a_request_beside_it_that_says_nothing_is_no_other_conversation():
    """Both name the response that they are of, so that it is paid for once."""
    of = [{"gen_ai.response.id": f"r{number}"} for number in (1, 2)]
    _, events = read(
        request(1, 0, PROMPT, CALLED, **of[0]), request(2, 0, None, None, **of[0]),
        request(200, 0, TWICE, FIRST, **of[1]), request(201, 0, None, None, **of[1]),
    )  # fmt: skip
    assert [text for kind, text in said(events) if kind == "user_message"] == ["Which pear first?"]
    assert [event.request for event in events if event.usage] == ["r1", "r1", "r2", "r2"]


def test_the_ai_sdk_says_what_was_written_to_the_cache():
    counts = {"inputTokens": 120, "outputTokens": 7, "cachedInputTokens": 60, "inputTokenDetails.cacheWriteTokens": 20}
    named = {f"ai.usage.{name}": count for name, count in counts.items()}
    step = span(1, 0, {"gen_ai.operation.name": "agent_step"}, "step 1")
    asked = span(2, 1, {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"} | named)
    assert [event.usage for event in read(step, asked)[1] if event.usage] == [Usage(40, 60, 20, 7, None)]


def claude(id: int, parent: int, name: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    same = {"span.type": name, "session.id": "orchard", "gen_ai.provider.name": "anthropic"}
    return span(id, parent, same | attributes, f"claude_code.{name}", **more)


def test_claude_code():
    """Its tokens do not overlap, as those of Anthropic's API; that a call was let run stands below the call."""
    tool = {"gen_ai.operation.name": "execute_tool"}
    ran = [{"name": "tool.output", "attributes": {"output": "ripe"}}]
    asked = {"gen_ai.request.model": "claude-opus-5-5", "input_tokens": 70, "cache_read_tokens": 60,
             "cache_creation_tokens": 20, "output_tokens": 7}  # fmt: skip
    named = [tool | {"gen_ai.tool.name": name, "gen_ai.tool.call.id": name} for name in ("Bash", "Write")]
    _, events = read(
        claude(1, 0, "interaction", {"gen_ai.operation.name": "invoke_agent", "user_prompt": "Which pear first?"}),
        claude(2, 1, "llm_request", asked),
        claude(200, 1, "tool", named[0] | {"full_command": "ls"}, events=ran),
        claude(201, 200, "tool.blocked_on_user", {"decision": "accept", "source": "user_temporary"}),
        claude(400, 1, "tool", named[1] | {"file_path": "pear.txt"}),
        claude(401, 400, "tool.blocked_on_user", {"decision": "reject", "source": "config"}),
        claude(402, 400, "tool.blocked_on_user", {"decision": "maybe"}),
    )
    assert said(events)[:2] == [("user_message", "Which pear first?"), ("model_request", "")]
    assert [event.usage for event in events if event.usage] == [Usage(70, 60, 20, 7, None)]
    calls = {event.tool.name: event for event in events if event.kind == "tool_call" and event.tool}
    assert [call.tool and call.tool.arguments for call in calls.values()] == [
        {"command": "ls"},
        {"file_path": "pear.txt"},
    ]
    decided = [event for event in events if event.kind == "approval"]
    assert [event.parent for event in decided] == [call.key for call in calls.values()]
    assert [(event.data["decision"], event.data["by"]) for event in decided] == [
        ("approved", "user"),
        ("denied", "policy"),
    ]
    results = [event.tool for event in events if event.kind == "tool_result"]
    assert [(tool and tool.name, tool and tool.status) for tool in results] == [("Bash", "ok"), ("Write", "denied")]


def test_what_claude_code_does_not_send_is_unknown_and_not_zero():
    (asked,) = [event for event in read(claude(1, 0, "llm_request", {"gen_ai.request.model": "m"}))[1] if event.model]
    assert asked.usage is None
    odd = {"input_tokens": "many", "cache_read_tokens": [], "full_command": {"a": 1}, "decision": ["accept"]}
    for name in ("llm_request", "tool", "tool.blocked_on_user"):
        read(claude(1, 0, name, odd, events=[{"name": "tool.output", "attributes": {"output": 3}}]))


def test_openllmetry_before_it_had_the_names_of_the_conventions():
    session, events = read(span(1, 0, {
        "llm.request.type": "chat", "llm.vendor": "OpenAI", "llm.request.model": "gpt-4", "llm.response.model": "gpt-4",
        "llm.prompts.0.role": "user", "llm.prompts.0.content": "Which pear first?",
        "llm.completions.0.role": "assistant", "llm.completions.0.content": "Tree 3.",
        "llm.usage.prompt_tokens": 40, "llm.usage.completion_tokens": 7, "llm.usage.total_tokens": 47,
    }))  # fmt: skip
    assert said(events) == [("user_message", "Which pear first?"), ("agent_message", "Tree 3.")]
    assert (events[-1].usage, events[-1].model) == (Usage(40, None, None, 7, None), "gpt-4")
    assert "Tree 3." not in json.dumps(events[-1].data)


def test_blocks_of_an_assistant_that_were_written_as_a_text_are_its_calls():
    blocks = [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]
    _, events = read(span(1, 0, {
        "llm.request.type": "completion", "gen_ai.system": "Anthropic",
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Which pear first?",
        "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.content": json.dumps(blocks),
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": json.dumps([{"type": "tool_result", "tool_use_id": "c1", "content": "ripe"}]),
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Tree 3.",
    }))  # fmt: skip
    assert said(events) == [
        ("user_message", "Which pear first?"), ("agent_message", "Let me see."), ("tool_call", "look"),
        ("tool_result", "ripe"), ("agent_message", "Tree 3."),
    ]  # fmt: skip


def test_what_a_person_pastes_stays_as_it_was_pasted():
    pasted = json.dumps([{"type": "tool_use", "id": "c1", "name": "look", "input": {}}])
    _, events = read(span(1, 0, {
        "llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": pasted,
    }))  # fmt: skip
    assert said(events)[0] == ("user_message", pasted)


def chat(id: int, took: int, name: str | None = None) -> dict[str, Any]:
    named = {"gen_ai.response.id": name} if name else {}
    made = span(id, 1, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", **TOKENS, **named})
    return made | {"endTimeUnixNano": made["startTimeUnixNano"] + took}


@pytest.mark.parametrize(
    ("outer", "inner", "counted"),
    [
        ("", "", 1),
        ("", "r1", 1),
        ("r1", "", 1),
        ("r1", "r2", 2),
    ],
)
def test_spans_of_two_instrumentations_beside_each_other_are_one_request_unless_they_name_two(outer, inner, counted):
    _, events = read(span(1, 0, {}), vendor=[chat(3, 2_000, inner)], framework=[chat(2, 9_000, outer)])
    assert len([event for event in events if event.usage]) == counted


def test_requests_at_the_same_time_are_each_counted():
    _, beside = read(span(1, 0, {}), framework=[chat(2, 9_000), chat(3, 2_000)])
    _, one_after_the_other = read(span(1, 0, {}), vendor=[chat(20, 2_000)], framework=[chat(2, 9_000)])
    assert [len([event for event in told if event.usage]) for told in (beside, one_after_the_other)] == [2, 2]


ASKED = [("user_message", "Which pear first?"), ("agent_message", "Tree 3.")]


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        ({"gen_ai.operation.name": "chat"}, [
            {"name": "gen_ai.user.message", "attributes": {"gen_ai.event.content": json.dumps(PROMPT[0])}},
            {"name": "gen_ai.choice", "attributes": {"gen_ai.event.content": json.dumps({"message": FIRST})}},
        ]),
        ({"gen_ai.operation.name": "chat", "events": json.dumps([
            {"event.name": "gen_ai.user.message", **PROMPT[0]}, {"event.name": "gen_ai.choice", "message": FIRST},
        ])}, []),
        ({
            "gcp.vertex.agent.llm_request": json.dumps({"contents": [
                {"role": "user", "parts": [{"text": "Which pear first?"}]}]}),
            "gcp.vertex.agent.llm_response": json.dumps({"content": {"role": "model", "parts": [{"text": "Tree 3."}]}}),
        }, []),
    ],
    ids=["azure", "pydantic-ai", "adk"],
)  # fmt: skip
def test_messages_are_found_where_others_pack_them(attributes: dict[str, Any], events: list[Any]) -> None:
    about = {"gen_ai.system": "orchard", "gen_ai.request.model": "m-1", **TOKENS}
    found = read(span(1, 0, about | attributes, events=events))[1]
    assert said(found) == ASKED
    assert [event.usage for event in found if event.usage] == [Usage(100, None, None, 7)]


def mlflow(id: int, parent: int, kind: str, given: Any, brought: Any, **more: Any) -> dict[str, Any]:
    kept = {"spanType": kind, "spanInputs": given, "spanOutputs": brought, **more}
    return span(id, parent, {f"mlflow.{name}": json.dumps(value) for name, value in kept.items()})


TRACE = {
    "info": {"trace_id": "tr-1", "state": "OK"},
    "data": {"spans": [
        mlflow(1, 0, "AGENT", {"q": "Which pear first?"}, "Tree 3."),
        mlflow(2, 1, "CHAT_MODEL", {"model": "m-1", "messages": PROMPT}, {"choices": [{"message": FIRST}]}, **{
            "chat.tokenUsage": {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}}),
        mlflow(3, 1, "TOOL", {"tree": 3}, "ripe"),
    ]},
}  # fmt: skip


@pytest.mark.parametrize("layout", ["object", "indented", "list", "lines"])
def test_a_trace_of_mlflow_is_read_as_it_writes_one(layout: str) -> None:
    other = json.loads(json.dumps(TRACE).replace("a1" * 16, "b2" * 16))
    data = {
        "object": json.dumps(TRACE), "indented": json.dumps(TRACE, indent=2), "list": json.dumps([TRACE, other]),
        "lines": f"{json.dumps(TRACE)}\n{json.dumps(other)}\n",
    }[layout].encode()  # fmt: skip
    assert registry.detect(io.BytesIO(data))[0] == "otel-genai"
    drafts = list(registry.reader("otel-genai").read(io.BytesIO(data)))
    sessions = {draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}
    events = [draft for draft in drafts if isinstance(draft, EventDraft)]
    first = events[: len(events) // len(sessions)]
    assert len(sessions) == (1 if layout in ("object", "indented") else 2)
    assert said(first) == [*ASKED, ("tool_call", "step"), ("tool_result", "ripe")]
    assert [event.usage for event in first if event.usage] == [Usage(100, None, None, 7)]
    assert [event.model for event in first if event.usage] == ["m-1"]
    assert [event.tool.arguments for event in first if event.kind == "tool_call" and event.tool] == [{"tree": 3}]
