"""JSON written the way signers wrote it: by Python's ``json.dumps``, or by JavaScript's ``JSON.stringify``.

The two differ in numbers (``1.0`` and ``1``, ``1e-07`` and ``1e-7``, whole numbers over 2^53) and in the order of keys
that look like indices, which JavaScript moves to the front (ECMA-262, OrdinaryOwnPropertyKeys).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from math import isfinite

import rfc8785

from ..drafts import Json

HIGHEST_INDEX = 2**32 - 2
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def python(value: Json, *, sort: bool = False, ascii_only: bool = False) -> bytes:
    """Compact ``json.dumps``. Raises ``UnicodeEncodeError`` for lone surrogates unless ``ascii_only``."""
    return json.dumps(value, separators=(",", ":"), sort_keys=sort, ensure_ascii=ascii_only).encode()


def javascript(value: Json, *, sort: bool = False) -> bytes:
    """``JSON.stringify``, of an object whose keys were sorted first when ``sort`` is set, at every depth."""
    return _written(value, sort).encode()


def _written(value: Json, sort: bool) -> str:
    if isinstance(value, dict):
        members = (f"{_string(key)}:{_written(value[key], sort)}" for key in _keys(list(value), sort))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(_written(item, sort) for item in value)}]"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value)


def _keys(names: list[str], sort: bool) -> list[str]:
    return indices_first(sorted(names, key=utf_16_units) if sort else names)


def utf_16_units(text: str) -> bytes:
    """What JavaScript compares strings by: astral characters come before U+E000 to U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")


def indices_first(names: list[str]) -> list[str]:
    """As JavaScript keeps an object's keys: whole numbers below 2^32 - 1 in numeric order, then the others."""
    indices = [name for name in names if _is_index(name)]
    return sorted(indices, key=int) + [name for name in names if not _is_index(name)] if indices else names


def _is_index(name: str) -> bool:
    return _INDEX.fullmatch(name) is not None and int(name) <= HIGHEST_INDEX


def _string(text: str) -> str:
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def number(value: int | float | Decimal) -> str:
    """A number as JavaScript prints it (ECMA-262, Number::toString): 1 for 1.0, 1e-7; ``null`` for what is no double.

    Only numbers are left to the library. RFC 8785 refuses lone surrogates and whole numbers over 2^53, which JavaScript
    writes, and its keys are sorted by UTF-16 alone: documents in this form verify, documents in that one would not.
    """
    try:
        double = float(value)
    except OverflowError:
        return "null"
    return rfc8785.dumps(double).decode() if isfinite(double) else "null"
