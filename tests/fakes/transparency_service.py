"""A transparency service on loopback, as SCITT Reference APIs have it: a log in a Merkle tree that signs receipts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cbor2 import CBORTag
from cbor2 import dumps as cbor
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.signing.make import public_pem
from vcon_app.signing import merkle

Reply = tuple[int, dict[str, str], bytes]
COSE = {"Content-Type": "application/cose"}


class Service:
    """``key`` signs, ``keys`` is its PEM file, ``url`` its address; ``answers`` take the place of the usual ones.

    An answer is a function of the service and the statement, or the place that is asked; each counts once. Without one
    a statement is answered with its receipt at once (201), and a place with what it is for (200).
    """

    def __init__(self, folder: Path) -> None:
        self.key, self.url = ec.generate_private_key(ec.SECP256R1()), ""
        self.keys = folder / "transparency.pem"
        self.keys.write_text(public_pem(self.key))
        self.log: list[bytes] = [b"somebody else's statement"]
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[Callable[[Service, bytes], Reply]] = []

    def receipt(self, statement: bytes, key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
        """Of a statement, which is taken into the log unless it is there."""
        if statement not in self.log:
            self.log.append(statement)
        index = self.log.index(statement)
        proof = cbor([len(self.log), index, merkle.proof(self.log, index)])
        protected = cbor({1: -7, 4: b"service-1", 395: 1, 15: {1: "transparency.example"}})
        signed = cbor(["Signature1", protected, b"", merkle.root(self.log)])
        r, s = decode_dss_signature((key or self.key).sign(signed, ec.ECDSA(hashes.SHA256())))
        value = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return cbor(CBORTag(18, [protected, {396: {-1: [proof]}}, None, value]))

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        self.asked.append((method, path))
        if self.answers:
            return self.answers.pop(0)(self, body)
        if method == "POST":
            return 201, COSE, self.receipt(body)
        return 200, COSE, self.receipt(self.log[-1])


def later(status: int, wait: str = "0", location: str = "/entries/operation-1") -> Callable[[Service, bytes], Reply]:
    """The receipt is not ready; the statement is in the log, as it will be."""

    def answer(service: Service, body: bytes) -> Reply:
        if body:
            service.receipt(body)
        place = location if "//" in location or not location else service.url + location
        return status, {**({"Location": place} if place else {}), **({"Retry-After": wait} if wait else {})}, b""

    return answer


def says(status: int, body: bytes = b"", **headers: Any) -> Callable[[Service, bytes], Reply]:
    """Answer the same to everybody; ``content_type="…"`` names the header Content-Type."""
    return lambda service, _: (status, {name.replace("_", "-").title(): one for name, one in headers.items()}, body)


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    """A service on a free port of loopback."""
    service = Service(folder)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            service.headers.append(dict(self.headers.items()))
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = service.answer(self.command, self.path, sent)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET = _serve

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield service
    finally:
        server.shutdown()


def slowly(seconds: float) -> Callable[[Service, bytes], Reply]:
    """The receipt, after a while."""

    def answer(service: Service, body: bytes) -> Reply:
        time.sleep(seconds)
        return 201, COSE, service.receipt(body)

    return answer
