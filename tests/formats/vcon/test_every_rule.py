"""For each rule of the reader one small document that breaks it and no other; and one that breaks none."""

import io
import json
import re
from pathlib import Path

import pytest

from vcon_app.formats import vac, vcon
from vcon_app.formats.common.head import Head

from ...signing.make import AT, recorder, signed
from ..vac.tools import cbor, record, sign1
from ..vac.tools import drafts as vac_drafts
from ..vcon_tools import drafts, events, findings, model, session, sessions, written
from .clean import CLEAN, ENTRIES, GONE, START, b64, found_in, jws, mcp, rules_of, sha512, spoiled

PLACED = {"purpose": "photo", "start": START, "party": 1, "dialog": 0}
LINK = {**PLACED, "url": "https://a.example/x", "content_hash": sha512(b"x")}
CALL = {"type": "tool-call", "id": "w5", "call-id": "c9", "name": "tap", "input": {}}
BASIS = "attachments/1/body"
RECORDING = {"type": "recording", "start": START, "parties": [0], "url": "https://a.example/x"}
BROKEN = {
    "unknown extension": ("R6", "info", "/extensions", {"extensions/-": "x_new"}),
    "unknown member": ("R6", "info", "/tags", {"tags": ["a"]}),
    "extension to come": ("R6", "warning", "/events", {"events": [{"id": 1}]}),
    "extensions no list": ("R6", "warning", "/extensions", {"extensions": {"a": 1}}),
    "critical no list": ("R4", "warning", "/critical", {"critical": {"a": 1}}),
    "critical no name": ("R4", "warning", "/critical", {"critical": [7]}),
    "uuid missing": ("R7", "error", "", {"uuid": GONE}),
    "uuid null": ("R7", "error", "", {"uuid": None}),
    "uuid no uuid": ("R7", "error", "/uuid", {"uuid": "{019d4800-3c00-8b1e-9f3c-5a1d0e7b2c33}"}),
    "uuid no text": ("R7", "error", "/uuid", {"uuid": 7}),
    "uuid of version 4": ("R7", "info", "/uuid", {"uuid": "0199d2aa-4c00-4b1e-9f3c-5a1d0e7b2c33"}),
    "uuid of no version": ("R7", "info", "/uuid", {"uuid": "0199d2aa-4c00-8b1e-0f3c-5a1d0e7b2c33"}),
    "created_at missing": ("R8", "warning", "", {"created_at": GONE}),
    "created_at a number": ("R8", "warning", "/created_at", {"created_at": 1775030700000}),
    "time without zone": ("R8", "warning", "/updated_at", {"updated_at": "2026-04-01T08:06:00"}),
    "time in another form": ("R8", "warning", "/updated_at", {"updated_at": "20260401T080600Z"}),
    "no time": ("R8", "warning", "/attachments/0/start", {"attachments/0/start": "noon"}),
    "session time": ("R8", "warning", "/analysis/0/body/session/session-end",
                     {"analysis/0/body/session/session-end": "late"}),
    "redacted and amended": ("R9", "error", "/redacted",
                             {"redacted": {"type": "pii", "uuid": "x"}, "amended": {"uuid": "x"}}),
    "redacted without type": ("R10", "warning", "/redacted", {"redacted": {"uuid": "x"}}),
    "redacted no object": ("R10", "warning", "/redacted", {"redacted": ["parties.0.tel"]}),
    "redacted hash in hex": ("R10", "warning", "/redacted/content_hash",
                             {"redacted": {"type": "pii", "url": "https://a.example/x",
                                           "content_hash": "sha512-" + "0f" * 64}}),
    "amended url without hash": ("R10", "error", "/amended/url", {"amended": {"url": "https://a.example/x"}}),
    "amended nothing": ("R10", "warning", "/amended", {"amended": {"type": "more"}}),
    "old name at the top": ("R11", "info", "", {"appended": {"uuid": "x"}}),
    "old name in a dialog": ("R11", "info", "", {"dialog/0/mediatype": GONE, "dialog/0/mimetype": "text/plain"}),
    "both names": ("R11", "warning", "/appended", {"appended": {"uuid": "y"}, "amended": {"uuid": "x"}}),
    "session_id as text": ("R11", "info", "", {"dialog/0/session_id": "call-7"}),
    "keys as in core-01": ("R11", "info", "", {"dialog/0/party_history": [
        {"party": 0, "time": START, "event": "dtmfdown", "dtmf": "5"}]}),
    "mcp_session critical": ("R18", "info", "/critical", {"critical": ["mcp_session"]}),
    "party index too high": ("R25", "error", "/dialog/0/parties", {"dialog/0/parties": [0, 2]}),
    "party index negative": ("R25", "error", "/attachments/0/party", {"attachments/0/party": -1}),
    "party index a boolean": ("R25", "error", "/attachments/0/party", {"attachments/0/party": True}),
    "dialog index a text": ("R25", "error", "/attachments/0/dialog", {"attachments/0/dialog": "1"}),
    "attachment index": ("R25", "error", "/analysis/0/attachment", {"analysis/0/attachment": [2]}),
    "list for one index": ("R25", "warning", "/attachments/0/dialog", {"attachments/0/dialog": [1]}),
    "nested too deep": ("R25", "error", "/dialog/0/parties", {"dialog/0/parties": [[[0]]]}),
    "null among dialogs": ("R25", "error", "/analysis/0/dialog", {"analysis/0/dialog": [0, None]}),
    "recordings": ("R25", "error", "/dialog/2/recordings",
                   {"dialog/-": {"type": "recording-set", "start": START, "parties": [0], "recordings": [9]}}),
    "history of nobody": ("R25", "error", "/dialog/0/party_history/0",
                          {"dialog/0/party_history": [{"time": START, "event": "join"}]}),
    "history of another": ("R25", "error", "/dialog/0/party_history/0/party",
                           {"dialog/0/party_history": [{"party": 5, "time": START, "event": "join"}]}),
    "index a float": ("R26", "warning", "/attachments/0/party", {"attachments/0/party": 1.0}),
    "recording-set of nothing": ("R35", "error", "/dialog/2",
                                 {"dialog/-": {"type": "recording-set", "start": START, "parties": [0]}}),
    "incomplete for no reason": ("R36", "warning", "/dialog/2",
                                 {"dialog/-": {"type": "incomplete", "start": START, "parties": [0],
                                               "disposition": "tired"}}),
    "disposition of a text": ("R36", "info", "/dialog/0", {"dialog/0/disposition": "answered"}),
    "dialog without type": ("R37", "warning", "/dialog/0", {"dialog/0/type": GONE}),
    "dialog of another type": ("R37", "info", "/dialog/0", {"dialog/0/type": "letter"}),
    "attachment without start": ("R39", "warning", "/attachments/0", {"attachments/0/start": ""}),
    "attachment of nobody": ("R39", "warning", "/attachments/0", {"attachments/0/party": GONE}),
    "analysis without vendor": ("R40", "warning", "/analysis/0", {"analysis/0/vendor": GONE}),
    "label in type": ("R41", "info", "/attachments/0",
                      {"attachments/0/purpose": None, "attachments/0/type": "agent_artifact"}),
    "plain JSON string": ("R53", "info", "/attachments/0/body",
                          {"attachments/0/encoding": "json", "attachments/0/mediatype": "application/json"}),
    "change that is no JSON": ("R53", "warning", "/attachments/0/body",
                               {"attachments/0/purpose": "agent_file_change", "attachments/0/encoding": "json"}),
    "no encoding": ("R54", "warning", "/dialog/0", {"dialog/0/encoding": GONE}),
    "encoding in capitals": ("R54", "warning", "/dialog/0", {"dialog/0/encoding": "NONE"}),
    "object under none": ("R55", "warning", "/analysis/0", {"analysis/0/encoding": "none"}),
    "base64 with padding": ("R56", "warning", "/attachments/0/body",
                            {"attachments/0/encoding": "base64url", "attachments/0/body": "ZmVybg=="}),
    "no base64": ("R56", "warning", "/attachments/0/body",
                  {"attachments/0/encoding": "base64url", "attachments/0/body": "f!"}),
    "base64 by its other name": ("R56", "warning", "/attachments/0", {"attachments/0/encoding": "base64",
                                                                      "attachments/0/body": "ZmVybg"}),
    "encrypted part": ("R58", "warning", "/attachments/0", {"attachments/0/encoding": "jwe"}),
    "url without hash": ("R59", "error", "/attachments/2/url",
                         {"attachments/-": {key: LINK[key] for key in LINK if key != "content_hash"}}),
    "url not https": ("R59", "error", "/attachments/2/url", {"attachments/-": {**LINK, "url": "http://a.example/x"}}),
    "url no text": ("R59", "error", "/attachments/2/url", {"attachments/-": {**LINK, "url": 7}}),
    "url in group": ("R59", "error", "/group/0/url", {"group": [{"uuid": "x", "url": "https://a.example/x"}]}),
    "url beside a body": ("R59", "warning", "/attachments/2/url",
                          {"attachments/-": {**LINK, "content_hash": sha512(b"hi"), "mediatype": "text/plain",
                                             "encoding": "none", "body": "hi"}}),
    "hash in hex": ("R59", "warning", "/attachments/2/content_hash",
                    {"attachments/-": {**LINK, "content_hash": "sha512-" + "0f" * 64}}),
    "hash of another notation": ("R59", "warning", "/attachments/2/content_hash",
                                 {"attachments/-": {**LINK, "content_hash": ["sha256:00"]}}),
    "hash of other bytes": ("R63", "warning", "/attachments/0/content_hash",
                            {"attachments/0/content_hash": sha512(b"another log")}),
    "hash of an analysis": ("R63", "warning", "/analysis/1/content_hash",
                            {"analysis/-": {"type": "note", "vendor": "v", "encoding": "none", "body": "hm",
                                            "mediatype": "text/plain", "content_hash": sha512(b"no")}}),
    "seconds": ("R65", "warning", f"/{ENTRIES}/1/timestamp", {f"{ENTRIES}/1/timestamp": 1775030403}),
    "children no array": ("R66", "warning", f"/{ENTRIES}/1",
                          {f"{ENTRIES}/1/children": {"type": "reasoning", "content": "hm"}}),
    "id a number": ("R66", "warning", f"/{ENTRIES}/1", {f"{ENTRIES}/1/id": 2}),
    "unknown entry": ("R67", "warning", f"/{ENTRIES}/4", {f"{ENTRIES}/-": {"type": "frost-warning", "id": "w5"}}),
    "no known shape": ("R69", "warning", "/analysis/1/body",
                       {"analysis/-": {"type": "agent_trace", "vendor": "v", "dialog": [0],
                                       "mediatype": "application/json", "encoding": "json", "body": {"a": 1}}}),
    "orphan": ("R72", "warning", f"/{ENTRIES}/4",
               {f"{ENTRIES}/-": {"type": "tool-result", "id": "w5", "call-id": "c9", "output": "?"}}),
    "call without result": ("R72", "info", f"/{ENTRIES}/4", {f"{ENTRIES}/-": CALL}),
    "lost parent": ("R72", "warning", f"/{ENTRIES}/3", {f"{ENTRIES}/3/parent-id": "w9"}),
    "two texts of one message": ("R74", "warning", "/dialog/1", {"dialog/1/body": "Done: three litres."}),
    "times disagree": ("R75", "warning", "/dialog/1", {"dialog/1/start": "2026-04-01T08:00:29Z"}),
    "total that does not add up": ("R76", "info", f"/{ENTRIES}/3/token-usage",
                                   {f"{ENTRIES}/3/token-usage/total": 99}),
    "tokens no number": ("R76", "warning", f"/{ENTRIES}/3/token-usage", {f"{ENTRIES}/3/token-usage/output": "4"}),
    "no agent": ("R78", "info", "/analysis/0/body/session", {"parties/1": {"name": "Ana", "type": "person"}}),
    "basis of no kind": ("R98", "warning", f"/{BASIS}", {f"{BASIS}/lawful_basis": "because"}),
    "basis without end": ("R98", "warning", f"/{BASIS}", {f"{BASIS}/expiration": GONE}),
    "basis expired": ("R98", "error", f"/{BASIS}/expiration", {f"{BASIS}/expiration": "2026-03-01T00:00:00Z"}),
    "no grants": ("R98", "warning", f"/{BASIS}", {f"{BASIS}/purpose_grants": 7}),
    "grant for nothing": ("R98", "warning", f"/{BASIS}/purpose_grants/0", {f"{BASIS}/purpose_grants": ["yes"]}),
    "grant neither yes nor no": ("R98", "warning", f"/{BASIS}/purpose_grants/0/granted",
                                 {f"{BASIS}/purpose_grants/0/granted": "true"}),
    "basis of unknown hash": ("R98", "warning", f"/{BASIS}/content_hash",
                              {f"{BASIS}/content_hash": {"algorithm": "md5", "canonicalization": "jcs"}}),
    "basis changed": ("R98", "error", f"/{BASIS}/content_hash",
                      {f"{BASIS}/content_hash": {"algorithm": "sha-256", "canonicalization": "jcs", "value": "00"}}),
    "basis no object": ("R98", "warning", "/attachments/1", {BASIS: [1]}),
    "unknown kind of party": ("R107", "info", "/parties/0/meta/party_type", {"parties/0/meta": {"party_type": "oak"}}),
    "redacted": ("R109", "info", "/redacted", {"redacted": {"type": "pii", "uuid": "x"}}),
    "placeholder": ("R109", "info", "/attachments/0", {"attachments/0": {}}),
    "analysis removed": ("R109", "info", "/analysis/1", {"analysis/-": {}}),
    "mark in a text": ("R109", "info", f"/{ENTRIES}/3",
                       {f"{ENTRIES}/3/content": "__REDACTED_REF_001", "dialog/1/body": "__REDACTED_REF_001"}),
    "mark in an argument": ("R109", "info", f"/{ENTRIES}/1", {f"{ENTRIES}/1/input": {"a": ["__REDACTED_REF_001"]}}),
    "party no object": ("R112", "error", "/parties/2", {"parties/-": "Ana"}),
    "array no array": ("R112", "error", "/attachments", {"attachments": "a photo"}),
    "member no text": ("R112", "warning", "/parties/0/tel", {"parties/0/tel": 4711}),
    "address no object": ("R112", "warning", "/parties/0/civicaddress", {"parties/0/civicaddress": "Kiel"}),
    "duration no number": ("R112", "warning", "/dialog/0/duration", {"dialog/0/duration": -30}),
    "history no array": ("R112", "warning", "/dialog/0/party_history", {"dialog/0/party_history": "x"}),
    "subject no text": ("R112", "warning", "/subject", {"subject": ["x"]}),
}  # fmt: skip


