"""Results of tools as text for the model and the log: bounded, with a note where something is left out."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from sessions_app.runtimes.calls import Result
from sessions_app.services.log.sanitise import text

MAX_TEXT = 100_000
"""Characters of a result: about 25,000 tokens, which every later request of the session pays for again."""


def limited(said: str) -> str:
    """The text, or its beginning and a note of how much is left out."""
    if len(said) <= MAX_TEXT:
        return said
    return f"{said[: MAX_TEXT - 200]}\n[cut here: the result has {len(said):,} characters; ask for less at once]"


def of_text(said: str, status: str = "ok", **data: Any) -> Result:
    """A result that is text, whatever characters it holds."""
    whole = text(limited(said)) or ""
    cut = {"characters": len(said)} if len(said) > MAX_TEXT else {}
    return Result(whole, status, data=cut | data)


def of_value(value: Any) -> Result:
    """Result that a Python function returned: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return of_text(value)
    try:
        return of_text(to_json(value, fallback=str).decode())
    except PydanticSerializationError:  # lone surrogates, cycles
        return of_text(str(value))
