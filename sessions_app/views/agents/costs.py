"""What an agent's sessions cost by day: a picture with its scale, and a table that leads to the sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.http import QueryDict
from django.urls import reverse

from sessions_app.models import Agent
from sessions_app.queries.money.budgets import midnight
from sessions_app.queries.money.usage import Part, Period, Used
from sessions_app.rendering import numbers

HEIGHT = 40
"""Units of the picture, which is as high as the page makes it."""
STEP = 7
"""Units from a day to the next: those of ``sparkline``, under whose bars these stand."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the picture. ``url``: its sessions; empty on a day without usage."""

    day: date
    x: int
    height: int
    """Of ``HEIGHT``; 1 where no cost is known."""
    used: Used | None
    url: str

    @property
    def y(self) -> int:
        return HEIGHT - self.height

    @property
    def cost(self) -> Part:
        return self.used.all_costs if self.used else Part()

    @property
    def amount(self) -> str:
        """``≥ $1.20``."""
        return numbers.money(self.cost.cost_amount, partial=bool(self.cost.unpriced_tokens or self.cost.under_reported))


@dataclass(frozen=True, slots=True)
class CostPicture:
    """The last days, today last."""

    bars: list[Bar]

    @property
    def width(self) -> int:
        return STEP * len(self.bars)

    @property
    def highest(self) -> Bar | None:
        """The dearest day; None where nothing is known to have cost anything."""
        dearest = max(self.bars, key=lambda bar: bar.cost.cost_amount or 0)
        return dearest if dearest.cost.cost_amount else None

    @property
    def used(self) -> list[Bar]:
        """Days with usage, the latest first."""
        return [bar for bar in reversed(self.bars) if bar.used]


def by_day(agent: Agent, last_days: int) -> CostPicture:
    """The costs of an agent's last days (UTC) from kept totals, in one query."""
    today = midnight()
    first = today - timedelta(days=last_days - 1)
    period = Period(agent.workspace_id, first, today + timedelta(days=1), agent=str(agent.pk))
    used = {each.name: each for each in period.ranked("day", limit=last_days)[0]}
    most = max((each.all_costs.cost_amount or Decimal(0) for each in used.values()), default=Decimal(0))
    bars = []
    for number in range(last_days):
        day = (first + timedelta(days=number)).date()
        bars.append(_bar(agent, day, STEP * number, used.get(f"{day}"), most))
    return CostPicture(bars)


def _bar(agent: Agent, day: date, x: int, used: Used | None, most: Decimal) -> Bar:
    cost = (used.all_costs.cost_amount if used else None) or Decimal(0)
    height = max(2, round(HEIGHT * cost / most)) if cost else 1
    url = ""
    if used:
        query = QueryDict(mutable=True)
        query.update({"agent": agent.slug, "used_from": f"{day}", "used_to": f"{day}"})
        url = f"{reverse('session-list')}?{query.urlencode()}"
    return Bar(day, x, height, used, url)
