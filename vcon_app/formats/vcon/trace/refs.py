"""References by index: to parties, dialogs and attachments (rules R25, R26)."""

from __future__ import annotations

from typing import Any

from ....drafts import Json
from ..file import EMPTY, Elided, Notes, point, shown


def check_reference(
    item: dict[str, Any], name: str, length: int, what: str, pointer: str, notes: Notes, many: bool = False
) -> None:
    """Every index in a reference: an integer, not a boolean, 0 to length - 1 (rules R25, R26).

    ``many``: a list is allowed; in ``parties`` each may be a list again or null, a channel of its own (core s4.3.4).
    """
    value = item.get(name)
    # nearly every reference is right, and there is one for each dialog: those two forms are looked at first
    if type(value) is int and 0 <= value < length:
        return
    if many and type(value) is list and len(valid_indices(value, length)) == len(value):
        return
    if value in EMPTY or isinstance(value, Elided):
        return
    if isinstance(value, list) and not many:
        notes.warn("R25", point(pointer, name), f"{shown(value)} stands where one {what} index belongs.")
    numbers = _with_channels(value) if name == "parties" else value if isinstance(value, list) else [value]
    for number in numbers:
        _check_index(number, length, what, point(pointer, name), notes)


def _with_channels(value: Json) -> list[Json]:
    """The indices in ``parties``: of a recording, a list of those who speak on each channel, null for nobody."""
    parts = value if isinstance(value, list) else [value]
    flat = [number for part in parts for number in (part if isinstance(part, list) else [part])]
    return [number for number in flat if number is not None]


def valid_indices(values: list[Json], length: int) -> list[int]:
    """Those that are indices and point to something."""
    return [number for number in values if type(number) is int and 0 <= number < length]


def _check_index(number: Json, length: int, what: str, pointer: str, notes: Notes) -> None:
    if isinstance(number, float) and number.is_integer():
        notes.warn("R26", pointer, f"The {what} index {number} is written as a float; read as {int(number)}.", what)
        number = int(number)
    if type(number) is not int:
        notes.error("R25", pointer, f"{shown(number)} is no {what} index: an index is an integer.")
    elif number < 0:
        notes.error("R25", pointer, f"The {what} index {number} is negative; it points nowhere.")
    elif number >= length:
        there = "there is none" if not length else "there is one" if length == 1 else f"there are {length}"
        notes.error("R25", pointer, f"The {what} index {number} is out of range: {there}, and counting begins at 0.")
