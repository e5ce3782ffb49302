"""Portable JSON values, for a file that may be signed, is read by other languages, and is handed to other people."""

from __future__ import annotations

from math import isfinite

from sessions_app.rendering.masking import MASK, mask, names_secret

from ...drafts import Json, Losses
from ..common.jsonio import MAX_DEPTH, dumps
from .block_text import parsed

SECRET = ("values that look like secrets", "masked, so that the file can be handed on")
DEEP = (f"values nested deeper than {MAX_DEPTH} levels", "JSON readers refuse them")
FLOATS = "_floats"
"""JSON pointers to the numbers of an object that are written as text.

Python writes 1.0 where JavaScript writes 1, so a float in a signed block verifies in one and not in the other.
"""


def token(name: str) -> str:
    """A name in a JSON pointer (RFC 6901 section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def names_in(pointer: str) -> list[str]:
    """The names of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


class Carrier:
    """Copies JSON values without floats and without secrets, and tells what that changed."""

    def __init__(self, losses: Losses, *, mask: bool) -> None:
        self._losses, self._mask = losses, mask
        self._floats: list[str] | None = None

    def carry(self, value: dict[str, Json]) -> dict[str, Json]:
        """An object as it is written: floats as text, and under ``_floats`` where they are."""
        self._floats = []
        carried = self._copy(value, "", 0)
        return {**carried, FLOATS: self._floats} if self._floats else carried

    def carry_foreign(self, value: Json) -> Json:
        """A block that came from a file: only its secrets are touched."""
        self._floats = None
        return self._copy(value, "", 0)

    def carry_text(self, text: str) -> bytes:
        """A block that is kept as it came: its very text, unless it holds a secret."""
        before = self._losses.total()
        value = self.carry_foreign(parsed(text))
        return text.encode() if self._losses.total() == before else dumps(value)

    def _copy(self, value: Json, pointer: str, depth: int) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float) and self._floats is not None and isfinite(value):
            self._floats.append(pointer)
            return repr(value)
        if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
            self._losses.lose(*DEEP)
            return None
        if isinstance(value, dict):
            return {self._text(name): self._named(name, item, pointer, depth) for name, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item, f"{pointer}/{index}", depth + 1) for index, item in enumerate(value)]
        return value

    def _named(self, name: str, item: Json, pointer: str, depth: int) -> Json:
        if self._mask and isinstance(item, str) and item and names_secret(name):
            self._losses.lose(*SECRET)
            return MASK
        return self._copy(item, f"{pointer}/{token(name)}", depth + 1)

    def _text(self, text: str) -> str:
        masked, count = mask(text) if self._mask else (text, 0)
        if count:
            self._losses.lose(*SECRET, count)
        return masked


def restored(value: dict[str, Json]) -> dict[str, Json]:
    """The object with its numbers back, as :meth:`Carrier.carry` was given it; any other object unchanged."""
    pointers = value.get(FLOATS)
    if not isinstance(pointers, list):
        return value
    for pointer in pointers:
        if isinstance(pointer, str):
            _restore_floats(value, names_in(pointer))
    return {name: item for name, item in value.items() if name != FLOATS}


def _restore_floats(value: Json, names: list[str]) -> None:
    for name in names[:-1]:
        value = value[key] if (key := _key(value, name)) is not None else None
    key = _key(value, names[-1]) if names else None
    if key is None or not isinstance(value[key], str):
        return
    try:
        number = float(value[key])
    except ValueError:
        return  # no number that we wrote: it stays the text that it is
    value[key] = number if isfinite(number) else value[key]


def _key(value: Json, name: str) -> int | str | None:
    """The key or index by which a container holds what a pointer names; ``None`` when it does not."""
    if isinstance(value, list):
        return int(name) if name.isdecimal() and len(name) < 9 and int(name) < len(value) else None
    return name if isinstance(value, dict) and name in value else None
