"""Cells of CSV files that people open in a spreadsheet. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet runs a text that begins with one of these, wide ones in some languages (OWASP, CSV injection)."""


def cell(value: Any) -> Any:
    """None is an empty cell, a number itself, a moment RFC 3339; text that would be a formula gets ``'`` in front."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        value = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return f"'{value}" if value.lstrip(" ").startswith(FORMULA) else value
    return value if value is None or isinstance(value, int) else f"{value:f}"
