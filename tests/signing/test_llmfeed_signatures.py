"""Signed llmfeed files: four schemes, keys pinned by origin, and what a signature leaves out."""

from __future__ import annotations

import base64
import gzip
import io
import json
from typing import Any

import pytest

from vcon_app.drafts import Finding, Signature
from vcon_app.formats import llmfeed
from vcon_app.signing.keys import Anchor, anchor_of, fingerprint

from .make import AT, END, START, ed_key, feed, owner, public_pem, rsa_key


def pinned(origin: str = "", number: int = 0) -> Anchor:
    return anchor_of(public_pem(ed_key(number)), "Shelf desk", origin)


def check(document: Any, *anchors: Anchor) -> tuple[Signature, list[Finding]]:
    data = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
    return llmfeed.verify(io.BytesIO(data), anchors, AT)


def state(document: Any, *anchors: Anchor) -> str:
    return check(document, *anchors)[0].state


def signed_over(document: dict[str, Any], payload: Any, key=None, **how: Any) -> dict[str, Any]:
    """``document`` with a signature over the JSON text of ``payload``."""
    text = json.dumps(payload, separators=(",", ":"), **how)
    value = base64.b64encode((key or ed_key()).sign(text.encode())).decode()
    return document | {"signature": {"value": value}}


def test_a_feed_signed_as_the_specification_says_is_valid_and_tells_with_which_key():
    found, findings = check(feed(ed_key()), pinned("https://desk.example"))

    assert (found.state, found.signer, found.uncovered, findings) == ("valid", "Shelf desk", (), [])
    assert "scheme v1" in found.detail and fingerprint(ed_key().public_key()) in found.detail
    assert "says it was made at 2026-05-20T12:00:01Z" in found.detail


def test_the_blocks_may_stand_in_another_order_than_they_were_signed():
    document = feed(ed_key())
    assert state(dict(sorted(document.items())), pinned()) == "valid"


def test_the_order_of_keys_inside_of_a_block_counts():
    document = feed(ed_key())
    document["metadata"] = dict(sorted(document["metadata"].items(), reverse=True))

    assert state(document, pinned()) == "invalid"


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["context"].update(user_input="What is missing on shelf 8?"),
        lambda document: document["metadata"].update(origin="https://desk.example/"),
        lambda document: document["trust"].update(public_key_hint="https://elsewhere.example/key.pem"),
        lambda document: document["trust"]["signed_blocks"].remove("context"),
        lambda document: document["trust"]["signed_blocks"].reverse(),
        lambda document: document.pop("context"),
        lambda document: document["signature"].update(value=base64.b64encode(bytes(64)).decode()),
    ],
)
def test_any_change_of_what_was_signed_makes_it_invalid(change):
    document = feed(ed_key())
    change(document)
    found, findings = check(document, pinned())

    assert (found.state, found.signer) == ("invalid", None)
    assert [(one.rule, one.severity) for one in findings] == [("L5", "error")]


def test_unsigned_blocks_are_named_one_by_one():
    document = feed(ed_key()) | {"outputs": [{"type": "text/plain", "value": "Screws."}], "_meta": {"note": "later"}}
    found, findings = check(document, pinned())

    assert (found.state, found.uncovered) == ("valid", ("outputs", "_meta"))
    assert "does not cover outputs, _meta" in found.detail
    assert [(one.rule, one.severity, one.path) for one in findings] == [
        ("L6", "warning", "/outputs"), ("L6", "warning", "/_meta"),
    ]  # fmt: skip


def test_all_blocks_sorted_with_escapes():
    document = {"feed_type": "session", "context": {"user_input": "Café?"}, "trust": {"signed_blocks": ["all"]}}
    whole = signed_over(document, document, sort_keys=True) | {"certification": {"value": "x"}}
    without_trust = signed_over(document, {k: v for k, v in document.items() if k != "trust"}, sort_keys=True)

    assert check(whole, pinned())[0].uncovered == ("certification",)
    assert "scheme all, sorted" in check(whole, pinned())[0].detail
    assert check(without_trust, pinned())[0].uncovered == ("trust",)
    assert state(whole | {"context": {}}, pinned()) == "invalid"


def test_deeply_sorted_without_the_trust_block():
    document = feed(ed_key(), api_execution={"tokens": {"total": 12.0, "input": 2}})
    blocks = {name: document[name] for name in document["trust"]["signed_blocks"] if name != "trust"}
    blocks["api_execution"] = {"tokens": {"total": 12, "input": 2}}
    made = signed_over(document, blocks, sort_keys=True, ensure_ascii=False)
    found, _ = check(made, pinned())

    assert "scheme 25x" in found.detail
    assert (found.state, found.uncovered) == ("valid", ("trust",))


