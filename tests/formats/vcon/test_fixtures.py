"""The made fixtures beside the references: every field that ``expected.json`` states of each of them is compared."""

import io
import json
from collections import Counter

import pytest

from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import vac, vcon
from vcon_app.formats.common.zips import Archive
from vcon_app.formats.vcon.file import vconz

from ...signing.make import AT
from ..vac.tools import drafts as vac_drafts
from ..vcon_tools import CORPUS, drafts, events, findings, needs_corpus, sessions, written

pytestmark = needs_corpus
MADE = CORPUS / "vcon-spec-examples" / "made-here"
EXPECTED = json.loads((MADE / "expected.json").read_text()) if MADE.is_dir() else {}
CANONICAL = "f01-canonical-core04.vcon.json"
BARE, BUNDLE = "f13-bare-vac.json", ".vconz"
BESIDE = ("file_change", "artifact")
"""Events of attachments; a bare record has none."""
DOCUMENTS = sorted(name for name in EXPECTED if not name.endswith(BUNDLE))


def read(name):
    data = (MADE / name).read_bytes()
    return vac_drafts(data) if name == BARE else drafts(data)


def traced(found):
    return [event for event in events(found) if event.kind not in BESIDE]


def plain(event):
    return (event.kind, event.text, event.at, event.depth, event.usage, event.cost, event.tool, event.actor_name)


def severities(found):
    return Counter(finding.severity for finding in findings(found))


def nodes(found):
    """Entries of the record: the events, and the user entries that only wrap a tool result."""
    return len(traced(found)) + sum("wrapper" in event.data["vcon"] for event in traced(found))


COUNTED = {
    "vac_nodes": nodes,
    "neutral_events": lambda found: len(traced(found)),
    "human_turns": lambda found: sum(event.kind == "user_message" for event in traced(found)),
    "tool_calls": lambda found: sum(event.kind == "tool_call" for event in traced(found)),
    "tool_results": lambda found: sum(event.kind == "tool_result" for event in traced(found)),
    "tool_errors": lambda found: sum(
        event.kind == "tool_result" and event.tool.status == "error" for event in traced(found)
    ),
}
RULES = {
    "f20": ("R25", "error", "/dialog/0/parties"), "f21": ("R25", "error", "/attachments/0/party"),
    "f22": ("R9", "error", "/redacted"), "f23": ("R59", "error", "/attachments/1/url"),
    "f24": ("R59", "error", "/attachments/1/url"), "f25": ("R58", "warning", "/analysis/0"),
    "f26": ("R35", "error", "/dialog/3/body"), "f27": ("R7", "error", ""), "f28": ("R8", "warning", ""),
    "f29": ("R25", "error", "/dialog/0/parties"), "f30": ("R8", "warning", "/created_at"),
    "f31": ("R56", "warning", "/attachments/2/body"), "f34": ("R53", "info", "/attachments/5/body"),
    "f35": ("R72", "warning", "/analysis/0/body/session/entries/11"), "f54": ("R88", "warning", "/signatures"),
}  # fmt: skip
"""The rule behind each ``finding``."""
TOLD_BESIDE = {
    "f03-legacy-001": {"R11", "R41", "R54", "R55", "R8"}, "f04-redacted-from-050": {"R11", "R38", "R109"},
    "f09-restructure-sketch": {"R6"}, "f10-mcp-session": {"R107"}, "f32-script-in-body": {"R74"},
}  # fmt: skip
"""Rules that the notes name or mean."""
INERT = {"f32": "<img src=x onerror=alert(1)>", "f33": "../"}
"""Findings that are for whoever shows the text: here it must only arrive as it was written."""
STATES = {
    "valid (self-signed chain: integrity ok, signer NOT trusted)": {"valid_untrusted"}, "valid": {"valid_untrusted"},
    "valid at both levels": {"valid_untrusted"}, "invalid": {"invalid"}, "must not verify": {"invalid", "uncheckable"},
}  # fmt: skip


def accept(name, stated):
    if stated is False:
        with pytest.raises(FormatError, match=r"critical, core s2\.5"):
            read(name)
        return
    found = read(name)
    told = severities(found)
    assert len(sessions(found)) == 1 and events(found)
    if stated == "with error findings":
        assert told["error"]
    elif stated == "parse, warn":
        assert told["warning"] and not told["error"]
        parts = json.loads((MADE / name).read_text())["sessions"]
        assert [event.data["raw"] for event in events(found) if event.kind == "unknown"] == parts
        ((draft, held),) = sessions(found)
        assert json.loads(written(draft, held))["sessions"] == parts
    elif stated is True:
        assert not told["error"]
    else:
        assert stated.startswith("show, marked ") and "INVALID" in stated


def warnings(name, stated):
    told = severities(read(name))
    assert told["error"] == 0 and (told["warning"] > 5 if stated == "many" else told["warning"] == stated)


def same_model_as(name, other):
    assert list(map(plain, traced(read(name)))) == list(map(plain, traced(read(other))))


