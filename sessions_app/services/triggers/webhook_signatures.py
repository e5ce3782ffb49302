"""Signatures of webhooks: what each sender computes, compared in constant time. No database, no clock of its own.

Sources: docs.github.com "Validating webhook deliveries", docs.stripe.com/webhooks/signature, docs.slack.dev
"Verifying requests from Slack", shopify.dev "Verify a webhook's origin", twilio.com/docs/usage/security,
standardwebhooks.com.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import SplitResult, parse_qs, urlsplit

from sessions_app.services.notices import standard_webhooks

TOLERANCE = 300
"""Seconds that a signed time may lie from now, before or after."""
SIGNS_ID = "v2="
"""Begins a signature of ours that covers the id."""
ID_HEADERS = ("idempotency-key", "x-countersign-delivery")
"""Headers with the sender's own id, the first that is there."""
MOST_FIELDS = 1_000
"""Of a form."""


class Wrong(ValueError):
    """The request is not signed as it must be; the message names what is wrong and holds no secret."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is signed. Header names in lower case; ``url`` as the sender knows it."""

    body: bytes
    headers: Mapping[str, str]
    url: str
    now: datetime

    def header(self, name: str) -> str:
        """A header that the scheme needs. Raises ``Wrong``."""
        value = self.headers.get(name.lower(), "")
        if not value:
            raise Wrong(f"the header {name} is missing")
        return value


def check(scheme: str, secret: str, request: Request) -> None:
    """Raises ``Wrong`` unless the request is signed with the secret (and not long ago, where its time is signed)."""
    CHECKS[scheme](secret.encode(), request)


def generic(secret: bytes, timestamp: str, body: bytes) -> str:
    """Signature of our own scheme without an id, as a sender puts it into ``X-Countersign-Signature``."""
    return f"sha256={_hmac(secret, timestamp.encode() + b'.' + body).hex()}"


def generic_with_id(secret: bytes, timestamp: str, delivery_id: str, body: bytes) -> str:
    """Signature of our own scheme that covers the sender's id as well.

    Lines, because no header holds a line's end: nothing can be moved from the id into the body.
    """
    signed = f"v2\n{timestamp}\n{delivery_id}\n".encode("latin-1", "replace") + body
    return f"{SIGNS_ID}{_hmac(secret, signed).hex()}"


def replay_key(scheme: str, headers: Mapping[str, str], body: bytes) -> str | None:
    """SHA-256 of what is signed, where the time is signed and the id is not; None where another id is another request.

    Whoever captured such a request could else send it again for as long as its time holds, each time with a new id.
    """
    if scheme != "generic" or headers.get("x-countersign-signature", "").strip().startswith(SIGNS_ID):
        return None
    return hashlib.sha256(headers["x-countersign-timestamp"].encode() + b"." + body).hexdigest()


def _github(secret: bytes, request: Request) -> None:
    # GitHub signs no time, so a repeat shows by its delivery id alone.
    _same([request.header("X-Hub-Signature-256")], f"sha256={_hmac(secret, request.body).hex()}")


def _stripe(secret: bytes, request: Request) -> None:
    """While a secret is rolled there are several ``v1``; one that fits is enough."""
    pairs = [part.strip().partition("=") for part in request.header("Stripe-Signature").split(",")]
    # The time is part of what is signed (``t.body``), so an old request cannot be sent again with a new one.
    # https://docs.stripe.com/webhooks#verify-manually
    timestamp = next((value for name, _, value in pairs if name == "t"), "")
    _in_time(timestamp, request.now)
    given = [value for name, _, value in pairs if name == "v1"]
    _same(given, _hmac(secret, timestamp.encode() + b"." + request.body).hex())


def _slack(secret: bytes, request: Request) -> None:
    timestamp = request.header("X-Slack-Request-Timestamp")
    _in_time(timestamp, request.now)
    # https://docs.slack.dev/authentication/verifying-requests-from-slack
    signed = b"v0:" + timestamp.encode() + b":" + request.body
    _same([request.header("X-Slack-Signature")], f"v0={_hmac(secret, signed).hex()}")