def test_a_clean_document_has_no_findings():
    assert found_in(CLEAN) == []
    assert found_in(mcp({"party": 0, "content": [{"type": "text", "text": "Hi"}]})) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_document_that_breaks_one_rule_is_told_that_rule_and_its_place(name):
    rule, severity, path, changes = BROKEN[name]
    document = spoiled(changes)
    found = found_in(document)

    assert (rule, severity, path) in [(one.rule, one.severity, one.path) for one in found]
    assert {one.rule for one in found} <= {rule, *BESIDE.get(name, ())}
    assert all(_leads_somewhere(document, one.path) for one in found)


BESIDE = {
    "redacted and amended": {"R109"}, "redacted without type": {"R109"}, "redacted hash in hex": {"R109"},
}  # fmt: skip
"""What cannot be had without another finding: every redacted vCon is told to be one."""


def _leads_somewhere(document, pointer):
    """Is there something at a JSON pointer, or was there before a member was taken away?"""
    value = document
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(token)]
        elif token in value:
            value = value[token]
        else:
            return False
    return True


@pytest.mark.parametrize(
    ("member", "dialog"),
    [
        (name, {"type": kind, "start": START, "parties": [0], **more})
        for kind, more, names in [
            ("transfer", {"transferor": 0}, ["parties"]),
            ("recording", {"url": "https://a.example/x", "content_hash": sha512(b"x")}, ["recordings", "transferee"]),
            ("recording-set", {"recordings": [0]}, ["recording_set", "message_id", "filename", "original"]),
            ("text", {"body": "x", "encoding": "none"}, ["recordings", "recording_set", "target_dialog"]),
            ("incomplete", {"disposition": "busy"}, ["originator", "message_id", "content_hash", "consultation"]),
        ]
        for name in names
    ],
)
def test_members_that_a_type_of_dialog_must_not_have_are_reported(member, dialog):
    values = {"message_id": "m", "filename": "f", "content_hash": sha512(b"x"), "recordings": [0], "parties": [0]}
    document = spoiled({"dialog/-": {**dialog, member: values.get(member, 0)}})

    assert [one.path for one in found_in(document) if one.rule == "R35"] == [f"/dialog/2/{member}"]


