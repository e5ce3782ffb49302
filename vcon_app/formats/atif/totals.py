"""Tokens of a step, and whether the steps add up to what the file states of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ...drafts import EventDraft, Usage
from ..common.documents import dollars
from ..common.lines import Line
from ..common.usage import uncached_if_inside
from ..common.values import count_of

EXACT = Decimal("0.000001")
"""Costs are sums of floats: those that differ by less are the same."""


def usage_of(metrics: dict[str, Any], calls: Any) -> Usage | None:
    """The metrics of a step, ``None`` when they count no tokens. Prompt tokens contain cached ones.

    A file of which more is cached than prompted keeps them apart. ``calls`` is ``llm_call_count``: the metrics of
    several calls are a sum.
    """
    prompt, output = count_of(metrics.get("prompt_tokens")), count_of(metrics.get("completion_tokens"))
    cached = count_of(metrics.get("cached_tokens"))
    if prompt is None and output is None and cached is None:
        return None
    several = (count_of(calls) or 1) > 1
    return Usage(
        input_tokens=uncached_if_inside(prompt, cached),
        cache_read_tokens=cached,
        output_tokens=output,
        quality="aggregate" if several else "final",
    )


@dataclass(slots=True)
class Totals:
    """Sums of tokens and cost over the events of a trajectory and of the sub-agents inside of it."""

    depth: int = 0
    """That of the trajectory's own events."""
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cost: Decimal = Decimal(0)
    own: bool = False
    """Whether a step of the trajectory itself states anything."""

    def add(self, event: EventDraft) -> None:
        """Count what the event states."""
        if usage := event.usage:
            self.prompt += (usage.input_tokens or 0) + (usage.cache_read_tokens or 0)
            self.completion += usage.output_tokens or 0
            self.cached += usage.cache_read_tokens or 0
        if event.cost is not None:
            self.cost += event.cost
        self.own |= event.depth == self.depth and (event.usage is not None or event.cost is not None)

    def event_of_stated_totals(self, line: Line, stated: dict[str, Any]) -> EventDraft | None:
        """What the totals state beyond the sub-agents, where no step of the trajectory itself states anything.

        ``line`` is that of ``final_metrics``. ``None`` where nothing is left, and where the sub-agents have more.
        """
        counted = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached}
        totals = {what: count_of(stated.get(f"total_{what}_tokens")) for what in counted}
        left = {what: None if total is None else total - counted[what] for what, total in totals.items()}
        cost = dollars(stated.get("total_cost_usd"))
        cost = None if cost is None else cost - self.cost
        if self.own or any(count is not None and count < 0 for count in left.values()) or (cost or 0) <= -EXACT:
            return None
        inside = any((*counted.values(), self.cost))
        if inside and not any(left.values()) and (cost is None or cost < EXACT):
            return None
        usage = usage_of({f"{what}_tokens": count for what, count in left.items()}, 2)
        if usage is None and cost is None:
            return None
        cost = None if cost is None else max(cost, Decimal(0))
        return line.event("model_request", actor=line.agent, usage=usage, cost=cost)

    def doubt(self, stated: dict[str, Any]) -> str:
        """The difference between the stated totals and the sums over the steps, in words; "" for none.

        They do where a file continues another one, or summaries were made by helpers with files of their own.
        """
        differences = []
        for what, sum_, total in (
            ("prompt tokens", self.prompt, count_of(stated.get("total_prompt_tokens"))),
            ("completion tokens", self.completion, count_of(stated.get("total_completion_tokens"))),
        ):
            if total is not None and total != sum_:
                differences.append(f"{total:,} {what} where its steps have {sum_:,}")
        cost = dollars(stated.get("total_cost_usd"))
        if cost is not None and abs(cost - self.cost) >= EXACT:
            differences.append(f"${cost:.4f} where its steps have ${self.cost:.4f}")
        return f"final_metrics states {', '.join(differences)}; the steps are counted" if differences else ""
