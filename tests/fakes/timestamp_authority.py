"""A time-stamping authority on loopback: RFC 3161 over HTTP, its answers made by the ``openssl`` program."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

CONFIG = """
[tsa]
default_tsa = own
[own]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[signer]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[req]
distinguished_name = name
[name]
"""


class Authority:
    """Its root certificate in ``root``, its address in ``url``; ``status`` makes it answer that HTTP status."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.status, self.url = folder, 200, ""
        self.root = folder / "root.pem"
        (folder / "serial").write_text("01\n")
        (folder / "openssl.cnf").write_text(CONFIG.format(folder=folder))
        self._certificate("root", "/CN=Test root", "-x509")
        self._certificate("signer", "/CN=Test authority", "-CA", "root.pem", "-CAkey", "root.key", "-x509")

    def _certificate(self, name: str, subject: str, *options: str) -> None:
        self._openssl(
            "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-subj", subject, "-days", "3650", "-config", "openssl.cnf", "-extensions", name, *options,
        )  # fmt: skip

    def answer(self, query: bytes) -> bytes:
        """The reply to a query, both in DER."""
        (self.folder / "query.tsq").write_bytes(query)
        self._openssl(
            "ts", "-reply", "-config", "openssl.cnf", "-queryfile", "query.tsq", "-signer", "signer.pem",
            "-inkey", "signer.key", "-out", "reply.tsr",
        )  # fmt: skip
        return (self.folder / "reply.tsr").read_bytes()

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


@contextmanager
def serving(folder: Path) -> Iterator[Authority]:
    """An authority that answers POST on a free port of loopback."""
    authority = Authority(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = authority.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(authority.status)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    authority.url = f"http://127.0.0.1:{server.server_port}/"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield authority
    finally:
        server.shutdown()
