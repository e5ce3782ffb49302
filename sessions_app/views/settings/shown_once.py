"""Secrets that a page shows once: a form that makes one leads to the page, so that a reload makes no other.

In between the secret lies in the browser session, encrypted; no address has it.
"""

from __future__ import annotations

import time
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect

from sessions_app import encryption

KEY = "shown_once"
"""Where the browser session keeps them: an encrypted JSON object by the path of the page that is to show it."""
SECONDS = 600
"""The browser asks for the page at once. An API key is else kept as a hash alone, so it waits no longer than that."""


def lead_to(request: HttpRequest, page: str, **shown: str | bool) -> HttpResponseRedirect:
    """A redirect to an address of the desk, whose page shows this once; it may have a fragment."""
    path = page.partition("#")[0]
    kept = orjson.dumps({"at": time.time(), "shown": shown}).decode()
    request.session[KEY] = request.session.get(KEY, {}) | {path: encryption.encrypt(kept)}
    return redirect(page)


def take(request: HttpRequest) -> dict[str, Any]:
    """What this page is to show this once; empty for a page that no form led to."""
    waiting = request.session.get(KEY, {})
    if request.method != "GET" or request.path not in waiting:
        return {}
    request.session[KEY] = {path: token for path, token in waiting.items() if path != request.path}
    try:
        kept = orjson.loads(encryption.decrypt(waiting[request.path]))
    except encryption.Unreadable:  # SECRET_KEY was changed meanwhile, and nobody can read it any more
        return {}
    shown: dict[str, Any] = kept["shown"]
    return shown if time.time() - kept["at"] < SECONDS else {}
