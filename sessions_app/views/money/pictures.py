"""What the usage page draws by day or month: a number of each, or of its five largest agents, models or tools."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sessions_app.queries.money import agent_days, latencies, outcomes
from sessions_app.queries.money.usage import Period, Used
from sessions_app.rendering import numbers, text
from sessions_app.services.money import savings

from .bars import LONG, Bars
from .usage_filter import PICTURES, Asked

TOP = 5
COLOURS = ("ai", "data", "third", "fourth", "fifth", "elsewhere")
WALLETS = ("ai", "data", "elsewhere")
NAMELESS = {"agent": _("deleted agents"), "model": _("no model stated"), "tool": _("no tool called")}
Amounts = list[Decimal | int | None]


@dataclass(slots=True)
class Drawn:
    """Series of a picture, with amounts by the first day of each bar in the order of ``labels``; ``texts`` says them
    otherwise than ``unit`` does.
    """

    labels: list[str]
    unit: str
    amounts: dict[str, Amounts]
    texts: dict[str, list[str]] = field(default_factory=dict)
    colours: tuple[str, ...] = COLOURS
    note: str = ""
    narrowed: Mapping[str, str] = field(default_factory=dict)
    """What the sessions behind a day have besides it."""
    leads: str = ""
    """Where a day leads, if not to all of its sessions."""
    is_stacked: bool = False
    """Whether all series are of those sessions, not the first alone."""
    has_others: bool = False
    """Whether the last series is what the others have together."""
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class View:
    """What a picture is drawn of."""

    asked: Asked
    period: Period
    bars: Bars
    used: dict[str, Used]
    """By the first day of each bar."""
    rows: list[Any]
    """Of the table, the dearest first."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as the page has it: JSON for the script, and the same as a table."""

    name: str
    points: str
    series: str
    unit: str
    by_month: bool
    long: int
    """Days of a period that is the longest to be drawn by day."""
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

    @property
    def form(self) -> str:
        """How the first day of a bar is written, for the filter ``date``."""
        return "M Y" if self.by_month else "j M Y"

    @property
    def short_form(self) -> str:
        return "M Y" if self.by_month else "j M"


def picture_of(asked: Asked, period: Period, bars: Bars, used: list[Used], rows: list[Any]) -> Picture:
    """The picture that is asked for. ``used``: usage by bar; ``rows``: of the table, the dearest first."""
    view = View(asked, period, bars, {each.name or "": each for each in used}, rows)
    name = asked.values["picture"]
    drawn = DRAWERS[name](view)
    points = [_point(view, drawn, start) for start in bars.starts]
    filled = [point for point in points if any(point["amounts"])]
    series = [
        {"label": label, "colour": colour} for label, colour in zip(drawn.labels, _colours(drawn), strict=True)
    ]  # fmt: skip
    highest = max(filled, key=lambda point: _height(drawn, point), default=None)
    if highest and not _height(drawn, highest):
        highest = None
    by_month = bars.part == "month"
    return Picture(
        str(PICTURES[name]), json.dumps(points), json.dumps(series), drawn.unit, by_month, LONG, bars.first, bars.last,
        f"{drawn.note} {drawn.leads}" if drawn.leads and not by_month else drawn.note, drawn.labels,
        [point | {"date": date.fromisoformat(point["day"])} for point in reversed(filled)],
        highest and highest | {"date": date.fromisoformat(highest["day"]), "total": _total(drawn, highest)},
        series if drawn.colours is not WALLETS and len(series) > 1 and filled else [], drawn.rows,
    )  # fmt: skip


def _colours(drawn: Drawn) -> list[str]:
    found = list(drawn.colours[: len(drawn.labels)])
    if drawn.has_others:
        found[-1] = "elsewhere"
    return found


