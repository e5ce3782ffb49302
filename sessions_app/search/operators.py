"""Operators among the words that somebody typed: ``refund tool:search -is:error cost>0.50 on:2026-01-31``.

A name in letters, a sign and a value without a space between, or with the value in quotes. What has no name of
``NAMES`` is words, and ``"tool:search"`` in quotes is, too. Nothing that is typed gets lost: what looks like an
operator and is none is told, and looked for as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

LONGEST_VALUE = 300
MOST = 20
"""Operators of one search."""
TOKEN = re.compile(
    r'(?<!\S)(?P<minus>-?)(?P<name>[A-Za-z][A-Za-z_-]{0,30})(?P<sign>:|[<>]=?)(?P<value>"[^"]*"?|[^\s"]*)(?!\S)'
    r'|"[^"]*"?'
)
QUOTED = 60
"""Characters of a value that the sentence about it shows: anybody can send somebody an address with a long one."""
NAMED = ("tool", "agent", "model", "tag", "file", "ended", "status", "origin", "verdict")
"""Followed by a name."""
MEASURES = ("cost", "tokens", "turns", "errors")
"""Followed by ``>``, ``>=``, ``<`` or ``<=`` and a number."""
DAYS = ("from", "to", "on")
IS = {
    "error": ("has_errors", True), "errors": ("has_errors", True), "pending": ("needs_approval", True),
    "running": ("status", "running"), "idle": ("status", "idle"), "archived": ("status", "archived"),
    "reviewed": ("verdict", "any"), "unreviewed": ("verdict", "none"),
}  # fmt: skip
"""Values of ``is:``, each with the filter of the session list that it stands for."""
NAMES = (*NAMED, "is", *DAYS, *MEASURES)
LARGEST = Decimal(10) ** 15
_OR = re.compile(r"(?<!\S)or(?!\S)", re.IGNORECASE)


class BadOperator(ValueError):
    """An operator has a value that means nothing; the message says which, and what to write."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One operator. ``name`` is a key of ``NAMES``; of ``is:`` the filter that it stands for, of dates from or to."""

    name: str
    value: Any
    """Text, True, a moment, or ``(sign, number)``."""
    is_excluded: bool
    typed: str


@dataclass(frozen=True, slots=True)
class Read:
    """What somebody typed, taken apart."""

    words: str
    """What is left to be looked for in transcripts."""
    clauses: tuple[Clause, ...] = ()
    unknown: tuple[str, ...] = ()
    """Names that look like operators, and are looked for as words."""

    def values(self, name: str) -> tuple[str, ...]:
        """Values of a name that is not excluded."""
        return tuple(str(one.value) for one in self.clauses if one.name == name and not one.is_excluded)

    @property
    def told(self) -> str:
        """One sentence about ``unknown``; "" where there are none."""
        if not self.unknown:
            return ""
        names = ", ".join(f"“{name}:”" for name in self.unknown)
        is_one = len(self.unknown) == 1
        known = ", ".join(f"{name}{'>' if name in MEASURES else ':'}" for name in NAMES)
        return (
            f"{names} {'is no operator and is' if is_one else 'are no operators and are'} looked for as "
            f"{'a word' if is_one else 'words'}; there are {known}"
        )


def read(typed: str) -> Read:
    """Take apart what somebody typed. Raises ``BadOperator`` for the first value that means nothing."""
    clauses: list[Clause] = []
    unknown: dict[str, None] = {}
    rest, at = [], 0
    for match in TOKEN.finditer(typed):
        if not (name := match["name"]) or match["value"].startswith(("//", ":")):
            continue  # in quotes, an address, or a name of C++
        if name.lower() not in NAMES:
            if match["sign"] == ":" and match["value"].strip('"') and not match["value"][:1].isdigit():
                unknown[name[:30]] = None
            continue
        clauses += _clauses(name.lower(), match)
        rest.append(typed[at : match.start()])
        at = match.end()
    rest.append(typed[at:])
    if clauses and any(_OR.match(part.lstrip()) for part in rest[1:]):
        raise BadOperator("“or” stands between words, not behind an operator; search for one after the other")
    if len(clauses) > MOST:
        raise BadOperator(f"{len(clauses)} operators are more than {MOST}; take some away")
    return Read(" ".join(" ".join(rest).split()) if clauses else typed, tuple(clauses), tuple(unknown))


