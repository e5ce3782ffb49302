"""Canonical JSON and the digest of a call: what a decision is bound to.

After RFC 8785, as the desk writes it. Imports little: the hook pays for it.
"""

from __future__ import annotations

try:
    from _json import encode_basestring as quoted
except ImportError:
    from json.encoder import encode_basestring as quoted  # type: ignore[no-redef, unused-ignore]

try:  # hashlib loads OpenSSL, which costs a hook 3 ms
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, no-redef, unused-ignore]
    except ImportError:
        from hashlib import sha256  # type: ignore[no-redef, unused-ignore]

__all__ = ["canonical", "digest", "number", "quoted"]
SAFE = 2**53 - 1
"""Up to here every integer is a double (RFC 8785, 3.2.2.3)."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def canonical(value: Any) -> str:
    """Raises ``ValueError`` for what is no JSON: NaN, infinity, keys that are no text, other types."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value) if -SAFE <= value <= SAFE else _large(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key of an object is no text")
        keys = sorted(value) if all(key.isascii() for key in value) else sorted(value, key=_utf_16)
        return f"{{{','.join(f'{quoted(key)}:{canonical(value[key])}' for key in keys)}}}"
    raise ValueError(f"{type(value).__name__} is no JSON")


def _utf_16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _large(value: int) -> str:
    """An integer that may have no double of its own: in full where it has none, so that no two calls look alike."""
    try:
        double = float(value)
    except OverflowError:
        return str(value)
    return number(double) if int(double) == value else str(value)


def number(value: float) -> str:
    """A double as ECMAScript prints it (ECMA-262, Number::toString): 1 for 1.0, 1e-7. Raises ``ValueError``."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is no JSON number")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole == "0":
        point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return ("-" if value < 0 else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Digits with the decimal point after ``point`` of them."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def digest(session: str, approval: str, tool: str, server: str | None, arguments: Any) -> str:
    """SHA-256, in hex, of the call that a person was shown, or of the one that may be executed."""
    call = {"session": session, "approval": approval, "tool": tool, "server": server, "input": arguments}
    return str(sha256(canonical(call).encode()).hexdigest())
