"""Our samples, one of each dialect, read and compared with what is stored beside them."""

import io
import json

import pytest

from vcon_app.formats import vcon

from ..vcon_tools import SAMPLES, drafts, events, sample, session, sessions

NAMES = sorted(path.name for path in SAMPLES.glob("*.vcon"))


@pytest.mark.parametrize("name", NAMES)
def test_keys_are_unique_and_parents_come_before_their_children(name):
    seen: set[str] = set()
    for event in events(drafts((SAMPLES / name).read_bytes())):
        assert event.key not in seen
        assert event.parent is None or event.parent in seen
        seen.add(event.key)


def test_reading_twice_gives_the_same_drafts():
    data = (SAMPLES / "night-rota.vcon").read_bytes()

    assert list(vcon.read(io.BytesIO(data))) == list(vcon.read(io.BytesIO(data)))


def test_a_changed_event_has_another_key_and_the_others_keep_theirs():
    document = sample("night-rota.vcon")
    before = [event.key for event in events(drafts(document))]
    document["analysis"][1]["body"]["session"]["entries"][12]["content"] = "Publish it tomorrow."
    after = [event.key for event in events(drafts(document))]

    assert [old for old, new in zip(before, after, strict=True) if old != new] == [before[19]]


def test_a_grown_vcon_keeps_the_keys_it_had():
    document = sample("go-on.by-order.vcon")
    before = [event.key for event in events(drafts(document))]
    document["analysis"][0]["body"]["session"]["entries"].append({"type": "user", "content": "thanks"})
    after = [event.key for event in events(drafts(document))]

    assert after[:-1] == before


def test_two_session_ids_in_one_vcon_are_two_sessions():
    document = sample("night-rota.vcon")
    other = {"type": "agent_trace", "dialog": [4], "vendor": "x", "encoding": "json"}
    entries = [{"type": "user", "id": "o1", "content": "Good. Publish it."}]
    meta = {"model-id": "m", "model-provider": "p"}
    other["body"] = {
        "version": "1",
        "id": "r",
        "session": {"session-id": "other", "agent-meta": meta, "entries": entries},
    }
    document["analysis"].append(other)
    document["analysis"][1]["dialog"] = [0, 1, 2, 3]
    found = sessions(drafts(document))

    assert [draft.external_id for draft, _ in found] == ["night-2026-03-02", "other"]
    assert [event.text for event in found[1][1]] == ["Good. Publish it.", ""]
    assert [event.kind for event in found[1][1]] == ["user_message", "artifact"]


def test_traces_for_single_calls_are_one_session_and_copies_of_entries_are_left_out():
    document = sample("go-on.by-order.vcon")
    first = document["analysis"][0]
    entries = first["body"]["session"]["entries"]
    for number, entry in enumerate(entries):
        entry["id"] = f"e{number}"
    second = {**first, "body": {**first["body"], "session": {**first["body"]["session"], "entries": entries[3:]}}}
    first["body"] = {**first["body"], "session": {**first["body"]["session"], "entries": entries[:4]}}
    document["analysis"].append(second)

    assert [event.key.split(":")[0] for event in events(drafts(document))] == [f"e{n}" for n in range(7)]


def test_without_a_session_id_the_uuid_names_the_session_and_without_a_uuid_its_content():
    document = sample("tide.core-only.vcon")
    assert session(drafts(document)).external_id == document["uuid"]

    del document["uuid"]
    made = session(drafts(document)).external_id
    assert made.startswith("sha256:")
    assert session(drafts({**document, "created_at": "2027-01-01T00:00:00Z"})).external_id == made
    document["dialog"][0]["body"] = "When is low water?"
    assert session(drafts(document)).external_id != made


def test_a_person_called_agent_is_not_taken_for_an_ai():
    found = drafts(sample("suitcase.call.vcon"))

    assert {party["kind"] for party in session(found).metadata["parties"]} == {"person"}
    assert session(found).agent_name == ""


def test_a_trace_without_an_ai_party_shows_one_that_is_marked():
    found = drafts(sample("basil.early.vcon"))

    made_up = session(found).metadata["parties"][-1]
    assert (made_up["name"], made_up["synthetic"]) == ("local-7b", True)


def test_the_same_trace_as_text_and_as_object_is_the_same_session():
    document = sample("night-rota.vcon")
    plain = events(drafts(document))
    item = document["analysis"][1]
    item["body"] = json.dumps(item["body"])

    assert [event.key for event in events(drafts(document))] == [event.key for event in plain]
