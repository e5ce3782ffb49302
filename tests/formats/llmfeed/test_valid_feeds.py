"""What leaves as a feed follows the published schema, and carries what people decided."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from vcon_app.drafts import Draft, EventDraft, Losses, SessionDraft, ToolDraft
from vcon_app.formats import llmfeed
from vcon_app.formats.llmfeed.schema import BLOCKS, METADATA, TRUST

from ..vcon_tools import Log

AT = datetime(2026, 5, 4, 8, tzinfo=UTC)
OPTIONS = {"generated_at": AT, "origin": "https://desk.example"}


def drafts(feed: dict[str, Any]) -> list[Draft]:
    return list(llmfeed.read(io.BytesIO(json.dumps(feed).encode())))


def out(found: list[Draft], losses: Losses | None = None) -> dict[str, Any]:
    session = next(one for one in found if isinstance(one, SessionDraft))
    held = [one for one in found if isinstance(one, EventDraft)]
    return json.loads(b"".join(llmfeed.write(session, Log(held), losses or Losses(), options=OPTIONS)))


def misfits(feed: dict[str, Any]) -> list[str]:
    wrong = [name for name, check in BLOCKS.items() if name in feed and not check(feed[name])]
    trust = feed.get("trust", {"signed_blocks": []})
    wrong += [name for name, check in TRUST.items() if name in trust and not check(trust[name])]
    wrong += [
        name for name, check in METADATA.items() if name in feed["metadata"] and not check(feed["metadata"][name])
    ]
    return wrong + ([] if "signed_blocks" in trust else ["signed_blocks"])


@pytest.mark.parametrize(
    "blocks",
    [
        {"trust": {"scope": "conversation_integrity"}},
        {"trust": {"scope": [None], "algorithm": "Ed25519", "signed_blocks": "all"}},
        {"trust": "me"},
        {"audience": "everyone", "data": 7, "summary": ["a"]},
        {"prompts": [{"content": 5}], "capabilities": [{"name": "x", "method": "LOOK"}]},
        {"agent_guidance": {"interaction_tone": "brisk"}, "attachments": ["a"]},
    ],
)
def test_a_block_that_the_schema_does_not_allow_leaves_under_another_name_and_comes_back(
    blocks: dict[str, Any],
) -> None:
    feed = {"feed_type": "session", "metadata": {"title": "T", "origin": "https://a.example", "lang": 3}, **blocks}
    losses = Losses()
    made = out(drafts(feed), losses)

    assert misfits(made) == [] and losses.total()
    again = out(drafts(made))
    assert {name: value for name, value in again.items() if name != "metadata"} == {
        name: value for name, value in made.items() if name != "metadata"
    }


def decided() -> list[Draft]:
    """A prompt, a call that a person refused, and a question that a person answered."""
    tool = ToolDraft("c1", "refund", None, {"amount": 12})
    denied = {"verdict": "deny", "by": "Ines", "by_kind": "member", "reason": "Too much."}
    told = [
        EventDraft("user_message", "u", AT, "person", "Ann", text="Refund it."),
        EventDraft("approval", "a", AT, "agent", "Bot", tool=tool, data={"status": "pending", "decision": None}),
        EventDraft("approval", "b", AT, "person", "Ines", tool=tool, data={"status": "denied", "decision": denied}),
        EventDraft("escalation", "c", AT, "person", "Ines", tool=ToolDraft("c2", "ask"),
                   data={"status": "answered", "decision": {"verdict": "answer", "answer": "Half.", "by": "Ines"}}),
        EventDraft("agent_message", "d", AT, "agent", "Bot", text="Half it is."),
    ]  # fmt: skip
    return [SessionDraft("s", title="Refund"), *told]


def test_decisions_of_people_stand_among_the_decisions() -> None:
    feed = out(decided())
    refused, answered = feed["decisions"]

    assert (refused["intent"], refused["resolved"], refused["decision"]) == ("refund", False, "denied")
    assert (refused["reason"], refused["by"], refused["used_prompt"]) == ("Too much.", "Ines", "Refund it.")
    assert (answered["resolved"], answered["answer"]) == (True, "Half.")


def test_read_again_they_are_there_once() -> None:
    held = [one for one in decided() if isinstance(one, EventDraft)]
    again = [one for one in drafts(out(decided())) if isinstance(one, EventDraft)]

    assert [(one.kind, one.text, one.data.get("status")) for one in again] == [
        (one.kind, one.text, one.data.get("status")) for one in held
    ]
