"""Signed vCons: what verifies, what does not, and that neither can pass for the other."""

from __future__ import annotations

import base64
import gzip
import hmac
import io
import json
import socket
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from vcon_app.drafts import Finding, FormatError, Signature
from vcon_app.formats import vcon
from vcon_app.signing.keys import Anchor, anchor_of

from .make import (
    AT,
    VCON,
    Owner,
    b64,
    ec_key,
    ed_key,
    entry,
    owner,
    public_pem,
    recorder,
    root,
    rsa_key,
    sign,
    signed,
)


def check(jws: Any, *anchors: Anchor) -> tuple[Signature, list[Finding]]:
    data = jws if isinstance(jws, bytes) else json.dumps(jws).encode()
    return vcon.verify(io.BytesIO(data), anchors, AT)


def state(jws: Any, *anchors: Anchor) -> str:
    return check(jws, *anchors)[0].state


def rules(findings: list[Finding]) -> set[str]:
    return {finding.rule for finding in findings}


KEYS = {
    "RS": rsa_key(), "PS": rsa_key(), "ES256": ec_key(), "ES384": ec_key(ec.SECP384R1), "ES512": ec_key(ec.SECP521R1),
    "EdDSA": ed_key(),
}  # fmt: skip
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def signer_for(algorithm: str) -> Owner:
    return recorder(key=KEYS.get(algorithm) or KEYS[algorithm[:2]])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_verifies_and_says_with_which_key(algorithm):
    by = signer_for(algorithm)
    found, findings = check(signed(VCON, by, algorithm=algorithm), by.anchor)

    assert (found.state, found.signer, findings) == ("valid", "recorder.example", [])
    assert algorithm in found.detail and "covers the whole vCon" in found.detail


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signature_by_another_key_is_invalid(algorithm):
    by = signer_for(algorithm)
    jws = signed(VCON, by, algorithm=algorithm)
    value = bytearray(base64.urlsafe_b64decode(jws["signatures"][0]["signature"] + "=="))
    value[-1] ^= 1
    jws["signatures"][0]["signature"] = b64(bytes(value))

    assert state(jws, by.anchor) == "invalid"


def test_an_unsigned_vcon_is_unsigned():
    assert check(VCON) == (Signature("unsigned"), [])


def test_a_signer_that_nobody_knows_is_not_trusted_and_that_is_reported():
    found, findings = check(signed(VCON, recorder()))

    assert found.state == "valid_untrusted"
    assert "no trust anchor" in found.detail
    assert [(one.rule, one.severity) for one in findings] == [("R89", "warning")]


def test_an_invalid_signature_names_no_signer():
    jws = signed(VCON, recorder())
    jws["payload"] = b64(json.dumps(VCON | {"subject": "Another clock"}).encode())
    found, findings = check(jws, recorder().anchor)

    assert (found.state, found.signer) == ("invalid", None)
    assert [(one.rule, one.severity, one.path) for one in findings] == [("R86", "error", "/signatures/0")]


def changed(text: str, place: int) -> str:
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


@pytest.mark.parametrize("part", ["payload", "protected", "signature"])
@pytest.mark.parametrize("where", [0, 7, 0.5, -2])
def test_no_character_of_what_is_signed_can_be_exchanged(part, where):
    """The last character of base64 may have bits that mean nothing; the one before it never has."""
    jws = signed(VCON, recorder())
    holder = jws if part == "payload" else jws["signatures"][0]
    text = holder[part]
    holder[part] = changed(text, int(len(text) * where) if isinstance(where, float) else where % len(text))

    assert state(jws, recorder().anchor) == "invalid"


def test_a_certificate_that_was_exchanged_does_not_fit():
    jws = signed(VCON, recorder())
    other = owner("recorder.example", rsa_key(2))
    jws["signatures"][0]["header"]["x5c"] = [other.x5c]

    assert state(jws, other.anchor) == "invalid"


@pytest.mark.parametrize("x5c", [[], "AAAA", ["AAAA"], [5], ["!"], {"0": "a"}, [""]])
def test_a_certificate_that_cannot_be_read_leaves_the_signature_uncheckable(x5c):
    jws = signed(VCON, recorder())
    jws["signatures"][0]["header"]["x5c"] = x5c

    assert state(jws, recorder().anchor) == "uncheckable"


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "HS256", "HS512"])
def test_algorithms_that_prove_nothing_never_verify(algorithm):
    by = recorder()
    payload = b64(json.dumps(VCON).encode())
    protected = b64(json.dumps({"alg": algorithm}).encode())
    made = {"protected": protected, "header": {"x5c": [by.x5c]}, "signature": ""}

    assert state({"payload": payload, "signatures": [made]}, by.anchor) == "invalid"


def test_a_public_key_is_no_secret_for_an_hmac():
    """The oldest trick: HS256 keyed with the PEM of the RSA key that everybody has."""
    by = recorder()
    payload, protected = b64(json.dumps(VCON).encode()), b64(json.dumps({"alg": "HS256"}).encode())
    value = hmac.digest(public_pem(by.key).encode(), f"{protected}.{payload}".encode(), "sha256")
    made = {"protected": protected, "header": {"x5c": [by.x5c]}, "signature": b64(value)}

    assert state({"payload": payload, "signatures": [made]}, by.anchor) == "invalid"


