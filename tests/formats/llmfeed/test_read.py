"""What is made of llmfeed sessions: our samples of every layout, and values that are not what they should be."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, Finding, SessionDraft, Signature, Usage
from vcon_app.formats import llmfeed

OURS = SAMPLES / "llmfeed"
NAMES = sorted(path.name for path in OURS.glob("*.json"))


def read(feed: Any) -> list[Any]:
    return list(llmfeed.read(io.BytesIO(json.dumps(feed).encode())))


def events(drafts: list[Any]) -> list[EventDraft]:
    return [draft for draft in drafts if isinstance(draft, EventDraft)]


def session(drafts: list[Any]) -> SessionDraft:
    return next(draft for draft in drafts if isinstance(draft, SessionDraft))


def sample(name: str) -> list[Any]:
    with (OURS / name).open("rb") as source:
        return list(llmfeed.read(source))


@pytest.mark.parametrize("name", NAMES)
def test_every_event_has_a_key_of_its_own_that_stays_the_same(name: str) -> None:
    keys = [event.key for event in events(sample(name))]
    assert len(set(keys)) == len(keys)
    assert keys == [event.key for event in events(sample(name))]


def test_the_canonical_layout_becomes_message_decision_artifact_and_answer() -> None:
    drafts = sample("s01-canonical.json")
    told = [(event.kind, event.text) for event in events(drafts) if event.kind != "injected_context"]
    assert told == [
        ("user_message", "Rename the column `mail` to `email` without downtime."),
        ("note", "add_column_first"),
        ("note", "drop_old_column"),
        ("artifact", "1. Add `email`.\n2. Copy in batches.\n3. Switch reads."),
        ("agent_message", "1. Add `email`.\n2. Copy in batches.\n3. Switch reads."),
        ("artifact", ""),
        ("note", "**x house rules**\n\n- b: 1\n- a:\n  - 1.5\n  - 2"),
    ]
    assert session(drafts).agent_name == "schema-agent-3"
    assert session(drafts).metadata["imports"] == ["https://desk.example/.well-known/mcp.llmfeed.json"]


def test_a_decision_keeps_its_flag_and_its_prompt_and_decides_nothing() -> None:
    first = next(event for event in events(sample("s01-canonical.json")) if "decision" in event.data)
    assert first.data["decision"] == {
        "title": "add_column_first",
        "prompt": "Plan in expand and contract steps",
        "resolved": True,
    }
    assert first.kind == "note"


def test_api_execution_becomes_usage_and_cost_of_one_request() -> None:
    (request,) = (event for event in events(sample("s04-automation.json")) if event.kind == "model_request")
    assert request.usage == Usage(input_tokens=900, output_tokens=300, quality="aggregate")
    assert (request.cost, request.request, request.model) == (Decimal("0.0135"), "req-0042", "claude-sonnet-5")
    assert request.data == {"provider": "anthropic", "latency_ms": 5100}


def test_a_cost_in_another_currency_is_kept_and_not_counted() -> None:
    feed = {"feed_type": "session", "api_execution": {"cost": {"amount": 3, "currency": "EUR"}, "tokens": {"input": 1}}}
    (request,) = events(read(feed))
    assert request.cost is None
    assert request.data["cost"] == {"amount": 3, "currency": "EUR"}
    assert request.usage == Usage(input_tokens=1, quality="aggregate")


def test_values_that_the_file_does_not_state_are_none() -> None:
    draft = session(read({"feed_type": "session", "metadata": {"title": "x"}, "outputs": []}))
    assert (draft.started_at, draft.ended_at, draft.phase, draft.model) == (None, None, None, None)


def test_a_first_message_that_the_trace_repeats_is_one_message() -> None:
    feed = {
        "feed_type": "session",
        "context": {"user_input": "Hi"},
        "conversation_trace": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        "outputs": [{"type": "text/plain", "value": "Hello"}],
    }
    assert [event.kind for event in events(read(feed))] == ["user_message", "agent_message", "artifact"]


def test_blocks_that_no_layout_has_are_kept_in_order_to_the_letter() -> None:
    draft = session(sample("s01-canonical.json"))
    blocks = draft.record["llmfeed"]["blocks"]
    assert [name for name, _ in blocks] == [
        "context", "agent_state", "editable_blocks", "replay_endpoint", "trust_scope", "x_house_rules",
    ]  # fmt: skip
    assert dict(blocks)["x_house_rules"] == '{"b":1,"a":[1.5,2]}'


def test_a_transcript_in_one_string_is_split_at_its_speakers() -> None:
    told = [(event.kind, event.text) for event in events(sample("s09-transcript.json")) if "short" not in event.text]
    assert told[:4] == [
        ("note", "Saved by hand"),
        ("user_message", "Green or black?\nAnd why?"),
        ("agent_message", "Green.\n\n- it is spring"),
        ("user_message", "Fine."),
    ]


def test_a_signature_is_left_to_be_verified() -> None:
    (signature,) = (draft for draft in sample("signed.json") if isinstance(draft, Signature))
    assert (signature.state, signature.signer) == ("uncheckable", None)


def test_signed_blocks_without_a_signature_are_a_claim() -> None:
    drafts = sample("s08-timeline.json")
    assert [draft.state for draft in drafts if isinstance(draft, Signature)] == ["unsigned"]
    assert any(draft.rule == "L5" for draft in drafts if isinstance(draft, Finding))


def test_strange_entries_stay_as_unknown_events_with_a_finding() -> None:
    drafts = sample("s03-trace.json")
    strange = [event for event in events(drafts) if event.kind == "unknown"]
    assert [event.data["raw"] for event in strange] == [
        {"role": "narrator", "content": "They look at each other."},
        "a stray line",
    ]
    assert [draft.path for draft in drafts if isinstance(draft, Finding) and "role" in draft.message] == [
        "/conversation_trace/3",
        "/conversation_trace/4",
    ]


@pytest.mark.parametrize(
    "block", ["decisions", "outputs", "imports", "conversation_trace", "metadata", "api_execution"]
)
@pytest.mark.parametrize("value", [7, "text", True])
def test_a_block_of_the_wrong_shape_is_kept_raw(block: str, value: Any) -> None:
    drafts = read({"feed_type": "session", block: value})
    assert [event.data["raw"] for event in events(drafts) if event.kind == "unknown"] == [value]
    assert any(draft.path == f"/{block}" for draft in drafts if isinstance(draft, Finding))


HOSTILE = [None, True, 0, -1, 1e300, 2**70, "", "\0\u202e", [], [[]], {}, {"": None}, [1, "x", {"role": "user"}]]
BLOCKS = [
    "metadata",
    "context",
    "imports",
    "decisions",
    "outputs",
    "conversation_trace",
    "api_execution",
    "session_summary",
    "session_state",
    "session",
    "agent_collaboration",
    "blocks",
    "data",
    "trust",
    "signature",
    "certification",
    "results",
    "tags",
    "title",
    "origin",
    "created_at",
    "_meta",
    "x",
]


@pytest.mark.parametrize("block", BLOCKS)
def test_no_value_of_a_block_raises(block: str) -> None:
    for value in HOSTILE:
        for nested in (value, [value], {"title": value, "value": value, "role": value, "decisions_made": value}):
            assert session(read({"feed_type": "session", block: nested}))


@pytest.mark.parametrize(
    "key", ["role", "content", "timestamp", "tool", "usage", "cost", "data", "depth", "key", "actor"]
)
def test_no_value_in_a_trace_entry_raises_or_is_dropped(key: str) -> None:
    for value in HOSTILE:
        (event,) = events(read({"feed_type": "session", "conversation_trace": [{"role": "user", key: value}]}))
        assert event.pointer == "/conversation_trace/0"
        if value not in (None, "", 0, {}) and key in ("usage", "cost", "depth", "actor", "tool"):
            assert value in (event.data.get(key), event.depth)


def test_a_repeated_key_in_the_json_is_said() -> None:
    source = io.BytesIO(b'{"feed_type":"session","context":{"user_input":"a","user_input":"b"}}')
    drafts = list(llmfeed.read(source))
    assert [draft.message for draft in drafts if isinstance(draft, Finding) and "more than once" in draft.message]
    assert [event.text for event in events(drafts)] == ["b"]


def test_two_entries_that_claim_one_key_are_two_events() -> None:
    entry = {"role": "user", "content": "x", "key": "same"}
    drafts = read({"feed_type": "session", "conversation_trace": [entry, entry]})
    keys = [event.key for event in events(drafts)]
    assert keys[0] == "same"
    assert len(set(keys)) == 2


def test_the_same_feed_is_the_same_session_and_another_date_is_another() -> None:
    feed = {"feed_type": "session", "metadata": {"title": "t", "origin": "o:", "generated_at": "2026-01-01T00:00:00Z"}}
    later = {**feed, "metadata": {**feed["metadata"], "generated_at": "2026-01-02T00:00:00Z"}}
    grown = {**feed, "context": {"user_input": "more"}}
    assert session(read(feed)).external_id == session(read(grown)).external_id
    assert session(read(feed)).external_id != session(read(later)).external_id
    assert session(read({**feed, "session_state": {"session_id": "abc"}})).external_id == "abc"
