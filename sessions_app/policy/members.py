"""Members of a JSON object that somebody wrote, taken one by one and checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from .faults import Faults, shown

Check = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Members:
    """An object of which each member is known. ``label`` is the rule that it is in."""

    values: dict[str, Any]
    pointer: str
    label: str
    faults: Faults

    @classmethod
    def read(
        cls, value: Any, pointer: str, label: str, known: Collection[str], faults: Faults
    ) -> Members | None:  # fmt: skip
        """The object; None, and a fault, where it is none. A member that is not ``known`` is a fault."""
        if not isinstance(value, dict):
            faults.add(pointer, f"{label}: write an object, not {shown(value)}")
            return None
        for name in value:
            if name not in known:
                place = f"{pointer}/{escaped(name)}"
                faults.add(place, f"{label}: there is no field {shown(name)} here; there are {', '.join(known)}")
        return cls(value, pointer, label, faults)

    def take(self, name: str, what: str, check: Check, *, needed: bool = False) -> Any:
        """A member that ``check`` takes, or None; what is wrong with it is a fault. ``what`` it should be, in words."""
        place = f"{self.pointer}/{name}"
        if name not in self.values:
            if needed:
                self.faults.add(place, f"{self.label}: {name} is missing; it is {what}")
            return None
        value = self.values[name]
        if check(value):
            return value
        self.faults.add(place, f"{self.label}: {name} is {what}, not {shown(value)}")
        return None

    def take_list(
        self, name: str, what: str, check: Check, most: int = 100, *, empty: bool = False
    ) -> list[Any] | None:
        """A list, each entry of which ``check`` takes; None where it is missing or wrong."""
        found = self.take(name, f"a list of {what}, at most {most}", _list_of(most, empty=empty))
        if found is None:
            return None
        wrong = [(position, one) for position, one in enumerate(found) if not check(one)]
        for position, one in wrong:
            self.faults.add(f"{self.pointer}/{name}/{position}", f"{self.label}: {name} has {what}, not {shown(one)}")
        return None if wrong else found


def escaped(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def check_text(most: int, *, empty: bool = False, lines: bool = False) -> Check:
    """A text of at most so many characters, without control characters; ``lines``: line breaks are allowed."""

    def check(value: Any) -> bool:
        if not isinstance(value, str) or len(value) > most or not (empty or value.strip()):
            return False
        text = value.replace("\n", "").replace("\r", "") if lines else value
        return not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)

    return check


def check_choice(choices: Collection[str]) -> Check:
    """One of these words."""
    return lambda value: isinstance(value, str) and value in choices


def check_whole(least: int, most: int) -> Check:
    """A whole number from ``least`` to ``most``."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_bool(value: Any) -> bool:
    """true or false."""
    return isinstance(value, bool)


def _list_of(most: int, *, empty: bool) -> Check:
    return lambda value: isinstance(value, list) and len(value) <= most and (empty or bool(value))
