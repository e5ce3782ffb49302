"""The door of share links: the one page of the desk that opens without an account.

It shows a file that was written when the link was made. Who opens a link that has ended is told so; all else that does
not open is one and the same page, whether there is such a session or not.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import BinaryIO

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_GET

from sessions_app.live.threads import in_thread, release
from sessions_app.services.people import sign_in_throttle
from vcon_app.services.shares import share_links

from .downloads import pieces

HEAD = 64 * 1024
"""Bytes of a page in which its one style stands."""
STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
POLICY = (
    "default-src 'none'; style-src {style}; font-src {font}; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of no page of the desk is less allowed: no script, no form, no frame, and no style but its own."""
APART = "; sandbox"
"""Of pages with what stands in a transcript; to a page without an origin no font of the desk is given."""
HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@require_GET  # no HEAD: programs that preview links need not be told whether one works
async def page(request: HttpRequest, secret: str) -> HttpResponseBase:
    """The page of a link, the one of a link that has ended (410), or the one for all else that does not open (404)."""
    await release()
    address = request.META.get("REMOTE_ADDR", "")
    try:
        found = await in_thread(_found, secret, address)
    except sign_in_throttle.Paused as paused:
        return _closed(429, {"Retry-After": str(paused.seconds)})
    if found is None or isinstance(found, share_links.Ended):
        return _closed(404) if found is None else _closed(410, ended=found)
    file, size, style = found
    response = StreamingHttpResponse(pieces(file), content_type="text/html; charset=utf-8")
    response.headers["Content-Length"] = str(size)
    response.headers["Content-Security-Policy"] = POLICY.format(style=style, font="'none'") + APART
    return _sealed(response)


def _found(secret: str, address: str) -> tuple[BinaryIO, int, str] | share_links.Ended | None:
    """The file, its size and the source of its style, or how the link ended. An attempt counts until it was right.
    Raises ``Paused``."""
    tried_by = [sign_in_throttle.link_at_address(address)]
    sign_in_throttle.begin(tried_by)
    opened = share_links.open_page(secret)
    ended = share_links.ended(secret) if opened is None else None
    if opened or ended:
        sign_in_throttle.take_back(tried_by, succeeded=False)
    return (*opened, _source_of_style(opened[0])) if opened else ended


def _source_of_style(file: BinaryIO) -> str:
    """The hash by which the policy names the style of the page, as it was written: by an older version, perhaps."""
    style = STYLE.search(file.read(HEAD))
    file.seek(0)
    return f"'sha256-{base64.b64encode(hashlib.sha256(style[1]).digest()).decode()}'" if style else "'none'"


def _closed(
    status: int, headers: dict[str, str] | None = None, ended: share_links.Ended | None = None
) -> HttpResponseBase:
    """The same for everybody, signed in or not: it is made without the request, and its times are in UTC."""
    with timezone.override(None):
        html = render_to_string("shares/closed.html", {"waits": status == 429, "ended": ended})
    response = HttpResponse(html, status=status, headers=headers)
    response.headers["Content-Security-Policy"] = POLICY.format(style="'self'", font="'self'")
    return _sealed(response)


def _sealed(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
