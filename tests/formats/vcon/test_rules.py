"""One fault at a time: each is found, named by its rule and its place, and nothing is refused for it."""

import base64
import copy
import hashlib
import json
from collections import Counter

import pytest

from vcon_app.drafts import FormatError

from ..vcon_tools import drafts, events, findings, sample, session


def night(**changes):
    """The clean sample, with changes given as ``path__to__member=value``; ``del`` removes."""
    document = sample("night-rota.vcon")
    del document["x-archive"]
    del document["analysis"][1]["body"]["session"]["entries"][10]
    for path, value in changes.items():
        *places, last = [int(step) if step.isdecimal() else step for step in path.split("__")]
        holder = document
        for place in places:
            holder = holder[place]
        if value == "del":
            del holder[last]
        else:
            holder[last] = value
    return document


def warnings(found):
    return [finding for finding in findings(found) if finding.severity != "info"]


def test_a_sound_vcon_has_no_warning():
    assert warnings(drafts(night())) == []


PLACED = {"start": "2026-03-02T06:00:00Z", "party": 1, "dialog": 0}
INNER = {"url": "http://169.254.169.254/", "content_hash": "sha512-AA"}
TRANSFER = {"type": "transfer", "transferor": 0, "body": "x", "encoding": "none"}
FAULTS = [
    ("R7", "error", "", {"uuid": "del"}),
    ("R7", "error", "/uuid", {"uuid": "SAMPLE-1234"}),
    ("R8", "warning", "", {"created_at": "del"}),
    ("R8", "warning", "/created_at", {"created_at": "2026-03-02T06:10:00"}),
    ("R8", "warning", "/dialog/0/start", {"dialog__0__start": "yesterday"}),
    ("R9", "error", "/redacted", {"redacted": {"type": "pii"}, "amended_from": {"uuid": "x"}}),
    ("R10", "warning", "/redacted", {"redacted": {"uuid": "x"}}),
    ("R10", "error", "/amended/url", {"amended": {"url": "https://a.example/v"}}),
    ("R25", "error", "/dialog/0/parties", {"dialog__0__parties": [0, 9]}),
    ("R25", "error", "/dialog/0/parties", {"dialog__0__parties": [True]}),
    ("R25", "error", "/dialog/0/parties", {"dialog__0__parties": ["0"]}),
    ("R25", "error", "/attachments/1/party", {"attachments__1__party": -1}),
    ("R25", "error", "/attachments/1/dialog", {"attachments__1__dialog": 5}),
    ("R25", "error", "/analysis/0/dialog", {"analysis__0__dialog": [0, 1.5]}),
    ("R26", "warning", "/dialog/0/originator", {"dialog__0__originator": 1.0}),
    ("R35", "error", "/dialog/2/body", {"dialog__2": TRANSFER}),
    ("R36", "warning", "/dialog/2", {"dialog__2": {"type": "incomplete", "disposition": "tired"}}),
    ("R37", "warning", "/dialog/2", {"dialog__2": {"start": "2026-03-02T06:00:00Z"}}),
    ("R39", "warning", "/attachments/2", {"attachments__2__start": "del"}),
    ("R40", "warning", "/analysis/0", {"analysis__0__vendor": "del"}),
    ("R54", "warning", "/dialog/0", {"dialog__0__encoding": "del"}),
    ("R54", "warning", "/dialog/0", {"dialog__0__encoding": "None"}),
    ("R55", "warning", "/attachments/0", {"attachments__0__encoding": "none"}),
    ("R56", "warning", "/attachments/5/body", {"attachments__5__body": "iVBORw0KGgo="}),
    ("R56", "warning", "/attachments/5/body", {"attachments__5__body": "!!!"}),
    ("R58", "warning", "/attachments/2", {"attachments__2__encoding": "jwe"}),
    ("R59", "error", "/attachments/2/url", {"attachments__2": {**PLACED, "url": "https://a.example/x"}}),
    ("R59", "error", "/attachments/2/url", {"attachments__2": {**PLACED, **INNER}}),
    ("R63", "warning", "/attachments/2/content_hash", {"attachments__2__content_hash": "sha512-AAAA"}),
    ("R98", "error", "/attachments/4/body/expiration", {"attachments__4__body__expiration": "2026-03-01T00:00:00Z"}),
    ("R98", "warning", "/attachments/4/body", {"attachments__4__body__lawful_basis": "because"}),
    ("R112", "error", "/analysis/0", {"analysis__0": "a summary"}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "severity", "path", "changes"), FAULTS)
def test_a_fault_is_found_where_it_is(rule, severity, path, changes):
    found = drafts(night(**changes))

    assert (rule, severity, path) in [(one.rule, one.severity, one.path) for one in findings(found)]
    assert {one.rule for one in warnings(found)} == {rule}
    assert len(events(found)) >= 21


ENTRIES = "analysis__1__body__session__entries"


def test_times_in_seconds_are_read_as_such_and_milliseconds_are_no_fault():
    found = drafts(night(**{f"{ENTRIES}__0__timestamp": 1772431078}))

    assert [one.path for one in findings(found, "R65")] == ["/analysis/1/body/session/entries/0/timestamp"]
    assert events(found)[0].at == events(drafts(night()))[0].at


