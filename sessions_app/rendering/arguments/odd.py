"""Characters that deceive: those that nobody sees, and letters that look like others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..text import mark_invisible

MOST = 256 * 1024
_WORD = re.compile(r"[^\W\d_]{2,}")
_MARK = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")
_LOOK_ALIKE = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL"}
"""First words of the names of letters that pass for Latin ones (Unicode TR39, confusables)."""


def oddities(value: Any) -> list[str]:
    """A sentence for each kind of deceptive character in a value, keys included."""
    text = "\n".join(_texts(value))[:MOST]
    if text.isascii() and not re.search(r"[\0-\x08\x0b-\x1f\x7f]", text):
        return []
    return [*_invisible(text), *_mixed(text)]


def _invisible(text: str) -> Iterator[str]:
    found = Counter(_MARK.findall(mark_invisible(text)))
    literal = Counter(_MARK.findall(text))
    for code, times in (found - literal).most_common(8):
        name = unicodedata.name(chr(int(code, 16)), "an unnamed character").lower()
        yield f"U+{code} {name}" + (f", {times} times" if times > 1 else "")


def _mixed(text: str) -> Iterator[str]:
    """Words that mix Latin letters with those that look like them."""
    seen: set[str] = set()
    for word in _WORD.findall(text):
        if word.isascii() or word in seen:
            continue
        odd = [letter for letter in word if not letter.isascii() and _script(letter) in _LOOK_ALIKE]
        if odd and any(letter.isascii() for letter in word) and len(seen) < 5:
            seen.add(word)
            letters = ", ".join(dict.fromkeys(f"{letter} is {unicodedata.name(letter, '?').lower()}" for letter in odd))
            yield f"“{word[:60]}” mixes alphabets: {letters[:200]}"


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
