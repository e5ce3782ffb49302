"""Webhooks that come in as Standard Webhooks 1.0: the id and the time are signed, and a repeat is known by the id."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from sessions_app.services import audit
from sessions_app.services.triggers import Refused, webhook_endpoints, webhook_payloads, webhook_signatures

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STAMP = str(int(NOW.timestamp()))
BODY = b'{"type": "order.paid"}'


def signed(message_id="msg_1", stamp=STAMP, body=BODY, key=KEY) -> dict[str, str]:
    mac = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id, "webhook-timestamp": stamp,
        "webhook-signature": "v1," + base64.b64encode(mac).decode(),
    }  # fmt: skip


def check(headers, body=BODY, secret=SECRET):
    webhook_signatures.check("standard", secret, webhook_signatures.Request(body, headers, "https://x/", NOW))


def test_the_example_of_the_reference_library_is_accepted():
    """Values of the test of standard-webhooks (svix): secret, id, time and payload are theirs."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }  # fmt: skip
    at = datetime.fromtimestamp(1614265330, UTC)
    request = webhook_signatures.Request(b'{"test": 2432232314}', headers, "https://x/", at)
    webhook_signatures.check("standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", request)


def test_one_of_several_signatures_is_enough_and_others_are_none():
    good = signed()
    check(good | {"webhook-signature": f"v1a,xyz v1,AAAA {good['webhook-signature']}"})
    for wrong in ("v1,", "v2" + good["webhook-signature"][2:], good["webhook-signature"][3:], "v1,é", " "):
        with pytest.raises(webhook_signatures.Wrong):
            check(good | {"webhook-signature": wrong})


@pytest.mark.parametrize("change", [
    {"webhook-id": "msg_2"}, {"webhook-timestamp": str(int(STAMP) + 1)}, {"webhook-id": ""}, {"webhook-timestamp": ""},
    {"webhook-signature": ""},
])  # fmt: skip
def test_id_and_time_are_signed(change):
    with pytest.raises(webhook_signatures.Wrong):
        check(signed() | change)


def test_another_body_secret_or_time_is_refused():
    for headers, body, secret in (
        (signed(), BODY + b" ", SECRET), (signed(key=b"x" * 32), BODY, SECRET),
        (signed(stamp=str(int(STAMP) - 301)), BODY, SECRET), (signed(), BODY, "no base64!"),
    ):  # fmt: skip
        with pytest.raises(webhook_signatures.Wrong):
            check(headers, body, secret)


def test_nothing_of_the_body_can_be_taken_for_the_time():
    original = signed("msg_1", STAMP, f"{STAMP}.x".encode())
    moved = original | {"webhook-id": f"msg_1.{STAMP}"}
    with pytest.raises(webhook_signatures.Wrong, match="full stop"):
        check(moved, b"x")


def test_the_id_is_what_makes_a_delivery_the_same():
    one, two = signed("msg_1"), signed("msg_2")
    ids = [webhook_payloads.delivery_id("standard", {}, BODY, headers, NOW) for headers in (one, two)]
    assert ids == ["msg_1", "msg_2"]
    renamed = one | {"idempotency-key": "other"}
    assert webhook_payloads.delivery_id("standard", {}, BODY, renamed, NOW) == "msg_1"


def test_a_secret_is_made_in_its_form_or_checked(workspace):
    _, made = webhook_endpoints.create(workspace.id, "orders", "standard", agent=None, by=audit.SYSTEM)
    assert made.startswith("whsec_") and len(base64.b64decode(made[6:])) == 32
    endpoint, made = webhook_endpoints.create(
        workspace.id, "theirs", "standard", agent=None, by=audit.SYSTEM, secret=SECRET
    )
    assert made == "" and endpoint.secret == SECRET
    with pytest.raises(Refused, match="whsec_"):
        webhook_endpoints.create(workspace.id, "wrong", "standard", agent=None, by=audit.SYSTEM, secret="no base64!")