def test_blocks_that_are_listed_in_the_signature_itself():
    document = {"feed_type": "session", "origin": "https://desk.example", "tags": ["é"]}
    made = signed_over(document, document, sort_keys=True)
    made["signature"]["signed_blocks"] = list(document)

    assert state(made, pinned("desk.example")) == "valid"
    assert state(made, pinned("https://elsewhere.example")) == "valid_untrusted"


def test_a_key_that_is_pinned_for_somebody_else_is_not_trusted_here():
    found, findings = check(feed(ed_key()), pinned("https://elsewhere.example"))

    assert found.state == "valid_untrusted"
    assert "pinned to https://elsewhere.example" in found.detail
    assert findings[0].rule == "L6"


@pytest.mark.parametrize("origin", ["https://desk.example", "desk.example", "HTTPS://Desk.Example:443/feeds", ""])
def test_origins_are_compared_as_sites(origin):
    assert state(feed(ed_key()), pinned(origin)) == "valid"


@pytest.mark.parametrize(
    "origin", ["https://desk.example:8443", "https://desk.example.org", "https://desk.example@evil.example"]
)
def test_key_pinned_for_another_site_does_not_make_a_feed_trusted(origin):
    assert state(feed(ed_key()), pinned(origin)) == "valid_untrusted"


def test_feed_without_a_matching_key_is_uncheckable():
    document = feed(ed_key())
    document["trust"]["public_key_hint"] = "https://keys.example/a.pem"

    for anchors in ((), (pinned("https://elsewhere.example", 1),), (anchor_of(public_pem(rsa_key())),)):
        found, findings = check(document, *anchors)
        assert found.state == "uncheckable"
        assert "https://keys.example/a.pem; nothing was fetched" in found.detail
        assert [(one.rule, one.severity) for one in findings] == [("L5", "warning")]


def test_with_the_key_of_that_origin_another_signature_is_invalid():
    assert state(feed(ed_key(1)), pinned("https://desk.example")) == "invalid"
    assert state(feed(ed_key(1)), pinned()) == "invalid"


def test_a_key_may_be_given_in_a_certificate_and_expire_with_it():
    certificate = owner("desk.example", ed_key(), dates=(START, END))

    assert state(feed(ed_key()), certificate.anchor) == "valid"
    assert llmfeed.verify(
        io.BytesIO(json.dumps(feed(ed_key())).encode()), [certificate.anchor], END.replace(year=2028)
    )[0].state == ("valid_expired")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{{SIGNATURE}}", "placeholder"), ("", "no value"), (None, "no value"), (5, "no value"), 
        ("AAAA", "3 bytes long"), ("A" * 44, "33 bytes long"),
    ],
)  # fmt: skip
def test_malformed_feed_signature_is_invalid_with_the_reason(value, says):
    found, _ = check({"feed_type": "session", "trust": {"signed_blocks": ["all"]}, "signature": {"value": value}})

    assert found.state == "invalid"
    assert says in found.detail


@pytest.mark.parametrize("algorithm", ["Ed25519", "ED25519", "ed25519"])
def test_the_algorithm_is_compared_without_regard_to_case(algorithm):
    document = feed(ed_key())
    document["trust"]["algorithm"] = algorithm
    names = document["trust"]["signed_blocks"]

    assert state(signed_over(document, {name: document[name] for name in names}), pinned()) == "valid"


def test_another_algorithm_is_not_checked():
    document = feed(ed_key())
    document["trust"]["algorithm"] = "rsa-sha256"

    assert state(document, pinned()) == "uncheckable"


@pytest.mark.parametrize("names", [[], [5], ["nowhere"], ["signature"], [["all"]], "all", None, ["trust", "trust"]])
def test_strange_lists_of_blocks_verify_nothing(names):
    document = {"feed_type": "session", "trust": {"signed_blocks": names}}

    assert state(signed_over(document, {}), pinned()) == "invalid"


def test_blocks_that_are_claimed_to_be_signed_without_a_signature_are_unsigned():
    found, findings = check(
        {"feed_type": "session", "trust": {"signed_blocks": ["feed_type"], "valid_signature": True}}
    )

    assert (found.state, findings) == ("unsigned", [])
    assert "carries no signature" in found.detail


def test_a_feed_that_is_packed_or_has_a_mark_or_is_no_session_is_verified():
    document = json.dumps(feed(ed_key(), feed_type="prompt")).encode()

    assert state(gzip.compress(document), pinned()) == "valid"
    assert state(b"\xef\xbb\xbf" + document, pinned()) == "valid"


def test_numbers_are_checked_as_they_were_written():
    document = feed(ed_key(), api_execution={"cost": {"amount": 1e-07}, "latency_ms": 10**20, "share": 1.0})

    assert state(document, pinned()) == "valid"


def test_lone_surrogates_and_nan_are_no_reason_to_fail():
    document = feed(ed_key())
    document["context"]["user_input"] = "\ud800"
    text = json.dumps(document).replace('"clerk"', "NaN")

    assert state(text.encode(), pinned()) == "invalid"
