"""Time stamps (RFC 3161): what a time-stamping authority says of when a checkpoint was there at the latest."""

from __future__ import annotations

from datetime import datetime

import httpx2
from cryptography import x509
from django.conf import settings
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

SECONDS = 15
MOST_BYTES = 256 * 1024
"""Of an answer: a token with its chain of certificates has 10 KB."""
GRANTED = (0, 1)
"""``granted`` and ``grantedWithMods`` (RFC 3161 s2.4.2)."""


class NotStamped(Exception):
    """The authority gave no time stamp; the message says why."""


class BadStamp(Exception):
    """A token is not one over this text, by an authority that is trusted here; the message says why."""


def stamp(url: str, content: bytes) -> tuple[bytes, datetime]:
    """The answer of the authority at ``url`` over ``content``, in DER, and its time. Raises ``NotStamped``."""
    request = TimestampRequestBuilder(data=content, hash_algorithm=HashAlgorithm.SHA256).build()
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    try:
        answer = httpx2.post(url, content=request.as_bytes(), headers=headers, timeout=SECONDS)
    except httpx2.HTTPError as fault:
        raise NotStamped(f"the time-stamping authority does not answer ({type(fault).__name__})") from None
    if answer.status_code != 200 or len(answer.content) > MOST_BYTES:
        raise NotStamped(f"the time-stamping authority answers {answer.status_code}, {len(answer.content)} bytes")
    try:
        response = decode_timestamp_response(answer.content)
    except ValueError as fault:
        raise NotStamped(f"the time-stamping authority's answer cannot be read: {fault}") from None
    if response.status not in GRANTED:
        raise NotStamped(f"the time-stamping authority refuses (status {response.status})")
    if response.tst_info.nonce != request.nonce:
        raise NotStamped("the time-stamping authority answers another request (nonce)")
    return answer.content, check(answer.content, content) if has_roots() else response.tst_info.gen_time


def has_roots() -> bool:
    """Whether it is known whose time stamps count."""
    return settings.TIMESTAMP_CERTIFICATES is not None


def check(token: bytes, content: bytes) -> datetime:
    """The time at which ``content`` was there, by an authority whose root is set. Raises ``BadStamp``."""
    if settings.TIMESTAMP_CERTIFICATES is None:
        raise BadStamp("COUNTERSIGN_TIMESTAMP_CERTIFICATES is not set, so nobody's time stamps are believed")
    builder = VerifierBuilder()
    for root in x509.load_pem_x509_certificates(settings.TIMESTAMP_CERTIFICATES.read_bytes()):
        builder = builder.add_root_certificate(root)
    try:
        response = decode_timestamp_response(token)
        builder.build().verify_message(response, content)
    except (VerificationError, ValueError) as fault:
        raise BadStamp(str(fault) or type(fault).__name__) from None
    return response.tst_info.gen_time
