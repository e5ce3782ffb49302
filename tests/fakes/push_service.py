"""A push service on loopback, with the browsers that trust it: it refuses what RFC 8030 and RFC 8292 refuse, and the
browsers decrypt with code that is not ours (``http_ece``, of the people who wrote RFC 8188 and RFC 8291).
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sessions_app.services.notices.push_encryption import base64url, unbase64url

MOST_BODY, MOST_VALID = 4096, 24 * 3600
TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass
class Push:
    """One that was accepted, with its headers and what the browser read."""

    headers: dict[str, str]
    told: Any
    length: int


@dataclass
class Browser:
    """A subscription: what a page's JavaScript would get of ``PushManager.subscribe``."""

    endpoint: str
    bound_to: str
    """Base64 for URLs of the ``applicationServerKey`` that it was made with."""
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    pushes: list[Push] = field(default_factory=list)
    is_gone: bool = False

    @property
    def form(self) -> dict[str, str]:
        """What the settings page sends."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": base64url(point), "auth": base64url(self.auth)}
        return {"endpoint": self.endpoint, "public_key": self.bound_to, **keys}

    def decrypt(self, body: bytes) -> bytes:
        """As the browser does it."""
        return bytes(http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth, version="aes128gcm"))


class PushService:
    """``answers`` are ``(status, headers)``, used up from the front; then it does its work."""

    def __init__(self) -> None:
        self.origin = ""
        self.browsers: dict[str, Browser] = {}
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.requests = 0

    def browser(self, bound_to: str) -> Browser:
        """Another browser subscribes."""
        path = f"/push/{len(self.browsers) + 1}"
        self.browsers[path] = Browser(f"{self.origin}{path}", bound_to)
        return self.browsers[path]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        """Status of the answer, and headers beside."""
        self.requests += 1
        if self.answers:
            return self.answers.pop(0)
        browser = self.browsers.get(path)
        if browser is None or browser.is_gone:
            return 410, {}
        if refused := self._refusal(browser, headers, body):
            return refused, {}
        browser.pushes.append(Push(headers, json.loads(browser.decrypt(body)), len(body)))
        return 201, {"Location": f"{self.origin}/message/{self.requests}"}

    def _refusal(self, browser: Browser, headers: dict[str, str], body: bytes) -> int:
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        parameters = dict(part.strip().split("=", 1) for part in rest.split(",")) if scheme == "vapid" else {}
        if parameters.get("k") != browser.bound_to:
            return 403  # RFC 8292, section 4.2
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unbase64url(parameters["k"]))
        try:
            claims = jwt.decode(parameters["t"], public, algorithms=["ES256"], audience=self.origin)
        except jwt.InvalidTokenError:
            return 403
        if claims["exp"] > time.time() + MOST_VALID or not claims.get("sub", "").startswith(("mailto:", "https://")):
            return 403
        if not headers.get("ttl", "").isdigit():
            return 400  # RFC 8030, section 5.2
        if "topic" in headers and not TOPIC.fullmatch(headers["topic"]):
            return 400
        if headers.get("urgency", "normal") not in ("very-low", "low", "normal", "high"):
            return 400
        if headers.get("content-encoding") != "aes128gcm":
            return 400
        return 413 if len(body) > MOST_BODY else 0


@contextmanager
def push_service() -> Iterator[PushService]:
    """Serving until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more = known.take(self.path, headers, body)
            self.send_response(status)
            for name, value in {"Content-Length": "0", **more}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = PushService()
    known.origin = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