@pytest.mark.parametrize(
    "dialog",
    [
        {"type": "text", "start": START, "parties": [0]},
        {**RECORDING, "url": "", "content_hash": sha512(b"x")},
    ],
)
def test_a_dialog_without_content_is_told_to_be_a_shell(dialog):
    found = drafts(spoiled({"dialog/-": dialog}))

    assert [(one.severity, one.path) for one in findings(found, "R38")] == [("info", "/dialog/2")]
    assert [event.text for event in events(found) if event.kind == "note"] == ["(content removed or absent)"]


def test_numbers_that_are_none_are_read_as_null_and_reported():
    data = json.dumps(spoiled({f"{ENTRIES}/1/input": {"a": 7}})).replace('"a": 7', '"a": 1e400, "b": NaN').encode()
    found = drafts(data)

    assert [one.rule for one in findings(found)] == ["R112", "R112"]
    assert next(event.tool.arguments for event in events(found) if event.tool) == {"a": None, "b": None}


def test_a_flattened_signature_is_read_and_reported():
    signed = jws(CLEAN)
    flat = {"payload": signed["payload"], **signed["signatures"][0]}
    found = drafts(flat)

    assert [(one.rule, one.severity) for one in findings(found)] == [("R3", "info")]
    assert len(events(found)) == len(events(drafts(CLEAN)))


