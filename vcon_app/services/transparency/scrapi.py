"""A transparency service over HTTP: SCITT Reference APIs (draft-ietf-scitt-scrapi-11), and answers of older drafts.

A registration is answered with its receipt (201, or 200), or with a place to ask again at: 303 today, 202 before, and
302 while it is asked. The place is the service's own choice, so only one on the service itself is gone to: an address
elsewhere could be one inside our network.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn
from urllib.parse import urljoin, urlsplit

import httpx2

from sessions_app import retry_after
from vcon_app.signing import cbor

SECONDS = 15
MOST_SECONDS = 30
"""Of a whole answer, however slowly it comes."""
MOST_BYTES = 256 * 1024
"""Of an answer: a receipt has a few KB, with certificates 10."""
LONGEST_WAIT = timedelta(hours=1)
COSE = "application/cose"
PROBLEM_JSON, PROBLEM_CBOR = "application/problem+json", "application/concise-problem-details+cbor"
TITLE, DETAIL = -1, -2
"""In concise problem details (RFC 9290)."""
AGAIN = (408, 409, 425, 429)
"""Refusals of this moment, not of the statement."""
GONE = (404, 410)


class NotYet(Exception):
    """No answer that counts; to be tried again, after ``wait`` if the service said so."""

    def __init__(self, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class Forgotten(NotYet):
    """The service does not know the registration any more that it was asked for."""


class Refused(Exception):
    """The service does not take the statement; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A receipt as it came, or where and when to ask for it."""

    receipt: bytes | None = None
    location: str = ""
    wait: timedelta | None = None


def register(service: str, statement: bytes) -> Answer:
    """Hand over a statement. Raises ``NotYet``, ``Refused``."""
    return _ask("POST", f"{service.rstrip('/')}/entries", service, statement)


def ask(service: str, location: str) -> Answer:
    """What has become of a registration. Raises ``NotYet``, ``Forgotten``, ``Refused``."""
    if not is_of(service, location):
        raise Forgotten("the service names another host as the place of its receipt, which is not gone to")
    return _ask("GET", location, service, None)


def is_of(service: str, location: str) -> bool:
    """Whether an address is one of the service."""
    with suppress(ValueError):
        ours, theirs = urlsplit(service), urlsplit(location)
        return _origin(ours) == _origin(theirs) and not theirs.username
    return False


def _origin(parts: Any) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _ask(method: str, url: str, service: str, statement: bytes | None) -> Answer:
    # Redirects are answers here, and a compressed answer could be a small one of any size.
    headers = {"Accept": f"{COSE}, application/cbor", "Accept-Encoding": "identity"}
    if statement is not None:
        headers["Content-Type"] = COSE
    try:
        with httpx2.stream(
            method, url, content=statement, headers=headers, timeout=SECONDS, follow_redirects=False
        ) as answer:
            body = _read(answer)
    except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
        raise NotYet(f"the transparency service does not answer ({type(fault).__name__})") from None
    return _understood(answer, body, url, service, is_new=statement is not None)


def _read(answer: httpx2.Response) -> bytes:
    until, body = time.monotonic() + MOST_SECONDS, b""
    for part in answer.iter_raw():
        body += part
        if len(body) > MOST_BYTES:
            raise NotYet(f"the transparency service answers with more than {MOST_BYTES:,} bytes")
        if time.monotonic() > until:
            raise NotYet(f"the transparency service takes more than {MOST_SECONDS} s to answer")
    return body


def _understood(answer: httpx2.Response, body: bytes, url: str, service: str, *, is_new: bool) -> Answer:
    status, wait = answer.status_code, _wait(answer.headers.get("Retry-After", ""))
    if status in (200, 201) and body:
        return Answer(receipt=body)
    if status in (200, 201, 202, 302, 303, 307):
        return Answer(location=_location(answer, url, service, is_new=is_new), wait=wait)
    _raise(status, _problem(answer, body), wait, is_new=is_new)


def _location(answer: httpx2.Response, url: str, service: str, *, is_new: bool) -> str:
    """Where to ask next: what the answer names, else, for who asked already, the same place."""
    named = answer.headers.get("Location", "")
    if not named and is_new:
        raise NotYet(f"the transparency service answers {answer.status_code} without a place to ask at (Location)")
    with suppress(ValueError):
        if is_of(service, location := urljoin(url, named)):
            return location
    raise NotYet("the service names another host as the place of its receipt, which is not gone to")


def _raise(status: int, why: str, wait: timedelta | None, *, is_new: bool) -> NoReturn:
    said = f"the transparency service answers {status}{why}"
    if status in GONE and not is_new:
        raise Forgotten(said, wait)
    if 400 <= status < 500 and status not in AGAIN:
        raise Refused(said)
    raise NotYet(said, wait)


def _problem(answer: httpx2.Response, body: bytes) -> str:
    """What the service says is wrong, in one line (RFC 9457, RFC 9290); nothing where it says it in another way."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    told: Any = None
    with suppress(ValueError):
        if kind == PROBLEM_CBOR:
            told = cbor.loads(body, raw=True)
        elif kind in (PROBLEM_JSON, "application/json"):
            told = json.loads(body)
    if not isinstance(told, dict):
        return ""
    words = [told.get(name) or told.get(label) for name, label in (("title", TITLE), ("detail", DETAIL))]
    line = ": ".join(" ".join(word.split()) for word in words if isinstance(word, str))
    return f": {''.join(one for one in line if one.isprintable())[:300]}" if line else ""


def _wait(said: str) -> timedelta | None:
    """``Retry-After``; at most an hour, for it is a stranger's word."""
    seconds = retry_after.seconds(said)
    return None if seconds is None else min(timedelta(seconds=seconds), LONGEST_WAIT)