def finding(name, stated):
    if (number := name[:3]) in INERT:
        assert any(INERT[number] in json.dumps([event.text, event.data]) for event in events(read(name))), stated
        return
    rule, severity, path = RULES[number]
    assert (rule, severity, path) in [(one.rule, one.severity, one.path) for one in findings(read(name))], stated


def schema_errors(name, count):
    """The schema sees less than the reader: of what it complains about something is told."""
    assert not count or findings(read(name))


def signature(name, stated):
    with (MADE / name).open("rb") as source:
        found, told = vcon.verify(source, [], AT)
    assert found.state in STATES[stated]
    assert ("R86" in {one.rule for one in told}) == (found.state == "invalid")


def reason(name, stated):
    with pytest.raises(FormatError) as refusal:
        read(name)
    assert "'not_a_known_extension'" in str(refusal.value) and "unsupported critical extension" in stated


FIELDS = {
    "accept": accept, "warnings": warnings, "same_model_as": same_model_as, "finding": finding,
    "schema_errors": schema_errors, "signature": signature, "reason": reason, "note": lambda name, stated: None,
    **{field: lambda name, stated, count=count: _equal(count(read(name)), stated) for field, count in COUNTED.items()},
}  # fmt: skip


def _equal(found, stated):
    assert found == stated


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_fixture_gives_all_that_is_expected_of_it(name):
    for field, stated in EXPECTED[name].items():
        FIELDS[field](name, stated)


@pytest.mark.parametrize("name", TOLD_BESIDE)
def test_what_the_notes_speak_of_is_found(name):
    assert {one.rule for one in findings(read(f"{name}.vcon.json"))} >= TOLD_BESIDE[name]


def test_all_forty_fixtures_are_here():
    assert len(EXPECTED) == len(DOCUMENTS) + 3 == 40
    assert {path.name for path in MADE.iterdir()} == {*EXPECTED, "expected.json"}


def vcons_in(source):
    archive = Archive(source)
    return archive, *vconz.vcons_in(archive, vconz.manifest_of(archive))


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.endswith(BUNDLE)))
def test_a_bundle_gives_all_that_is_expected_of_it(name):
    accepted = EXPECTED[name]["accept"]
    with (MADE / name).open("rb") as source:
        if accepted is False:
            with pytest.raises(FormatError, match="R96"):
                vcons_in(source)
            return
        archive, members, odd = vcons_in(source)
        with archive.open(members[0]) as file:
            assert len(sessions(list(vcon.read(file)))) == len(members) == 1
    refused = [one.rule for one in odd if one.severity == "error"]
    assert refused == ([] if accepted is True else ["R95"])


def test_a_bundle_is_no_vcon_itself():
    for name in (name for name in EXPECTED if name.endswith(BUNDLE)):
        with pytest.raises(FormatError, match="zip"):
            list(vcon.read(io.BytesIO((MADE / name).read_bytes())))


GOLDEN = [
    ("system", "e0", 0, None), ("user_message", "e1", 0, None), ("agent_message", "e2", 0, None),
    ("reasoning", "e3", 0, None), ("tool_call", "e4", 0, None), ("tool_result", "e6", 0, "ok"),
    ("tool_call", "e7", 0, None), ("agent_message", "e7a", 1, None), ("tool_result", "e8", 0, "ok"),
    ("tool_call", "e9", 0, None), ("tool_result", "e10", 0, "error"), ("reasoning", "e11", 0, None),
    ("agent_message", "e12", 0, None), ("system", "e13", 0, None),
]  # fmt: skip


def test_the_canonical_fixture_comes_in_its_golden_order():
    found = read(CANONICAL)
    told = traced(found)

    assert [(e.kind, e.key.split(":")[0], e.depth, e.tool.status if e.tool else None) for e in told] == GOLDEN
    assert told[2].usage == Usage(812, 15360, None, 184, 120)
    assert (str(told[2].cost), told[12].usage) == ("0.0312", Usage(40, None, None, 33))
    assert [told[5].parent, told[7].parent, told[3].parent] == [told[4].key, told[6].key, told[2].key]
    assert [event.tool.call_id for event in told if event.tool] == [
        call for number in ("01", "02", "03") for call in [f"toolu_{number}"] * 2
    ]
    assert (told[7].actor_kind, told[7].actor_name) == ("subagent", "reviewer (sub-agent)")
    assert told[11].data["encrypted"] is True
    assert [told[i].data["vcon"]["dialog"]["i"] for i in (1, 2, 12)] == [0, 1, 2]
    assert Counter(event.kind for event in events(found) if event.kind in BESIDE) == {"artifact": 2, "file_change": 1}


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.startswith("f5")))
def test_a_signed_fixture_is_shown_and_not_said_to_be_valid_while_it_is_read(name):
    found = read(name)

    assert len(traced(found)) == 14 and events(found)[0].pointer.startswith("/payload/")
    assert vac.NAME not in sessions(found)[0][0].metadata