def _point(view: View, drawn: Drawn, start: date) -> dict[str, Any]:
    """Amounts as numbers, for heights only, and as people read them. Days lead to sessions, months to their days."""
    day, used = f"{start}", view.used.get(f"{start}")
    amounts = drawn.amounts.get(day, [None] * len(drawn.labels))
    if view.bars.part == "month":
        url = view.asked.month_url(start)
    elif drawn.narrowed:
        url = view.asked.sessions_url(**drawn.narrowed | {"from": day, "to": day, "used_from": "", "used_to": ""})
    else:
        url = view.asked.sessions_url(used_from=day, used_to=day)
    return {
        "day": day, "url": url, "sessions": used.sessions if used else 0,
        "amounts": [max(0.0, float(amount or 0)) for amount in amounts],
        "texts": drawn.texts.get(day) or [_formatted(drawn.unit, amount) for amount in amounts],
    }  # fmt: skip


def _formatted(unit: str, amount: Decimal | int | None) -> str:
    if unit == "usd":
        return numbers.money(None if amount is None else Decimal(amount))
    whole = None if amount is None else int(amount)
    if unit == "tokens":
        return numbers.tokens(whole)
    return numbers.duration(whole) if unit == "ms" else numbers.exact(whole)


def _height(drawn: Drawn, point: dict[str, Any]) -> float:
    """What makes a bar the highest: the sum of its amounts, or the first where its sessions are narrowed to that."""
    is_first = drawn.narrowed and not drawn.is_stacked
    return float(point["amounts"][0] if is_first else sum(point["amounts"]))


def _total(drawn: Drawn, point: dict[str, Any]) -> str:
    """The height of a bar as people read it; of one series as that says it."""
    if len(point["texts"]) == 1:
        return str(point["texts"][0])
    return _formatted(drawn.unit, Decimal(repr(_height(drawn, point))))


def _cost(view: View) -> Drawn:
    if view.asked.by in NAMELESS:
        return _largest(view, "usd", lambda used: used.all_costs.cost_amount)
    drawn = Drawn([gettext("AI wallet"), gettext("data wallet"), gettext("external")], "usd", {}, colours=WALLETS)
    for day, used in view.used.items():
        parts = (used.here, used.elsewhere)
        ai, elsewhere = (part.cost_amount for part in parts)
        least = [bool(part.unpriced_tokens or part.under_reported) for part in parts]
        drawn.amounts[day] = [ai, used.data, elsewhere]
        drawn.texts[day] = [
            numbers.money(ai, partial=least[0]), numbers.money(used.data), numbers.money(elsewhere, partial=least[1]),
        ]  # fmt: skip
    return drawn


def _tokens(view: View) -> Drawn:
    if view.asked.by in NAMELESS:
        return _largest(view, "tokens", lambda used: used.total_tokens)
    found: dict[str, Amounts] = {
        day: [used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens]
        for day, used in view.used.items()
    }
    labels = [gettext("input"), gettext("cache read"), gettext("cache write"), gettext("output")]
    return Drawn(labels, "tokens", found)


def _largest(view: View, unit: str, measure: Callable[[Used], Decimal | int | None]) -> Drawn:
    """The five largest of a grouping and the rest of each bar, which adds up."""
    by = view.asked.by
    top = sorted(view.rows, key=lambda row: -(measure(row.used) or 0))[:TOP]
    names = [row.used.name or "" for row in top]
    found: dict[str, Amounts] = {day: [None] * len(names) + [measure(used)] for day, used in view.used.items()}
    for day, name, used in view.period.by_part(view.bars.part, by, names):
        amounts, amount = found.setdefault(day, [None] * (len(names) + 1)), measure(used)
        amounts[names.index(name)] = amount
        amounts[-1] = (amounts[-1] or 0) - (amount or 0)
    labels = [text.first_line(row.label, 40) or str(NAMELESS[by]) for row in top]
    if any(amounts[-1] for amounts in found.values()):
        return Drawn([*labels, gettext("others")], unit, found, has_others=True)
    return Drawn(labels, unit, {day: amounts[:-1] for day, amounts in found.items()})


