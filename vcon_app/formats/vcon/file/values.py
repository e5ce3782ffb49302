"""Values of a file that may be of any type, as what they should be."""

from __future__ import annotations

from typing import Any

from ....drafts import Json


def text(value: Json) -> str | None:
    """A non-empty string, else ``None``."""
    return value if isinstance(value, str) and value else None


def word(value: Json) -> str:
    """The value when it is a string, else ``""``: names are looked up in sets, and lists do not hash."""
    return value if isinstance(value, str) else ""


def mapping(value: Json) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
