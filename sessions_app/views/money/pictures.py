"""What the usage page draws by day: a number of each day, or of its five largest agents, models or tools."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sessions_app.queries.money import agent_days, latencies, outcomes
from sessions_app.queries.money.usage import Period, Used
from sessions_app.rendering import numbers, text
from sessions_app.services.money import savings

from .usage_filter import PICTURES, Asked

MOST_DAYS = 1_100
"""Of the picture: three years are 1 px a day."""
TOP = 5
COLOURS = ("ai", "data", "third", "fourth", "fifth", "elsewhere")
WALLETS = ("ai", "data", "elsewhere")
NAMELESS = {"agent": _("agents that are gone"), "model": _("no model stated"), "tool": _("no tool called")}
Amounts = list[Decimal | int | None]


@dataclass(slots=True)
class Drawn:
    """Series of a picture, with amounts by day in their order; ``texts`` says amounts otherwise than ``unit`` does."""

    labels: list[str]
    unit: str
    by_day: dict[str, Amounts]
    texts: dict[str, list[str]] = field(default_factory=dict)
    colours: tuple[str, ...] = COLOURS
    note: str = ""
    narrowed: Mapping[str, str] = field(default_factory=dict)
    """What the sessions behind a point have besides their day."""
    is_stacked: bool = False
    """Whether all series are of those sessions, not the first alone."""
    has_others: bool = False
    """Whether the last series is what the others have together."""
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as the page has it: JSON for the script, and the same as a table."""

    name: str
    days: str
    series: str
    unit: str
    first: date
    last: date
    note: str
    labels: list[str]
    table: list[dict[str, Any]]
    highest: dict[str, Any] | None
    keys: list[dict[str, str]]
    """What the colours mean, where the page does not say it already."""
    rows: list[dict[str, Any]]
    """A table of its own, which the picture of latency has by model."""


def picture_of(asked: Asked, period: Period, used: list[Used], rows: list[Any]) -> Picture:
    """The picture that is asked for. ``used``: usage by day; ``rows``: of the table, the dearest first."""
    by_day = {each.name or "": each for each in used}
    days = _days(asked, sorted(by_day))
    name = asked.values["picture"]
    drawn = DRAWERS[name](asked, period, by_day, rows, days)
    points = [_point(asked, drawn, f"{day}", by_day.get(f"{day}")) for day in days]
    filled = [point for point in points if any(point["amounts"])]
    series = [
        {"label": label, "colour": colour} for label, colour in zip(drawn.labels, _colours(drawn), strict=True)
    ]  # fmt: skip
    highest = max(filled, key=lambda point: _height(drawn, point), default=None)
    if highest and not _height(drawn, highest):
        highest = None
    return Picture(
        str(PICTURES[name]), json.dumps(points), json.dumps(series), drawn.unit, days[0], days[-1], drawn.note,
        drawn.labels,
        [point | {"date": date.fromisoformat(point["day"])} for point in reversed(filled)],
        highest and highest | {"date": date.fromisoformat(highest["day"]), "total": _total(drawn, highest)},
        series if drawn.colours is not WALLETS and len(series) > 1 and filled else [], drawn.rows,
    )  # fmt: skip


def _colours(drawn: Drawn) -> list[str]:
    found = list(drawn.colours[: len(drawn.labels)])
    if drawn.has_others:
        found[-1] = "elsewhere"
    return found


def _days(asked: Asked, used: list[str]) -> list[date]:
    """From the beginning of the period, or the first day with usage, to its end, today or the last with usage."""
    today = timezone.now().astimezone(UTC).date()
    last = (asked.until - timedelta(microseconds=1)).date() if asked.until else today
    last = max([last, *map(date.fromisoformat, used[-1:])]) if not asked.until else last
    first = asked.since.date() if asked.since else date.fromisoformat(used[0]) if used else last
    count = min((last - first).days + 1, MOST_DAYS)
    return [last - timedelta(days=back) for back in range(max(count, 1) - 1, -1, -1)]


