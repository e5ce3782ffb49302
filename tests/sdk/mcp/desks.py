"""Desks on loopback that write down what they are asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.sdk.bad_desks import answering, lying

Json = dict[str, Any]


class Desk:
    """Decides each question as ``change`` says, once ``decides`` is set; ``refuses``: it takes no begin of a call."""

    def __init__(self, change: Callable[[Json], Any]) -> None:
        self.url, self.questions, self.reports = "", list[Json](), list[Json]()
        self.decides, self.refuses = threading.Event(), False
        self.decides.set()
        self._reply = lying(change)

    def reply(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        said = json.loads(body)
        if b"/execution " in head:
            self.reports.append(said)
            return b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}" if self.refuses else self._reply(request)
        self.questions.append(said)
        self.decides.wait(20)
        return self._reply(request)

    @property
    def states(self) -> list[str]:
        """What it was told of calls that were made."""
        return [report["status"] for report in self.reports]


@contextmanager
def desk(change: Callable[[Json], Any] = lambda said: None) -> Iterator[Desk]:
    made = Desk(change)
    with answering(made.reply) as made.url:
        yield made
        made.decides.set()
