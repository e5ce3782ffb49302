"""Signed files of other people, where they are present: the outcome of each is known."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from vcon_app.formats import llmfeed, vcon
from vcon_app.signing.keys import anchor_of

from .make import AT, CORPUS, needs_corpus

pytestmark = needs_corpus
SPEC, FEEDS = CORPUS / "vcon-spec-examples", CORPUS / "llmfeed"
OFFICIAL = sorted(SPEC.glob("co*/ab_call_ext_rec_signed.vcon"))
FIXTURES = {
    "f50-signed.vcon.json": ("valid_untrusted", set()),
    "f51-signed-py-vcon-style.vcon.json": ("valid_untrusted", {"R87"}),
    "f52-signed-gzip-payload.vcon.json": ("valid_untrusted", set()),
    "f53-signed-tampered.vcon.json": ("invalid", {"R86"}),
    "f54-signed-uuid-mismatch.vcon.json": ("valid_untrusted", set()),
    "f55-jws-in-jws.vcon.json": ("valid_untrusted", set()),
    "f56-alg-none.vcon.json": ("invalid", {"R86"}),
}
GOLDEN = {
    "25x-deepsort": "valid", "all-sorted": "valid", "v1": "valid", "v1-python-floats": "valid",
    "v1-unsigned-extra": "valid", "v1-block-dropped": "invalid", "v1-hint-swapped": "invalid",
    "v1-tampered-keyorder": "invalid", "v1-tampered-value": "invalid",
}  # fmt: skip


def certificate(name: str):
    return anchor_of((CORPUS / "vcon-real" / "_certs" / f"{name}.crt").read_text())


def outcome(format, path: Path, *anchors):
    with path.open("rb") as source:
        return format.verify(source, anchors, AT)


def feed_keys():
    names = ("wellknownmcp-public.pem", "golden/golden-public.pem", "golden/25x-public.pem")
    return [anchor_of((FEEDS / name).read_text(), name) for name in names]


def test_all_seven_official_examples_are_here():
    assert len(OFFICIAL) == 7


@pytest.mark.parametrize("path", OFFICIAL, ids=lambda path: path.parent.name)
def test_an_official_example_verifies_and_is_trusted_with_its_own_root_alone(path):
    assert outcome(vcon, path)[0].state == "valid_untrusted"
    found, findings = outcome(vcon, path, certificate("fake_ca_root"))

    assert (found.state, found.signer) == ("valid", "grp.div.fakevcon.io")
    assert {finding.rule for finding in findings} == {"R87", "R89"}
    assert outcome(vcon, path, certificate("fake_ca2_root"))[0].state == "valid_untrusted"
    assert outcome(vcon, path, certificate("fake_grp"))[0].state == "valid"


@pytest.mark.parametrize("path", OFFICIAL[-1:], ids=lambda path: path.parent.name)
def test_an_official_example_that_was_changed_is_invalid(path):
    jws = json.loads(path.read_text())
    for place in (0, 100, len(jws["payload"]) - 3):
        text = jws["payload"]
        jws["payload"] = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        changed = io.BytesIO(json.dumps(jws).encode())
        assert vcon.verify(changed, [certificate("fake_ca_root")], AT)[0].state == "invalid"
        jws["payload"] = text


@pytest.mark.parametrize(("name", "expected"), FIXTURES.items(), ids=FIXTURES)
def test_a_fixture_has_the_state_that_is_expected(name, expected):
    found, findings = outcome(vcon, SPEC / "made-here" / name)
    state, rules = expected

    assert found.state == state
    assert rules <= {finding.rule for finding in findings}


def test_a_fixture_is_trusted_with_its_own_certificate():
    jws = json.loads((SPEC / "made-here" / "f50-signed.vcon.json").read_text())
    pem = f"-----BEGIN CERTIFICATE-----\n{jws['signatures'][0]['header']['x5c'][0]}\n-----END CERTIFICATE-----\n"

    for name, (state, _) in FIXTURES.items():
        wanted = "valid" if state == "valid_untrusted" else state
        assert outcome(vcon, SPEC / "made-here" / name, anchor_of(pem))[0].state == wanted


def test_the_encrypted_example_is_encrypted_and_says_its_uuid():
    found, _ = outcome(vcon, SPEC / "core-03" / "ab_call_ext_rec_encrypted.vcon")

    assert found.state == "encrypted"
    assert "019f15a6-a752-826f-b9a2-279e0d16bc46" in found.detail


def feeds() -> list[dict[str, str]]:
    path = FEEDS / "manifest.jsonl"
    found = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return [
        one for one in found if one["signature"].startswith(("VALID", "INVALID")) and (FEEDS / one["file"]).exists()
    ]


def test_there_are_feeds_of_both_kinds():
    assert {one["signature"].split(":")[0].split(" ")[0] for one in feeds()} == {"VALID", "INVALID"}
    assert len(feeds()) >= 30


@pytest.mark.parametrize("entry", feeds(), ids=lambda entry: entry["file"])
def test_a_published_feed_has_the_outcome_of_the_manifest(entry):
    found, _ = outcome(llmfeed, FEEDS / entry["file"], *feed_keys())
    told = entry["signature"]

    assert found.state == told.split(":")[0].split(" ")[0].lower()
    if found.state == "valid":
        assert ("v1" in told) == ("scheme v1" in found.detail)
        assert ("trust left out" in told) == ("trust" in found.uncovered)


@pytest.mark.parametrize(("name", "state"), GOLDEN.items(), ids=GOLDEN)
def test_a_golden_feed_has_its_outcome(name, state):
    path = FEEDS / "golden" / f"session-signed-{name}.llmfeed.json"
    found, _ = outcome(llmfeed, path, *feed_keys())

    assert found.state == state
    assert (name == "v1-unsigned-extra") == ("_meta" in found.uncovered)
    assert outcome(llmfeed, path)[0].state == "uncheckable"