def _shopify(secret: bytes, request: Request) -> None:
    expected = base64.b64encode(_hmac(secret, request.body)).decode()
    _same([request.header("X-Shopify-Hmac-Sha256")], expected)


def _twilio(secret: bytes, request: Request) -> None:
    """The address with the sorted fields of the form; of JSON the address alone, which holds the body's SHA-256.

    Senders disagree on whether the port belongs to the address.
    """
    given = request.header("X-Twilio-Signature")
    try:
        parts = urlsplit(request.url)
        urls = [request.url, *_without_and_with_port(parts)]
    except ValueError:  # without COUNTERSIGN_PUBLIC_URL the host and the port are what the caller says
        raise Wrong("the Host header is no host") from None
    body_sha256 = parse_qs(parts.query).get("bodySHA256")
    if body_sha256:
        _same(body_sha256[:1], hashlib.sha256(request.body).hexdigest())
    fields = "" if body_sha256 else _sorted_fields(request.body)
    digests = [hmac.digest(secret, (url + fields).encode(), "sha1") for url in urls]
    if not any(_equal(given, base64.b64encode(one).decode()) for one in digests):
        raise Wrong("the signature does not match: check the auth token, and that COUNTERSIGN_PUBLIC_URL is the "
                    "address that Twilio calls")  # fmt: skip


def _sorted_fields(body: bytes) -> str:
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Wrong("the body is no form") from None
    return "".join(name + value for name in sorted(fields) for value in sorted(set(fields[name])))


def _without_and_with_port(parts: SplitResult) -> list[str]:
    host, port = parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme, 443)
    return [parts._replace(netloc=host).geturl(), parts._replace(netloc=f"{host}:{port}").geturl()]


def _generic(secret: bytes, request: Request) -> None:
    timestamp = request.header("X-Countersign-Timestamp")
    _in_time(timestamp, request.now)
    given = request.header("X-Countersign-Signature")
    if given.strip().startswith(SIGNS_ID):
        own_id = next((request.headers[name] for name in ID_HEADERS if request.headers.get(name)), "")
        _same([given], generic_with_id(secret, timestamp, own_id, request.body))
    else:
        _same([given], generic(secret, timestamp, request.body))


def _standard(secret: bytes, request: Request) -> None:
    """Of Standard Webhooks: the id is signed too. While a secret is rotated there are several signatures."""
    message_id, timestamp = request.header("webhook-id"), request.header("webhook-timestamp")
    _in_time(timestamp, request.now)
    if "." in message_id:  # with one, a part of the body could be read as the time, and the id be another
        raise Wrong("a webhook-id has no full stop in it")
    given = [one for one in request.header("webhook-signature").split(" ") if one.startswith("v1,")]
    try:
        expected = standard_webhooks.signature(secret.decode(), message_id, timestamp, request.body)
    except ValueError as fault:
        raise Wrong(f"{fault}: enter the one that the sender shows") from None
    _same(given, expected)


def _none(secret: bytes, request: Request) -> None:
    """Check of an unsigned endpoint, which accepts everything: whoever knows the address may send."""


CHECKS: dict[str, Callable[[bytes, Request], None]] = {
    "github": _github, "stripe": _stripe, "slack": _slack, "shopify": _shopify, "twilio": _twilio,
    "generic": _generic, "standard": _standard, "none": _none,
}  # fmt: skip


def _hmac(secret: bytes, signed: bytes) -> bytes:
    return hmac.digest(secret, signed, "sha256")


def _in_time(timestamp: str, now: datetime) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 11):
        raise Wrong("the signed time is no number of seconds since 1970")
    off = abs(now.timestamp() - int(timestamp))
    if off > TOLERANCE:
        raise Wrong(f"it was signed {off:.0f} s from now, {TOLERANCE} are allowed: sent again, or a clock is wrong")


def _same(given: list[str], expected: str) -> None:
    if not any(_equal(one, expected) for one in given):
        raise Wrong("the signature does not match: check that both sides have the same secret")


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.strip().encode("utf-8", "surrogatepass"), expected.encode())