def _point(asked: Asked, drawn: Drawn, day: str, used: Used | None) -> dict[str, Any]:
    """Amounts as numbers, for heights only, and as people read them."""
    amounts = drawn.by_day.get(day, [None] * len(drawn.labels))
    narrowed = {"used_from": day, "used_to": day} if not drawn.narrowed else drawn.narrowed | {"from": day, "to": day}
    if drawn.narrowed:
        narrowed |= {"used_from": "", "used_to": ""}
    return {
        "day": day, "url": asked.sessions_url(**narrowed), "sessions": used.sessions if used else 0,
        "amounts": [max(0.0, float(amount or 0)) for amount in amounts],
        "texts": drawn.texts.get(day) or [_said(drawn.unit, amount) for amount in amounts],
    }  # fmt: skip


def _said(unit: str, amount: Decimal | int | None) -> str:
    if unit == "usd":
        return numbers.money(None if amount is None else Decimal(amount))
    whole = None if amount is None else int(amount)
    if unit == "tokens":
        return numbers.tokens(whole)
    return numbers.duration(whole) if unit == "ms" else numbers.exact(whole)


def _height(drawn: Drawn, point: dict[str, Any]) -> float:
    """What makes a day the highest: the sum of its amounts, or the first where its sessions are narrowed to that."""
    is_first = drawn.narrowed and not drawn.is_stacked
    return float(point["amounts"][0] if is_first else sum(point["amounts"]))


def _total(drawn: Drawn, point: dict[str, Any]) -> str:
    """The height of a day as people read it; of one series as that says it."""
    if len(point["texts"]) == 1:
        return str(point["texts"][0])
    return _said(drawn.unit, Decimal(repr(_height(drawn, point))))


