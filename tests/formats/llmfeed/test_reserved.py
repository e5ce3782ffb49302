"""The blocks that the specification reserves, both ways; and what is signed, checked by two languages."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vcon_app.drafts import EventDraft, Finding, FormatError, Losses, SessionDraft
from vcon_app.formats import llmfeed
from vcon_app.signing.keys import anchor_of
from vcon_app.signing.signers import Signer

from ...signing.make import AT, ed_key, public_pem
from ..reads import CORPUS
from .test_read import events, read, session
from .test_write import SESSION, everything, written

HERE = "https://desk.example/api/v1/sessions/7/stream?after=0"
FEED = {
    "feed_type": "session",
    "metadata": {"title": "T", "origin": "https://other.example"},
    "context": {"user_input": "Hi"},
    "agent_state": {"memory": ["tea"]},
    "editable_blocks": ["outputs"],
    "replay_endpoint": "https://other.example/replay/1",
    "trust_scope": ["signed", "ephemeral"],
}


def made(feed: dict[str, Any], losses: Losses | None = None, **options: Any) -> dict[str, Any]:
    drafts = read(feed)
    return json.loads(written(session(drafts), events(drafts), losses, **options))


def test_a_session_names_where_it_is_replayed_what_can_be_retried_and_how_far_it_goes() -> None:
    feed = json.loads(written(replace(SESSION, phase="active"), everything(), replay_url=HERE, agent_state={"step": 3}))
    assert feed["replay_endpoint"] == HERE
    assert feed["editable_blocks"] == ["/context/user_input", "/conversation_trace/1"]
    assert feed["conversation_trace"][1]["content"] == feed["context"]["user_input"] == "Mend the fence"
    assert (feed["agent_state"], feed["trust_scope"]) == ({"step": 3}, ["replayable", "resumable"])


def test_unknown_values_of_reserved_blocks_are_not_written() -> None:
    feed = json.loads(written(SessionDraft("s"), []))
    assert not {"agent_state", "editable_blocks", "replay_endpoint", "trust_scope"} & feed.keys()


def test_blocks_of_an_imported_feed_are_shown_and_handed_on() -> None:
    shown = session(read(FEED)).metadata
    assert {name: shown[name] for name in FEED if name in shown} == {name: FEED[name] for name in list(FEED)[3:]}
    feed = made(FEED, replay_url=HERE)
    assert (feed["agent_state"], feed["editable_blocks"]) == (FEED["agent_state"], FEED["editable_blocks"])


def test_our_endpoint_takes_the_place_of_theirs_which_is_not_forgotten() -> None:
    feed = made(FEED, replay_url=HERE)
    assert feed["replay_endpoint"] == HERE
    assert session(read(feed)).metadata["replay_endpoint"] == FEED["replay_endpoint"]
    assert made(feed)["replay_endpoint"] == FEED["replay_endpoint"]


def test_a_feed_without_an_origin_does_not_get_ours_by_way_of_an_export() -> None:
    bare = {"feed_type": "session", "session_state": {"session_id": "s"}}
    before, after = session(read(bare)), session(read(made(bare, replay_url=HERE)))
    assert (after.title, after.metadata) == (before.title, before.metadata) == ("", {})


def test_signed_is_a_claim_until_it_is_checked_and_does_not_outlive_the_signature() -> None:
    claims = [draft for draft in read(FEED) if isinstance(draft, Finding) and draft.path == "/trust_scope"]
    assert [(claim.rule, claim.severity) for claim in claims] == [("L5", "warning")]
    losses = Losses()
    assert made(FEED, losses)["trust_scope"] == ["ephemeral"]
    assert any("trust_scope" in row["what"] for row in losses.rows())


def test_a_large_state_is_kept_and_not_shown() -> None:
    large = {**FEED, "agent_state": {"embedding": ["x" * 100] * 1000}}
    assert "agent_state" not in session(read(large)).metadata
    assert made(large)["agent_state"] == large["agent_state"]


@pytest.mark.parametrize("value", [7, "x", [], [None], {}, {"": []}, True])
def test_reserved_blocks_may_be_anything(value: Any) -> None:
    feed = {"feed_type": "session", **dict.fromkeys(("agent_state", "editable_blocks", "trust_scope"), value)}
    assert made({**feed, "replay_endpoint": value}, replay_url=HERE)["replay_endpoint"] == HERE
    assert made(feed).get("editable_blocks") == value


def test_another_kind_of_feed_is_read_when_somebody_asks_for_it() -> None:
    data = json.dumps({"feed_type": "mcp", "metadata": {"title": "Shop"}, "capabilities": [{"name": "buy"}]}).encode()
    with pytest.raises(FormatError, match='"mcp" is not a session'):
        list(llmfeed.read(io.BytesIO(data)))
    drafts = list(llmfeed.read_anyway(io.BytesIO(data)))
    assert session(drafts).title == "Shop"
    assert [event.text for event in events(drafts)] == ["**capabilities**\n\n- name: buy"]
    assert [draft.rule for draft in drafts if isinstance(draft, Finding) and draft.severity == "warning"] == ["L2"]


def signed() -> bytes:
    content = written(SESSION, everything(), replay_url=HERE)
    return llmfeed.sign(content, Signer(ed_key()), AT, {})


def test_an_export_says_signed_when_it_is_and_only_then() -> None:
    assert "signed" not in json.loads(written(SESSION, everything(), replay_url=HERE))["trust_scope"]
    assert json.loads(signed())["trust_scope"] == ["signed", "replayable"]
    found, _ = llmfeed.verify(io.BytesIO(signed()), [anchor_of(public_pem(ed_key()))], AT)
    assert (found.state, found.uncovered) == ("valid", ())


NODE = """
const feed = JSON.parse(require('fs').readFileSync(0, 'utf8')), crypto = require('crypto');
const payload = {};
for (const name of feed.trust.signed_blocks) payload[name] = feed[name];
const data = Buffer.from(JSON.stringify(payload), 'utf8');
process.stdout.write(String(crypto.verify(null, data, process.argv[1], Buffer.from(feed.signature.value, 'base64'))));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node, the other language that signatures are checked in")
def test_javascript_verifies_what_we_sign() -> None:
    run = subprocess.run(
        ["node", "-e", NODE, "--", public_pem(ed_key())], input=signed(), capture_output=True, check=True
    )
    assert run.stdout == b"true"