def test_the_uuid_in_the_header_of_a_signature_is_compared():
    assert found_in(jws(CLEAN, uuid=CLEAN["uuid"])) == []
    assert [(one.rule, one.path) for one in found_in(jws(CLEAN, uuid="x"))] == [("R88", "/signatures")]


def test_a_trace_that_is_no_cbor_is_reported():
    assert rules_of(spoiled({"analysis/0/body": "_w", "analysis/0/encoding": "base64url"})) >= {"R57"}


RECORD = CLEAN["analysis"][0]["body"]
SCHEMA = "https://datatracker.ietf.org/doc/draft-birkholz-verifiable-agent-conversations/?encoding=cbor"


@pytest.mark.parametrize(
    ("rules", "item"),
    [
        (set(), {"body": json.dumps(RECORD)}),
        ({"R55"}, {"body": json.dumps(RECORD), "encoding": "none"}),
        ({"R54"}, {"body": json.dumps(RECORD), "encoding": None}),
        (set(), {"body": b64(json.dumps(RECORD).encode()), "encoding": "base64url"}),
        (set(), {"body": b64(cbor(RECORD)), "encoding": "base64url"}),
        (set(), {"body": b64(b"\xd9\x10\x35" + cbor(RECORD)), "encoding": "base64url"}),
        ({"R57"}, {"body": b64(cbor(RECORD)), "encoding": "json", "schema": SCHEMA}),
        ({"R57"}, {"body": b64(cbor(RECORD)), "encoding": None, "schema": SCHEMA}),
    ],
    ids=repr,
)
def test_a_trace_is_read_from_whatever_its_body_is(rules, item):
    document = spoiled({f"analysis/0/{name}": value for name, value in item.items()})

    assert rules_of(document) == rules
    assert list(map(model, events(drafts(document)))) == list(map(model, events(drafts(CLEAN))))


