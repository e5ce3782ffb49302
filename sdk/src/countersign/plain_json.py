"""JSON read and written without the package ``json``, whose regular expressions cost a hook 9 of its 30 ms to import.

The C functions below it are the same; where there are none, it is used after all.
"""

from __future__ import annotations

from .canonical import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Reading:
    """What the scanner of ``json`` asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")


def loads(data: bytes) -> Any:
    """Raises ``ValueError`` for what is no JSON in UTF-8, NaN included, and ``RecursionError``."""
    text = data.decode("utf-8")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = _scanner()(text, start)
    except StopIteration as stopped:
        raise ValueError(f"no JSON at character {stopped.value}") from None
    if text[end:].strip(" \t\r\n"):
        raise ValueError(f"more than one JSON value, at character {end}")
    return value


def dumps(value: Any) -> str:
    """As it is: keys in their order, 1.0 as 1.0. Raises ``ValueError`` for what is no JSON."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is no JSON number")
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(dumps, value))}]"
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key of an object is no text")
        return f"{{{','.join(f'{quoted(key)}:{dumps(item)}' for key, item in value.items())}}}"
    raise ValueError(f"{type(value).__name__} is no JSON")


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    decoder: Any = _Reading
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder
        from json.scanner import py_make_scanner as make_scanner  # type: ignore[attr-defined, no-redef, unused-ignore]

        decoder = JSONDecoder(parse_constant=_Reading.parse_constant)
    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(decoder)
    return scan
