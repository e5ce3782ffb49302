"""Which messages a retention hides, in words: programs call it ``sliding_window of 5``."""

from __future__ import annotations

import re

from django.utils.translation import gettext

RULE = re.compile(
    r"(?:sliding_window of |keep_last_)(?P<last>\d+)|keep_important before the last (?P<important>\d+)"
    r"|summarize_old before the last (?P<summary>\d+)|ttl_days of (?P<days>\d+)"
)


def strategy_words(rules: str) -> str:
    """``all but the last 5``, of one rule or of several in a line; what is no rule stays as it is."""
    return RULE.sub(_of_rule, rules)


def _of_rule(found: re.Match[str]) -> str:
    said = {
        "last": gettext("all but the last %(n)s"),
        "important": gettext("all but important ones and the last %(n)s"),
        "summary": gettext("all but the last %(n)s, with a summary"),
        "days": gettext("older than %(n)s days"),
    }
    return said[found.lastgroup or ""] % {"n": found[found.lastgroup or 0]}