def test_a_trace_that_lies_elsewhere_is_told_to_do_so():
    item = {
        "type": "agent_trace",
        "dialog": [0],
        "vendor": "v",
        "url": "https://a.example/x",
        "content_hash": sha512(b""),
    }
    found = found_in(spoiled({"analysis/0": item}))

    assert [(one.rule, one.path) for one in found] == [("R69", "/analysis/0/url")]
    assert "not fetched" in found[0].message


def test_a_flattened_signature_is_checked_like_the_general_one():
    key = recorder()
    whole = signed(CLEAN, key)
    flat = {"payload": whole["payload"], **whole["signatures"][0]}
    for document, state in ((flat, "valid"), (flat | {"payload": b64(b"{}")}, "invalid")):
        assert vcon.verify(io.BytesIO(json.dumps(document).encode()), [key.anchor], AT)[0].state == state
    assert vcon.detect(Head(json.dumps(flat).encode()))


def test_an_extension_to_come_is_read_around_and_kept():
    document = spoiled({
        "extensions/-": "ai_agent", "sessions": [{"id": "s1", "children": []}], "events": [{"id": "t1"}, 7],
        "dialog/0/id": "d1", "parties/1/id": "p1", "dialog/0/tokens": 5,
    })  # fmt: skip
    ((draft, held),) = sessions(drafts(document))
    again = json.loads(written(draft, held))

    assert rules_of(document) == {"R6"}
    known = [event for event in held if event.kind != "unknown"]
    assert list(map(model, known)) == list(map(model, events(drafts(CLEAN))))
    assert [event.data["raw"] for event in held if event.kind == "unknown"] == [
        {"id": "s1", "children": []},
        {"id": "t1"},
        7,
    ]
    assert (again["sessions"], again["events"]) == (document["sessions"], document["events"])
    assert (again["dialog"][0]["tokens"], again["parties"][1]["id"]) == (5, "p1")


