"""Globs and regular expressions that take a time linear in what they are matched against, whoever wrote it.

Regular expressions are RE2's (no look-around, no back-references): the engine of Python can be made to run for years
by a text that an agent chooses. What RE2 does not bound is bounded here: a program of 1,000 steps on 20,000 characters
takes 0.05 to 0.2 s on one core (``bench/gate/policy.py``).
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Callable
from typing import Protocol

import re2

MAX_PATTERN = 1_000
"""Characters of a pattern."""
MAX_STEPS = 1_000
"""Steps of a compiled regular expression: ``[a-z]{3}`` has about five."""
MAX_TEXT = 20_000
"""Characters of a text that a regular expression is tried on; of a longer one it cannot be said."""
RE2_BYTES = 1 << 16


class Matcher(Protocol):
    """A compiled regular expression."""

    def search(self, text: str) -> object | None: ...
    def fullmatch(self, text: str) -> object | None: ...


class BadPattern(ValueError):
    """A pattern that cannot be used; the message says why."""


def glob(pattern: str) -> Callable[[str], bool]:
    """A test of the whole text, case and all: ``*`` is any characters, ``?`` is one, all others are themselves."""
    if not set("*?") & set(pattern):
        return pattern.__eq__
    matches = re.compile(fnmatch.translate(pattern.replace("[", "[[]"))).match
    return lambda text: matches(text) is not None


def regex(pattern: str) -> Matcher:
    """A compiled regular expression. Raises ``BadPattern``."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"it has {len(pattern)} characters, and {MAX_PATTERN} are allowed")
    options = re2.Options()
    options.log_errors, options.max_mem = False, RE2_BYTES
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadPattern(f"RE2 does not take it: {said}") from None
    if compiled.programsize > MAX_STEPS:
        raise BadPattern(f"it compiles to {compiled.programsize} steps, and {MAX_STEPS} are allowed")
    matcher: Matcher = compiled
    return matcher


def hides_something(text: str) -> bool:
    """Whether a text holds what a reader does not see as it is.

    Those are format characters (zero width, bidirectional; Unicode category Cf) and letters that another form of the
    same text (NFC) would write otherwise.
    """
    if text.isascii():
        return False
    if not unicodedata.is_normalized("NFC", text):
        return True
    return any(unicodedata.category(character) == "Cf" for character in text)
