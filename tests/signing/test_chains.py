"""From a signer's certificate to a trust anchor: which ways lead there, and which only seem to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from vcon_app.signing.chain import Judgement, judge
from vcon_app.signing.keys import Anchor, anchor_of

from .make import (
    AT,
    CORPUS,
    END,
    START,
    Owner,
    ec_key,
    ed_key,
    needs_corpus,
    owner,
    public_pem,
    recorder,
    root,
    rsa_key,
)

USAGE = dict.fromkeys(
    (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    ),
    False,
)  # fmt: skip


def judged(chain: list[Owner], *anchors: Anchor, at: datetime = AT) -> Judgement:
    return judge([one.certificate for one in chain], anchors, at)


def usage(**allowed: bool) -> tuple[x509.KeyUsage, bool]:
    return x509.KeyUsage(**USAGE | allowed), True


def test_a_certificate_of_a_trusted_root_is_trusted_until_the_first_one_expires():
    top = root(dates=(START, END + timedelta(days=900)))
    found = judged([recorder(top)], top.anchor)

    assert (found.state, found.signer, found.until) == ("trusted", "recorder.example", END)
    assert '"Root"' in found.reason


def test_the_order_in_the_file_does_not_matter_behind_the_first():
    top = root()
    outer = owner("Outer", rsa_key(2), top, ca=True)
    inner = owner("Inner", rsa_key(3), outer, ca=True)

    assert judged([recorder(inner), top, outer, inner], top.anchor).state == "trusted"


def test_a_certificate_that_signed_itself_is_trusted_only_by_name():
    alone = recorder()

    assert judged([alone]).state == "untrusted"
    assert judged([alone], root().anchor).state == "untrusted"
    assert judged([alone], alone.anchor).state == "trusted"


def test_a_root_of_the_same_name_with_another_key_is_another_one():
    impostor = owner("Root", rsa_key(2), ca=True)
    found = judged([recorder(impostor), impostor], root().anchor)

    assert found.state == "untrusted"
    assert "not signed by the key of Root" in found.reason


def test_owner_named_by_a_certificate_counts_only_with_a_trusted_issuer():
    """Whoever has a pinned key can write any name into a certificate of his own."""
    key = anchor_of(public_pem(rsa_key()), "Our recorder")
    bank = owner("Bank of Elsewhere", rsa_key())

    assert judged([bank], key).signer == "Our recorder"
    assert judged([bank], recorder().anchor).signer == "recorder.example"


def test_a_pinned_key_does_not_vouch_for_others():
    key = anchor_of(public_pem(rsa_key(1)), "A key")
    top = root()

    assert judged([recorder(top), top], key).state == "untrusted"


@pytest.mark.parametrize("ca", [False, None])
def test_certificate_that_is_no_ca_cannot_issue(ca):
    top = root()
    middle = owner("Middle", rsa_key(2), top, ca=ca)
    found = judged([recorder(middle), middle, top], top.anchor)

    assert found.state == "untrusted"
    assert "no CA" in found.reason


def test_trust_anchor_that_is_no_ca_cannot_issue():
    plain = owner("Plain", rsa_key(2), ca=False)

    assert judged([recorder(plain)], plain.anchor).state == "untrusted"


def test_a_ca_that_may_not_sign_certificates_does_not():
    top = root()
    middle = owner("Middle", rsa_key(2), top, ca=True, extensions=[usage(crl_sign=True)])

    assert judged([recorder(middle), middle], top.anchor).state == "untrusted"


def test_a_ca_may_be_limited_in_depth():
    top = owner("Root", rsa_key(1), ca=True, path_length=0)
    middle = owner("Middle", rsa_key(2), top, ca=True)

    assert judged([recorder(top)], top.anchor).state == "trusted"
    found = judged([recorder(middle), middle], top.anchor)
    assert found.state == "untrusted"
    assert "allows 0" in found.reason


def test_a_certificate_for_something_else_than_signing_signs_nothing():
    top = root()

    assert judged([recorder(top, extensions=[usage(key_encipherment=True)])], top.anchor).state == "untrusted"
    assert judged([recorder(top, extensions=[usage(content_commitment=True)])], top.anchor).state == "trusted"


def test_a_critical_extension_that_nobody_here_knows_is_respected():
    top = root()
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
    constraints = x509.NameConstraints([x509.DNSName("elsewhere.example")], None)

    assert judged([recorder(top, extensions=[(unknown, True)])], top.anchor).state == "untrusted"
    assert judged([recorder(top, extensions=[(unknown, False)])], top.anchor).state == "trusted"
    limited = owner("Limited", rsa_key(2), top, ca=True, extensions=[(constraints, True)])
    assert judged([recorder(limited), limited], top.anchor).state == "untrusted"


def test_expired_chain_is_reported_as_expired_and_not_as_untrusted():
    top = root()
    old = recorder(top, dates=(START, START + timedelta(days=30)))
    found = judged([old], top.anchor)

    assert (found.state, found.until) == ("expired", START + timedelta(days=30))
    assert "recorder.example expired on 2025-01-31" in found.reason
    assert judged([old], top.anchor, at=START + timedelta(days=29)).state == "trusted"
    assert judged([recorder(dates=old_dates())]).state == "untrusted"


def old_dates() -> tuple[datetime, datetime]:
    return START, START + timedelta(days=30)


@pytest.mark.parametrize("place", ["root", "middle"])
def test_any_certificate_on_the_way_may_have_expired(place):
    dates = {place: {"dates": old_dates()}}
    top = root(**dates.get("root", {}))
    middle = owner("Middle", rsa_key(2), top, ca=True, **dates.get("middle", {}))

    assert judged([recorder(middle), middle], top.anchor).state == "expired"


def test_a_renewed_root_is_preferred_to_the_one_that_expired():
    old, new = root(dates=old_dates()), root()

    assert judged([recorder(new)], old.anchor, new.anchor).state == "trusted"


def test_certificate_that_is_not_valid_yet_is_not_trusted():
    top = root()
    early = recorder(top, dates=(AT + timedelta(days=1), END))

    assert judged([early], top.anchor).state == "untrusted"
    assert "not valid before" in judged([early], top.anchor).reason


def test_weak_keys_are_not_trusted():
    weak = recorder(key=rsa_key(bits=1024))
    other_curve = recorder(root(), key=ec_key(ec.SECP256K1))

    assert "too weak" in judged([weak]).reason
    assert "curve" in judged([other_curve], root().anchor).reason


def test_keys_of_all_kinds_may_vouch_for_each_other():
    top = owner("Root", ed_key(), ca=True)
    middle = owner("Middle", ec_key(ec.SECP384R1), top, ca=True)

    assert judged([recorder(middle), middle], top.anchor).state == "trusted"


def test_circular_certificate_chain_ends():
    one, two = owner("One", rsa_key(1), ca=True), owner("Two", rsa_key(2), ca=True)
    crossed = [owner("One", rsa_key(1), two, ca=True), owner("Two", rsa_key(2), one, ca=True)]

    assert judged([recorder(one), *crossed * 4]).state == "untrusted"


@needs_corpus
def test_version_1_certificate_counts_as_ca_with_a_note():
    """The chain of all official examples of signed vCons."""
    folder = CORPUS / "vcon-real" / "_certs"
    group, division, old = (
        x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
        for name in ("fake_grp", "fake_div", "expired_div")
    )
    ca, other = (anchor_of((folder / f"{name}.crt").read_text()) for name in ("fake_ca_root", "fake_ca2_root"))
    found = judge([group, division], [ca], datetime(2026, 1, 1, tzinfo=UTC))

    assert (found.state, found.signer) == ("trusted", "grp.div.fakevcon.io")
    assert "version 1" in found.notes[0]
    assert judge([group, division], [other], AT).state == "untrusted"
    assert judge([group], [ca], AT).state == "untrusted"
    assert judge([old], [ca], AT).state == "expired"
