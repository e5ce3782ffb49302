"""What went wrong in a session: failures that are alike counted as one, and which of them were recovered from.

Recovered: the same tool succeeded later with the same object (file, command, address). Of an error that no call had:
the run went on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from .lines import alike

GROUPS = 16
"""Kinds of failures that are told apart; what is of none of the first is counted together, as of no tool."""
OBJECTS = 8
"""Objects of a kind that are remembered until a call for them succeeds."""
LINE, TOOL = 160, 48
"""Bytes."""


@dataclass(slots=True)
class Group:
    """Failures of one tool for one reason. ``waiting``: where a call for each object failed last and has not succeeded
    since, by the checksum of the object; ``lost``: how many more there were than are remembered."""

    tool: str | None
    """Empty: an error that no call had. None: failures of all other kinds together."""
    line: str
    count: int
    first: int
    last: int
    waiting: dict[str, int] = field(default_factory=dict)
    lost: int = 0

    @property
    def is_recovered(self) -> bool | None:
        """None: nobody knows, it is several kinds."""
        return None if self.tool is None else not self.waiting and not self.lost


class Failures:
    """All failures of a session."""

    __slots__ = ("_by_key", "_waiting", "groups")

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self._by_key: dict[tuple[str | None, str], Group] = {(each.tool, alike(each.line)): each for each in groups}
        self._waiting: dict[str, list[Group]] = {}
        """Of each tool the groups that a success may mean something to."""
        for group in groups:
            if group.tool is not None and group.waiting:
                self._waiting.setdefault(group.tool, []).append(group)

    def add(self, seq: int, tool: str, line: str, subject: str) -> None:
        """A failure at an event, for an object."""
        group = self._group(tool, line, seq)
        group.count += 1
        group.last = max(group.last, seq)
        if group.tool is None:
            return
        name = _checksum(subject)
        if name in group.waiting or len(group.waiting) < OBJECTS:
            group.waiting[name] = seq
        else:
            group.lost += 1
        waiting = self._waiting.setdefault(tool, [])
        if not any(each is group for each in waiting):
            waiting.append(group)

    def _group(self, tool: str, line: str, seq: int) -> Group:
        key: tuple[str | None, str] = tool, alike(line)
        if key not in self._by_key and len(self.groups) >= GROUPS:
            key, line = (None, ""), ""
        if key not in self._by_key:
            self._by_key[key] = Group(key[0], line, 0, seq, seq)
            self.groups.append(self._by_key[key])
        return self._by_key[key]

    def in_order(self) -> list[Group]:
        """Kinds of failures: what was not recovered first, the most frequent first."""
        ranks = {False: 0, None: 1, True: 2}
        return sorted(self.groups, key=lambda group: (ranks[group.is_recovered], -group.count))

    def may_recover(self, tool: str) -> bool:
        """Whether a success of a tool could be one that follows a failure."""
        return tool in self._waiting

    def succeed(self, tool: str, subject: str) -> None:
        """A call succeeded: earlier failures of it for the same object are recovered."""
        name = _checksum(subject)
        waiting = self._waiting[tool]
        for group in waiting:
            group.waiting.pop(name, None)
        still = [group for group in waiting if group.waiting]
        if still:
            self._waiting[tool] = still
        else:
            del self._waiting[tool]

    def stored(self) -> list[list[Any]]:
        return [[g.tool, g.line, g.count, g.first, g.last, g.waiting, g.lost] for g in self.groups]

    @classmethod
    def read(cls, stored: list[list[Any]]) -> Failures:
        return cls([Group(*row) for row in stored])


def _checksum(subject: str) -> str:
    return f"{crc32(subject.encode('utf-8', 'surrogatepass')):08x}"
