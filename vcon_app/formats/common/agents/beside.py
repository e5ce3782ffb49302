"""What a record says beside its events: words under members that its reader does not know.

Agents add members with each version. Their words would be in the original file alone, where nobody looks for them, so
they are kept with the record's first event, under their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from ....drafts import EventDraft
from ..jsonio import Unreadable, loads
from ..times import parse

KEY = "beside"
"""In the data of an event: JSON pointer in the record -> words."""
SHORTEST = 20
"""Characters: what is shorter is a state, a number or a name, of which a record has a hundred."""
MOST_VALUES, MOST_LOOKED_AT = 50, 20_000
VALUE_LIMIT, NAME_LIMIT = 4_000, 200
"""Characters kept of one value, and of one part of its place; the original file has the rest."""
EFFORT = 100_000_000
"""Characters that are looked through for one record."""
OPAQUE = re.compile(r"(?=[^\d]*\d)[A-Za-z0-9_:|+=-]+|[A-Za-z0-9+/_=-]{200,}")
"""Ids and bytes: without a blank, a dot and a slash, and with a digit; or long base64."""
MARK = re.compile(r"</?[A-Za-z][\w-]*>$|\[[^\]]{1,60}\] ")
"""What programs put around words and readers take off: a tag on a line of its own, a stamp in brackets before them."""
UNSAID = frozenset({"type", "kind", "method", "tools", "signature", "thinkingSignature", "encrypted_content"})
"""Members that hold no words: what a record is, which tools are offered, proofs."""


def beside(
    value: dict[str, Any], told: Iterable[EventDraft], known: Iterable[Any], skip: frozenset[str]
) -> dict[str, str]:
    """Words of a record that none of its events says, nor ``known``; ``skip`` are names or places of members."""
    said = Said([*(part for event in told for part in _parts(event)), *known])
    left: dict[str, str] = {}
    for place, text in _words(value, skip | UNSAID):
        if not said.has(text):
            left[place] = text[:VALUE_LIMIT]
        if len(left) >= MOST_VALUES:
            break
    return left


def _parts(event: EventDraft) -> list[Any]:
    tool = event.tool
    of_tool = [tool.name, tool.server, tool.call_id, tool.arguments, tool.result] if tool else []
    return [event.text, event.actor_name, event.model, event.request, event.key, event.data, *of_tool]


class Said:
    """The strings of some values, asked for a text as a whole, by its lines, and as JSON."""

    def __init__(self, values: list[Any]) -> None:
        self._texts = set(_texts(values))
        self._joined: str | None = None
        self._left = EFFORT

    def has(self, text: str) -> bool:
        if text in self._texts or self._finds(text):
            return True
        if text.startswith("file://"):
            return self._finds(unquote(text.removeprefix("file://")))
        if text[:1] in '{["' and (inner := _inner(text)) is not None:
            return all(one in self._texts or self._finds(one) for one in inner)
        lines = [MARK.sub("", line.strip(), count=1) for line in text.split("\n")]
        return lines != [text] and all(self._finds(line) for line in lines if line)

    def _finds(self, text: str) -> bool:
        if self._joined is None:
            self._joined = "\n".join(self._texts)
        self._left -= len(self._joined)
        return self._left < 0 or text in self._joined


def _words(value: Any, skip: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Place and text of each string that may be words."""
    for place, text in _strings(value, skip):
        opaque = OPAQUE.fullmatch(text) or text.startswith("data:") or parse(text)[0] is not None
        if len(text) >= SHORTEST and not opaque:
            yield place, text


def _strings(value: Any, skip: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The strings among the first values inside of one, in its order; nothing is laid out before it is looked at."""
    stack: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    for _ in range(MOST_LOOKED_AT):
        found = None
        while stack and found is None:
            if (found := next(stack[-1], None)) is None:
                stack.pop()
        if found is None:
            return
        place, one = found
        if isinstance(one, str):
            yield place, one
        elif isinstance(one, (dict, list)):
            stack.append(_members(place, one, skip))


def _texts(values: Any) -> Iterator[str]:
    """As ``_strings``, without their places: most are looked at and found, in every record."""
    stack: list[Iterator[Any]] = [iter(values)]
    for _ in range(MOST_LOOKED_AT):
        one = next(stack[-1], stack)
        if one is stack:
            stack.pop()
            if not stack:
                return
        elif isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            stack.append(iter(one.values()))
        elif isinstance(one, list):
            stack.append(iter(one))


def _members(place: str, value: Any, skip: frozenset[str]) -> Iterator[tuple[str, Any]]:
    named = value.items() if isinstance(value, dict) else enumerate(value)
    members = ((name, f"{place}/{_token(str(name))}", item) for name, item in named)
    return ((at, item) for name, at, item in members if name not in skip and at not in skip)


def _token(name: str) -> str:
    return name[:NAME_LIMIT].replace("~", "~0").replace("/", "~1")


def _inner(text: str) -> list[str] | None:
    """Words of the JSON in a text; None where it is none."""
    try:
        value, _ = loads(text.encode("utf-8", "replace"))
    except Unreadable:
        return None
    return [inner for _, inner in _words([value], frozenset())]
