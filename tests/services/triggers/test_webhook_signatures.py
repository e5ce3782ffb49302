"""Signatures of each sender, with values that were computed by their own recipes; and every way to get them wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.services.triggers import webhook_signatures

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STAMP = str(int(NOW.timestamp()))
SECRET = "correct horse battery"  # noqa: S105 - of the tests alone
BODY = b'{"id": "evt_1", "text": "\xc3\xa9"}'
URL = "https://desk.example/hooks/abc?x=1"
FORM = b"Body=Hi+there&From=%2B4912&To=%2B4913&Empty="


def mac(signed: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(SECRET.encode(), signed, algorithm).digest()


def b64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def twilio(url: str, fields: str = "BodyHi thereEmptyFrom+4912To+4913") -> str:
    return b64(mac(f"{url}{fields}".encode(), "sha1"))


STRIPE = f"t={STAMP},v1={'0' * 64},v1={mac(f'{STAMP}.'.encode() + BODY).hex()},v0=old"
SLACK = f"v0={mac(f'v0:{STAMP}:'.encode() + BODY).hex()}"
OURS = f"sha256={mac(f'{STAMP}.'.encode() + BODY).hex()}"
GOOD = {
    "github": {"x-hub-signature-256": f"sha256={mac(BODY).hex()}"},
    "stripe": {"stripe-signature": STRIPE},
    "slack": {"x-slack-signature": SLACK, "x-slack-request-timestamp": STAMP},
    "shopify": {"x-shopify-hmac-sha256": b64(mac(BODY))},
    "twilio": {"x-twilio-signature": twilio(URL)},
    "generic": {"x-countersign-signature": OURS, "x-countersign-timestamp": STAMP},
}
TIMED = ("stripe", "slack", "generic")


def check(scheme, headers=None, *, body=None, secret=SECRET, now=NOW, url=URL):
    body = body if body is not None else FORM if scheme == "twilio" else BODY
    webhook_signatures.check(
        scheme, secret, webhook_signatures.Request(body, headers if headers is not None else GOOD[scheme], url, now)
    )


@pytest.mark.parametrize("scheme", GOOD)
def test_valid_webhook_signature_is_accepted(scheme):
    check(scheme)


@pytest.mark.parametrize("scheme", GOOD)
def test_another_secret_another_body_and_no_signature_are_refused(scheme):
    with pytest.raises(webhook_signatures.Wrong, match="does not match"):
        check(scheme, secret="another secret")
    with pytest.raises(webhook_signatures.Wrong, match="does not match"):
        check(scheme, body=FORM + b"&More=1" if scheme == "twilio" else BODY + b" ")
    with pytest.raises(webhook_signatures.Wrong, match="is missing"):
        check(scheme, {})


@pytest.mark.parametrize("scheme", GOOD)
@pytest.mark.parametrize("value", ["", "sha256=", "v0=", "t=,v1=", "é", "\udcff", "=" * 10_000, "sha256=" + "0" * 64])
def test_malformed_webhook_signature_is_refused(scheme, value):
    name = next(name for name in GOOD[scheme] if "signature" in name or "hmac" in name)
    with pytest.raises(webhook_signatures.Wrong):
        check(scheme, GOOD[scheme] | {name: value})


@pytest.mark.parametrize("scheme", TIMED)
@pytest.mark.parametrize("off", [-301, 301, 86_400])
def test_a_signature_from_another_time_is_refused(scheme, off):
    with pytest.raises(webhook_signatures.Wrong, match=f"{abs(off)} s from now"):
        check(scheme, now=NOW + timedelta(seconds=off))
    check(scheme, now=NOW + timedelta(seconds=300 if off > 0 else -300))


@pytest.mark.parametrize("stamp", ["", "soon", "-1", "1e9", "9" * 40, "１７"])
def test_malformed_webhook_timestamp_is_refused(stamp):
    with pytest.raises(webhook_signatures.Wrong):
        check("generic", GOOD["generic"] | {"x-countersign-timestamp": stamp})


def test_a_time_that_was_changed_is_not_the_one_that_was_signed():
    with pytest.raises(webhook_signatures.Wrong, match="does not match"):
        check("slack", GOOD["slack"] | {"x-slack-request-timestamp": str(int(STAMP) + 1)})


@pytest.mark.parametrize("signed", [URL, URL.replace("desk.example", "desk.example:443")])
def test_twilio_may_sign_the_port_or_not(signed):
    check("twilio", {"x-twilio-signature": twilio(signed)})
    check("twilio", {"x-twilio-signature": twilio(signed)}, url=URL.replace("desk.example", "desk.example:443"))


@pytest.mark.parametrize("host", ["desk.example:99999", "[:::]"])
def test_an_impossible_host_is_a_wrong_signature(host):
    with pytest.raises(webhook_signatures.Wrong, match="no host"):
        check("twilio", url=URL.replace("desk.example", host))


def test_twilio_signs_the_hash_of_json_in_the_address():
    url = f"{URL}&bodySHA256={hashlib.sha256(BODY).hexdigest()}"
    check("twilio", {"x-twilio-signature": twilio(url, "")}, body=BODY, url=url)
    with pytest.raises(webhook_signatures.Wrong):
        check("twilio", {"x-twilio-signature": twilio(url, "")}, body=BODY + b" ", url=url)


def test_a_form_with_a_million_fields_is_refused_at_once():
    with pytest.raises(webhook_signatures.Wrong, match="no form"):
        check("twilio", body=b"&".join([b"a=1"] * 100_000))


def test_unsigned_endpoint_accepts_any_request():
    check("none", {})


def test_refusal_of_a_webhook_names_no_secret():
    with pytest.raises(webhook_signatures.Wrong) as raised:
        check("github", secret="hunter2hunter2")
    assert "hunter2" not in str(raised.value)


def test_documented_signing_recipe_is_accepted():
    assert webhook_signatures.generic(SECRET.encode(), STAMP, BODY) == OURS


def test_the_examples_of_the_senders_own_docs_pass():
    """docs.github.com, docs.slack.dev and twilio.com/docs give a secret, a request and its signature."""
    webhook_signatures.check("github", "It's a Secret to Everybody", webhook_signatures.Request(
        b"Hello, World!",
        {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}, URL, NOW,
    ))  # fmt: skip
    form = b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"
    headers, url = {"x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="}, "https://mycompany.com/myapp.php?foo=1&bar=2"
    webhook_signatures.check("twilio", "12345", webhook_signatures.Request(form, headers, url, NOW))