def test_an_orphan_a_dangling_call_an_unknown_type_and_a_lost_parent_are_each_reported():
    document = night()
    document["analysis"][1]["body"]["session"]["entries"] += [
        {"type": "tool-result", "call-id": "nobody", "output": "x"},
        {"type": "tool-call", "call-id": "left", "name": "wait", "input": {}},
        {"type": "rota-lock", "holder": 1},
        {"type": "assistant", "content": "hm", "parent-id": "gone"},
    ]
    found = drafts(document)

    assert [one.path.rsplit("/", 1)[-1] for one in findings(found, "R72") if one.severity == "warning"] == ["14", "17"]
    assert [event.data["orphan"] for event in events(found) if "orphan" in event.data] == [True]
    assert [one.severity for one in findings(found, "R67")] == ["warning"]
    assert [event.data["raw"]["holder"] for event in events(found) if event.kind == "unknown"] == [1]
    assert len([one for one in findings(found, "R72") if "No result" in one.message]) == 2


def test_a_fault_that_repeats_is_told_five_times_and_then_counted():
    document = night()
    document["dialog"] += [{"type": "text", "parties": [77], "encoding": "none", "body": str(n)} for n in range(40)]
    told = findings(drafts(document), "R25")

    assert len(told) == 6
    assert told[-1].message.endswith("(and 34 more like this)")


def test_a_million_different_faults_are_not_a_million_findings():
    document = night()
    document["dialog"] += [
        {"type": f"kind {n}", "start": f"time {n}", "parties": [77 + n], "encoding": f"cipher {n}", "body": str(n)}
        for n in range(3_000)
    ]
    told = Counter(one.rule for one in findings(drafts(document)))

    assert all(told[rule] < 120 for rule in ("R8", "R25", "R37", "R58"))
    assert any("more like this" in one.message for one in findings(drafts(document), "R37"))


@pytest.mark.parametrize("name", ["critical", "must_support", "must_understand"])
def test_a_critical_extension_that_is_not_supported_is_named_and_nothing_is_read(name):
    with pytest.raises(FormatError, match="'x_unheard_of'"):
        drafts(night(**{name: ["agent_session", "x_unheard_of"]}))
    assert events(drafts(night(**{name: ["agent_session", "lawful_basis", "CC"]})))


def test_unknown_extensions_and_members_are_kept_and_reported():
    found = drafts(night(extensions=["agent_session", "x_new"], sessions=[{"id": 1}]))

    assert [(one.severity, one.path) for one in findings(found, "R6")] == [
        ("info", "/extensions"),
        ("warning", "/sessions"),
    ]
    assert session(found).record["vcon"]["top"]["sessions"] == [{"id": 1}]


def test_references_may_be_nested_and_have_silent_channels():
    found = drafts(night(dialog__0__parties=[[0], None, [1, 2]]))

    assert warnings(found) == []
    assert events(found)[1].actor_name == "Ines"


def test_a_matching_inline_hash_is_no_finding():
    digest = base64.urlsafe_b64encode(hashlib.sha512(b"Thursday: Aiko").digest()).rstrip(b"=").decode()

    assert findings(drafts(night(attachments__2__content_hash=["sha512-" + digest])), "R63") == []


@pytest.mark.parametrize("hash_itself", [True, False])
def test_the_hash_of_a_lawful_basis_is_checked_in_both_readings(hash_itself):
    document = night()
    body = document["attachments"][4]["body"]
    hashed = {"algorithm": "sha-256", "canonicalization": "jcs"}
    covered = copy.deepcopy(body)
    if hash_itself:
        body["content_hash"] = {**hashed, "value": "0" * 64}
        assert [one.severity for one in findings(drafts(document), "R98")] == ["error"]
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    body["content_hash"] = {**hashed, "value": hashlib.sha256(text.encode()).hexdigest()}

    assert findings(drafts(document), "R98") == []


def test_dialog_and_trace_that_contradict_each_other_are_both_kept():
    found = drafts(night(dialog__1__body="Something else.", dialog__1__start="2026-03-02T05:50:00Z"))
    event = next(event for event in events(found) if event.key.startswith("n2:"))

    assert (event.text, event.data["dialog_text"]) == ("I will read who is rested first.", "Something else.")
    assert event.data["dialog_time"] == "2026-03-02T05:50:00Z"
    assert {one.rule for one in warnings(found)} == {"R74", "R75"}


def test_marks_of_removed_text_are_reported():
    mark = "Ask __REDACTED_REF_007."

    assert findings(drafts(night(dialog__4__body=mark, **{f"{ENTRIES}__11__content": mark})), "R109")


def test_an_expired_basis_is_not_judged_by_the_clock_of_the_reader():
    assert findings(drafts(night(attachments__4__body__expiration="2026-03-02T06:10:01Z")), "R98") == []


@pytest.mark.parametrize("name", ["WTF", "consent", "agent-session"])
@pytest.mark.parametrize("member", ["critical", "must_support"])
def test_an_earlier_name_of_what_is_supported_is_supported(member, name):
    assert events(drafts(night(**{member: [name], "extensions": ["agent_session", name]})))
