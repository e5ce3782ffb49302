"""Evaluations of calls by a policy of 200 rules, on one core. Run: ``python -m bench.gate.policy``.

A policy as a large workspace might have: 200 rules on tools by name and pattern, with conditions on arguments, regular
expressions and hours. ``warm``: calls of 40 tools, whose rules are remembered by kind. ``cold``: every call of a tool
that was never seen, so that nothing is remembered; ``cold, a family``: that a pattern matches, too. And the slowest
regular expression that is let in. Seconds are of CPU. Exit status 1 below 10,000 a second.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sessions_app.policy import patterns
from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import RuleSet, evaluate
from sessions_app.policy.reading import compile_rules, read_rules

RULES, CALLS, TOOLS = 200, 50_000, 40
LEAST = 10_000
"""Evaluations a second."""
WORST = "(.|a|b|c|d){0,80}x$"


def rules() -> list[dict[str, Any]]:
    """200 rules: 120 on one tool each, 50 on patterns, 30 on every tool."""
    found = []
    for number in range(RULES):
        match: dict[str, Any] = {}
        if number < 120:
            match["tool"] = f"tool_{number % TOOLS}"
        elif number < 170:
            match["tool"] = f"tool_{number % 10}*"
        conditions = (
            {"path": "/amount", "op": "<", "value": number * 10},
            {"path": "/command", "op": "regex", "value": rf"\b(rm|dd|mkfs|tool{number})\b"},
            {"path": "/to", "op": "glob", "value": f"*@example{number}.org"},
            {"path": "/items/0/id", "op": "in", "value": [number, number + 1]},
        )
        match["arguments"] = [conditions[number % 4]]
        if number % 20 == 0:
            match["hours"] = {"days": ["mon", "tue"], "from": "09:00", "to": "18:00", "zone": "Europe/Berlin"}
        if number % 25 == 0:
            match["cost_over"] = "5.00"
        found.append({"name": f"rule {number}", "match": match, "effect": ("allow", "ask", "deny")[number % 3]})
    return found


def calls(tool: str) -> list[Call]:
    """Calls with arguments that every condition has something to look at."""
    chance, now = random.Random(10), datetime(2026, 11, 23, 12, tzinfo=UTC)
    return [
        Call(
            tool.format(chance.randrange(TOOLS), number),
            {"amount": chance.randrange(3_000), "command": "ls -la /srv && cat readme.md", "to": "kim@example.org",
             "items": [{"id": chance.randrange(300)}]},
            agent_slug="refund-agent", trigger="chat", cost=Decimal("1.20"), now=now,
        )
        for number in range(CALLS)
    ]  # fmt: skip


def rate(policy: RuleSet, some: Sequence[Call]) -> float:
    """Evaluations a second of one process."""
    started = time.process_time()
    for call in some:
        evaluate(call, [policy])
    return len(some) / (time.process_time() - started)


def main() -> int:
    """Print the figures; 1 where one is below the target."""
    written = rules()
    read_rules(written)
    started = time.process_time()
    compiled = compile_rules(written)
    print(f"reading and compiling {RULES} rules: {1_000 * (time.process_time() - started):.0f} ms")
    rates = []
    for name, tool in (("warm", "tool_{}"), ("cold", "unseen_{1}"), ("cold, a family", "tool_{0}_{1}")):
        some, best = calls(tool), 0.0
        for _ in range(3):
            best = max(best, rate(RuleSet(compiled, "policy 1"), some))
        rates.append(best)
        print(f"{name}: {best:,.0f} evaluations/s with {RULES} rules")
    matcher, started = patterns.regex(WORST), time.process_time()
    matcher.search("y" * patterns.MAX_TEXT)
    print(
        f"slowest regular expression found, on {patterns.MAX_TEXT:,} characters: {time.process_time() - started:.2f} s"
    )
    return 0 if min(rates) >= LEAST else 1


if __name__ == "__main__":
    raise SystemExit(main())
