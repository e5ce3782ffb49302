"""Refusals that are answered before Django: a problem (RFC 9457) below the API's paths, elsewhere a page.

Exporters of spans are told in the words of their protocol.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from http import HTTPStatus

from sessions_app.api.problems import MEDIA_TYPE, PATHS
from vcon_app.api import span_errors

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

    def answer(self, path: str, sent_as: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Status, headers and body for an address; ``sent_as`` is the media type of the request.

        The connection ends with the answer, as what was sent may not be read whole.
        """
        kind, body = self._body(path, sent_as)
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        if self.retry_after:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        return span_errors.answered_with(path, sent_as, self.status), headers, body

    def _body(self, path: str, sent_as: str) -> tuple[str, bytes]:
        if kind := span_errors.encoding(path, sent_as):
            return kind, span_errors.status(kind, self.detail)
        if path.startswith(PATHS):
            problem = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
            return MEDIA_TYPE, json.dumps(problem).encode()
        sentence = f"{self.detail[:1].upper()}{self.detail[1:]}."
        return "text/html; charset=utf-8", PAGE.format(title=escape(self.title), sentence=escape(sentence)).encode()
