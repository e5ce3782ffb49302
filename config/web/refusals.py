"""Refusals that are answered before Django: a problem (RFC 9457) below the API's paths, elsewhere a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from http import HTTPStatus

from sessions_app.api.problems import MEDIA_TYPE, PATHS

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Countersign</title>
<h1>{title}</h1>
<p>{sentence}</p>
<p><a href="/">To the first page</a></p>
</html>
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer to a request that is not carried out. ``retry_after`` is in seconds; 0 says nothing of it."""

    status: int
    detail: str
    retry_after: int = 0

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    def body(self, path: str) -> bytes:
        """The body for an address."""
        if path.startswith(PATHS):
            problem = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
            return json.dumps(problem).encode()
        sentence = f"{self.detail[:1].upper()}{self.detail[1:]}."
        return PAGE.format(title=escape(self.title), sentence=escape(sentence)).encode()

    def headers(self, path: str, length: int) -> list[tuple[bytes, bytes]]:
        """The headers for an address; the connection ends with the answer, as what was sent may not be read whole."""
        is_problem = path.startswith(PATHS)
        found = [
            (b"content-type", MEDIA_TYPE.encode() if is_problem else b"text/html; charset=utf-8"),
            (b"content-length", str(length).encode()),
            (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        if self.retry_after:
            found.append((b"retry-after", str(self.retry_after).encode()))
        return found
