"""Ask the desk and wait: which requests are made, when again, and when to stop. Knows no sockets and no clock.

``steps`` is a generator: it yields a ``Request`` or the seconds of a pause, and is sent what came of it. So one set of
rules serves the hook, ``Client`` and ``AsyncClient``.
"""

from __future__ import annotations

from .answers import PENDING, Decision, Question, Untrusted, read
from .wire import Garbled, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Outcome = tuple[int, bytes] | Unreachable | Garbled | None

POLL = 30.0
"""Seconds of one long poll; the desk holds it for 60 at most."""
PATIENCE = 10.0
"""Seconds to try for, before the desk has taken the question."""
ENDURANCE = 300.0
"""Seconds to try for, once it has: a restart of the desk loses no decision."""
PROMPT = 20.0
"""Seconds for an answer that nobody has to decide first."""
AT_LEAST = 2.0
"""Seconds for the question itself, however short the wait."""
LATE = 2.0
"""Seconds that the last answer may come late."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


class Request:
    """``timeout`` in seconds, for the whole exchange."""

    __slots__ = ("method", "path", "body", "timeout")

    def __init__(self, method: str, path: str, body: bytes | None, timeout: float) -> None:
        self.method, self.path, self.body, self.timeout = method, path, body, timeout


def steps(
    question: Question,
    wait: float | None,
    clock: Callable[[], float],
    announce: Callable[[Decision], None] | None = None,
) -> Generator[Request | float, Outcome, Decision]:
    """Ask, and wait for ``wait`` seconds (None: until it is decided). Never raises: no answer is no.

    ``announce`` is called once, when the desk has taken the question and a person has to decide.
    """
    until = clock() + wait if wait is not None else float("inf")
    found = Decision("failed", "the desk was not asked")
    try:
        prompt = max(min(PROMPT, until - clock()), AT_LEAST)
        asked = Request("POST", "/api/v1/approvals", question.body, prompt)
        found = yield from _answered(asked, question, "", clock, clock() + min(PATIENCE, prompt))
        if found.status == PENDING and announce:
            announce(found)
        while found.status == PENDING and (left := until - clock()) > 0:
            seconds = min(POLL, left)
            path = f"/api/v1/approvals/{found.approval_id}?wait={seconds:.3f}"
            poll = Request("GET", path, None, min(seconds + PROMPT, left + LATE))
            found = yield from _answered(poll, question, found.approval_id, clock, min(until, clock() + ENDURANCE))
    except Untrusted as untrusted:
        return Decision("failed", str(untrusted), found.approval_id, found.session_id)
    except _Late as late:
        if found.status == PENDING and clock() >= until:
            return found
        return Decision("failed", str(late), found.approval_id, found.session_id)
    return found


class _Late(Exception):
    """Nothing that counts came in time."""


def _answered(
    request: Request, question: Question, id_: str, clock: Callable[[], float], until: float
) -> Generator[Request | float, Outcome, Decision]:
    """One request, repeated while nobody or no desk answers. Raises ``_Late`` or ``Untrusted``."""
    pause = FIRST_PAUSE
    while True:
        came = yield request
        if isinstance(came, tuple) and not _is_passing(came[0]):
            return _read(came[0], came[1], question, id_)
        if isinstance(came, Garbled):
            raise Untrusted(f"what answers there is no desk: {came}")
        problem = str(came) if isinstance(came, Unreachable) else f"it answers {came[0] if came else 'nothing'}"
        if clock() + pause >= until:
            raise _Late(f"the desk does not answer ({problem})")
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


def _is_passing(status: int) -> bool:
    """Whether a status is one that passes by itself: a desk that starts, a proxy before one, too many requests."""
    return status in (429, 500, 502, 503, 504)


def _read(status: int, data: bytes, question: Question, id_: str) -> Decision:
    if status not in (200, 201):
        raise Untrusted(f"the desk answers {status}: {_detail(data)}")
    return read(data, question, id_)


def _detail(data: bytes) -> str:
    """What a problem (RFC 9457) says, for whoever reads why a call was refused."""
    from . import plain_json

    try:
        problem = plain_json.loads(data)
        errors = problem.get("errors") or [{}]
        return f"{problem['detail']} {errors[0].get('message') or errors[0].get('detail') or ''}".strip()[:500]
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return data[:120].decode(errors="replace")
