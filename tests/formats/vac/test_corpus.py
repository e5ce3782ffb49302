"""Bare records of other people's tools, where they are present."""

import json
from collections import Counter

import pytest

from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, Losses, Signature
from vcon_app.formats import vac, vcon
from vcon_app.signing.keys import anchor_of

from ...signing.make import AT
from ..reads import claimed
from ..vcon.shape import vac_faults
from ..vcon_tools import CORPUS, model, needs_corpus
from ..vcon_tools import drafts as vcon_drafts
from ..vcon_tools import events as vcon_events
from .tools import drafts, session_and_events, written

pytestmark = needs_corpus
MADE = CORPUS / "vcon-spec-examples" / "made-here"
DERIVED = CORPUS / "vcon-spec-examples" / "vac-derived"
COUNTS = {
    "claude-opus-4-6.first40": (55, 1, 15, 15, 2, 0, 1), "codex-gpt-5-2.first60": (60, 1, 10, 10, 0, 14, 21),
    "cursor-composer-1-5": (17, 1, 0, 0, 0, 0, 0), "gemini-gemini-3-pro-preview": (162, 1, 39, 39, 0, 60, 0),
}  # fmt: skip
TOLD = ("kind", "text", "at", "depth", "usage", "cost", "tool")


def counts(events):
    kinds = Counter(event.kind for event in events)
    errors = sum(event.tool.status == "error" for event in events if event.kind == "tool_result")
    names = ("user_message", "tool_call", "tool_result")
    return (len(events), *(kinds[name] for name in names), errors, kinds["reasoning"], kinds["system"])


def test_the_bare_record_tells_what_the_canonical_vcon_tells():
    _, events = session_and_events((MADE / "f13-bare-vac.json").read_bytes())
    beside = ("file_change", "artifact")
    canonical = [
        e
        for e in vcon_events(vcon_drafts((MADE / "f01-canonical-core04.vcon.json").read_bytes()))
        if e.kind not in beside
    ]
    assert len(events) == 14
    assert [[getattr(e, name) for name in TOLD] for e in events] == [
        [getattr(e, name) for name in TOLD] for e in canonical
    ]


def test_the_bare_record_comes_out_as_it_went_in():
    losses = Losses()
    data = (MADE / "f13-bare-vac.json").read_bytes()
    assert json.loads(written(*session_and_events(data), losses)) == json.loads(data) and losses.rows() == []


@pytest.mark.parametrize(("name", "expected"), COUNTS.items())
def test_translated_logs_have_the_counts_of_the_manifest_and_come_out_valid(name, expected):
    session, events = session_and_events((DERIVED / f"{name}.vac.json").read_bytes())
    assert counts(events) == expected
    data = written(session, events)
    assert vac_faults(json.loads(data)) == []
    assert list(map(model, session_and_events(data)[1])) == list(map(model, events))


def test_cbor_and_a_signed_payload_tell_what_json_tells():
    name = "cursor-composer-1-5"
    told = [list(map(model, session_and_events((DERIVED / f"{name}{suffix}").read_bytes())[1]))
            for suffix in (".vac.json", ".vac.cbor", ".sign1.embedded.cbor")]  # fmt: skip
    assert told[0] == told[1] == told[2]


def test_a_tampered_record_is_read_with_a_warning_and_a_detached_one_refused():
    found = drafts((DERIVED / "cursor-composer-1-5.sign1.tampered.cbor").read_bytes())
    assert next(draft for draft in found if isinstance(draft, Signature)).state == "uncheckable"
    assert any(isinstance(draft, Finding) and draft.rule == "R97" and draft.severity == "warning" for draft in found)
    with pytest.raises(FormatError, match="detached"):
        drafts((DERIVED / "cursor-composer-1-5.sign1.detached.cbor").read_bytes())


def test_the_signed_record_verifies_with_its_key_and_the_tampered_one_does_not():
    key = [anchor_of((DERIVED / "cursor-composer-1-5.sign1.pub.pem").read_text())]
    states = {}
    for name in ("embedded", "tampered", "detached"):
        with (DERIVED / f"cursor-composer-1-5.sign1.{name}.cbor").open("rb") as source:
            states[name] = vac.verify(source, key, AT)[0].state
    assert states["embedded"] == "valid" and states["tampered"] != "valid" and states["detached"] == "uncheckable"


def test_format_claims_its_corpus_files_alone():
    names = claimed(vac)
    expected = {f"{DERIVED.relative_to(CORPUS)}/{name}.vac.json" for name in COUNTS}
    expected |= {f"{DERIVED.relative_to(CORPUS)}/cursor-composer-1-5.{end}.cbor"
                 for end in ("vac", "sign1.embedded", "sign1.detached", "sign1.tampered")}  # fmt: skip
    assert names == expected | {f"{MADE.relative_to(CORPUS)}/f13-bare-vac.json"}
    assert not names & claimed(vcon)
    assert {registry.detect(CORPUS / name)[0] for name in names} == {"vac"}