def _cost(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    if asked.by in NAMELESS:
        return _largest(asked.by, period, days, rows, "usd", lambda used: used.all_costs.cost_amount)
    drawn = Drawn([gettext("AI wallet"), gettext("data wallet"), gettext("external")], "usd", {}, colours=WALLETS)
    for day, used in days.items():
        parts = (used.here, used.elsewhere)
        ai, elsewhere = (part.cost_amount for part in parts)
        least = [bool(part.unpriced_tokens or part.under_reported) for part in parts]
        drawn.by_day[day] = [ai, used.data, elsewhere]
        drawn.texts[day] = [
            numbers.money(ai, partial=least[0]), numbers.money(used.data), numbers.money(elsewhere, partial=least[1]),
        ]  # fmt: skip
    return drawn


def _tokens(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    if asked.by in NAMELESS:
        return _largest(asked.by, period, days, rows, "tokens", lambda used: used.total_tokens)
    found: dict[str, Amounts] = {
        day: [used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens]
        for day, used in days.items()
    }
    labels = [gettext("input"), gettext("cache read"), gettext("cache write"), gettext("output")]
    return Drawn(labels, "tokens", found)


def _largest(
    by: str, period: Period, days: dict[str, Used], rows: list[Any], unit: str,
    measure: Callable[[Used], Decimal | int | None],
) -> Drawn:  # fmt: skip
    """The five largest of a grouping and the rest of each day, which adds up."""
    top = sorted(rows, key=lambda row: -(measure(row.used) or 0))[:TOP]
    names = [row.used.name or "" for row in top]
    found: dict[str, Amounts] = {day: [None] * len(names) + [measure(used)] for day, used in days.items()}
    kept = period.by_day(by, names)
    for day, name, used in kept:
        amounts, amount = found.setdefault(day, [None] * (len(names) + 1)), measure(used)
        amounts[names.index(name)] = amount
        amounts[-1] = (amounts[-1] or 0) - (amount or 0)
    labels = [text.first_line(row.label, 40) or str(NAMELESS[by]) for row in top]
    if any(amounts[-1] for amounts in found.values()):
        return Drawn([*labels, gettext("others")], unit, found, has_others=True)
    return Drawn(labels, unit, {day: amounts[:-1] for day, amounts in found.items()})


def _savings(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    models = [used.name for used in period.ranked("model", limit=200)[0] if used.name]
    by_model: dict[str, dict[str, Decimal]] = defaultdict(dict)
    unpriced = set()
    for day, model, used in period.by_day("model", models):
        amount = savings.saved(model, date.fromisoformat(day), used.cache_read_tokens, used.cache_write_tokens)
        if amount is None:
            unpriced.add(model)
        elif amount:
            by_model[model][day] = amount
    top = sorted(by_model, key=lambda model: -sum(by_model[model].values()))
    shown, others = top[:TOP], top[TOP:]
    found: dict[str, Amounts] = {}
    for day in sorted({day for amounts in by_model.values() for day in amounts}):
        found[day] = [by_model[model].get(day) for model in shown]
        if others:
            found[day].append(sum((by_model[model].get(day, Decimal(0)) for model in others), Decimal(0)))
    note = gettext(
        "An estimate at list prices: what was read from caches at the price of input, less what writing to them cost"
        " more than input. A day on which writing cost more has no bar."
    )
    if unpriced:
        note += " " + gettext("No price is known for %(number)s of the models.") % {"number": len(unpriced)}
    labels = [text.first_line(model, 40) for model in shown] + ([gettext("others")] if others else [])
    return Drawn(labels or [gettext("cache savings")], "usd", found, note=note, has_others=bool(others))


def _calls(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    tools = sorted((used for used in period.ranked("tool", limit=200)[0] if used.about), key=lambda used: -used.about)
    shown = tools[:TOP]
    names = [used.name or "" for used in tools]
    found: dict[str, Amounts] = {}
    for day, name, used in period.by_day("tool", names):
        amounts = found.setdefault(day, [None] * (len(shown) + (len(tools) > TOP)))
        place = min(names.index(name), TOP)
        amounts[place] = (amounts[place] or 0) + (used.about or 0)
    labels = [text.first_line(used.name or gettext("unnamed"), 40) for used in shown]
    labels += [gettext("others")] * (len(tools) > TOP)
    return Drawn(labels or [gettext("tool calls")], "count", found, has_others=len(tools) > TOP)


def _errors(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    labels = [gettext("sessions with errors"), gettext("sessions without errors")]
    narrowed = {"has_errors": "1"}
    if asked.values["origin"] or asked.values["tag"]:
        note = gettext(
            "Sessions with errors are counted by agent and day only: take the filters of origin and tag away."
        )
        return Drawn(labels, "count", {}, colours=("wrong", "elsewhere"), note=note, narrowed=narrowed)
    if asked.by == "model":
        return _errors_by_model(asked, period, shown)
    began = agent_days.began(period.workspace_id, shown[0], shown[-1], asked.values["agent"])
    found: dict[str, Amounts] = {f"{each.day}": [each.failing, each.sessions - each.failing] for each in began}
    note = gettext("Sessions by the day on which they began; each leads to those with errors.")
    return Drawn(labels, "count", found, colours=("wrong", "elsewhere"), note=note, narrowed=narrowed)


def _errors_by_model(asked: Asked, period: Period, shown: list[date]) -> Drawn:
    failing = outcomes.failing_by_model(period.workspace_id, shown[0], shown[-1], asked.values["agent"])
    models = sorted(failing, key=lambda model: (-sum(failing[model].values()), model))
    found: dict[str, Amounts] = {}
    for day in sorted({day for counts in failing.values() for day in counts}):
        amounts: Amounts = [failing[model].get(day) for model in models[:TOP]]
        if models[TOP:]:
            amounts.append(sum(failing[model].get(day, 0) for model in models[TOP:]))
        found[f"{day}"] = amounts
    labels = [text.first_line(model, 40) or str(NAMELESS["model"]) for model in models[:TOP]]
    labels += [gettext("others")] * bool(models[TOP:])
    note = gettext(
        "Sessions with errors by the day on which they began, for each model that they used; each day leads to all of"
        " them. Of more than %(most)s the latest are counted."
    ) % {"most": f"{outcomes.MOST:,}"}
    narrowed = {"has_errors": "1"}
    return Drawn(
        labels or [gettext("sessions with errors")], "count", found, note=note, narrowed=narrowed, is_stacked=True,
        has_others=bool(models[TOP:]),
    )  # fmt: skip


def _accepted(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    labels, narrowed = [gettext("cost per accepted session")], {"verdict": "pass"}
    if asked.values["origin"] or asked.values["tag"]:
        note = gettext("Accepted sessions are counted by agent and day only: take the filters of origin and tag away.")
        return Drawn(labels, "usd", {}, note=note, narrowed=narrowed)
    reviewed = outcomes.reviewed(period.workspace_id, shown[0], shown[-1], asked.values["agent"])
    drawn = Drawn(labels, "usd", {}, narrowed=narrowed)
    for each in reviewed:
        if each.accepted:
            cost = each.spent / each.accepted
            drawn.by_day[f"{each.day}"] = [cost]
            counted = {"accepted": each.accepted, "all": each.sessions}
            share = gettext("%(accepted)s of %(all)s accepted") % counted
            drawn.texts[f"{each.day}"] = [f"{numbers.money(cost)}, {share}"]
    refused = sum(each.spent for each in reviewed if not each.accepted)
    drawn.note = gettext(
        "What the reviewed sessions that began on a day cost in all, those that were not accepted too, for each that"
        " is: whose verdicts say pass. Each day leads to the accepted ones. Sessions nobody has reviewed do not count."
    )
    if refused:
        without = gettext("On days without any accepted one, reviewed sessions cost %(cost)s.")
        drawn.note += " " + without % {"cost": numbers.money(refused)}
    return drawn


def _latency(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    same = {name: asked.values[name] for name in ("agent", "origin", "tag")}
    used = [day for day in shown if f"{day}" in days]
    found = latencies.latencies(period.workspace_id, used, **same)
    drawn = Drawn([gettext("half within"), gettext("95 % within")], "ms", {}, narrowed={"fold": "no"}, is_stacked=True)
    for day, took in found.by_day.items():
        drawn.by_day[f"{day}"] = [took.p50, took.p95 - took.p50]
        drawn.texts[f"{day}"] = [numbers.duration(took.p50), numbers.duration(took.p95)]
    for model, took in found.by_model.items():
        url = asked.sessions_url(model=model) if model else ""
        drawn.rows.append({"label": model or NAMELESS["model"], "took": took, "url": url})
    drawn.note = gettext(
        "How long model requests took, from what they answer to the end of the response, by the day on which their"
        " session began: measured on a sample, the last %(requests)s requests of at most %(sessions)s sessions, the"
        " newest of each day; of more than %(days)s days with any the latest."
    ) % {"requests": latencies.REQUESTS, "sessions": latencies.SESSIONS, "days": latencies.MOST_DAYS}
    return drawn


def _runtime(asked: Asked, period: Period, days: dict[str, Used], rows: list[Any], shown: list[date]) -> Drawn:
    found: dict[str, Amounts] = {day: [used.runtime_ms] for day, used in days.items() if used.runtime_ms}
    note = gettext("Of turns that ran here. Those of agents elsewhere are not reported.")
    return Drawn([gettext("runtime")], "ms", found, note=note)


DRAWERS: dict[str, Callable[[Asked, Period, dict[str, Used], list[Any], list[date]], Drawn]] = {
    "cost": _cost, "tokens": _tokens, "savings": _savings, "calls": _calls, "errors": _errors, "latency": _latency,
    "runtime": _runtime,
    "accepted": _accepted,
}  # fmt: skip
