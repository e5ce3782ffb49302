"""How a test run ended, as its output says in the words of its runner, else as its exit code does."""

from __future__ import annotations

import re
from typing import Literal

from .lines import cut, ends

Outcome = Literal["passed", "failed", "unknown", "no result"]
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
# Line by line from the end. ``x[a-z]+`` (xfailed) is no ``x\w+``: with a word that may end with digits of the count
# behind it, a line of 200 characters can be divided in 2 ** 40 ways, and each is tried.
_SUMMARIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"=+ ?(?P<said>[^=]*\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed)\b[^=]*|no tests ran[^=]*?) ?=+",
        r"(?P<said>(?:\d+ (?:passed|failed|errors?|skipped|x[a-z]+|warnings?|deselected)(?:, )?)+ in [\d.]+ ?s.*)",
        r"(?P<said>(?:\d+ (?:passed|failed|errors?|skipped)(?:, )?){2,})",
        r"\s*(?P<said>Tests:? +\d.*(?:passed|failed|total|\(\d+\)).*)",
        r"(?P<said>test result: (?:ok|FAILED)\..*)",
        r"(?:\[\w+\] )?(?P<said>Tests run: \d+, Failures: \d+, Errors: \d+.*)",
        r"(?P<said>\d+ examples?, \d+ failures?.*)",
        r"(?P<said>OK \(\d+ tests?.*\))",
        r"(?P<said>Tests: \d+, Assertions: \d+.*)",
        r"\s*(?P<said>(?:Passed|Failed)! +- Failed: +\d+.*)",
        r"(?P<said>\d+ tests completed, \d+ failed.*)",
        r"(?P<said>\d+% tests passed, \d+ tests failed out of \d+.*)",
        r"\s*(?P<said>\d+ (?:passing|failing)\b.*)",
        r"(?P<said>(?:FAILED \((?:failures|errors)=.*|OK(?: \(skipped=\d+\))?))\s*",
        r"(?P<said>FAIL\t\S.*|--- FAIL: .*|FAIL|ok  \t\S.*|PASS)\s*",
        r"(?P<said>BUILD (?:SUCCESSFUL|FAILED).*)",
        r"(?P<said>make: \*\*\* .*Error \d+)",
    )
)
_BAD = re.compile(
    r"\b[1-9]\d{0,8} (?:failed|errors?|failing|failures?|tests failed)\b"
    r"|(?:Failures|Errors|Failed|failures|errors)[:=] *[1-9]|\bFAIL(?:ED|URE)?\b|\*\*\* .*Error",
)
LINES = 120


def outcome(text: str, status: str | None, *, exit_code_is_its_own: bool) -> tuple[Outcome, str]:
    """How a test run ended, and the line that says so. ``status``: of the call, as the log has it."""
    said = _summary(ends(text))
    if said:
        is_bad = _BAD.search(said) or status == "error" and exit_code_is_its_own
        return ("failed" if is_bad else "passed"), cut(said, 160)
    if status == "error":
        return "failed", ""
    return ("passed" if status == "ok" and exit_code_is_its_own else "unknown"), ""


def _summary(text: str) -> str:
    """The last summary in an output; one that tells of failures before the others (several packages, several runs of
    one command)."""
    found = []
    for line in _COLOUR.sub("", text).split("\n")[-LINES:]:
        for pattern in _SUMMARIES:
            if match := pattern.fullmatch(line.rstrip()[:400]):
                found.append(match["said"].strip())
                break
    return next(filter(_BAD.search, reversed(found)), found[-1] if found else "")
