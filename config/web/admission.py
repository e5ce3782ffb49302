"""ASGI middleware that takes each request through the gate: whose it is, when it begins to work, when it is done."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from weakref import WeakKeyDictionary

from django.conf import settings

from config.web.asgi import Application, Message, Receive, Scope, Send, refuse
from config.web.gate import Full, Gate
from config.web.refusals import Refusal
from sessions_app.live import readers, visits

KNOWN_SECONDS, KNOWN = 600.0, 10_000
"""So long, and for so many, it is remembered whose a key or a cookie is: they need not share their address's places."""
OPEN = frozenset({"/healthz"})
"""Answered without a database, always: what watches the process must not stand in a queue."""
SIGN_IN = "/sign-in/"
PASSWORDS = 16
"""Passwords of one address that wait at the gate: more would wait in vain for their hash (``password_checks``)."""
READERS = re.compile(r"/stream$|^/api/v1/approvals/[^/]+$")

BUSY_CALLER = Refusal(429, "too many of your requests wait already; send fewer at once", retry_after=5)
BUSY = Refusal(503, "the server has more to do than it can; try again in a moment", retry_after=5)


class Admission:
    """Lets a request into Django when its caller has a place, and gives the place back as the answer begins.

    A place is taken when the body has come whole: who sends slowly keeps nobody waiting.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, Gate] = WeakKeyDictionary()
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN:
            return await self.application(scope, receive, send)
        credential = _credential(scope)
        caller = self._caller(credential) if credential else ""
        if caller and _wants_to_wait(scope) and readers.is_full(caller):
            return await refuse(Refusal(429, str(readers.Full.of_caller()), readers.RETRY_SECONDS), scope, send)
        visit = visits.Visit(caller)
        visits.current.set(visit)
        gate = self._gates.setdefault(asyncio.get_running_loop(), Gate())
        share = ("caller", caller) if caller else _share_of_stranger(scope, credential)
        most = PASSWORDS if share[0] == "sign-in" else None

        async def receive_then_enter() -> Message:
            message: Message = await receive()
            if visit.leave is visits.nothing and message["type"] == "http.request" and not message.get("more_body"):
                visit.leave = _from_any_thread(await gate.enter(share, most))
            return message

        async def leave_then_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.leave()
                if credential and visit.caller:
                    self._remember(credential, visit.caller)
            await send(message)

        try:
            await self.application(scope, receive_then_enter, leave_then_send)
        except Full as full:
            await refuse(BUSY_CALLER if full.of_caller else BUSY, scope, send)
        finally:
            visit.leave()

    def _caller(self, credential: bytes) -> str:
        """The caller that a credential was last seen to be; empty when it is not known."""
        caller, until = self._known.get(credential, ("", 0.0))
        return caller if time.monotonic() < until else ""

    def _remember(self, credential: bytes, caller: str) -> None:
        self._known[credential] = (caller, time.monotonic() + KNOWN_SECONDS)
        self._known.move_to_end(credential)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)


def _credential(scope: Scope) -> bytes:
    """Hash of the key or session cookie that a request brings; empty without one."""
    brought = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            brought = value
            break
        if name == b"cookie":
            brought = _session_key(value) or brought
    return hashlib.sha256(brought).digest() if brought else b""


def _session_key(cookie: bytes) -> bytes:
    try:
        morsel = SimpleCookie(cookie.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return b""
    return morsel.value.encode("latin-1") if morsel else b""


def _share_of_stranger(scope: Scope, credential: bytes) -> tuple[str, str]:
    """Share of one that nobody knows yet: its address's. Passwords and unknown keys keep no other page waiting."""
    client = scope.get("client")
    kind = "credential" if credential else "sign-in" if scope["path"] == SIGN_IN and scope["method"] == "POST" else ""
    return kind, client[0] if client else ""


def _wants_to_wait(scope: Scope) -> bool:
    path = scope["path"]
    return bool(READERS.search(path)) and (path.endswith("/stream") or b"wait=" in scope.get("query_string", b""))


def _from_any_thread(leave: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def leave_in_loop() -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            loop.call_soon_threadsafe(leave)
        else:
            leave()

    return leave_in_loop