def _savings(view: View) -> Drawn:
    models = [used.name for used in view.period.dearest("model", limit=200) if used.name]
    steady = [model for model in models if savings.is_steady(model)]
    changing = [model for model in models if model not in steady]
    parts = [
        *view.period.by_part(view.bars.part, "model", steady), *view.period.by_part("day", "model", changing),
    ]  # fmt: skip
    by_model: dict[str, dict[str, Decimal]] = defaultdict(dict)
    unpriced = set()
    for first, model, used in parts:
        day = date.fromisoformat(first)
        amount = savings.saved(model, day, used.cache_read_tokens, used.cache_write_tokens)
        if amount is None:
            unpriced.add(model)
        elif amount:
            start = view.bars.start(day)
            by_model[model][start] = by_model[model].get(start, Decimal(0)) + amount
    top = sorted(by_model, key=lambda model: -sum(by_model[model].values()))
    shown, others = top[:TOP], top[TOP:]
    found: dict[str, Amounts] = {}
    for day in sorted({day for amounts in by_model.values() for day in amounts}):
        found[day] = [by_model[model].get(day) for model in shown]
        if others:
            found[day].append(sum((by_model[model].get(day, Decimal(0)) for model in others), Decimal(0)))
    note = gettext(
        "An estimate at list prices: what was read from caches at the price of input, less what writing to them cost"
        " more than input. Where writing cost more there is no bar."
    )
    if unpriced:
        note += " " + gettext("No price is known for %(number)s of the models.") % {"number": len(unpriced)}
    labels = [text.first_line(model, 40) for model in shown] + ([gettext("others")] if others else [])
    return Drawn(labels or [gettext("cache savings")], "usd", found, note=note, has_others=bool(others))


def _calls(view: View) -> Drawn:
    dearest = view.period.dearest("tool", limit=200)
    tools = sorted((used for used in dearest if used.about), key=lambda used: -used.about)
    shown = tools[:TOP]
    names = [used.name or "" for used in tools]
    found: dict[str, Amounts] = {}
    for day, name, used in view.period.by_part(view.bars.part, "tool", names):
        amounts = found.setdefault(day, [None] * (len(shown) + (len(tools) > TOP)))
        place = min(names.index(name), TOP)
        amounts[place] = (amounts[place] or 0) + (used.about or 0)
    labels = [text.first_line(used.name or gettext("unnamed"), 40) for used in shown]
    labels += [gettext("others")] * (len(tools) > TOP)
    return Drawn(labels or [gettext("tool calls")], "count", found, has_others=len(tools) > TOP)


def _errors(view: View) -> Drawn:
    asked, bars = view.asked, view.bars
    labels = [gettext("sessions with errors"), gettext("sessions without errors")]
    narrowed = {"has_errors": "1"}
    if asked.values["origin"] or asked.values["tag"]:
        note = gettext(
            "Sessions with errors are counted by agent and day only: take the filters of origin and tag away."
        )
        return Drawn(labels, "count", {}, colours=("wrong", "elsewhere"), note=note, narrowed=narrowed)
    if asked.by == "model":
        return _errors_by_model(view)
    found: dict[str, Amounts] = {}
    for each in agent_days.began(view.period.workspace_id, bars.first, bars.last, asked.values["agent"]):
        failing, others = found.get(bars.start(each.day), (0, 0))
        found[bars.start(each.day)] = [
            (failing or 0) + each.failing, (others or 0) + each.sessions - each.failing,
        ]  # fmt: skip
    return Drawn(
        labels, "count", found, colours=("wrong", "elsewhere"), narrowed=narrowed,
        note=gettext("Sessions by the day on which they began."), leads=gettext("Each leads to those with errors."),
    )  # fmt: skip


def _errors_by_model(view: View) -> Drawn:
    by_model = outcomes.failing_by_model(
        view.period.workspace_id, view.bars.first, view.bars.last, view.asked.values["agent"]
    )
    failing: dict[str, Counter[str]] = {}
    for model, counts in by_model.items():
        failing[model] = Counter()
        for day, count in counts.items():
            failing[model][view.bars.start(day)] += count
    models = sorted(failing, key=lambda model: (-failing[model].total(), model))
    found: dict[str, Amounts] = {}
    for start in sorted({start for counts in failing.values() for start in counts}):
        amounts: Amounts = [failing[model].get(start) for model in models[:TOP]]
        if models[TOP:]:
            amounts.append(sum(failing[model][start] for model in models[TOP:]))
        found[start] = amounts
    labels = [text.first_line(model, 40) or str(NAMELESS["model"]) for model in models[:TOP]]
    labels += [gettext("others")] * bool(models[TOP:])
    note = gettext(
        "Sessions with errors by the day on which they began, for each model that they used. Of more than %(most)s the"
        " latest are counted."
    ) % {"most": f"{outcomes.MOST:,}"}
    return Drawn(
        labels or [gettext("sessions with errors")], "count", found, note=note, narrowed={"has_errors": "1"},
        leads=gettext("Each day leads to all of its sessions with errors."), is_stacked=True,
        has_others=bool(models[TOP:]),
    )  # fmt: skip


