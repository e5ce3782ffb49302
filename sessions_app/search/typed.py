"""What somebody typed into a search: ``refund "order 4711" -test or src/app/models.py order*``, as in a web search.

All of the words have to be said, in any order; ``"words in quotes"``, paths and identifiers side by side; ``or`` stands
between what is enough by itself, ``-`` before what must not be said, ``*`` after the beginning of a word. Nothing that
is typed is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from .words import LONGEST as LONGEST_WORD
from .words import flat, pieces, words

LONGEST = 500
"""Characters of what somebody searches for; the rest is not looked at."""
PARTS = re.compile(r'(?P<minus>(?:-\s*)*)(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+))')


@dataclass(frozen=True)
class Term:
    """One thing to look for: a word, or words side by side."""

    pieces: tuple[tuple[str, bool], ...]
    """Runs of letters in order; with each, whether its script has no spaces."""
    is_beginning: bool = False
    """The last word may go on."""
    is_excluded: bool = False

    @cached_property
    def indexed(self) -> tuple[tuple[str, bool], ...]:
        """Words that the index has where this is said; with each, whether it is but the beginning of one."""
        found: list[tuple[str, bool]] = []
        for run, unspaced in self.pieces:
            if not unspaced:
                found.append((run, False))
            elif len(run) == 1:
                found.append((run, True))
            else:
                found += [(run[place : place + 2], False) for place in range(len(run) - 1)]
        if self.is_beginning:
            found[-1] = (found[-1][0], True)
        return tuple(dict.fromkeys(found))

    @cached_property
    def is_exact(self) -> bool:
        """Whether a text that has the indexed words says it: nothing has to stand side by side."""
        return len(self.indexed) == 1 and len(self.pieces) == 1

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What it looks like in a text of ``words.flat``."""
        parts: list[str] = []
        before = False
        for place, (run, unspaced) in enumerate(self.pieces):
            if place:
                parts.append(r"[\W_]*" if unspaced or before else r"[\W_]+")
            elif not unspaced:
                parts.append(r"(?<![^\W_])")
            parts.append(re.escape(run))
            if len(run.encode()) >= LONGEST_WORD - 3:  # it may have been cut, inside of a character
                parts.append(r"[^\W_]*")
            before = unspaced
        if not before and not self.is_beginning:
            parts.append(r"(?![^\W_])")
        return re.compile("".join(parts))

    def at_sight(self, text: str) -> bool | None:
        """Whether a text says it; None where it may be said by a part of a word in humps.

        ``text`` is one of ``words.flat`` in ASCII, with a space at both ends.
        """
        if any(word not in text for word, _ in self.indexed):
            return False
        if any(len(word) >= LONGEST_WORD - 3 for word, _ in self.indexed):
            return None  # it may have been cut
        if not self.is_exact:
            return self.pattern.search(text) is not None
        return True if f" {self.indexed[0][0]}{'' if self.is_beginning else ' '}" in text else None

    def is_said_in(self, text: str, found: set[bytes]) -> bool:
        """Whether a text says it; ``found`` are the words of the text."""
        for word, is_beginning in self.indexed:
            raw = word.encode()
            if not (any(one.startswith(raw) for one in found) if is_beginning else raw in found):
                return False
        return self.is_exact or self.pattern.search(flat(text)) is not None


@dataclass(frozen=True)
class Query:
    """What somebody looks for: one of the alternatives, of which each term has to hold."""

    alternatives: tuple[tuple[Term, ...], ...] = field(default=())

    @property
    def wanted(self) -> list[Term]:
        """The terms that are to be found, of all alternatives."""
        return [term for terms in self.alternatives for term in terms if not term.is_excluded]

    def is_met_by(self, text: str) -> bool:
        """Whether one text says it."""
        if text.isascii() and (met := self._met_at_sight(f" {flat(text)} ")) is not None:
            return met
        found = words(text)
        return any(
            all(term.is_said_in(text, found) != term.is_excluded for term in terms) for terms in self.alternatives
        )

    def _met_at_sight(self, text: str) -> bool | None:
        """The same, see ``Term.at_sight``: finding the words of a text takes five times as long."""
        if len(self.alternatives) != 1:
            return None
        said = [(term, term.at_sight(text)) for term in self.alternatives[0]]
        if any(sure is not None and sure == term.is_excluded for term, sure in said):
            return False
        return None if any(sure is None for _, sure in said) else True


def read(typed: str) -> Query:
    """What somebody typed. Without a letter or a digit in it there is nothing to look for, and no alternative."""
    alternatives: list[list[Term]] = [[]]
    for part in PARTS.finditer(typed[:LONGEST]):
        if part["bare"] and part["bare"].lower() == "or" and not part["minus"]:
            alternatives.append([])
        else:
            alternatives[-1] += _terms(part)
    return Query(tuple(tuple(terms) for terms in alternatives if terms))


def _terms(part: re.Match[str]) -> Iterator[Term]:
    said = part["quoted"] if part["quoted"] is not None else part["bare"]
    if found := tuple(pieces(said)):
        is_beginning = part["bare"] is not None and said.endswith("*")
        yield Term(found, is_beginning, bool(part["minus"]))