def test_copies_of_entries_are_reported():
    entry = CLEAN["analysis"][0]["body"]["session"]["entries"][0]
    assert rules_of(spoiled({f"{ENTRIES}/-": entry})) == {"R69"}
    assert rules_of(spoiled({f"{ENTRIES}/-": {**entry, "content": "And the moss."}})) == {"R69"}


SAID = {"party": 0, "to": 1, "content": [{"type": "text", "text": "Hi"}]}


@pytest.mark.parametrize(
    ("rule", "path", "message"),
    [
        ("R107", "/1/content/0", {**SAID, "content": [{"type": "aroma"}]}),
        ("R107", "/1/content/0", {**SAID, "content": [7]}),
        ("R107", "/1", {**SAID, "content": None}),
        ("R25", "/1", {"to": 1, "content": "Hi"}),
        ("R25", "/1/party", {**SAID, "party": 4}),
        ("R25", "/1/to", {**SAID, "to": [0, -1]}),
        ("R8", "/1/timestamp", {**SAID, "timestamp": "noon"}),
    ],
)
def test_oddities_of_an_mcp_session_are_reported_and_nothing_is_dropped(rule, path, message):
    found = drafts(mcp(SAID, message))

    assert [(one.rule, one.path) for one in findings(found)] == [(rule, f"/dialog/0/body/messages{path}")]
    assert len(events(found)) == 2
    assert [event.data["raw"] for event in events(found) if event.kind == "unknown"] == (
        [message["content"][0] if message["content"] else message] if rule == "R107" else []
    )


def test_a_record_says_what_its_signature_does_not_cover():
    payload = json.dumps(record()).encode()
    assert [one.severity for one in findings(vac_drafts(sign1(payload, {1: "a"}, {"a": 1})), "R97")] == ["info"]


WHOLE = Path(vcon.__file__).parents[1]
ELSEWHERE = {
    "R35", "R38", "R57", "R88", "R97", "R3",  # in tests of their own above
    "R86", "R87", "R89", "R91",  # tests/signing
    "R95", "R96",  # tests/services/documents/test_archives.py
    "R113",  # tests/signing/test_transparency.py
}  # fmt: skip


def test_every_rule_that_a_reader_can_tell_has_a_document_here():
    text = "".join(path.read_text() for name in ("vcon", "vac") for path in (WHOLE / name).rglob("*.py"))
    told = set(re.findall(r'"(R\d+)"', text))

    assert len(told) > 35
    assert told - ELSEWHERE == {rule for rule, *_ in BROKEN.values()} - ELSEWHERE
    assert vac.NAME == "vac" and session(drafts(CLEAN)).external_id == "ferns-1"
