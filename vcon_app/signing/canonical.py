"""JSON written the way signers wrote it: by Python's ``json.dumps``, or by JavaScript's ``JSON.stringify``.

The two differ in numbers (``1.0`` and ``1``, ``1e-07`` and ``1e-7``, whole numbers over 2^53) and in the order of keys
that look like indices, which JavaScript moves to the front (ECMA-262, OrdinaryOwnPropertyKeys).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from math import isfinite

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
        return _number(value)
    return json.dumps(value)


def _keys(names: list[str], sort: bool) -> list[str]:
    if sort:
        names = sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    indices = sorted((name for name in names if _is_index(name)), key=int)
    return indices + [name for name in names if not _is_index(name)]


def _is_index(name: str) -> bool:
    return _INDEX.fullmatch(name) is not None and int(name) <= HIGHEST_INDEX


def _string(text: str) -> str:
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _number(value: float) -> str:
    """ECMA-262, Number::toString: the shortest digits, an exponent below 1e-6 and from 1e21 on."""
    try:
        value = float(value)
    except OverflowError:
        return "null"
    if not isfinite(value):
        return "null"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if text == "0":
        return "0"
    if 0 < point <= 21:
        text = text.ljust(point, "0") if point >= len(text) else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{text}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        text = f"{text[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{text}" if sign else text
