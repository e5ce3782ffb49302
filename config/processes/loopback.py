"""Requests to our own web server, and the shape of its address. http.client alone would take the supervisor 3 MB."""

from __future__ import annotations

import socket

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that mean all of this machine's, and one of those to reach it by."""


def get(host: str, port: int, path: str, seconds: float = 5.0) -> tuple[int, str]:
    """Status and Location of ``path``; (0, "") while nobody answers. ``host`` is the one that is listened on."""
    try:
        with socket.create_connection((ANY_ADDRESS.get(host, host), port), timeout=seconds) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {bracketed(host)}:{port}\r\n\r\n".encode())
            with connection.makefile("rb") as answer:
                lines = [line.decode("latin-1").strip() for line in iter(answer.readline, b"\r\n") if line]
    except OSError:
        return 0, ""
    location = next((line[9:].strip() for line in lines if line.lower().startswith("location:")), "")
    return int(lines[0].split()[1]) if lines else 0, location


def bracketed(host: str) -> str:
    """Host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
