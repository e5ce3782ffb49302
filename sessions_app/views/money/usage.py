"""Usage page: tokens and money of a period as a chart of its days or months, and the table that adds up to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Session
from sessions_app.queries.money.usage import Period, Used

from .. import access
from ..filter_fields import day_fields
from ..pages import page_or_fragment
from ..tables import csv_response
from . import bars, pictures, reconciling
from .usage_filter import EVER, GROUPS, PICTURES, Asked, read

NAMELESS = {"model": _("no model stated"), "tool": _("no tool called")}
ERASED = _("deleted sessions")
"""Of a group by session: what they took from the wallets stays in the sums."""
ROWS, ALL_ROWS = 100, 5_000
"""Of the table, and of it with ``all=1``; 5,000 are 6 MB. The API pages through any number."""
HEAD = (
    "sessions", "turns", "input tokens", "cached input tokens", "cache write tokens", "output tokens", "runtime ms",
    "AI wallet USD", "data wallet USD", "elsewhere USD", "all USD", "all is at least",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Row of the table, with the URL of its sessions; that of a month leads to its days."""

    label: str
    url: str
    used: Used
    day: date | None = None
    """The day, or the first of the month."""


@require_safe
@access.numbers
def index(request: access.DeskRequest) -> HttpResponse:
    """The URL holds period, filters and grouping; ``all=1`` lifts the limit of rows."""
    asked = read(request.GET, numbers_only=request.member.numbers_only)
    context: dict[str, Any] = {
        "asked": asked, "pictures": _pictures(asked), "periods": _periods(asked),
        "query": asked.query(),
        "agents": agent_choices(request), "origins": Session.Origin.choices,
        "days": day_fields(asked.values, asked.errors, gettext("From (UTC)")),
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
    shown, used = bars.read(asked, period)
    if asked.by == "day":
        rows, count = [_row_of_bar(asked, shown, each) for each in used], len(used)
    else:
        rows, count = _rows(period, asked)
    total = period.total()
    return {
        "rows": rows, "count": count, "total": total, "groups": _groups(asked, shown),
        "label": _label(asked.by, GROUPS[asked.by], shown),
        "chart": pictures.picture_of(asked, period, shown, used, rows),
        "has_runtime": asked.by not in NAMELESS and total.here.any,
        "has_wallets": total.here.any or total.data is not None,
        "all_sessions": asked.sessions_url(),
        "outside": reconciling.outside(period, total), "ever": asked.query(to="", **{"from": EVER}),
        "compared": reconciling.compared(request.member.workspace_id, asked.sessions_query(), total),
    }  # fmt: skip


@require_safe
@access.numbers
def table_csv(request: access.DeskRequest) -> HttpResponse:
    """The same rows with exact numbers, and their total."""
    asked = read(request.GET, numbers_only=request.member.numbers_only)
    if asked.errors:
        return HttpResponse("\n".join(f"{name}: {error}" for name, error in asked.errors.items()), "text/plain", 400)
    period = _period_of(request, asked)
    rows, _ = _rows(period, asked)
    total = period.total()
    lines = [_cells(asked, label, used) for label, used in [*((row.label, row.used) for row in rows), ("Total", total)]]
    head = (asked.by, *(["calls"] if asked.by == "tool" else []), *HEAD)
    return csv_response(f"usage-by-{asked.by}.csv", head, lines)


def _period_of(request: access.DeskRequest, asked: Asked) -> Period:
    same = {name: asked.values[name] for name in ("agent", "origin", "tag")}
    return Period(request.member.workspace_id, asked.since, asked.until, **same)


def _row_of_bar(asked: Asked, shown: bars.Bars, used: Used) -> Row:
    name = used.name or ""
    start = date.fromisoformat(name)
    url = asked.month_url(start) if shown.part == "month" else asked.sessions_url(used_from=name, used_to=name)
    return Row(name, url, used, start)


def _rows(period: Period, asked: Asked) -> tuple[list[Row], int]:
    """Lines of the table, and how many groups there are."""
    found, count = period.ranked(asked.by, limit=ALL_ROWS if asked.values["all"] or asked.by == "day" else ROWS)
    agents = {}
    if asked.by == "session":
        agents = dict(Session.objects.filter(pk__in=[used.name for used in found]).values_list("pk", "agent_id"))
    urls = {str(pk): reverse("session-detail", args=[agent, pk]) for pk, agent in agents.items()}
    return [_row(asked, used, urls) for used in found], count


def _row(asked: Asked, used: Used, urls: dict[str, str]) -> Row:
    name = used.name or ""
    if asked.by == "session":
        label = used.about or f"Session {name[-6:]}" if name else str(ERASED)
        return Row(label, urls.get(name, ""), used)
    narrowed = {asked.by: name} if name else {}
    label = used.about or "" if asked.by == "agent" else name or str(NAMELESS.get(asked.by, ""))
    return Row(label, asked.sessions_url(**narrowed), used)


def _cells(asked: Asked, label: str, used: Used) -> list[Any]:
    everything = used.all_costs
    return [
        label, *([used.about] if asked.by == "tool" else []), used.sessions,
        used.turns, used.input_tokens, used.cache_read_tokens, used.cache_write_tokens,
        used.output_tokens, used.runtime_ms, used.here.cost_amount, used.data, used.elsewhere.cost_amount,
        everything.cost_amount, "yes" if everything.unpriced_tokens or everything.under_reported else "no",
    ]  # fmt: skip


def _groups(asked: Asked, shown: bars.Bars) -> list[tuple[str, bool, str]]:
    """Choices of grouping: label, whether it is chosen, URL."""
    return [(_label(name, text, shown), name == asked.by, asked.query(by=name)) for name, text in asked.groups.items()]


def _label(by: str, text: Any, shown: bars.Bars) -> str:
    return gettext("Month") if (by, shown.part) == ("day", "month") else str(text)


def _pictures(asked: Asked) -> list[tuple[str, bool, str]]:
    """Choices of what is drawn, in the same form."""
    chosen = asked.values["picture"]
    return [(str(text), name == chosen, asked.query(picture=name)) for name, text in PICTURES.items()]


def _periods(asked: Asked) -> list[tuple[str, bool, str]]:
    """Periods that are one click away, in the same form."""
    today = timezone.now().astimezone(UTC).date()
    starts = {
        gettext("7 days"): f"{today - timedelta(days=6)}", gettext("30 days"): "",
        gettext("90 days"): f"{today - timedelta(days=89)}", gettext("This month"): f"{today.replace(day=1)}",
        gettext("All time"): EVER,
    }  # fmt: skip
    here = (asked.values["from"], asked.values["to"])
    return [(text, here == (start, ""), asked.query(to="", **{"from": start})) for text, start in starts.items()]
