"""The bill of a session: the same money by class, by model, by agent and by tool, each adding up to it exactly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal

from .context import Carried, carried, stretches
from .places import Place, dearest
from .request import CLASSES, OTHER_TABLE, STATED, ZERO, Call, Flow, Request

DIGITS = Decimal("1E-10")
"""Of an amount, as the log keeps it."""


@dataclass(slots=True)
class Line:
    """One part of a bill. ``name`` is the class, model or tool, and None where there is none."""

    name: str | None
    amount: Decimal = ZERO
    per_mille: int | None = None
    """Of the whole bill; those of all lines are 1,000 together."""
    tokens: int | None = None
    requests: int = 0
    seq: int | None = None
    """The event that began a sub-agent."""
    calls: int = 0
    carried: Decimal = ZERO
    """Estimate of what its results cost in the requests that read them. A part of the bill, no addition to it."""
    carried_tokens: int = 0
    unpriced_tokens: int = 0
    """Of requests without a price: the amount is at least what is stated."""
    under_reported: int = 0
    """Responses of which the recorder wrote down fewer tokens than there were: at least, too."""

    @property
    def is_known(self) -> bool:
        """Whether there is an amount at all."""
        return bool(self.amount) or not self.unpriced_tokens


@dataclass(frozen=True, slots=True)
class Bill:
    """All of it. ``total`` is None where no request has an amount."""

    total: Decimal | None
    classes: list[Line] = field(default_factory=list)
    models: list[Line] = field(default_factory=list)
    agents: list[Line] = field(default_factory=list)
    tools: list[Line] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    requests: int = 0
    is_stated: bool = False
    """Whether all of it was stated by the recorder: there are no classes then."""
    covered: int = 0
    """Requests whose cost is within an amount that the recorder states for several."""
    copied: int = 0
    """Requests that are counted in another session."""
    under_reported: int = 0

    @property
    def unpriced(self) -> list[Line]:
        """The models that have requests without a price."""
        return [line for line in self.models if line.unpriced_tokens]

    @property
    def has_estimates(self) -> bool:
        return any(line.carried for line in self.tools)


def bill_of(requests: Sequence[Request], calls: Sequence[Call], compactions: Iterable[tuple[Flow, int]]) -> Bill:
    """The bill of a session's requests in order of ``seq``, its calls, and its compactions (flow and seq)."""
    counted = [request for request in requests if request.is_counted]
    paid = [request for request in counted if request.money]
    lines = stretches(counted, compactions)
    stayed = carried(lines, calls)
    classes = _classes(counted)
    total = sum((request.amount for request in paid), ZERO) if paid else None
    agents = _agents(counted)
    found = Bill(
        total=total,
        classes=_shared(classes, total),
        models=_shared(_models(counted), total),
        agents=_shared(agents, total),
        tools=_shared(_tools(counted, calls, stayed), total),
        places=dearest(counted, lines, stayed, total),
        requests=len(counted),
        is_stated=bool(paid) and all(STATED in request.money for request in paid),
        covered=sum(not request.money and not request.is_unpriced for request in counted),
        copied=len(requests) - len(counted),
        under_reported=sum(request.is_under_reported for request in counted),
    )
    return found


def _classes(requests: Iterable[Request]) -> list[Line]:
    """Lines in the order of ``CLASSES``. Tokens of requests with a stated amount stand in their classes, without it."""
    money: dict[str, Decimal] = defaultdict(Decimal)
    tokens: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for request in requests:
        tokens.update(request.tokens)
        for name, amount in request.money.items():
            money[name] += amount
            times[name] += 1
    undivided = (STATED, OTHER_TABLE)
    return [
        Line(name, money[name], tokens=None if name in undivided else tokens[name], requests=times[name])
        for name in CLASSES
        if money.get(name) or tokens[name] or (name in undivided and times[name])
    ]


def _add(line: Line, request: Request) -> None:
    line.amount += request.amount
    line.requests += 1
    line.under_reported += request.is_under_reported
    line.tokens = (line.tokens or 0) + request.context + request.output
    if request.is_unpriced:
        line.unpriced_tokens += request.context + request.output


def _models(requests: Iterable[Request]) -> list[Line]:
    lines: dict[str | None, Line] = {}
    for request in requests:
        _add(lines.setdefault(request.model, Line(request.model)), request)
    return sorted(lines.values(), key=lambda line: (-line.amount, line.name or ""))


def _agents(requests: Iterable[Request]) -> list[Line]:
    """The session's own agent first, with no event, then its sub-agents."""
    lines: dict[tuple[int, str] | None, Line] = {}
    for request in requests:
        seq, name = request.agent or (None, None)
        _add(lines.setdefault(request.agent, Line(name, seq=seq)), request)
    return sorted(lines.values(), key=lambda line: (line.seq is not None, -line.amount, line.seq or 0))


def _tools(requests: Sequence[Request], calls: Sequence[Call], stayed: Sequence[Carried]) -> list[Line]:
    """What asking for each tool cost, and its results. A response that asks for several is shared among its calls."""
    lines: dict[str | None, Line] = {}
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        lines.setdefault(call.name, Line(call.name)).calls += 1
        asked[call.request][call.name] += 1
    for request in requests:
        for name, amount in _divided(request.amount, asked.get(request.key)):
            lines.setdefault(name, Line(name)).amount += amount
    for each in stayed:
        line = lines[each.call.name]
        line.carried += each.amount
        line.carried_tokens += each.tokens
    known = [line for line in lines.values() if line.calls or line.amount]
    return sorted(known, key=lambda line: (line.name is None, -(line.amount + line.carried), line.name or ""))


def _divided(amount: Decimal, asked: Counter[str] | None) -> list[tuple[str | None, Decimal]]:
    """An amount by the number of calls of each tool; the last has what rounding leaves."""
    if not asked:
        return [(None, amount)]
    names, together = sorted(asked), asked.total()
    parts = [(amount * asked[name] / together).quantize(DIGITS, ROUND_DOWN) for name in names[:-1]]
    return [*zip(names, [*parts, amount - sum(parts, ZERO)], strict=True)]


def _shared(lines: list[Line], total: Decimal | None) -> list[Line]:
    """Write into lines their shares of the whole, the largest remainders rounded up, so that they are 1,000."""
    if total and all(line.amount >= 0 for line in lines):
        exact = [line.amount * 1000 / total for line in lines]
        for line, share in zip(lines, exact, strict=True):
            line.per_mille = int(share)
        missing = 1000 - sum(int(share) for share in exact)
        for place in sorted(range(len(lines)), key=lambda n: int(exact[n]) - exact[n])[:missing]:
            lines[place].per_mille = (lines[place].per_mille or 0) + 1
    return lines
