"""The way out as llmfeed, and back in: the same session under the same keys."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import llmfeed
from vcon_app.formats.common.head import Head

from ..golden import check
from .test_read import NAMES, events, sample, session

START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
OPTIONS = {"origin": "https://desk.example/sessions/1", "generated_at": START}
SESSION = SessionDraft(
    "run-1",
    title="Mend the fence",
    agent_name="carpenter",
    started_at=START,
    ended_at=START + timedelta(minutes=9),
    phase="completed",
    model="claude-opus-4-7",
    user_id="mira",
    summary="The fence stands.",
    tags=("garden", "wood"),
    parent_external_id="run-0",
    metadata={"cwd": "/srv/garden", "imports": ["https://desk.example/a.json"], "title": "clashes with a field"},
)


class Log:
    """Events that may be walked again, as the desk hands them to a writer; counts the walks."""

    def __init__(self, events: list[EventDraft]) -> None:
        self._events, self.walks = events, 0

    def __iter__(self) -> Iterator[EventDraft]:
        self.walks += 1
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)


def everything() -> list[EventDraft]:
    """One event for each field that an entry must carry."""
    usage = Usage(12, 3_000, 40, 50, 10, 4, "placeholder")
    return [
        EventDraft("system", "a", START, "system", "", "Be careful."),
        EventDraft("user_message", "b", START + timedelta(microseconds=5), "trigger", "cron", "Mend the fence"),
        EventDraft("reasoning", "c", None, "agent", "", "Wood or wire?"),
        EventDraft(
            "note", "d", text="Wood", data={"decision": {"title": "Wood", "resolved": False, "extra": {"title": 1}}}
        ),
        EventDraft(
            "agent_message", "e", START, "agent", "carpenter", "Wood.", None, "m-1", usage, "r1", Decimal("0.0120")
        ),
        EventDraft("tool_call", "f", tool=ToolDraft("t1", "saw", "shed", {"length": 120, "deep": [{"x": None}]})),
        EventDraft(
            "tool_result",
            "g",
            START,
            "tool",
            "saw",
            "done",
            ToolDraft("t1", None, None, None, {"ok": 1}, "ok"),
            parent="f",
        ),
        EventDraft("user_message", "h", actor_kind="agent", text="Paint it", depth=1, parent="f"),
        EventDraft("agent_message", "i", actor_kind="subagent", actor_name="painter", text="Painted", depth=1),
        EventDraft("artifact", "j", START, text="# Bill", data={"mediatype": "text/markdown", "name": "bill.md"}),
        EventDraft("artifact", "k", data={"body": {"planks": 7}, "mediatype": "application/json"}),
        EventDraft("artifact", "l", text="same", data={"body": "same"}),
        EventDraft("artifact", "m", text="caption", data={"body": "the body"}),
        EventDraft("model_request", "n", model="m-2", usage=Usage(output_tokens=0), cost=Decimal("1.5"), request="r2"),
        EventDraft(
            "handoff", "o", text="over to you", data={"to": "painter", "data": {"data": 1}, "attachments": ["x"]}
        ),
        EventDraft("unknown", "p", data={"raw": [1, None, "x"], "role": "user", "key": "not a key"}),
        EventDraft("agent_message", "q", START, "agent", "", "All done"),
    ]


def written(session: SessionDraft, log: list[EventDraft], losses: Losses | None = None, **options: Any) -> bytes:
    return b"".join(llmfeed.write(session, Log(log), losses or Losses(), options={**OPTIONS, **options}))


def again(data: bytes) -> list[Any]:
    return list(llmfeed.read(io.BytesIO(data)))


def without_place(log: list[EventDraft]) -> list[EventDraft]:
    """Where an event stood in its file is all that an export changes."""
    return [replace(event, pointer="", offset=None, length=None) for event in log]


def test_every_field_of_every_event_survives() -> None:
    losses = Losses()
    back = again(written(SESSION, everything(), losses))
    assert without_place(events(back)) == everything()
    assert losses.rows() == []


def test_the_session_survives() -> None:
    back = session(again(written(SESSION, everything())))
    assert replace(back, metadata={}, record={}) == replace(SESSION, metadata={})
    assert {name: back.metadata[name] for name in SESSION.metadata} == SESSION.metadata


def test_the_file_is_recognised_and_follows_the_schema() -> None:
    data = written(SESSION, everything())
    assert llmfeed.detect(Head(data))
    assert not [draft for draft in again(data) if getattr(draft, "rule", "") == "L4"]


def test_the_file_is_as_expected() -> None:
    check(SAMPLES / "llmfeed" / "written.session.llmfeed.expected", written(SESSION, everything()).decode())


def test_the_blocks_of_the_specification_are_there_for_other_readers() -> None:
    feed = json.loads(written(SESSION, everything()))
    assert feed["feed_type"] == "session"
    assert feed["metadata"]["origin"] == OPTIONS["origin"]
    assert feed["context"] == {"user_input": "Mend the fence", "agent_profile": "carpenter"}
    assert feed["imports"] == ["https://desk.example/a.json"]
    assert feed["decisions"][0]["intent"] == "Wood"
    assert feed["outputs"][0]["value"] == "# Bill"
    assert feed["outputs"][-1]["value"] == "All done"
    assert feed["session_summary"] == {"topic": "Mend the fence", "summary": "The fence stands."}


@pytest.mark.parametrize("name", NAMES)
def test_an_imported_feed_comes_back_the_same(name: str) -> None:
    before = sample(name)
    after = again(written(session(before), events(before)))
    assert without_place(events(after)) == without_place(events(before))
    assert session(after).metadata.get("imports") == session(before).metadata.get("imports")
    assert (session(after).summary, session(after).tags) == (session(before).summary, session(before).tags)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "signed.json"])
def test_foreign_blocks_come_back_to_the_letter_and_in_order(name: str) -> None:
    before = session(sample(name))
    after = session(again(written(before, events(sample(name)))))
    kept = [block for block in after.record["llmfeed"]["blocks"] if block in before.record["llmfeed"]["blocks"]]
    assert kept == before.record["llmfeed"]["blocks"]


def test_an_event_that_came_later_is_written_beside_the_blocks_it_did_not_come_from() -> None:
    before = sample("s10-replay.json")
    later = EventDraft("user_message", "live-1", START, "person", "", "And now?")
    after = events(again(written(session(before), [*events(before), later])))
    assert [event.key for event in after].count("live-1") == 1
    assert len(after) == len(events(before)) + 1


def test_an_edited_summary_replaces_the_block_and_keeps_what_it_told() -> None:
    before = sample("s02-summary.json")
    back = session(again(written(replace(session(before), summary="Rewritten."), events(before))))
    assert back.summary == "Rewritten."


def test_a_signature_does_not_travel_to_other_bytes_and_that_is_said() -> None:
    before = sample("signed.json")
    losses = Losses()
    feed = json.loads(written(session(before), events(before), losses))
    assert not {"signature", "certification", "_meta"} & feed.keys()
    assert feed["trust"] == {"signed_blocks": [], "x-found-signed_blocks": None, "scope": "partial"}
    assert {"the block signature of the imported file", "what trust says of the signature"} <= {
        row["what"] for row in losses.rows()
    }


def test_no_number_is_written_with_a_fraction_and_all_come_back_as_they_were() -> None:
    losses = Losses()
    arguments = {"t": 0.7, "n": 2.0, "list": [1, [1e-07]], "a/b~c": {"0": -0.5}, "text": "0.7"}
    log = [
        EventDraft("tool_call", "a", tool=ToolDraft(arguments=arguments)),
        EventDraft("note", "b", text="x", data={"decision": {"title": "x", "weight": 0.25}, "score": 1.5}),
        EventDraft("artifact", "c", data={"body": [0.125]}),
    ]
    data = written(replace(SESSION, metadata={"minutes": 4.5}), log, losses)
    assert not _floats(json.loads(data))
    assert events(again(data)) == [
        replace(event, pointer=back.pointer) for event, back in zip(log, events(again(data)), strict=True)
    ]
    assert session(again(data)).metadata["minutes"] == 4.5
    assert losses.rows() == []


@pytest.mark.parametrize(
    "pointers", [7, [7, None], ["", "/", "/x", "/content/1", "/tool/arguments/99999999999", "/content"]]
)
def test_a_foreign_list_of_numbers_does_no_harm(pointers: Any) -> None:
    entry = {"role": "user", "content": "nan", "tool": {"arguments": ["1"]}, "_floats": pointers}
    (event,) = events(again(json.dumps({"feed_type": "session", "conversation_trace": [entry]}).encode()))
    assert event.text == "nan"


def _floats(value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return any(map(_floats, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


def test_secrets_are_masked_unless_asked_otherwise() -> None:
    secret = "sk-" + "a1B2" * 8
    log = [EventDraft("agent_message", "a", text=f"key {secret}", data={"api_key": "hunter2"})]
    losses = Losses()
    masked = written(SESSION, log, losses)
    assert secret.encode() not in masked
    assert b"hunter2" not in masked
    assert losses.rows()[0]["count"] >= 2
    assert secret.encode() in written(SESSION, log, mask_secrets=False)


def test_record_of_another_format_is_a_loss() -> None:
    losses = Losses()
    written(replace(SESSION, record={"vcon": {"parties": []}}), everything(), losses)
    assert [row["what"] for row in losses.rows()] == ["parts of the vcon file around its events"]


def test_the_same_session_gives_the_same_bytes() -> None:
    assert written(SESSION, everything()) == written(SESSION, everything())


def test_a_session_without_events_is_a_feed() -> None:
    feed = json.loads(written(SessionDraft("x"), []))
    assert feed["metadata"]["title"] == "Session x"
    assert feed["conversation_trace"] == []


def test_hostile_text_goes_out_as_valid_json_and_comes_back() -> None:
    text = 'a\0b\u202e</script>"\\\u2028 \x1b[31m'
    (event,) = events(again(written(SESSION, [EventDraft("user_message", "a", text=text, data={text: [text]})])))
    assert (event.text, event.data) == (text, {text: [text]})


def test_lone_surrogates_are_replaced_rather_than_fatal() -> None:
    (event,) = events(again(written(SESSION, [EventDraft("user_message", "a", text="a\ud800b")])))
    assert event.text == "a\ufffdb"


def test_the_writer_holds_no_log_in_memory() -> None:
    many = Log([EventDraft("agent_message", str(n), text="x" * 100) for n in range(2_000)])
    pieces = list(llmfeed.write(SESSION, many, Losses(), options=OPTIONS))
    assert many.walks <= 4
    assert max(map(len, pieces)) < 2_000
