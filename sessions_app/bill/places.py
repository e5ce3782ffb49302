"""The dearest places of a session: events at which money went, each for a reason that a rule finds (docs/cost.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from .context import Carried, Stretch
from .request import CACHE_READ, OUTPUT, PROMPT, REASONING, STATED, ZERO, Request

SHOWN = 10
LEAST = Decimal("0.005")
"""Share of the whole cost below which a place is none."""
LARGE = 100_000
"""Tokens: from here on a context is called large."""
TOGETHER = 3
"""Requests with a large context that make a place."""
LOST = 5_000
"""Tokens of a cache, and at least half of what it held, that have to be missing before it is called lost."""
MINUTES_5, HOUR = 300, 3_600
"""Seconds for which a cache is kept, by how it was written."""


@dataclass(frozen=True, slots=True)
class Place:
    """One event, what it cost, and why. Which of the other values are there depends on the kind.

    ``lost``: a cache was written again, ``seconds`` after the request before. ``context``: many requests read a large
    context. ``result``: a result stayed in it. ``begin``: a context was sent for the first time, or after a compaction.
    ``output``: one long response. ``stated``: an amount of the recorder. ``sub_agent``: all requests of one.
    """

    kind: str
    seq: int
    amount: Decimal
    tokens: int = 0
    requests: int = 0
    name: str = ""
    """Of the tool, sub-agent, or of the model that was changed to: text of strangers."""
    seconds: int | None = None
    reason: str = ""
    """Of ``lost``: pause, model or unknown. Of ``begin``: first, compaction. Of ``stated``: covers. Of ``context``:
    stated, when the answers are in the amount, too."""
    is_estimate: bool = False


def dearest(
    requests: Sequence[Request], stretches: Iterable[Stretch], stayed: Iterable[Carried], total: Decimal | None
) -> list[Place]:
    """At most ten places, the dearest first. They overlap: what they cost is no sum."""
    if not total or total <= 0:
        return []
    found = [place for stretch in stretches for place in (*_lost(stretch), *_context(stretch), *_begin(stretch))]
    found += (_result(each) for each in stayed if each.requests)
    found += (place for request in requests for place in _alone(request))
    found += _sub_agents(requests)
    least = total * LEAST
    return sorted((place for place in found if place.amount >= least), key=lambda place: (-place.amount, place.seq))[
        :SHOWN
    ]


def _lost(stretch: Stretch) -> Iterator[Place]:
    """Requests that had to write again what the request before them had left in the cache."""
    for before, request in zip(stretch.requests, stretch.requests[1:], strict=False):
        held = before.tokens.get(CACHE_READ, 0) + before.written
        missing = min(held, request.context) - request.tokens.get(CACHE_READ, 0)
        if missing < LOST or missing * 2 < held or request.prices is None or STATED in request.money:
            continue
        if not request.money:
            continue
        again = min(missing, request.written)
        amount = again * request.prices.cache_write + (missing - again) * request.prices.input
        seconds = int((request.at - before.at).total_seconds()) if request.at and before.at else None
        kept = HOUR if before.tokens.get("cache_write_1h") else MINUTES_5
        reason = "model" if before.model != request.model else "pause" if (seconds or 0) >= kept else "unknown"
        yield Place(
            "lost", request.seq, amount, missing, 1, request.model or "" if reason == "model" else "", seconds, reason,
            is_estimate=True,
        )  # fmt: skip


def _context(stretch: Stretch) -> Iterator[Place]:
    """Requests of one stretch that read a large context. Of an amount that is stated nobody knows what reading cost."""
    large = [request for request in stretch.requests if request.context >= LARGE and request.of(*PROMPT, STATED)]
    if len(large) >= TOGETHER:
        amount = sum((request.of(*PROMPT, STATED) for request in large), ZERO)
        reason = "stated" if any(STATED in request.money for request in large) else ""
        largest = max(request.context for request in large)
        yield Place("context", large[0].seq, amount, largest, len(large), reason=reason)


def _begin(stretch: Stretch) -> Iterator[Place]:
    """The first request of a stretch: what it had to send that no cache held."""
    request = stretch.requests[0]
    fresh = [name for name in PROMPT if name != CACHE_READ]
    if amount := request.of(*fresh):
        tokens = sum(request.tokens.get(name, 0) for name in fresh)
        yield Place("begin", request.seq, amount, tokens, 1, reason="first" if stretch.is_first else "compaction")


def _result(each: Carried) -> Place:
    call = each.call
    return Place("result", call.seq, each.amount, each.tokens, each.requests, call.name, is_estimate=True)


def _alone(request: Request) -> Iterator[Place]:
    """One response: its output, or the amount that the recorder states for it."""
    if STATED in request.money:
        reason = "covers" if request.covers else ""
        yield Place("stated", request.seq, request.amount, request.context + request.output, 1, reason=reason)
    elif amount := request.of(OUTPUT, REASONING):
        yield Place("output", request.seq, amount, request.output, 1)


def _sub_agents(requests: Iterable[Request]) -> Iterator[Place]:
    lines: dict[tuple[int, str], list[Request]] = defaultdict(list)
    for request in requests:
        if request.agent and request.agent[0]:
            lines[request.agent].append(request)
    for (seq, name), own in lines.items():
        if amount := sum((request.amount for request in own), ZERO):
            tokens = sum(request.context + request.output for request in own)
            yield Place("sub_agent", seq, amount, tokens, len(own), name)