SCHEMAS = CORPUS / "llmfeed" / "schema"
SHAPES = {"object": dict, "array": list, "string": str, "boolean": bool}


@pytest.mark.skipif(not SCHEMAS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_written_feed_follows_the_published_schemas(path: Path) -> None:
    schema = json.loads(path.read_text())
    for data in (written(SESSION, everything(), replay_url=HERE), signed(), written(SessionDraft("s"), [EVENT])):
        assert list(faults(json.loads(data), schema, "")) == []
    assert list(faults({"feed_type": 7}, schema, "")) != []


EVENT = EventDraft("user_message", "k", text="Hi")


def faults(value: Any, schema: dict[str, Any], place: str) -> Any:
    """Types, required members and enumerations: what these schemas use."""
    shape = SHAPES.get(schema.get("type", ""))
    if shape and not isinstance(value, shape):
        yield f"{place} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{place} is none of {schema['enum']}"
    elif isinstance(value, dict):
        yield from (f"{place}/{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name in value.keys() & schema.get("properties", {}).keys():
            yield from faults(value[name], schema["properties"][name], f"{place}/{name}")
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from faults(item, schema["items"], f"{place}/{index}")


@pytest.mark.parametrize("block", ["trust", "trust_scope", "context", "session_summary", "odd"])
def test_a_number_that_no_double_holds_is_no_obstacle_on_the_way_out(block):
    feed = {"feed_type": "session", "metadata": {"title": "T"}, "signature": {"value": "x"}, block: {"n": "HUGE"}}
    data = json.dumps(feed).replace('"HUGE"', "9" * 400).encode()
    drafts = list(llmfeed.read(io.BytesIO(data)))
    told = next(draft for draft in drafts if isinstance(draft, SessionDraft))
    assert written(told, [draft for draft in drafts if isinstance(draft, EventDraft)])
