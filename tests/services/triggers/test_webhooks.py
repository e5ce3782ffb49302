"""Webhooks as senders post them: over HTTP, with their signatures, again and again, and with every kind of nonsense."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.http import HttpResponse
from django.test import Client

from sessions_app import encryption
from sessions_app.models import (
    AuditEntry,
    Budget,
    Event,
    Session,
    TriggerRun,
    WebhookDelivery,
    WebhookEndpoint,
)
from sessions_app.services import agents
from sessions_app.services.triggers import webhook_deliveries, webhook_endpoints, webhook_signatures
from sessions_app.services.turns import messages

from .conftest import INES

JSON = "application/json"
ORDER = {"type": "order.created", "order": 4711, "total": "420.00"}
MOST = 1024 * 1024


@pytest.fixture
def http() -> Client:
    """A stranger; faults come back as answers, as they do over HTTP."""
    return Client(raise_request_exception=False, enforce_csrf_checks=True)


@pytest.fixture
def plain(make_endpoint) -> WebhookEndpoint:
    """An unsigned endpoint."""
    return make_endpoint("none")[0]


def post(http: Client, endpoint: WebhookEndpoint, body: Any, type_: str = JSON, **headers: str) -> HttpResponse:
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return http.generic("POST", f"/hooks/{endpoint.hook_id}", content, type_, headers=headers)


def signed(secret: str, body: bytes, stamp: int | None = None) -> dict[str, str]:
    stamp = str(stamp or int(time.time()))
    return {
        "X-Countersign-Timestamp": stamp,
        "X-Countersign-Signature": webhook_signatures.generic(secret.encode(), stamp, body)
    }  # fmt: skip


def taken(answer: HttpResponse) -> dict[str, Any]:
    assert answer.status_code == 200, (answer.status_code, answer.content[:500])
    return answer.json()


def refused(answer: HttpResponse, status: int) -> str:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), answer.content[:500]
    return answer.json()["detail"]


def test_a_delivery_is_kept_and_begins_a_session_with_its_json(http, plain, scripted_agent):
    told = taken(post(http, plain, ORDER, X_Custom="yes", Authorization="Bearer hush", Cookie="sessionid=hush"))
    delivery, session = WebhookDelivery.objects.get(), Session.objects.get()
    assert told == {"delivery": str(delivery.pk), "session": str(session.pk), "duplicate": False}
    assert (delivery.payload, delivery.source_ip, delivery.topic) == (ORDER, "127.0.0.1", "order.created")
    assert delivery.headers["authorization"] == delivery.headers["cookie"] == "(not kept)"
    assert "hush" not in json.dumps(delivery.headers)
    assert (session.origin, session.agent, session.title) == ("webhook", scripted_agent, "orders: order.created")
    assert Event.objects.get(session=session).text == json.dumps(ORDER, indent=2)
    run = TriggerRun.objects.get()
    assert (run.delivery, run.session, run.kind, run.status) == (delivery, session, "webhook", "started")


def test_the_keys_stay_in_the_order_in_which_they_were_sent(http, plain):
    taken(post(http, plain, '{"zebra": 1, "apple": 2}'))
    assert list(WebhookDelivery.objects.get().payload) == ["zebra", "apple"]


def test_repeated_delivery_is_the_first_one(http, plain):
    first, again = taken(post(http, plain, ORDER)), taken(post(http, plain, ORDER))
    assert again == first | {"duplicate": True}
    assert taken(post(http, plain, ORDER | {"order": 4712}))["delivery"] != first["delivery"]
    assert Session.objects.count() == 2


def test_the_same_body_on_another_day_is_another_delivery(http, plain):
    taken(post(http, plain, ORDER))
    kept = WebhookDelivery.objects.get()
    WebhookDelivery.objects.update(delivery_id=kept.delivery_id.replace(kept.delivery_id[-10:], "2020-01-01"))
    assert not taken(post(http, plain, ORDER))["duplicate"]


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Countersign-Delivery"])
def test_the_senders_own_id_tells_deliveries_apart(http, plain, header):
    first = taken(post(http, plain, ORDER, **{header: "a"}))
    assert taken(post(http, plain, ORDER, **{header: "b"}))["delivery"] != first["delivery"]
    assert taken(post(http, plain, {"other": 1}, **{header: "a"})) == first | {"duplicate": True}


def test_an_endpoint_without_an_agent_only_keeps(http, make_endpoint):
    endpoint, _ = make_endpoint("none", agent=None)
    assert taken(post(http, endpoint, ORDER))["session"] is None
    assert (WebhookDelivery.objects.count(), TriggerRun.objects.count()) == (1, 0)


# --- what comes that is no JSON ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("body", "type_", "raw"), [
    (b"a=1&b=%20x", "application/x-www-form-urlencoded", "a=1&b=%20x"),
    ("Grüße".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Grüße"),
    ("Grüße".encode(), "text/plain", "Grüße"),
    (b"\xff\xfe\x00", "application/octet-stream", "\ufffd\ufffd\ufffd"),
    (b"", "text/plain", ""),
    (b"x", "text/plain; charset=punycode", "x"),
    (b"x", 'text/plain; charset="no such thing"', "x"),
    (b'{"a": NaN}', JSON, '{"a": NaN}'),
    (b'{"a": 1', JSON, '{"a": 1'),
    (b"", JSON, ""),
    (b'{"a": 1}', "", '{"a": 1}'),
])  # fmt: skip
def test_other_types_are_kept_as_raw_text(http, plain, body, type_, raw):
    taken(post(http, plain, body, type_))
    assert WebhookDelivery.objects.get().payload == {"raw": raw}


@pytest.mark.parametrize(
    "type_", ["application/json; charset=utf-8", "application/cloudevents+json", "APPLICATION/JSON"]
)
def test_json_by_any_of_its_names_is_parsed(http, plain, type_):
    taken(post(http, plain, ORDER, type_))
    assert WebhookDelivery.objects.get().payload == ORDER


@pytest.mark.parametrize("body", [
    b'{"a": "x\\u0000y", "\\u0000": 1}',
    b'{"a": "\\ud800"}',
    b'{"n": 123456789012345678901234567890}',
    b'{"n": 1e400}',
    b'{"n": ' + b"9" * 5_000 + b"}",
    b"[" * 100_000,
    b"[" * 150 + b"]" * 150,
    b'{"a":' * 100_000,
    b"\xef\xbb\xbf{}",
    b"\xff\xff",
    b'"just text"',
    b"null",
    b"[]",
    b'{"type": {"deep": 1}, "event": []}',
    b'{"type": "\\u0000\\u202e", "id": ["x"]}',
    "{\"a\": \"\N{RIGHT-TO-LEFT OVERRIDE}\"}".encode(),
])  # fmt: skip
def test_hostile_payloads_are_taken_and_kept_as_far_as_they_go(http, plain, body):
    told = taken(post(http, plain, body))
    assert told["session"]
    assert Event.objects.get().text
    assert WebhookDelivery.objects.get().size == len(body)


def test_the_size_is_bounded_to_the_byte(http, plain):
    frame = len('{"a": ""}')
    assert taken(post(http, plain, '{"a": "%s"}' % ("x" * (MOST - frame))))["session"]
    detail = refused(post(http, plain, '{"a": "%s"}' % ("x" * (MOST - frame + 1))), 413)
    assert "at most 1,048,576 bytes" in detail
    assert WebhookDelivery.objects.count() == 1


def test_payload_longer_than_a_message_is_cut_with_a_pointer_to_the_whole(http, plain):
    taken(post(http, plain, {"a": ["x" * 10] * 70_000}))
    text, delivery = Event.objects.get().text, WebhookDelivery.objects.get()
    assert len(text) <= messages.MAX_MESSAGE
    assert len(delivery.payload["a"]) == 70_000
    raw = WebhookDelivery(endpoint=plain, payload={"raw": "y" * MOST})
    assert webhook_deliveries.message_of(raw).endswith(f"\n… cut: the whole of it is delivery {raw.pk} of orders")
    assert len(webhook_deliveries.message_of(raw)) == messages.MAX_MESSAGE


# --- the door ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook_id", ["nonsense", "x" * 200, "%00", "é", "a%2Fb"])
def test_an_unknown_address_is_not_found(http, plain, hook_id):
    answer = http.post(f"/hooks/{hook_id}", "{}", content_type=JSON)
    assert answer.status_code == 404
    if hook_id == "nonsense":
        assert refused(answer, 404) == "Webhook endpoint not found"


def test_a_deactivated_endpoint_is_not_found_until_it_is_active_again(http, plain):
    webhook_endpoints.change(plain, {"active": False}, by=INES)
    assert refused(post(http, plain, ORDER), 404) == "Webhook endpoint not found"
    webhook_endpoints.change(plain, {"active": True}, by=INES)
    taken(post(http, plain, ORDER))


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "head", "options"])
def test_webhook_accepts_only_post(http, plain, method):
    answer = getattr(http, method)(f"/hooks/{plain.hook_id}")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")


def test_a_wrong_signature_is_counted_and_kept_nowhere(http, make_endpoint, caplog):
    endpoint, secret = make_endpoint("generic")
    body = json.dumps(ORDER).encode()
    with caplog.at_level(logging.INFO):
        assert "does not match" in refused(post(http, endpoint, body, **signed("wrong" * 9, body)), 401)
        assert "is missing" in refused(post(http, endpoint, body), 401)
    endpoint.refresh_from_db()
    assert (endpoint.refused, endpoint.refused_why) == (2, "the header X-Countersign-Timestamp is missing")
    assert not WebhookDelivery.objects.exists() and not TriggerRun.objects.exists()
    assert "orders refused" in caplog.text and secret not in caplog.text


def test_a_replayed_webhook_fires_nothing_and_later_is_refused(http, make_endpoint):
    endpoint, secret = make_endpoint("generic")
    body = json.dumps(ORDER).encode()
    headers = signed(secret, body)
    first = taken(post(http, endpoint, body, **headers))
    assert taken(post(http, endpoint, body, **headers)) == first | {"duplicate": True}
    old = signed(secret, body, int(time.time()) - 301)
    assert "sent again, or a clock is wrong" in refused(post(http, endpoint, body, **old), 401)
    assert Session.objects.count() == 1


def test_a_captured_request_is_the_same_under_every_id(http, make_endpoint):
    endpoint, secret = make_endpoint("generic")
    body = json.dumps(ORDER).encode()
    now = int(time.time())
    first = taken(post(http, endpoint, body, **signed(secret, body, now), **{"Idempotency-Key": "a"}))
    again = taken(post(http, endpoint, body, **signed(secret, body, now + 1), **{"Idempotency-Key": "a"}))
    for stamp in (now, now + 1):  # the second try of a sender is no less captured than the first
        for more in ({"Idempotency-Key": "b"}, {"X-Countersign-Delivery": "c"}, {}):
            assert taken(post(http, endpoint, body, **signed(secret, body, stamp), **more)) == again
    assert again == first | {"duplicate": True}
    assert Session.objects.count() == WebhookDelivery.objects.count() == 1


def test_an_id_that_is_signed_cannot_be_changed(http, make_endpoint):
    endpoint, secret = make_endpoint("generic")
    body, stamp = json.dumps(ORDER).encode(), str(int(time.time()))

    def headers(own_id: str, signed_id: str) -> dict[str, str]:
        signature = webhook_signatures.generic_with_id(secret.encode(), stamp, signed_id, body)
        return {"X-Countersign-Timestamp": stamp, "X-Countersign-Signature": signature, "Idempotency-Key": own_id}

    first = taken(post(http, endpoint, body, **headers("a", "a")))
    assert taken(post(http, endpoint, body, **headers("a", "a"))) == first | {"duplicate": True}
    assert "does not match" in refused(post(http, endpoint, body, **headers("b", "a")), 401)
    assert not taken(post(http, endpoint, body, **headers("b", "b")))["duplicate"]
    moved = headers("a\n" + body.decode(), "a") | {"Idempotency-Key": "a\t"}
    refused(post(http, endpoint, body + b"x", **moved), 401)
    assert Session.objects.count() == 2


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Countersign-Delivery", "X-Countersign-Timestamp"])
def test_no_header_makes_another_delivery_of_what_signs_its_own_id(http, make_endpoint, header):
    endpoint, _ = make_endpoint("stripe", secret=(secret := "whsec_0123456789"))
    for body in (b'{"id": "evt_1"}', b'{"no": "id"}'):
        stamp = str(int(time.time()))
        signature = {"Stripe-Signature": f"t={stamp},v1={mac(secret, stamp.encode() + b'.' + body).hex()}"}
        first = taken(post(http, endpoint, body, **signature))
        assert taken(post(http, endpoint, body, **signature, **{header: "another"})) == first | {"duplicate": True}


def test_a_changed_secret_counts_at_once(http, make_endpoint):
    endpoint, old = make_endpoint("generic")
    new = webhook_endpoints.rotate(endpoint, by=INES)
    refused(post(http, endpoint, b"{}", **signed(old, b"{}")), 401)
    taken(post(http, endpoint, b"{}", **signed(new, b"{}")))


def test_an_unsigned_endpoint_changes_its_address(http, plain):
    old = WebhookEndpoint(hook_id=plain.hook_id)
    assert webhook_endpoints.rotate(plain, by=INES) == ""
    refused(post(http, old, ORDER), 404)
    taken(post(http, plain, ORDER))


def test_webhook_secret_is_encrypted_and_shown_once(make_endpoint):
    endpoint, secret = make_endpoint("github")
    assert len(secret) >= 43 and len(endpoint.hook_id) >= 43
    stored = WebhookEndpoint.objects.extra(select={"sealed": "secret"}).values_list("sealed", flat=True)[0]
    assert secret not in stored and encryption.decrypt(stored) == secret
    assert secret not in json.dumps(list(AuditEntry.objects.values_list("details", flat=True)))


def test_a_secret_sealed_with_another_key_asks_the_sender_to_come_back(http, make_endpoint, settings):
    endpoint, secret = make_endpoint("generic")
    settings.SECRET_KEY = "another key " * 4
    answer = post(http, endpoint, b"{}", **signed(secret, b"{}"))
    assert "enter it again" in refused(answer, 503) and answer["Retry-After"]
    new = webhook_endpoints.rotate(WebhookEndpoint.objects.defer("secret").get(), by=INES)
    taken(post(http, endpoint, b"{}", **signed(new, b"{}")))


def test_an_endpoint_whose_secret_is_still_missing_refuses(http, make_endpoint):
    endpoint, _ = make_endpoint("stripe")
    assert "no secret yet" in refused(post(http, endpoint, ORDER), 401)


# --- senders ----------------------------------------------------------------------------------------------------


def mac(secret: str, text: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(secret.encode(), text, algorithm).digest()


def test_github_delivery_is_verified_and_identified(http, make_endpoint):
    endpoint, secret = make_endpoint("github")
    body = json.dumps({"action": "opened"}).encode()
    headers = {
        "X-Hub-Signature-256": f"sha256={mac(secret, body).hex()}", "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "72d3162e",
    }  # fmt: skip
    first = taken(post(http, endpoint, body, **headers))
    assert taken(post(http, endpoint, body, **headers)) == first | {"duplicate": True}
    delivery = WebhookDelivery.objects.get()
    assert (delivery.delivery_id, delivery.topic, delivery.verified) == ("72d3162e", "issues", True)


def test_stripe_delivery_is_verified_and_identified(http, make_endpoint):
    endpoint, _ = make_endpoint("stripe", secret="whsec_0123456789")
    body, stamp = json.dumps({"id": "evt_1", "type": "invoice.paid"}).encode(), int(time.time())
    signature = mac("whsec_0123456789", f"{stamp}.".encode() + body).hex()
    taken(post(http, endpoint, body, Stripe_Signature=f"t={stamp},v1={signature}"))
    later = stamp + 1  # sent again by Stripe: another time and signature, the same event
    signature = mac("whsec_0123456789", f"{later}.".encode() + body).hex()
    assert taken(post(http, endpoint, body, Stripe_Signature=f"t={later},v1={signature}"))["duplicate"]
    assert Session.objects.get().title == "orders: invoice.paid"


def slack(secret: str, body: bytes) -> dict[str, str]:
    stamp = int(time.time())
    signature = mac(secret, f"v0:{stamp}:".encode() + body).hex()
    return {"X-Slack-Request-Timestamp": str(stamp), "X-Slack-Signature": f"v0={signature}"}


def test_slack_events_and_its_challenge(http, make_endpoint):
    endpoint, _ = make_endpoint("slack", secret="slack-secret")
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a"}).encode()
    assert taken(post(http, endpoint, body, **slack("slack-secret", body))) == {"challenge": "3eZbrw1a"}
    assert not WebhookDelivery.objects.exists()
    refused(post(http, endpoint, body, **slack("wrong-secret", body)), 401)
    body = json.dumps({"event_id": "Ev1", "event": {"type": "app_mention"}}).encode()
    taken(post(http, endpoint, body, **slack("slack-secret", body)))
    delivery = WebhookDelivery.objects.get()
    assert (delivery.delivery_id, delivery.topic) == ("Ev1", "app_mention")


def test_shopify_delivery_is_verified_and_identified(http, make_endpoint):
    endpoint, _ = make_endpoint("shopify", secret="shopify-secret")
    body = json.dumps({"id": 1}).encode()
    signature = base64.b64encode(mac("shopify-secret", body)).decode()
    headers = {"X-Shopify-Hmac-Sha256": signature, "X-Shopify-Webhook-Id": "w1", "X-Shopify-Topic": "orders/paid"}
    taken(post(http, endpoint, body, **headers))
    delivery = WebhookDelivery.objects.get()
    assert (delivery.delivery_id, delivery.topic) == ("w1", "orders/paid")


@pytest.mark.parametrize("public", [None, "https://desk.example"])
def test_twilio_signs_the_address_that_it_called(http, make_endpoint, settings, public):
    settings.PUBLIC_URL = public
    endpoint, _ = make_endpoint("twilio", secret="auth-token")
    form = "application/x-www-form-urlencoded"
    url = f"{public or 'http://testserver'}/hooks/{endpoint.hook_id}"
    for status in ("sent", "delivered"):
        signature = mac("auth-token", f"{url}MessageSidSM1MessageStatus{status}".encode(), "sha1")
        body = f"MessageSid=SM1&MessageStatus={status}".encode()
        headers = {"X-Twilio-Signature": base64.b64encode(signature).decode()}
        assert not taken(post(http, endpoint, body, form, **headers))["duplicate"]
        assert taken(post(http, endpoint, body, form, **headers))["duplicate"]
    assert set(WebhookDelivery.objects.values_list("delivery_id", flat=True)) == {"SM1:sent", "SM1:delivered"}
    assert WebhookDelivery.objects.last().payload["raw"].startswith("MessageSid=SM1&MessageStatus=")


def test_json_of_twilio_may_have_more_ampersands_than_a_form(http, make_endpoint):
    """Its address has the hash of the body, which is then not read as a form to be checked, but was for its id."""
    endpoint, _ = make_endpoint("twilio", secret="auth-token")
    body = json.dumps({"text": "a&b" * 2_000}).encode()
    path = f"/hooks/{endpoint.hook_id}?bodySHA256={hashlib.sha256(body).hexdigest()}"
    signature = base64.b64encode(mac("auth-token", f"http://testserver{path}".encode(), "sha1")).decode()
    answer = http.generic("POST", path, body, JSON, headers={"X-Twilio-Signature": signature})
    assert not taken(answer)["duplicate"]
    assert WebhookDelivery.objects.get().delivery_id.startswith("sha256:")


# --- what begins nothing ----------------------------------------------------------------------------------------


def test_a_paused_agent_and_an_empty_budget_leave_a_run_and_the_delivery(http, plain, scripted_agent):
    agents.change(scripted_agent, {"status": "paused"}, by=INES)
    assert taken(post(http, plain, {"n": 1}))["session"] is None
    agents.change(scripted_agent, {"status": "active"}, by=INES)
    Budget.objects.create(workspace=scripted_agent.workspace, agent=scripted_agent, period="day", amount=0)
    assert taken(post(http, plain, {"n": 2}))["session"] is None
    assert list(TriggerRun.objects.order_by("id").values_list("status", flat=True)) == ["skipped", "failed"]
    assert WebhookDelivery.objects.count() == 2 and not Session.objects.exists()


def test_a_replay_is_another_session_with_the_same_message(http, plain):
    taken(post(http, plain, ORDER))
    run = webhook_deliveries.replay(WebhookDelivery.objects.select_related("endpoint__agent").get(), by=INES)
    assert (run.status, run.cause, run.delivery) == ("started", "replayed by Ines", WebhookDelivery.objects.get())
    assert len({event.text for event in Event.objects.all()}) == 1
    assert Session.objects.count() == 2
    assert taken(post(http, plain, ORDER))["session"] == str(TriggerRun.objects.earliest("id").session_id)


def test_deliveries_are_acknowledged_once_and_by_whom(http, plain):
    ids = [taken(post(http, plain, {"n": number}))["delivery"] for number in range(3)]
    assert webhook_deliveries.acknowledge(plain.workspace_id, ids[:2], by=INES) == 2
    assert webhook_deliveries.acknowledge(plain.workspace_id, ids, by=INES) == 1
    assert {row.acknowledged_by for row in WebhookDelivery.objects.all()} == {"Ines"}


# --- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ab", "x" * 51, "-abc", "abc-", "Abc", "a_b", "a b c", "abc\n", "äbc", ""])
def test_names_are_lower_case_letters_digits_and_hyphens(make_endpoint, name):
    with pytest.raises(webhook_endpoints.Refused, match="use 3 to 50") as raised:
        make_endpoint(name=name)
    assert raised.value.field == "name"


def test_a_name_stays_reserved_after_its_endpoint_is_gone(make_endpoint):
    endpoint, _ = make_endpoint(name="a-1")
    webhook_endpoints.change(endpoint, {"active": False}, by=INES)
    with pytest.raises(webhook_endpoints.Refused, match='"a-1" is taken, or was once'):
        make_endpoint(name="a-1")


@pytest.mark.parametrize(("scheme", "secret", "words"), [
    ("none", "12345678", "has no secret"), ("stripe", "short", "has 5 characters"), ("carrier-pigeon", "", "no scheme"),
])  # fmt: skip
def test_invalid_webhook_endpoint_is_refused_with_the_field(make_endpoint, scheme, secret, words):
    with pytest.raises(webhook_endpoints.Refused, match=words):
        make_endpoint(scheme, secret=secret)


def test_the_bound_of_the_gateway_is_the_one_of_the_view():
    assert django_settings.MAX_WEBHOOK_BYTES == MOST
