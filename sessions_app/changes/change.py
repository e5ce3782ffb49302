"""A change of one file, as a call or a recorder states it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .lines import count_changed, split

Kind = Literal["created", "written", "edited", "deleted", "renamed", "shell", "stated", "seen"]
"""``written``: its whole text, whether or not there was one before. ``shell``: a command evidently writes it, and
``stated``: a recorder says that it changed; neither says its text. ``seen``: read, which changes nothing; its content
where that was all of it."""
MOST_CHANGES = 500
"""Changes that one call is read for."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that is replaced by another one: the first that is found, or every one of them."""

    old: str
    new: str
    everywhere: bool = False
    line: int | None = None
    """Number of the first line of ``old``, once the edits before this one are made; where a recorder states it."""
    whole_lines: bool = False
    """Whether both are lines from beginning to end (a hunk), not a piece of text that may begin within one."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one call does to one file."""

    path: str
    kind: Kind
    how: str
    """The dialect: name of the tool, or of the command (``sed -i``)."""
    edits: tuple[Edit, ...] = ()
    content: str | None = None
    """The whole text afterwards, where it is told."""
    hunks: tuple[Edit, ...] = ()
    """The same edits with their surroundings and line numbers, as some recorders state them beside."""
    was: str = ""
    """The path before a rename."""

    @property
    def is_known(self) -> bool:
        """Whether anything is told of what was changed within the file."""
        return bool(self.edits or self.hunks or self.content is not None)

    def counts(self) -> tuple[int, int]:
        """Lines added and removed, as far as the call tells them."""
        pieces = self.hunks or self.edits
        if pieces:
            found = [count_changed(split(edit.old), split(edit.new)) for edit in pieces]
            return sum(added for added, _ in found), sum(removed for _, removed in found)
        return (len(split(self.content)) if self.content and self.kind != "seen" else 0), 0
