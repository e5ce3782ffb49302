"""Which messages stay when a session is pruned: the strategies by their names, and the numbers that go with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["sliding_window", "keep_important", "summarize_old", "ttl_days"]
NAMES = "keep_last_N (such as keep_last_50), sliding_window, keep_important, summarize_old"
MOST = 10_000_000
"""Messages that a window may have, and days."""
LAST, THRESHOLD, WINDOW = 10, 50, 1_000
"""Messages at the end that ``keep_important``, ``summarize_old`` and a policy keep where no number is said."""
_KEEP_LAST = re.compile(r"keep_last_([0-9]{1,9})")


class BadStrategy(ValueError):
    """There is no such strategy, or not with this number; ``field`` says which was sent wrong."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


@dataclass(frozen=True, slots=True)
class Strategy:
    """``window``: so many messages at the end of a session stay, whatever they are."""

    kind: Kind
    window: int
    rule: str
    """As the marker says it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A retention that holds for a session: its own, its workspace's, or none."""

    ttl_days: int | None = None
    auto_prune: bool = False
    prune_strategy: str = ""
    max_messages: int | None = None
    of: Literal["session", "workspace"] | None = None

    @property
    def strategy(self) -> Strategy | None:
        return of_policy(self.prune_strategy, self.max_messages)


NO_POLICY = Policy()


def read(name: str, *, window_size: int | None = None, threshold: int | None = None) -> Strategy:
    """The strategy of a name. Raises ``BadStrategy``."""
    match = _KEEP_LAST.fullmatch(name)
    if match:
        _refuse(window_size, "window_size", f'the number of "{name}" is in its name')
        _refuse(threshold, "threshold", f'the number of "{name}" is in its name')
        return Strategy("sliding_window", _checked("strategy", int(match[1])), name)
    if name == "sliding_window":
        _refuse(threshold, "threshold", 'of a sliding_window send "window_size"')
        if window_size is None:
            raise BadStrategy("window_size", "how many messages are to stay? A sliding_window needs a window_size")
        return sliding(window_size)
    if name == "keep_important":
        _refuse(threshold, "threshold", 'of keep_important send "window_size": messages at the end that stay')
        return important(LAST if window_size is None else window_size)
    if name == "summarize_old":
        _refuse(window_size, "window_size", 'of summarize_old send "threshold": messages at the end that stay')
        return summarized(THRESHOLD if threshold is None else threshold)
    raise BadStrategy("strategy", f'there is no strategy "{name[:80]}"; there are {NAMES}')


def of_policy(name: str, max_messages: int | None) -> Strategy | None:
    """What a policy keeps, once there are more messages; None where it says nothing of them. Raises ``BadStrategy``."""
    if not name:
        return sliding(max_messages) if max_messages else None
    if _KEEP_LAST.fullmatch(name):
        return read(name)
    window = max_messages or WINDOW
    return read(name, threshold=window) if name == "summarize_old" else read(name, window_size=window)


def after_days(days: int) -> Strategy:
    """All messages: the days of the session are over."""
    return Strategy("ttl_days", 0, f"ttl_days of {days}")


def sliding(window: int) -> Strategy:
    return Strategy("sliding_window", _checked("window_size", window), f"sliding_window of {window}")


def important(window: int) -> Strategy:
    return Strategy("keep_important", _checked("window_size", window), f"keep_important before the last {window}")


def summarized(window: int) -> Strategy:
    return Strategy("summarize_old", _checked("threshold", window), f"summarize_old before the last {window}")


def _checked(field: str, window: int) -> int:
    if not 1 <= window <= MOST:
        raise BadStrategy(field, f"{window} messages cannot be what stays: say a number from 1 to {MOST}")
    return window


def _refuse(value: int | None, field: str, why: str) -> None:
    if value is not None:
        raise BadStrategy(field, why)
