"""A vCon reads the same under the names of every version of core, whatever its version string says."""

import copy
import json

import pytest

from vcon_app.drafts import FormatError

from ..vcon_tools import SAMPLES, drafts, events, findings, model, sample, session, sessions, written
from .clean import CLEAN, ENTRIES, GONE, START, found_in, sha512, spoiled

PLACED = {"start": START, "party": 1, "dialog": 0, "mediatype": "text/plain", "encoding": "none", "body": "x"}
CALL = {"type": "text", "start": START, "parties": [0], "mediatype": "text/plain", "encoding": "none", "body": "x"}
MOVE = {"type": "transfer", "transferor": 0, "transferee": 1}
HASHED = {"url": "https://a.example/x", "alg": "SHA-512", "signature": sha512(b"x").removeprefix("sha512-")}
LINKED = {"url": "https://a.example/x", "content_hash": sha512(b"x")}
RENAMED = [
    ({"appended": {"uuid": "x"}}, {"amended": {"uuid": "x"}}),
    ({"amended_from": {"uuid": "x"}}, {"amended": {"uuid": "x"}}),
    ({"redacted_from": {"type": "pii"}}, {"redacted": {"type": "pii"}}),
    ({"appended": {"uuid": "x", **HASHED}}, {"amended": {"uuid": "x", **LINKED}}),
    ({"appended": {"uuid": "x"}, "amended": {}}, {"amended": {"uuid": "x"}}),
    ({"must_support": ["CC"]}, {"critical": ["CC"]}),
    ({"must_understand": ["CC"]}, {"critical": ["CC"]}),
    ({"dialog/0/mimetype": "text/plain", "dialog/0/mediatype": GONE}, {}),
    ({"dialog/0/mimetype": "text/plain", "dialog/0/mediatype": None}, {}),
    ({"attachments/0/mimetype": "text/plain", "attachments/0/mediatype": GONE}, {}),
    ({"analysis/0/mimetype": "application/json", "analysis/0/mediatype": GONE}, {}),
    ({"analysis/0/schema_version": "v1"}, {"analysis/0/schema": "v1"}),
    ({"attachments/0/type": "agent_artifact", "attachments/0/purpose": GONE}, {}),
    ({"attachments/-": {"start": START, "party": 1, "dialog": 0, "purpose": "a", **HASHED}},
     {"attachments/-": {"start": START, "party": 1, "dialog": 0, "purpose": "a", **LINKED}}),
    ({"dialog/-": {"type": "recording", **HASHED}}, {"dialog/-": {"type": "recording", **LINKED}}),
    ({"analysis/-": {"type": "note", "vendor": "v", **HASHED}},
     {"analysis/-": {"type": "note", "vendor": "v", **LINKED}}),
    ({"dialog/-": {**MOVE, "transfer-target": 1, "target-dialog": 0}},
     {"dialog/-": {**MOVE, "transfer_target": 1, "target_dialog": 0}}),
    ({"dialog/-": {**CALL, "session_id": "abc"}}, {"dialog/-": {**CALL, "session_id": {"local": "abc"}}}),
    ({"dialog/-": {**CALL, "party_history": [{"party": 0, "time": START, "event": "dtmfup", "dtmf": "5"}]}},
     {"dialog/-": {**CALL, "party_history": [{"party": 0, "time": START, "event": "keyup", "button": "5"}]}}),
]  # fmt: skip


def told(document):
    """All that is read, but for the findings about names and the names themselves."""
    found = drafts(document)
    draft = session(found)
    record = {key: value for key, value in draft.record["vcon"].items() if key != "renamed"}
    metadata = {key: value for key, value in draft.metadata.items() if key != "vcon"}
    return record, metadata, events(found)


@pytest.mark.parametrize(("older", "newer"), RENAMED)
def test_a_name_of_another_version_is_read_as_that_of_core_04_and_reported(older, newer):
    old, new = spoiled(older), spoiled(newer)

    assert told(old) == told(new)
    assert {one.rule for one in found_in(old)} - {one.rule for one in found_in(new)} <= {"R11", "R41"}
    assert findings(drafts(old), "R11") or findings(drafts(old), "R41")


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.vcon")), ids=lambda path: path.name)
@pytest.mark.parametrize("version", ["0.0.1", "0.3.0", "0.5.0", "9.9", "", None, 7, ["0.4.0"], GONE])
def test_the_version_string_changes_nothing(path, version):
    document, other = sample(path.name), sample(path.name)
    document.pop("vcon", None)
    if version is not GONE:
        other["vcon"] = version
    else:
        other.pop("vcon", None)

    assert events(drafts(document)) == events(drafts(other))
    assert findings(drafts(document)) == findings(drafts(other))


EMPTY = [None, [], {}]


