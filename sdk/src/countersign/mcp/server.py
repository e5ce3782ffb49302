"""Whoever executes calls: a program, or something at an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .messages import Json


class Server(Protocol):
    """``name``: on cards and in policies, unless another is given; ``place``: its command line or address."""

    name: str
    place: str

    def attach(self, deliver: Callable[[bytes], None]) -> None: ...
    def run(self) -> int: ...
    def send(self, message: Json, headers: dict[str, str] | None = None) -> None: ...
    def close(self) -> None: ...
