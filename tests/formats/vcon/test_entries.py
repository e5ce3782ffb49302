"""What one trace entry becomes: kinds, texts, outcomes, nesting, tokens."""

from decimal import Decimal

import pytest

from vcon_app.drafts import Usage

from ..vcon_tools import drafts, events, findings

PARTIES = [
    {"name": "Ida", "type": "person"},
    {"name": "Main", "type": "bot", "role": "agent", "meta": {"agent_session": {"model_id": "m", "provider": "p"}}},
]


def read(*entries, provider="anthropic", **session):
    """The drafts of a vCon that holds just these entries."""
    meta = {"model-id": "m-1", "model-provider": provider}
    body = {
        "version": "1",
        "id": "r",
        "session": {"session-id": "s", "agent-meta": meta, **session, "entries": entries},
    }
    item = {"type": "agent_trace", "dialog": [], "vendor": provider, "encoding": "json", "body": body}
    return drafts({"uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "created_at": "2026-01-01T00:00:00Z",
                   "parties": PARTIES, "analysis": [item]})  # fmt: skip


def one(entry, **session):
    return events(read(entry, **session))[0]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "image"}, "bare"], "bare"),
        ({"text": "in an object"}, "in an object"),
        (None, ""),
        (7, ""),
        ([{"type": ["text"], "text": "of a type not met yet"}], "of a type not met yet"),
    ],
)
def test_the_text_of_a_message_is_its_text_blocks(content, text):
    assert one({"type": "assistant", "content": content}).text == text


@pytest.mark.parametrize(
    "text",
    [
        "<permissions instructions>x",
        "# AGENTS.md instructions for /x",
        "<environment_context>",
        "<user_instructions>",
        " <system-reminder>",
        "<command-name>",
        "<local-command-stdout>",
        "Caveat: The messages below were",
    ],
)
def test_injected_context_is_not_a_turn(text):
    assert one({"type": "user", "content": text}).kind == "injected_context"


def test_a_prompt_may_begin_like_markup():
    assert one({"type": "user", "content": "<context>fix it"}).kind == "user_message"


@pytest.mark.parametrize(
    ("mark", "kind"), [({"isMeta": True}, "injected_context"), ({"isCompactSummary": True}, "compaction")]
)
def test_what_a_program_put_in_is_marked_by_the_recorder(mark, kind):
    assert one({"type": "user", "content": "x", **mark}).kind == kind


def test_a_user_entry_with_only_an_image_is_a_turn():
    assert one({"type": "user", "content": [{"type": "image", "source": {}}]}).kind == "user_message"


def test_a_prompt_logged_twice_is_one_turn_but_the_same_words_later_are_another():
    found = events(read(
        {"type": "user", "content": [{"type": "input_text", "text": "go on"}], "timestamp": "2026-01-01T00:00:00.780Z"},
        {"type": "user", "content": "go on", "timestamp": "2026-01-01T00:00:00.781Z"},
        {"type": "assistant", "content": "done"},
        {"type": "user", "content": "go on", "timestamp": "2026-01-01T00:00:30Z"},
    ))  # fmt: skip

    assert [event.kind for event in found] == ["user_message", "injected_context", "agent_message", "user_message"]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"is-error": True}, "error"),
        ({"status": "failed"}, "error"),
        ({"status": "success", "is-error": True}, "error"),
        ({"status": "Completed"}, "ok"),
        ({"status": "ok"}, "ok"),
        ({"status": "canceled"}, "cancelled"),
        ({"status": "timeout"}, "cancelled"),
        ({"status": "rejected"}, "denied"),
        ({"status": "green"}, None),
        ({"is-error": False}, None),
        ({}, None),
    ],
)
def test_an_outcome_is_what_is_stated_and_nothing_is_not_success(given, status):
    assert one({"type": "tool-result", "output": "x", **given}).tool.status == status