@pytest.mark.parametrize("value", EMPTY, ids=repr)
@pytest.mark.parametrize(
    "member",
    [
        "subject", "updated_at", "redacted", "amended", "appended", "group", "critical", "must_support",
        "dialog/0/parties", "dialog/0/party_history", "dialog/0/session_id", "dialog/0/originator", "dialog/0/url",
        "dialog/0/content_hash", "dialog/0/disposition", "dialog/0/recordings", "dialog/0/duration",
        "analysis/0/dialog", "analysis/0/attachment", "analysis/0/schema", "attachments/0/filename", "parties/0/tel",
        "parties/0/civicaddress", "parties/0/meta",
    ],
)  # fmt: skip
def test_missing_null_and_empty_read_the_same(member, value):
    *places, last = member.split("/")
    without = copy.deepcopy(CLEAN)
    holder = without
    for place in places:
        holder = holder[int(place)] if place.isdecimal() else holder[place]
    holder.pop(last, None)

    assert found_in(spoiled({member: value})) == found_in(without)
    assert list(map(model, events(drafts(spoiled({member: value}))))) == list(map(model, events(drafts(without))))


@pytest.mark.parametrize("value", EMPTY, ids=repr)
@pytest.mark.parametrize("member", ["uuid", "created_at"])
def test_what_is_required_is_missing_when_it_is_empty(member, value):
    assert found_in(spoiled({member: value})) == found_in(spoiled({member: GONE}))


@pytest.mark.parametrize(
    "members",
    [
        {"critical": ["x_new"]},
        {"must_support": ["x_new"]},
        {"critical": [], "must_support": ["x_new"]},
        {"critical": ["CC"], "must_understand": ["x_new"]},
        {"critical": "x_new"},
        {"critical": ["cc"]},
    ],
    ids=str,
)
def test_no_spelling_lets_a_critical_extension_pass(members):
    with pytest.raises(FormatError, match="must not be processed without the extension '(x_new|cc)'"):
        drafts(spoiled(members))


def test_elements_keep_their_order_whatever_their_times_say():
    document = spoiled(
        {"dialog/0/start": "2026-04-02T00:00:00Z", "analysis": [], "attachments/-": {**PLACED, "start": ""}}
    )
    ((draft, held),) = sessions(drafts(document))

    assert [event.text for event in held if event.kind.endswith("message")] == ["Water the ferns.", "Done: two litres."]
    again = json.loads(written(draft, held))
    assert [item["body"] for item in again["dialog"]] == [item["body"] for item in document["dialog"]]


def test_an_empty_party_keeps_its_place_and_is_counted():
    document = spoiled({})
    document["parties"].insert(0, {})
    for item in document["dialog"]:
        item["parties"] = [index + 1 for index in item["parties"]]
    for item in document["attachments"]:
        item["party"] += 1
    found = drafts(document)

    assert [party.get("name") for party in session(found).metadata["parties"]] == [
        None, "Olu", "Gardener",
    ]  # fmt: skip
    assert [event.actor_name for event in events(found)] == [event.actor_name for event in events(drafts(CLEAN))]


@pytest.mark.parametrize("dialog", [0, [0], [0, 1], [], None, GONE])
def test_an_analysis_is_of_one_dialog_of_several_or_of_all(dialog):
    document = spoiled({"analysis/0/dialog": dialog})

    assert found_in(document) == []
    assert list(map(model, events(drafts(document)))) == list(map(model, events(drafts(CLEAN))))


@pytest.mark.parametrize("original", [0, [0], [0, 1]])
def test_a_transfer_may_refer_to_one_dialog_or_to_several(original):
    assert found_in(spoiled({"dialog/-": {**MOVE, "transfer_target": 0, "original": original}})) == []


@pytest.mark.parametrize("mediatype", ["TEXT/PLAIN", "text/plain; charset=UTF-8", "text/markdown"])
def test_a_media_type_may_have_parameters_and_any_case(mediatype):
    assert found_in(spoiled({"dialog/0/mediatype": mediatype})) == []


@pytest.mark.parametrize(
    ("label", "purpose", "told"), [("note", None, "note"), ("image/png", None, ""), ("note", "photo", "photo")]
)
def test_a_label_in_type_is_the_purpose_unless_there_is_one_or_it_is_a_media_type(label, purpose, told):
    item = {**PLACED, "type": label, **({"purpose": purpose} if purpose else {})}
    found = drafts(spoiled({"attachments/-": item}))

    assert [event.data.get("purpose", "") for event in events(found) if event.text == "x"] == [told]
    assert bool(findings(found, "R41")) == (told == "note")


@pytest.mark.parametrize("time", ["2026-04-01T08:00:07.000+00:00", "2026-04-01T10:00:07+02:00", 1775030407000])
def test_a_time_of_a_trace_may_be_text_with_any_zone_or_milliseconds(time):
    document = spoiled({f"{ENTRIES}/2/timestamp": time})

    assert found_in(document) == []
    assert [event.at for event in events(drafts(document))] == [event.at for event in events(drafts(CLEAN))]


def test_a_leap_second_is_a_time():
    assert found_in(spoiled({"updated_at": "2026-06-30T23:59:60Z"})) == []