def _accepted(view: View) -> Drawn:
    asked, bars = view.asked, view.bars
    labels, narrowed = [gettext("cost per accepted session")], {"verdict": "pass"}
    if asked.values["origin"] or asked.values["tag"]:
        note = gettext("Accepted sessions are counted by agent and day only: take the filters of origin and tag away.")
        return Drawn(labels, "usd", {}, note=note, narrowed=narrowed)
    reviewed: dict[str, outcomes.Reviewed] = {}
    for each in outcomes.reviewed(view.period.workspace_id, bars.first, bars.last, asked.values["agent"]):
        start = bars.start(each.day)
        reviewed[start] = each.with_those_of(reviewed[start]) if start in reviewed else each
    drawn = Drawn(labels, "usd", {}, narrowed=narrowed, leads=gettext("Each day leads to the accepted ones."))
    for start, each in reviewed.items():
        if each.accepted:
            cost = each.spent / each.accepted
            drawn.amounts[start] = [cost]
            counted = {"accepted": each.accepted, "all": each.sessions}
            share = gettext("%(accepted)s of %(all)s accepted") % counted
            drawn.texts[start] = [f"{numbers.money(cost)}, {share}"]
    refused = sum(each.spent for each in reviewed.values() if not each.accepted)
    drawn.note = gettext(
        "What the reviewed sessions that began then cost in all, those that were not accepted too, for each that"
        " is: whose verdicts say pass. Sessions nobody has reviewed do not count."
    )
    if refused:
        without = gettext("Where none was accepted, reviewed sessions cost %(cost)s.")
        drawn.note += " " + without % {"cost": numbers.money(refused)}
    return drawn


def _latency(view: View) -> Drawn:
    same = {name: view.asked.values[name] for name in ("agent", "origin", "tag")}
    parts = [(start, view.bars.end(start)) for start in view.bars.starts if f"{start}" in view.used]
    found = latencies.latencies(view.period.workspace_id, parts, **same)
    drawn = Drawn([gettext("median"), gettext("95 % within")], "ms", {}, narrowed={"fold": "no"}, is_stacked=True)
    for first, took in found.by_part.items():
        drawn.amounts[f"{first}"] = [took.p50, took.p95 - took.p50]
        drawn.texts[f"{first}"] = [numbers.duration(took.p50), numbers.duration(took.p95)]
    for model, took in found.by_model.items():
        url = view.asked.sessions_url(model=model) if model else ""
        drawn.rows.append({"label": model or NAMELESS["model"], "took": took, "url": url})
    drawn.note = gettext(
        "How long model requests took, from what they answer to the end of the response, by when their session began:"
        " measured on a sample, the last %(requests)s requests of at most %(sessions)s sessions, the newest of each."
    ) % {"requests": latencies.REQUESTS, "sessions": latencies.most_sessions(len(parts))}
    return drawn


def _runtime(view: View) -> Drawn:
    found: dict[str, Amounts] = {day: [used.runtime_ms] for day, used in view.used.items() if used.runtime_ms}
    note = gettext("Of turns that ran here. Those of agents elsewhere are not reported.")
    return Drawn([gettext("runtime")], "ms", found, note=note)


DRAWERS: dict[str, Callable[[View], Drawn]] = {
    "cost": _cost, "tokens": _tokens, "savings": _savings, "calls": _calls, "errors": _errors, "latency": _latency,
    "runtime": _runtime, "accepted": _accepted,
}  # fmt: skip
