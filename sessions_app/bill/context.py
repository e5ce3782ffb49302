"""The context of an agent from request to request, and what results cost that stay in it. Estimates: docs/cost.md."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from .request import CACHE_READ, ZERO, Call, Flow, Request

BYTES = 4
"""A token is about four bytes of English text or source code."""
ASIDE = 3
"""So many requests with a small context between two with a large one are side calls, not the end of a context."""


@dataclass(slots=True)
class Stretch:
    """Requests of one agent that read the same growing context: up to a compaction, or to where it starts anew."""

    flow: Flow
    requests: list[Request] = field(default_factory=list)
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class Carried:
    """A result that stayed in the context: what its tokens cost when they came in, and in each later request."""

    call: Call
    tokens: int
    requests: int
    """That read it again."""
    amount: Decimal


def stretches(requests: Iterable[Request], compactions: Iterable[tuple[Flow, int]]) -> list[Stretch]:
    """Requests by agent in order, cut at the events of compactions (flow and seq), and where a context shrinks by half
    and stays small. Side calls with a small context of their own are left out."""
    by_flow: dict[Flow, list[Request]] = defaultdict(list)
    for request in requests:
        if request.context:
            by_flow[request.flow].append(request)
    cuts: dict[Flow, list[int]] = defaultdict(list)
    for flow, seq in compactions:
        cuts[flow].append(seq)
    return [stretch for flow, line in by_flow.items() for stretch in _cut(flow, line, sorted(cuts[flow]))]


def _cut(flow: Flow, line: list[Request], cuts: list[int]) -> list[Stretch]:
    found = [Stretch(flow)]
    for place, request in enumerate(line):
        here = found[-1].requests
        if here and bisect_right(cuts, here[-1].seq) != bisect_right(cuts, request.seq):
            found.append(Stretch(flow, is_first=False))
        elif here and request.context * 2 < here[-1].context:
            following = line[place + 1 : place + 1 + ASIDE]
            if any(after.context * 2 >= here[-1].context for after in following):
                continue
            found.append(Stretch(flow, is_first=False))
        found[-1].requests.append(request)
    return found


def carried(found: Iterable[Stretch], calls: Iterable[Call]) -> list[Carried]:
    """What each result cost that came into a context. One that no later request read is not among them."""
    by_flow: dict[Flow, list[Stretch]] = defaultdict(list)
    for stretch in found:
        by_flow[stretch.flow].append(stretch)
    ends = {flow: [stretch.requests[-1].seq for stretch in line] for flow, line in by_flow.items()}
    came: dict[tuple[Flow, int, int], list[Call]] = defaultdict(list)
    for call in calls:
        if call.result_seq is None or not call.size or call.flow not in by_flow:
            continue
        number = bisect_right(ends[call.flow], call.result_seq)
        if number == len(ends[call.flow]):
            continue
        line = by_flow[call.flow][number].requests
        place = bisect_right(line, call.result_seq, key=lambda request: request.seq)
        place += line[place].key == call.request  # a response may be logged further after the first result is there
        if place < len(line):
            came[call.flow, number, place].append(call)
    sums = {flow: [_sums(stretch) for stretch in line] for flow, line in by_flow.items()}
    return [
        each
        for (flow, number, place), group in came.items()
        for each in _priced(group, by_flow[flow][number].requests, place, sums[flow][number])
    ]


def _sums(stretch: Stretch) -> list[Decimal]:
    """What a token costs in the first so many requests that read it again."""
    sums = [ZERO]
    for request in stretch.requests:
        sums.append(sums[-1] + _again(request))
    return sums


def _again(request: Request) -> Decimal:
    """Price of a token that was in the context before: read from the cache, else written to it, else plain input."""
    if request.prices is None or not request.money:
        return ZERO
    if request.tokens.get(CACHE_READ):
        return request.prices.cache_read
    return request.prices.cache_write if request.written else request.prices.input


def _first(request: Request) -> Decimal:
    """Price of a token that is new in the context."""
    if request.prices is None or not request.money:
        return ZERO
    return request.prices.cache_write if request.written else request.prices.input


def _priced(calls: list[Call], line: list[Request], place: int, sums: list[Decimal]) -> Iterable[Carried]:
    """Results that came in at one request: together never more tokens than its context grew by."""
    guessed = {call.seq: -(-call.size // BYTES) for call in calls}
    together = sum(guessed.values())
    most = line[place].context - (line[place - 1].context if place else 0)
    later = len(line) - place - 1
    for call in calls:
        tokens = guessed[call.seq] if together <= most else guessed[call.seq] * max(most, 0) // together
        if tokens:
            price = _first(line[place]) + sums[-1] - sums[place + 1]
            yield Carried(call, tokens, later, tokens * price)
