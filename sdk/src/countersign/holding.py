"""Ask from a hook, and hold on until there is a decision or the time is up."""

from __future__ import annotations

import os
import time

from .answers import Decision, Question
from .asking import Request, steps
from .wire import Address, Garbled, Unreachable, exchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Desk:
    """The desk of the environment. Raises ``ValueError`` with the variable that is missing or wrong."""

    def __init__(self) -> None:
        url, key = os.environ.get("COUNTERSIGN_URL"), os.environ.get("COUNTERSIGN_API_KEY")
        if not url or not key:
            raise ValueError(f"{'COUNTERSIGN_API_KEY' if url else 'COUNTERSIGN_URL'} is not set where this agent runs")
        self.address, self.headers = Address(url), {"Authorization": f"Bearer {key}", "Accept": "application/json"}

    def send(self, request: Request) -> tuple[int, bytes] | Unreachable | Garbled:
        try:
            return exchange(self.address, request.method, request.path, request.body, self.headers, request.timeout)
        except (Unreachable, Garbled) as failed:
            return failed


def asked(question: Question, hold: float, waits: Callable[[Desk, Decision], None] | None = None) -> Decision:
    """The decision on a call, ``pending`` after ``hold`` seconds. ``waits`` is told when a person has to decide."""
    try:
        desk = Desk()
    except ValueError as error:
        return Decision("failed", str(error))
    going = steps(question, hold, time.monotonic, (lambda decision: waits(desk, decision)) if waits else None)
    try:
        step = next(going)
        while True:
            if isinstance(step, Request):
                step = going.send(desk.send(step))
            else:
                time.sleep(step)
                step = going.send(None)
    except StopIteration as done:
        decision = done.value
    return decision if isinstance(decision, Decision) else Decision("failed", "no answer")
