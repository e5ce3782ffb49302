"""The bill of a session from its model requests, each divided into classes by the prices that it was priced with."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from decimal import Decimal
from threading import Lock

from sessions_app.bill import request as parts
from sessions_app.bill.bill import Bill, bill_of
from sessions_app.bill.request import Call, Flow, PerToken, Request
from sessions_app.models import Session
from sessions_app.queries.money import bill_rows
from sessions_app.queries.money.bill_rows import CallRow, RequestRow

from ..log import pricing

KEPT = 64
"""Bills that a process keeps: one of a session of 50,000 events takes a second to make and 20 kB to keep."""
ROUNDED = Decimal("1E-9")
"""Between a stored amount, which has ten digits, and its parts."""
_kept: OrderedDict[tuple[object, ...], Bill] = OrderedDict()
_lock = Lock()


def of(session: Session) -> Bill:
    """The bill of a session as its totals are now; made once for each state of them."""
    key = (
        session.pk, session.last_seq, session.total_tokens, session.cost_recorded, session.cost_priced,
        session.unpriced_tokens, session.copied_tokens, session.under_reported,
    )  # fmt: skip
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    made = make(session)
    with _lock:
        _kept[key] = made
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return made


def make(session: Session) -> Bill:
    """The bill of a session, read from its log."""
    above = bill_rows.parents(session.pk)
    requests = [_request(row, session.created_at, above) for row in bill_rows.requests(session.pk)]
    calls = [_call(row) for row in bill_rows.calls(session.pk)]
    compactions = [(_flow(*where), seq) for seq, *where in bill_rows.compactions(session.pk)]
    return bill_of(requests, calls, compactions)


def _call(row: CallRow) -> Call:
    flow = _flow(row.depth, row.parent_seq, row.actor_name)
    return Call(row.seq, row.name, row.request, flow, row.result_seq, row.size or 0)


def _flow(depth: int, parent_seq: int | None, name: str) -> Flow:
    return (parent_seq or name or 0) if depth else 0


def _agent(row: RequestRow, above: dict[int, int]) -> tuple[int, str] | None:
    """The event of the main flow that began the sub-agent of a request, and its name; None for the session's own."""
    if not row.depth:
        return None
    seq = row.parent_seq or 0
    for _ in range(row.depth):
        if seq not in above:
            break
        seq = above[seq]
    return seq, row.actor_name


def _request(row: RequestRow, created_at: datetime, above: dict[int, int]) -> Request:
    tokens = _tokens(row)
    rates = _rates(row, created_at)
    is_paid = not row.is_copy and not row.is_within
    return Request(
        key=row.key, seq=row.seq, at=row.at, model=row.model, flow=_flow(row.depth, row.parent_seq, row.actor_name),
        agent=_agent(row, above), tokens=tokens, money=_money(row, tokens, rates) if is_paid else {},
        prices=_per_token(rates, row), is_counted=not row.is_copy,
        is_unpriced=is_paid and row.cost_recorded is None and row.cost_priced is None,
        covers=row.covers, is_under_reported=row.is_placeholder,
    )  # fmt: skip


def _tokens(row: RequestRow) -> dict[str, int]:
    """Tokens by class. What is written to the cache is divided by its duration where that is stated."""
    output = row.output_tokens
    reasoning = min(row.reasoning_tokens or 0, output or 0)
    hour = row.cache_write_1h_tokens
    written = row.cache_write_tokens
    found = {
        parts.INPUT: row.input_tokens,
        parts.CACHE_READ: row.cache_read_tokens,
        parts.CACHE_WRITE: written if hour is None else None,
        parts.CACHE_WRITE_5M: None if hour is None else (written or 0) - hour,
        parts.CACHE_WRITE_1H: hour,
        parts.OUTPUT: None if output is None else output - reasoning,
        parts.REASONING: reasoning,
    }
    return {name: number for name, number in found.items() if number}


def _rates(row: RequestRow, created_at: datetime) -> pricing.Rates | None:
    """Prices that fit a request's prompt and time."""
    prompt = (row.input_tokens or 0) + (row.cache_read_tokens or 0) + (row.cache_write_tokens or 0)
    return pricing.rates(row.model, row.at or created_at, prompt)


def _per_token(rates: pricing.Rates | None, row: RequestRow) -> PerToken | None:
    if rates is None:
        return None
    written, hour = row.cache_write_tokens or 0, row.cache_write_1h_tokens or 0
    mixed = (rates.cache_write * (written - hour) + rates.cache_write_1h * hour) / written if written else None
    return PerToken(rates.input, rates.cache_read, rates.cache_write if mixed is None else mixed)


def _money(row: RequestRow, tokens: dict[str, int], rates: pricing.Rates | None) -> dict[str, Decimal]:
    """What a request costs, by class: as the recorder states it whole, else as it was priced."""
    if row.cost_recorded is not None:
        return {parts.STATED: row.cost_recorded}
    if row.cost_priced is None:
        return {}
    if rates is None:
        return {parts.OTHER_TABLE: row.cost_priced}
    by_class = {
        parts.INPUT: rates.input, parts.CACHE_READ: rates.cache_read, parts.CACHE_WRITE: rates.cache_write,
        parts.CACHE_WRITE_5M: rates.cache_write, parts.CACHE_WRITE_1H: rates.cache_write_1h,
        parts.OUTPUT: rates.output, parts.REASONING: rates.output,
    }  # fmt: skip
    found = {name: by_class[name] * number for name, number in tokens.items()}
    if rates.request:
        found[parts.FEE] = rates.request
    rest = row.cost_priced - sum(found.values(), Decimal(0))
    if abs(rest) > ROUNDED or (rest and not found):
        return {parts.OTHER_TABLE: row.cost_priced}  # it was priced with another version of the price table
    if rest:
        found[max(found, key=lambda name: found[name])] += rest
    return found or {parts.INPUT: row.cost_priced}
