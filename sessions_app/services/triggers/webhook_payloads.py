"""Payloads of webhooks: the JSON, the sender's id of the delivery, its topic, and the headers worth keeping."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from sessions_app.services.log.sanitise import identifier, storable

from . import webhook_signatures

MAX_DEPTH = 100
"""Levels of JSON; what is nested deeper is kept as text."""
MOST_FIELDS = 1_000
CHARSETS = ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252", "utf-16", "shift_jis", "gb18030")
"""Python knows more, of which some take minutes for a megabyte (punycode)."""
# An idempotency token identifies a delivery and opens nothing, so it may be kept.
SECRET_HEADERS = re.compile(r"authorization|cookie|secret|password|credential|api-?key|(?<!idempotency-)token")
NOT_KEPT = "(not kept)"
HEADERS_OF_ID = {
    "github": ("x-github-delivery",), "shopify": ("x-shopify-webhook-id",), "twilio": ("i-twilio-idempotency-token",),
    "standard": ("webhook-id",),
}  # fmt: skip
ANY_ID = webhook_signatures.ID_HEADERS
FIELDS_OF_ID = {"stripe": "id", "slack": "event_id"}
SIGNED_TIMES = {"generic": "x-countersign-timestamp", "slack": "x-slack-request-timestamp"}
TWILIO_IDS = (("MessageSid", "MessageStatus"), ("SmsSid", "SmsStatus"), ("CallSid", "CallStatus"))
"""One message is told of several times: queued, sent, delivered."""
TOPICS = ("x-github-event", "x-shopify-topic")


class TooLarge(ValueError):
    """A body is larger than is kept, once it is unpacked."""


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """A body that was sent as ``Content-Encoding: gzip``; as it came when it is none. Raises ``TooLarge``."""
    if encoding.strip().lower() not in ("gzip", "x-gzip"):
        return body
    unzip = zlib.decompressobj(wbits=31)
    try:
        # One byte more than allowed tells a body that is too long, without unpacking all of a bomb.
        plain = unzip.decompress(body, most + 1)
    except zlib.error:
        return body
    if len(plain) > most:
        raise TooLarge(f"a delivery has at most {most:,} bytes, also unpacked; send a link to what is larger")
    return plain if unzip.eof else body


def parsed(body: bytes, content_type: str) -> Any:
    """The JSON of a body that says it is JSON; of any other, and of JSON that cannot be read, ``{"raw": TEXT}``."""
    media_type, _, parameters = content_type.lower().partition(";")
    media_type = media_type.strip()
    if media_type == "application/json" or media_type.endswith("+json"):
        try:
            value = json.loads(body, parse_constant=_refuse, parse_float=_finite)
            _check_depth(value)
            if value is not None:  # SQL's NULL is another thing
                return storable(value)
        except (ValueError, RecursionError):  # kept as it is: the sender would only send the same again
            pass
    return {"raw": storable(_decoded(body, parameters))}


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name:.40} is no value that can be kept")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child for node in level if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]  # fmt: skip
    if level:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")


def _decoded(body: bytes, parameters: str) -> str:
    named = re.search(r"charset\s*=\s*\"?([\w.:-]{1,40})", parameters)
    try:
        charset = codecs.lookup(named[1]).name if named else "utf-8"
    except LookupError:
        charset = "utf-8"
    return body.decode(charset if charset in CHARSETS else "utf-8", "replace")


def delivery_id(scheme: str, payload: Any, body: bytes, headers: Mapping[str, str], now: datetime) -> str:
    """The sender's own id. Without one a hash of the body with its signed time, or with the day where none is signed.

    So what is sent twice is one delivery, and an alarm that says the same tomorrow is another one. Where the id is in
    what was signed no header counts: anybody on the way could add one, and the delivery would be another.
    """
    for name in () if scheme in FIELDS_OF_ID else (*HEADERS_OF_ID.get(scheme, ()), *ANY_ID):
        if headers.get(name):
            return identifier(headers[name])
    field = FIELDS_OF_ID.get(scheme)
    own_id = payload.get(field) if field and isinstance(payload, dict) else scheme == "twilio" and _twilio_id(body)
    if own_id and isinstance(own_id, str):
        return identifier(own_id)
    at = headers.get(SIGNED_TIMES.get(scheme, "")) or f"{now:%Y-%m-%d}"
    return f"sha256:{hashlib.sha256(body).hexdigest()}@{at[:20]}"


def _twilio_id(body: bytes) -> str:
    try:
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS))
    except ValueError:  # JSON, which Twilio sends too, with more ampersands than a form may have
        return ""
    for name, status in TWILIO_IDS:
        if fields.get(name):
            return f"{fields[name]}:{fields.get(status, '')}"
    return ""


def topic(payload: Any, headers: Mapping[str, str]) -> str:
    """Topic of a delivery, in a word of the sender: ``push``, ``invoice.paid``; empty when nothing says so."""
    said = next((headers[name] for name in TOPICS if headers.get(name)), None)
    if said is None and isinstance(payload, dict):
        event = payload.get("event")
        said = event.get("type") if isinstance(event, dict) else payload.get("type") or event
    return said[:100] if isinstance(said, str) else ""


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers in lower case, with the names but not the values of those that hold secrets."""
    return storable({name: NOT_KEPT if SECRET_HEADERS.search(name) else value for name, value in headers.items()})