@pytest.mark.parametrize("algorithm", ["ES256K", "HSS-LMS", "RS1", "RS2048", "EdDSA2", "", "ES", "PS"])
def test_unknown_algorithm_leaves_the_signature_uncheckable(algorithm):
    jws = signed(VCON, recorder())
    jws["signatures"][0]["protected"] = b64(json.dumps({"alg": algorithm}).encode())

    assert state(jws, recorder().anchor) == "uncheckable"


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "PS256", "RS512"])
def test_an_algorithm_of_another_kind_than_the_key_is_invalid(algorithm):
    jws = signed(VCON, recorder(), protected={"alg": algorithm})

    assert state(jws, recorder().anchor) == "invalid"


def test_a_signature_of_der_is_not_one_of_es256():
    by = recorder(key=ec_key())
    jws = signed(VCON, by, algorithm="ES256")
    made = jws["signatures"][0]
    data = f"{made['protected']}.{jws['payload']}".encode()
    made["signature"] = b64(by.key.sign(data, ec.ECDSA(hashes.SHA256())))

    assert state(jws, by.anchor) == "invalid"


def test_names_in_both_headers_are_accepted_when_they_agree():
    by = recorder()
    jws = signed(VCON, by, header={"alg": "RS256"}, protected={"typ": "JWT", "x5c": [by.x5c]})
    found, findings = check(jws, by.anchor)

    assert found.state == "valid"
    assert [(one.rule, one.severity) for one in findings] == [("R87", "info")]


@pytest.mark.parametrize("other", [{"alg": "ES256"}, {"alg": "none"}, {"x5c": []}])
def test_conflicting_header_names_make_the_signature_invalid(other):
    by = recorder()
    jws = signed(VCON, by, header={"alg": "RS256"}, protected={"x5c": [by.x5c]})
    jws["signatures"][0]["header"] |= other

    assert state(jws, by.anchor) == "invalid"


def test_the_algorithm_may_stand_in_the_unprotected_header():
    """Core s5.2.2 lists it there."""
    assert (
        state(signed(VCON, recorder(), header={"alg": "RS256"}, protected={"alg": None}), recorder().anchor) == "valid"
    )


def test_a_critical_header_that_is_not_known_is_refused():
    jws = signed(VCON, recorder(), protected={"crit": ["b64"], "b64": False})

    assert state(jws, recorder().anchor) == "invalid"


def test_a_name_twice_in_the_protected_header_is_refused():
    by = recorder()
    payload, protected = b64(json.dumps(VCON).encode()), b64(b'{"alg":"RS256","alg":"RS256"}')
    made = {"protected": protected, "header": {"x5c": [by.x5c]}}
    made["signature"] = b64(sign("RS256", by.key, f"{protected}.{payload}".encode()))

    assert state({"payload": payload, "signatures": [made]}, by.anchor) == "invalid"


def test_a_name_twice_at_the_top_is_read_as_it_is_verified():
    """Readers keep the last one; a check of the first would vouch for what nobody is shown."""
    good, bad = signed(VCON, recorder()), b64(json.dumps(VCON | {"subject": "x"}).encode())
    text = json.dumps(good)
    twice = f'{text[:-1]}, "payload": "{bad}"}}'.encode()

    assert state(twice, recorder().anchor) == "invalid"


def test_trusted_key_verifies_a_signature_without_certificate():
    by = recorder()
    jws = signed(VCON, by, header={"x5c": None})

    assert state(jws, anchor_of(public_pem(by.key), "Ours")) == "valid"
    assert state(jws, anchor_of(public_pem(rsa_key(3)))) == "invalid"
    assert state(jws, owner("Somebody", rsa_key(3)).anchor) == state(jws) == "uncheckable"
    assert state(jws, anchor_of(public_pem(ed_key())), by.anchor) == "valid"


def test_an_address_of_a_certificate_is_told_and_never_followed(monkeypatch):
    def trap(*_args, **_kwargs):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", trap)
    monkeypatch.setattr(socket, "getaddrinfo", trap)
    jws = signed(VCON, recorder(), header={"x5c": None, "x5u": "https://127.0.0.1/chain.pem"})
    found, findings = check(jws)

    assert found.state == "uncheckable"
    assert "not fetched" in found.detail and rules(findings) == {"R86", "R91"}


def test_a_key_in_the_header_is_not_a_reason_to_trust():
    jws = signed(VCON, recorder(), header={"x5c": None, "jwk": {"kty": "oct", "k": "AAAA"}})

    assert state(jws) == "uncheckable"


def test_of_several_signatures_the_trusted_one_counts():
    known, stranger = recorder(), owner("Stranger", rsa_key(2))
    jws = signed(VCON, stranger)
    jws["signatures"].append(entry(jws["payload"], known))
    found, findings = check(jws, known.anchor)

    assert (found.state, found.signer) == ("valid", "recorder.example")
    assert [one.path for one in findings] == ["/signatures/0"]


