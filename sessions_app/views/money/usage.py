"""Usage page: tokens and money of a period as a chart of its days, and the table that adds up to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Session
from sessions_app.queries.money.usage import Period, Used
from sessions_app.rendering import numbers

from .. import access
from ..pages import page_or_fragment
from ..tables import csv_response
from . import reconciling
from .usage_filter import EVER, GROUPS, Asked, read

NAMELESS = {"model": "no model stated", "tool": "no tool called"}
ERASED = "deleted sessions"
"""Of a group by session: what they took from the wallets stays in the sums."""
ROWS, ALL_ROWS = 200, 5_000
"""Of the table, and of it with ``all=1``; 5,000 are 6 MB. The API pages through any number."""
MOST_DAYS = 1_100
"""Of the picture: three years are 1 px a day."""
HEAD = (
    "sessions", "turns", "input tokens", "cached input tokens", "cache write tokens", "output tokens", "runtime ms",
    "AI wallet USD", "data wallet USD", "elsewhere USD", "all USD", "all is at least",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Row of the table, with the URL of its sessions."""

    label: str
    url: str
    used: Used


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The URL holds period, filters and grouping; ``all=1`` lifts the limit of rows."""
    asked = read(request.GET)
    context: dict[str, Any] = {
        "asked": asked, "groups": _groups(asked), "periods": _periods(asked), "query": asked.query(),
        "agents": agent_choices(request), "origins": Session.Origin.choices,
    }  # fmt: skip
    if not asked.errors:
        context |= _table_context(request, asked)
    status = 400 if asked.errors else 200
    return page_or_fragment(request, "usage/index.html", "usage/_usage.html", context, status=status)


def agent_choices(request: access.DeskRequest) -> QuerySet[Agent]:
    """Agents to choose from, by name."""
    found = Agent.objects.filter(workspace_id=request.member.workspace_id)
    return found.order_by("name").only("name", "slug")[:500]


def _table_context(request: access.DeskRequest, asked: Asked) -> dict[str, Any]:
    period = _period_of(request, asked)
    days, _ = period.ranked("day", limit=ALL_ROWS)
    rows, count = _rows(period, asked, days)
    total = period.total()
    return {
        "rows": rows, "count": count, "total": total, "chart": _chart(asked, days), "label": GROUPS[asked.by],
        "has_runtime": asked.by not in NAMELESS, "all_sessions": asked.sessions_url(),
        "outside": reconciling.outside(period, total), "ever": asked.query(to="", **{"from": EVER}),
        "compared": reconciling.compared(request.member.workspace_id, asked.sessions_query(), total),
    }  # fmt: skip


@require_safe
@access.viewer
def table_csv(request: access.DeskRequest) -> HttpResponse:
    """The same rows with exact numbers, and their total."""
    asked = read(request.GET)
    if asked.errors:
        return HttpResponse("\n".join(f"{name}: {error}" for name, error in asked.errors.items()), "text/plain", 400)
    period = _period_of(request, asked)
    rows, _ = _rows(period, asked)
    total = period.total()
    lines = [_cells(asked, label, used) for label, used in [*((row.label, row.used) for row in rows), ("Total", total)]]
    head = (GROUPS[asked.by].lower(), *(["calls"] if asked.by == "tool" else []), *HEAD)
    return csv_response(f"usage-by-{asked.by}.csv", head, lines)


def _period_of(request: access.DeskRequest, asked: Asked) -> Period:
    same = {name: asked.values[name] for name in ("agent", "origin", "tag")}
    return Period(request.member.workspace_id, asked.since, asked.until, **same)


def _rows(period: Period, asked: Asked, days: list[Used] | None = None) -> tuple[list[Row], int]:
    """Lines of the table, and how many groups there are."""
    if asked.by == "day" and days is not None:
        found, count = days, len(days)
    else:
        found, count = period.ranked(asked.by, limit=ALL_ROWS if asked.values["all"] or asked.by == "day" else ROWS)
    agents = {}
    if asked.by == "session":
        agents = dict(Session.objects.filter(pk__in=[used.name for used in found]).values_list("pk", "agent_id"))
    urls = {str(pk): reverse("session-detail", args=[agent, pk]) for pk, agent in agents.items()}
    return [_row(asked, used, urls) for used in found], count


def _row(asked: Asked, used: Used, urls: dict[str, str]) -> Row:
    name = used.name or ""
    if asked.by == "session":
        label = used.about or f"Session {name[-6:]}" if name else ERASED
        return Row(label, urls.get(name, ""), used)
    if asked.by == "day":
        return Row(name, asked.sessions_url(used_from=name, used_to=name), used)
    narrowed = {asked.by: name} if name else {}
    label = used.about or "" if asked.by == "agent" else name or NAMELESS[asked.by]
    return Row(label, asked.sessions_url(**narrowed), used)


def _cells(asked: Asked, label: str, used: Used) -> list[Any]:
    everything = used.all_costs
    return [
        label, *([used.about] if asked.by == "tool" else []), used.sessions,
        used.turns, used.input_tokens, used.cache_read_tokens, used.cache_write_tokens,
        used.output_tokens, used.runtime_ms, used.here.cost_amount, used.data, used.elsewhere.cost_amount,
        everything.cost_amount, "yes" if everything.unpriced_tokens or everything.under_reported else "no",
    ]  # fmt: skip


def _groups(asked: Asked) -> list[tuple[str, bool, str]]:
    """Choices of grouping: label, whether it is chosen, URL."""
    return [(text, name == asked.by, asked.query(by=name)) for name, text in GROUPS.items()]


def _periods(asked: Asked) -> list[tuple[str, bool, str]]:
    """Periods that are one click away, in the same form."""
    today = timezone.now().astimezone(UTC).date()
    starts = {
        "7 days": f"{today - timedelta(days=6)}", "30 days": "", "90 days": f"{today - timedelta(days=89)}",
        "This month": f"{today.replace(day=1)}", "All time": EVER,
    }  # fmt: skip
    here = (asked.values["from"], asked.values["to"])
    return [(text, here == (start, ""), asked.query(to="", **{"from": start})) for text, start in starts.items()]


def _chart(asked: Asked, used: list[Used]) -> dict[str, Any]:
    """Each day of the period with its money and sessions, as JSON for the picture; and the dearest, for words."""
    by_day = {each.name: each for each in used}
    days = _days(asked, sorted(by_day))
    dearest = max(used, key=lambda each: each.all_costs.cost_amount or 0, default=None)
    points = [_point(asked, f"{day}", by_day.get(f"{day}")) for day in days]
    found = {"days": json.dumps(points), "first": days[0], "last": days[-1], "count": len(days), "dearest": dearest}
    if dearest:
        day = dearest.name or ""
        found |= {"dearest_day": date.fromisoformat(day), "dearest_url": asked.sessions_url(used_from=day, used_to=day)}
    return found


def _days(asked: Asked, used: list[str]) -> list[date]:
    """From the beginning of the period, or the first day with usage, to its end, today or the last with usage."""
    today = timezone.now().astimezone(UTC).date()
    last = (asked.until - timedelta(microseconds=1)).date() if asked.until else today
    last = max([last, *map(date.fromisoformat, used[-1:])]) if not asked.until else last
    first = asked.since.date() if asked.since else date.fromisoformat(used[0]) if used else last
    count = min((last - first).days + 1, MOST_DAYS)
    return [last - timedelta(days=back) for back in range(max(count, 1) - 1, -1, -1)]


def _point(asked: Asked, day: str, used: Used | None) -> dict[str, Any]:
    """Amounts as numbers, for heights only, and as people read them."""
    parts = (used.here, used.elsewhere) if used else (None, None)
    ai, elsewhere = (part.cost_amount if part else None for part in parts)
    amounts = (ai, used.data if used else None, elsewhere)
    partial = [bool(part and (part.unpriced_tokens or part.under_reported)) for part in parts]
    least = (partial[0], False, partial[1])
    return {
        "day": day, "url": asked.sessions_url(used_from=day, used_to=day), "sessions": used.sessions if used else 0,
        "amounts": [float(amount or 0) for amount in amounts],
        "texts": [numbers.money(amount, partial=some) for amount, some in zip(amounts, least, strict=True)],
    }  # fmt: skip
