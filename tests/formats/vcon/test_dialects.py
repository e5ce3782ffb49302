"""Words, tokens and models of messages by any name; the party speaks where the trace is mute."""

import json

import pytest

from vcon_app.drafts import Usage

from ..vcon_tools import drafts, events, findings, sessions, written

AGENT = {"name": "Ada", "role": "agent", "meta": {"agent_session": {"model_id": "claude-opus-4-7",
         "provider": "anthropic", "recording_agent": "scribe/9.8", "environment": "production"}}}  # fmt: skip
PERSON = {"name": "Ida", "role": "customer"}


def vcon(body, **item):
    """A vCon around one trace, in the manner of the page of conserver.io."""
    trace = {"type": "agent_trace", "dialog": [], "vendor": "anthropic", "product": "claude-opus-4-7",
             "encoding": "json", "body": body} | item  # fmt: skip
    return {"vcon": "0.4.0", "uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "created_at": "2026-01-01T00:00:00Z",
            "parties": [PERSON, AGENT], "extensions": ["agent_session"], "analysis": [trace]}  # fmt: skip


FRAMES = {
    "D1": lambda entries: {"session": {"session-id": "s", "entries": entries}},
    "D2": lambda entries: {"session-trace": {"entries": entries}},
    "D3": lambda entries: {"verifiable-agent-record": {"session-trace": {"entries": entries}}},
    "D4": lambda entries: {"session_trace": {"messages": entries}},
    "D5": lambda entries: {"agent_convo_record": {"session_trace": {"entries": entries}}},
}
MESSAGES = [
    {"role": "user", "type": "user", "text": "Where is order 4711?"},
    {
        "role": "assistant", "type": "assistant", "text": "It is on its way.", "model_id": "claude-haiku-4-5",
        "token_usage": {"input_tokens": 1000, "output_tokens": 100},
    },
]  # fmt: skip


@pytest.mark.parametrize("dialect", FRAMES)
def test_words_tokens_and_model_of_a_message_are_read_in_every_dialect(dialect):
    ((draft, found),) = sessions(drafts(vcon(FRAMES[dialect](MESSAGES))))

    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Where is order 4711?"), ("agent_message", "It is on its way."),
    ]  # fmt: skip
    assert found[1].usage == Usage(1000, None, None, 100, None)
    assert found[1].model == "claude-haiku-4-5"
    assert draft.metadata["models"] == ["claude-haiku-4-5"]


@pytest.mark.parametrize("name", ["text", "message", "body", "prompt", "value", "outputText", "output-text"])
def test_words_under_another_name_are_those_of_the_message(name):
    found = events(drafts(vcon(FRAMES["D1"]([{"type": "assistant", name: "These are the words"}]))))
    assert found[0].text == "These are the words"


def test_a_member_of_the_same_name_beside_the_content_stays_what_it_is():
    entry = {"type": "assistant", "text": "a label", "content": "the words", "usage": "heavy", "model": {"a": 1}}
    event = events(drafts(vcon(FRAMES["D1"]([entry]))))[0]
    assert event.text == "the words"
    assert event.data["vcon"]["native"] == {"text": "a label", "usage": "heavy", "model": {"a": 1}}
    assert event.usage is None


def test_a_message_without_known_words_is_never_empty_without_a_finding():
    given = drafts(vcon(FRAMES["D1"]([{"type": "assistant", "stanza": [["These", "words"]]}])))
    assert events(given)[0].text == ""
    assert [found.path for found in findings(given, "R67")] == ["/analysis/0/body/session/entries/0"]
    assert "stanza" in findings(given, "R67")[0].message


def test_a_message_as_an_api_has_it_is_unwrapped():
    inner = {"role": "assistant", "model": "claude-haiku-4-5", "content": [{"type": "text", "text": "Inside"}],
             "usage": {"input_tokens": 3, "output_tokens": 4}}  # fmt: skip
    event = events(drafts(vcon(FRAMES["D1"]([{"type": "assistant", "message": inner}]))))[0]
    assert (event.text, event.model, event.usage.output_tokens) == ("Inside", "claude-haiku-4-5", 4)


def test_calls_in_a_message_and_a_result_in_a_call_are_events():
    calls = [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "4711"}'}}]
    found = events(drafts(vcon(FRAMES["D4"]([
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
    ]))))  # fmt: skip
    assert [event.kind for event in found] == ["agent_message", "tool_call", "tool_result"]
    assert (found[1].tool.name, found[1].tool.arguments, found[2].text) == ("find", {"q": "4711"}, "shipped")
    assert found[1].pointer.endswith("/messages/0/tool_calls/0")

    call = {"type": "tool-call", "name": "find", "input": {}, "call-id": "c2", "output": "lost", "is-error": True}
    found = events(drafts(vcon(FRAMES["D1"]([call]))))
    assert [(event.kind, event.text) for event in found] == [("tool_call", ""), ("tool_result", "lost")]
    assert found[1].tool.status == "error"


def test_a_prompt_of_the_system_is_one():
    event = events(drafts(vcon(FRAMES["D4"]([{"role": "system", "content": "Be kind."}]))))[0]
    assert (event.kind, event.text) == ("system", "Be kind.")


def test_the_party_speaks_where_the_trace_is_mute():
    usage = {"type": "assistant", "content": "x", "token-usage": {"input": 1000, "output": 100}}
    ((draft, (event,)),) = sessions(drafts(vcon(FRAMES["D1"]([usage]))))
    assert (draft.model, event.model, draft.metadata["provider"]) == ("claude-opus-4-7", "claude-opus-4-7", "anthropic")

    again = json.loads(written(draft, [event]))["analysis"][0]
    meta = again["body"]["session"]["agent-meta"]
    assert (meta["model-id"], meta["model-provider"]) == ("claude-opus-4-7", "anthropic")
    assert again["product"] == "claude-opus-4-7"


def test_without_an_agent_party_vendor_and_product_of_the_analysis_speak():
    mute = vcon(FRAMES["D4"](MESSAGES[:1])) | {"parties": [PERSON]}
    ((draft, _),) = sessions(drafts(mute))
    assert (draft.model, draft.metadata["provider"]) == ("claude-opus-4-7", "anthropic")
    mute["analysis"][0]["product"] = "claude-code 1.5"
    ((draft, _),) = sessions(drafts(mute))
    assert draft.model is None


def test_a_missed_call_beside_a_complete_trace_is_no_crash():
    entries = [{"type": "user", "content": "hi"}, {"type": "system-event", "event-type": "session-end"}]
    missed = {"type": "incomplete", "disposition": "no-answer", "start": "2026-01-01T00:00:00Z", "parties": [0]}
    ((draft, _),) = sessions(drafts(vcon(FRAMES["D1"](entries)) | {"dialog": [missed]}))
    assert draft.phase == "completed"