def test_one_invalid_signature_among_valid_ones_makes_the_file_invalid():
    known = recorder()
    jws = signed(VCON, known)
    jws["signatures"].append(entry(b64(b"{}"), known))

    assert state(jws, known.anchor) == "invalid"


def test_thousands_of_signatures_are_not_all_checked():
    jws = signed(VCON, recorder())
    jws["signatures"] *= 2000
    found, findings = check(jws, recorder().anchor)

    assert found.state == "valid"
    assert "2,000" in findings[-1].message


@pytest.mark.parametrize("signatures", [[], {}, None, 5, [None], [[]], [{}], [{"protected": 5}], [{"header": 5}]])
def test_malformed_signature_list_is_invalid(signatures):
    assert state({"payload": b64(json.dumps(VCON).encode()), "signatures": signatures}) == "invalid"


def test_a_packed_payload_in_a_packed_file_is_verified():
    by = recorder()
    data = gzip.compress(json.dumps(signed(gzip.compress(json.dumps(VCON).encode()), by)).encode())

    assert state(data, by.anchor) == "valid"


def test_of_a_signature_around_another_the_outer_one_counts():
    inner, outer = owner("Stranger", rsa_key(2)), recorder()
    found, findings = check(signed(signed(VCON, inner), outer), outer.anchor)

    assert (found.state, found.signer) == ("valid", "recorder.example")
    assert "signed before: valid untrusted by Stranger" in found.detail
    assert [one.path for one in findings] == ["/payload/signatures/0"]


def test_an_invalid_signature_inside_of_a_good_one_is_not_hidden():
    inner = signed(VCON, recorder())
    inner["payload"] = b64(json.dumps(VCON | {"subject": "x"}).encode())
    found, _ = check(signed(inner, recorder()), recorder().anchor)

    assert found.state == "invalid"
    assert found.detail.startswith("The signature inside of another one")


def test_eight_signatures_around_each_other_are_checked_and_nine_refused():
    jws: Any = VCON
    for _ in range(8):
        jws = signed(jws, recorder())

    assert state(jws, recorder().anchor) == "valid"
    with pytest.raises(FormatError, match="8 times"):
        check(signed(jws, recorder()))


def test_a_payload_that_is_broken_is_told_to_be_invalid_and_not_only_unreadable():
    jws = signed(VCON, recorder())
    jws["payload"] = b64(b"\xff\xfe{")

    assert state(jws, recorder().anchor) == "invalid"


def test_a_file_larger_than_what_is_read_at_once_is_verified():
    large = VCON | {"attachments": [{"purpose": "x", "body": "a" * 20_000_000, "encoding": "none"}]}
    by = recorder()
    jws = signed(large, by)

    assert state(jws, by.anchor) == "valid"
    jws["payload"] = changed(jws["payload"], 20_000_000)
    assert state(jws, by.anchor) == "invalid"


def test_an_encrypted_vcon_is_encrypted():
    jwe = {
        "protected": "e30",
        "recipients": [{}],
        "iv": "",
        "ciphertext": "AAAA",
        "tag": "",
        "unprotected": {"uuid": "u"},
    }
    found, findings = check(jwe)

    assert (found.state, findings) == ("encrypted", [])
    assert "uuid 'u'" in found.detail
    with pytest.raises(FormatError) as refused:
        list(vcon.read(io.BytesIO(json.dumps(jwe).encode())))
    assert refused.value.signature.state == "encrypted"


def test_signatures_of_a_root_may_stand_in_the_file_with_their_chain():
    top = root()
    middle = owner("Middle", rsa_key(2), top, ca=True)
    by = recorder(middle)

    assert state(signed(VCON, by, chain=[middle, top]), top.anchor) == "valid"
    assert state(signed(VCON, by, chain=[middle]), top.anchor) == "valid"
    assert state(signed(VCON, by), top.anchor) == "valid_untrusted"


def test_what_stands_beside_the_signed_payload_is_called_unsigned_and_is_not_read():
    """The library ``vcon`` 0.10.0 leaves the plaintext in the file: it may say anything, and the signature verifies."""
    by = recorder()
    jws = signed(VCON, by)
    lie = {**jws, "dialog": [{"type": "text", "parties": [0], "encoding": "none", "body": "Transfer it all"}]}
    found, _ = check(lie, by.anchor)
    assert (found.state, found.uncovered) == ("valid", ("dialog",))
    assert "It does not cover what stands beside it in the file and is not read: dialog." in found.detail
    drafts = list(vcon.read(io.BytesIO(json.dumps(lie).encode())))
    assert [one.path for one in drafts if isinstance(one, Finding) and one.rule == "R86"] == [""]
    assert "Transfer it all" not in repr(drafts)
    assert "R86" not in rules(
        [one for one in vcon.read(io.BytesIO(json.dumps(jws).encode())) if isinstance(one, Finding)]
    )
