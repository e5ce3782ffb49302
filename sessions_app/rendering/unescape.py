"""Texts that were escaped twice: walls of ``\\n`` and ``\\u2192`` that a recorder wrote where it meant lines."""

from __future__ import annotations

import re

_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_CUT = r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
"""An escape that the end of a text cuts through."""
# No possessive group: before Python 3.11.5 one with alternatives fails to match (CPython issue 106052).
_QUOTED = re.compile(rf'"([^"\\]*(?:{_ESCAPE}[^"\\]*)*)(?:"|{_CUT})')
_BARE = re.compile(rf"([^\\]*(?:{_ESCAPE}[^\\]*)*){_CUT}")
_QUOTATION = re.compile(r"([`'\"])\\[nrt]\1")
_UNIT = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
BREAKS, LEAST = 3, 80
"""Times that ``\\n`` stands in a text without quotes, and its characters, from which on it is such a wall."""


def unescaped(text: str) -> str | None:
    """A text as it was meant, where it is a JSON string within the string that it is; None where it is none.

    Its end may be cut off. A text with lines of its own, with a backslash that JSON does not know (``C:\\dev``), or
    that speaks of ``"\\n"`` is none.
    """
    body = text.strip()
    if "\\n" not in body or "\n" in body:
        return None
    if found := _QUOTED.fullmatch(body):
        return _UNIT.sub(_meant, found[1])
    if len(body) < LEAST or body.count("\\n") < BREAKS or _QUOTATION.search(body):
        return None
    found = _BARE.fullmatch(body)
    return _UNIT.sub(_meant, found[1]) if found else None


def of_json(text: str) -> str:
    """What the strings of a document in JSON say, between its braces; its end may be cut off."""
    return _UNIT.sub(_meant, text)


def _meant(match: re.Match[str]) -> str:
    high, low, code, plain = match.groups()
    if high:
        return (bytes.fromhex(high) + bytes.fromhex(low)).decode("utf-16-be")
    if not code:
        return _PLAIN.get(plain, plain)
    return "\ufffd" if code[0] in "dD" and code[1] in "89abcdefABCDEF" else chr(int(code, 16))  # half of a pair
