"""Pushes are encrypted as RFC 8291 says: its own example comes out, and another's code reads what is sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import http_ece
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sessions_app.services.notices import push_encryption
from tests.fakes.push_service import Browser

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def private(number: str) -> ec.EllipticCurvePrivateKey:
    """A key of the example, which has it as a number in Base64 for URLs."""
    return ec.derive_private_key(int.from_bytes(push_encryption.unbase64url(number), "big"), ec.SECP256R1())


def test_the_example_of_the_rfc_comes_out_byte_for_byte():
    """RFC 8291, section 5 and appendix A."""
    body = push_encryption.encrypt(
        b"When I grow up, I want to be a watermelon",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
        salt=push_encryption.unbase64url("DGv6ra1nlYgDCS1FRnbzlw"),
        own=private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        block=1,
    )
    assert push_encryption.base64url(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl"
        "95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("length", [0, 1, 509, 510, 511, 512, 3_000, push_encryption.MOST])
def test_the_browser_reads_what_was_sent_and_a_push_service_takes_its_length(length):
    browser = Browser("https://push.example/1", "")
    payload = bytes(range(256)) * 16
    body = push_encryption.encrypt(payload[:length], browser.form["p256dh"], browser.form["auth"])
    assert browser.decrypt(body) == payload[:length] and len(body) <= 4096


def test_lengths_say_little_and_nothing_is_the_same_twice():
    form = Browser("https://push.example/1", "").form
    bodies = [push_encryption.encrypt(b"x" * length, form["p256dh"], form["auth"]) for length in (1, 300, 300)]
    assert len({len(body) for body in bodies}) == 1 and len(set(bodies)) == 3


def test_another_browser_reads_nothing():
    ours, other = Browser("https://push.example/1", ""), Browser("https://push.example/2", "")
    body = push_encryption.encrypt(b"secret", ours.form["p256dh"], ours.form["auth"])
    with pytest.raises(http_ece.ECEException):
        other.decrypt(body)


def test_too_much_is_refused():
    form = Browser("https://push.example/1", "").form
    with pytest.raises(ValueError, match="a push takes 3993 bytes, not 3994"):
        push_encryption.encrypt(b"x" * (push_encryption.MOST + 1), form["p256dh"], form["auth"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p256dh", ""),
        ("p256dh", "BAAA"),
        ("p256dh", "B" + "A" * 86),  # 65 bytes, and no point of the curve
        ("p256dh", "§"),
        ("auth", ""),
        ("auth", "AAAA"),
        ("auth", "not base64 !"),
    ],
)
def test_keys_that_no_browser_has_are_refused(name, value):
    keys = {name: value for name, value in Browser("", "").form.items() if name in ("p256dh", "auth")}
    push_encryption.check_keys(**keys)
    with pytest.raises(ValueError):
        push_encryption.check_keys(**keys | {name: value})


def test_the_signature_names_the_push_service_alone_and_ends_within_a_day():
    pem, public = push_encryption.new_key()
    value = push_encryption.authorization("https://push.example:8443/secret/path?x", pem, public, "mailto:a@b.c", NOW)
    token = value.removeprefix("vapid t=").partition(",")[0]
    assert value.endswith(f", k={public}") and push_encryption.public_of(pem) == public
    key = load_pem_private_key(pem.encode(), None).public_key()
    about = {"algorithms": ["ES256"], "audience": "https://push.example:8443", "options": {"verify_exp": False}}
    claims = jwt.decode(token, key, **about)
    assert claims["exp"] == int((NOW + timedelta(hours=12)).timestamp()) and claims["sub"] == "mailto:a@b.c"
    assert jwt.get_unverified_header(token) == {"typ": "JWT", "alg": "ES256"}