def without(typed: str, clause: Clause) -> str:
    """What was typed with one operator taken out of it."""
    return " ".join(typed.replace(clause.typed, " ", 1).split())


def moment(value: str, *, to_end: bool = False) -> datetime:
    """A day or a moment in UTC, which it is unless it says otherwise; ``to_end``: the end of the day.

    Raises ``ValueError``, also for a moment that is none in UTC: midnight of the first day of the calendar in Samoa.
    """
    try:
        at = datetime.fromisoformat(value)
        if to_end and len(value) <= len("2026-01-31"):
            at += timedelta(days=1)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f'"{value[:QUOTED]}" is no date; write it as 2026-01-31 or 2026-01-31T09:30Z') from None


def _clauses(name: str, match: re.Match[str]) -> list[Clause]:
    """The operator of one match: ``on:`` is two, a beginning and an end."""
    value, sign, typed = match["value"].strip('"').strip(), match["sign"], match[0]
    if not value or len(value) > LONGEST_VALUE or "\0" in value:
        example = "cost>0.50" if name in MEASURES else f"{name}:{EXAMPLES[name]}"
        raise BadOperator(f"“{typed[:QUOTED]}” has no value of 1 to {LONGEST_VALUE} characters; write it as {example}")
    if (name in MEASURES) == (sign == ":"):
        right = f"{name}>1" if name in MEASURES else f"{name}:{value[:QUOTED]}"
        raise BadOperator(f"“{typed[:QUOTED]}” compares in a way that {name} does not know; write it as {right}")
    is_excluded = bool(match["minus"])
    if name in DAYS and is_excluded:
        raise BadOperator(f"“{typed[:QUOTED]}” leaves out a time; write from: and to: without a “-” in front")
    try:
        found = READERS.get(name, _named)(name, sign, value)
    except ValueError as bad:
        raise BadOperator(f"{name}: {bad}; in quotes it is looked for as words") from None
    return [Clause(filtered, one, is_excluded, typed) for filtered, one in found]


Pairs = list[tuple[str, Any]]


def _named(name: str, sign: str, value: str) -> Pairs:
    return [(name, value)]


def _is(name: str, sign: str, value: str) -> Pairs:
    if value.lower() not in IS:
        raise ValueError(f'"{value[:QUOTED]}" is nothing that a session is; use one of {", ".join(IS)}')
    return [IS[value.lower()]]


def _day(name: str, sign: str, value: str) -> Pairs:
    if name == "on" and len(value) > len("2026-01-31"):
        raise ValueError(f'"{value[:QUOTED]}" is no day; write it as 2026-01-31')
    begin, end = ("from", moment(value)), ("to", moment(value, to_end=True))
    return [begin, end] if name == "on" else [begin] if name == "from" else [end]


def _number(name: str, sign: str, value: str) -> Pairs:
    try:
        number = Decimal(value.removeprefix("$").replace(",", ""))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number < LARGEST:
        what = "amount of dollars; write it as 0.50" if name == "cost" else "number; write it as 10"
        raise ValueError(f'"{value[:QUOTED]}" is no {what}')
    return [(name, (sign, number))]


READERS: dict[str, Callable[[str, str, str], Pairs]] = {
    "is": _is, **dict.fromkeys(DAYS, _day), **dict.fromkeys(MEASURES, _number),
}  # fmt: skip
EXAMPLES = {
    "tool": "Bash", "agent": '"Refund agent"', "model": "claude-sonnet-4-5", "tag": "vip", "file": "src/app.py",
    "ended": "error",
    "status": "running", "origin": "import", "verdict": "fail", "is": "error", "from": "2026-01-31",
    "to": "2026-01-31", "on": "2026-01-31",
}  # fmt: skip
