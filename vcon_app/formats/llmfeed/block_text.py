"""Blocks of a feed as text for people: outlines in Markdown, labels, names of kinds; and the keys of their events."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from ...drafts import Json
from ..common.jsonio import dumps, loads

MAX_LINES = 200
"""Lines of a block in the text of an event; the block itself is kept whole."""


def parsed(text: str) -> Json:
    """A block that is kept as text; a number that no double holds is null, as it was when the file was read."""
    return loads(text.encode("utf-8", "surrogatepass"))[0]


def key_of(pointer: str, value: Json) -> str:
    """The natural key of an event: where it stands, and a digest of what stands there."""
    return f"{pointer}:{sha256(dumps(value)).hexdigest()[:12]}"


def kind_name(value: Any) -> str:
    """JSON's name of a value's type."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def label_of(name: str) -> str:
    """``open_tasks`` as words."""
    return name.replace("_", " ").replace("-", " ").strip()


def outline(value: Json) -> str:
    """A block as a Markdown list, for reading."""
    lines = _lines(value, 0)
    more = [f"- … {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join(lines[:MAX_LINES] + more)


def _lines(value: Json, depth: int) -> list[str]:
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in _entry(f"{label_of(key)}: ", item, depth)]
    if isinstance(value, list):
        return [line for item in value for line in _entry("", item, depth)]
    return [_scalar(value)]


def _entry(label: str, item: Json, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(item, (dict, list)) and item and depth < 6:
        head = [f"{indent}- {label.rstrip()}"] if label else []
        return head + _lines(item, depth + bool(label))
    shown = dumps(item).decode() if isinstance(item, (dict, list)) else _scalar(item)
    return [f"{indent}- {label}" + shown.replace("\n", f"\n{indent}  ")]


def _scalar(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value).decode()
