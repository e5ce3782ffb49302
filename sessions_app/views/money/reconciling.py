"""Why usage and the list of sessions show different amounts: what lies outside a range, and what a list leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID

from django.http import QueryDict

from sessions_app.queries.money.totals import Sums
from sessions_app.queries.money.usage import Part, Period, Used
from sessions_app.queries.sessions import session_filter, session_list

ADDED_UP = 200
"""Sessions that are read to compare. Each costs two rows, and the rest of the page by session up to 1,700."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What was used before and after a range, under the same filters."""

    costs: Part
    tokens: int
    turns: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The total above the list of the same sessions. ``is_same`` as what turns cost in the range."""

    sums: Sums
    is_same: bool


def outside(period: Period, total: Used) -> Outside | None:
    """Usage that a period leaves out; None where it is whole, or leaves out nothing."""
    if period.since is None and period.until is None:
        return None
    ever = Period(period.workspace_id, agent=period.agent, origin=period.origin, tag=period.tag).total()
    both = (ever.all_costs, total.all_costs)
    found = Outside(
        Part(
            cost_recorded=_less(both[0].cost_recorded, both[1].cost_recorded),
            cost_priced=_less(both[0].cost_priced, both[1].cost_priced),
            unpriced_tokens=both[0].unpriced_tokens - both[1].unpriced_tokens,
            under_reported=both[0].under_reported - both[1].under_reported,
        ),
        (ever.total_tokens or 0) - (total.total_tokens or 0),
        ever.turns - total.turns,
    )
    return found if found.turns or found.tokens or found.costs.cost_amount else None


def _less(whole: Decimal | None, part: Decimal | None) -> Decimal | None:
    rest = (whole or Decimal(0)) - (part or Decimal(0))
    return rest if rest or whole is not None and part is None else None


def compared(workspace_id: UUID, query: QueryDict, total: Used) -> Compared | None:
    """The total of the list that a filter leads to; None where it is of too many sessions to be added up unasked."""
    if total.sessions > ADDED_UP:
        return None  # as many of the list: none is read to find that out
    in_no_order = replace(session_filter.read(query).wanted, sort="")
    found = session_list.filtered(workspace_id, in_no_order)
    row = session_list.totals(found, ADDED_UP)
    if row is None:
        return None
    sums = Sums.from_row(row)
    is_same = (sums.cost_amount, sums.total_tokens) == (total.cost_amount, total.total_tokens)
    return Compared(sums, is_same)
