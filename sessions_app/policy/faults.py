"""What is wrong with rules that somebody wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 60
"""Characters of a bad value that a fault repeats."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: where (JSON pointer from the list of rules), and what is wrong and what to write instead."""

    pointer: str
    message: str


class Invalid(ValueError):
    """Rules that cannot be used, with every fault that was found."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = tuple(faults)


class Faults:
    """Collects faults while a value is read."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, pointer: str, message: str) -> None:
        """Note one fault."""
        self.found.append(Fault(pointer, message))

    def raise_any(self) -> None:
        """Raise ``Invalid`` when there are any."""
        if self.found:
            raise Invalid(self.found)


def shown(value: Any) -> str:
    """A value as a message repeats it, cut short."""
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