def test_native_blocks_are_events_when_no_child_repeats_them():
    found = events(read({
        "type": "assistant", "id": "a",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
            {"type": "tool_use", "id": "t2", "name": "cat", "input": {}},
        ],
        "children": [{"type": "tool-call", "call-id": "t1", "name": "ls", "input": {}}],
    }, {"type": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t2", "content": "meow", "is_error": True}]}))  # fmt: skip

    assert [event.kind for event in found] == ["agent_message", "reasoning", "tool_call", "tool_call", "tool_result"]
    assert [event.tool.call_id for event in found if event.tool] == ["t2", "t1", "t2"]
    assert (found[-1].parent, found[-1].tool.status) == (found[2].key, "error")
    assert found[1].pointer == "/analysis/0/body/session/entries/0/content/0"


def test_calls_and_results_pair_by_id_then_by_parent_then_in_order():
    found = events(read(
        {"type": "tool-call", "id": "a", "call-id": "1", "name": "x", "input": {}},
        {"type": "tool-call", "id": "b", "name": "y", "input": {}},
        {"type": "tool-call", "id": "c", "name": "z", "input": {}},
        {"type": "tool-result", "output": "to c", "parent-id": "c"},
        {"type": "tool-result", "output": "to b"},
        {"type": "tool-result", "output": "to a", "call-id": "1"},
    ))  # fmt: skip

    calls = {event.key: event.tool.name for event in found[:3]}
    assert [calls[event.parent] for event in found[3:]] == ["z", "y", "x"]
    assert [event.tool.name for event in found[3:]] == ["z", "y", "x"]


def test_sub_agents_are_deeper_and_their_user_is_the_agent_that_called_them():
    found = events(read({
        "type": "tool-call", "call-id": "t", "name": "Task", "input": {}, "timestamp": "2026-01-01T00:00:00Z",
        "children": [
            {"type": "user", "content": "check"},
            {"type": "tool-call", "call-id": "u", "name": "Task", "input": {}, "children": [
                {"type": "assistant", "content": "deep"}, {"type": "tool-result", "call-id": "u", "output": "r"}]},
        ],
    }, {"type": "tool-result", "call-id": "t", "output": "R"},
       {"type": "assistant", "content": "s", "isSidechain": True}))  # fmt: skip

    assert [(event.kind, event.depth) for event in found] == [
        ("tool_call", 0), ("user_message", 1), ("tool_call", 1), ("agent_message", 2), ("tool_result", 1),
        ("tool_result", 0), ("agent_message", 1),
    ]  # fmt: skip
    assert (found[1].actor_kind, found[1].actor_name) == ("agent", "Main")
    assert (found[3].actor_kind, found[3].actor_name) == ("subagent", "")
    assert found[3].data["time_inherited"] and found[3].at == found[0].at


def test_codex_arguments_in_a_string_are_parsed_and_the_string_is_kept():
    event = one({"type": "tool-call", "name": "x", "input": '{"cmd":"ls"}'})

    assert event.tool.arguments == {"cmd": "ls"}
    assert event.data["vcon"]["input"] == '{"cmd":"ls"}'


def test_encrypted_reasoning_is_present_and_says_so():
    event = one({"type": "reasoning", "content": "", "encrypted": "gAAA"})

    assert (event.kind, event.text, event.data["encrypted"]) == ("reasoning", "", True)


def test_the_output_of_gemini_is_told_as_text():
    response = [{"functionResponse": {"id": "x", "name": "ls", "response": {"output": "a.txt"}}}]
    event = one({"type": "tool-result", "output": response})

    assert (event.text, event.tool.result) == ("a.txt", response)


USAGES = [
    ("anthropic", {"input": 812, "output": 64, "cached": 15360, "reasoning": 120, "total": 16356},
     (812, 15360, None, 184, 120)),
    ("anthropic", {"input": 3, "output": 2, "cached": 900, "cache_creation_input_tokens": 50}, (3, 900, 50, 2, None)),
    ("anthropic", {"input": 3, "output": 20, "reasoning": 8}, (3, None, None, 20, 8)),
    ("openai", {"input": 500, "output": 50, "cached": 400, "reasoning": 20, "total": 550}, (100, 400, None, 50, 20)),
    ("openai", {"input": 500, "output": 50, "cached": 400}, (100, 400, None, 50, None)),
    ("openai", {"input": 50, "output": 5, "cached": 400}, (50, 400, None, 5, None)),
    ("google", {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 0, "total": 115},
     (40, 60, None, 15, 5)),
    ("nobody", {"input": 100, "output": 10, "cached": 60, "total": 170}, (100, 60, None, 10, None)),
    ("nobody", {"input_tokens": 7}, (7, None, None, None, None)),
    ("nobody", {"input": True, "output": -1, "total": "many"}, None),
    ("nobody", {"input": 5.0, "output": 0}, (5, None, None, 0, None)),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "given", "counts"), USAGES)
def test_tokens_never_overlap_however_the_recorder_counts(provider, given, counts):
    usage = one({"type": "assistant", "content": "x", "token-usage": given}, provider=provider).usage

    assert usage == (None if counts is None else Usage(*counts))


def test_a_total_that_fits_no_reading_is_reported():
    found = read({"type": "assistant", "content": "x", "token-usage": {"input": 10, "output": 5, "total": 99}})

    assert [finding.severity for finding in findings(found, "R76")] == ["info"]


def test_entries_of_one_response_share_its_request():
    usage = {"input": 3, "output": 40}
    entry = {"type": "assistant", "content": "x", "requestId": "req_1", "token-usage": usage}
    found = events(read(entry, entry, entry))

    assert {event.request for event in found} == {"req_1"}


def test_only_the_last_running_total_counts():
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
    first = dict(zip(names, (100, 60, 10, 4, 110), strict=True))
    second = dict(zip(names, (300, 200, 30, 9, 330), strict=True))

    def count(total):
        usage = {"total_token_usage": total, "last_token_usage": first}
        return {"type": "system-event", "event-type": "token-count", "token-usage": usage}

    found = events(read(count(first), count(second), count(second), provider="openai"))

    assert [event.usage for event in found] == [None, None, Usage(100, 200, None, 30, 9, quality="aggregate")]


def test_counts_far_too_low_for_the_text_are_placeholders():
    entry = {"type": "assistant", "content": "x" * 400, "requestId": "r", "token-usage": {"input": 3, "output": 2}}
    found = read(entry)

    assert events(found)[0].usage.quality == "placeholder"
    assert findings(found, "R76")


@pytest.mark.parametrize(
    ("cost", "amount"), [(0.0312, Decimal("0.0312")), (0, Decimal(0)), (-1, None), ("free", None), (True, None)]
)
def test_a_cost_is_dollars_as_stated(cost, amount):
    assert one({"type": "assistant", "content": "x", "token-usage": {"cost": cost}}).cost == amount


def test_an_unknown_model_is_none_and_a_missing_one_is_that_of_the_session():
    usage = {"input": 1, "output": 1}
    found = events(read(
        {"type": "assistant", "content": "a", "model-id": "unknown"},
        {"type": "assistant", "content": "b", "token-usage": usage},
        {"type": "assistant", "content": "c"},
    ))  # fmt: skip

    assert [event.model for event in found] == [None, "m-1", None]


def test_a_result_whose_id_no_call_has_answers_the_call_it_names_as_its_parent():
    """A recorder that gives its calls no ids, but their results."""
    call, result = events(read(
        {"type": "tool-call", "id": "c", "name": "Bash", "input": {}},
        {"type": "tool-result", "call-id": "t1", "parent-id": "c", "output": "done"},
    ))  # fmt: skip
    assert (result.parent, result.tool.name, result.tool.call_id) == (call.key, "Bash", "t1")
    one, other, orphan = events(read(
        {"type": "tool-call", "id": "c", "name": "Bash", "input": {}, "call-id": "t0"},
        {"type": "tool-call", "id": "d", "name": "Bash", "input": {}, "call-id": "t2"},
        {"type": "tool-result", "call-id": "t1", "parent-id": "c", "output": "done"},
    ))  # fmt: skip
    assert orphan.data["orphan"] is True and orphan.tool.name is None
