"""A run that was put off (``defer``) and is resumed: whether a person wrote something else meanwhile.

Claude Code 2.1.330 makes the call that was put off before it hands a new prompt to the model: ``claude -p "Do not do
that" --resume ID`` would do it. The prompt is in the transcript by then, in the queue, or some tenths of a second
later.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from .. import plain_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUPERSEDED = "Not run: after this call was put off, a person wrote something else. Make it again if it is still wanted."
OF_THE_CLIENT = "Continue from where you left off."
"""What the client itself puts into the queue when it resumes."""


GRACE = 3.0
"""Seconds in which a resumed client has written what it was given; nobody waits for a call that was put off."""


def is_superseded(event: dict[str, Any], hold: float) -> bool:
    """Whether words of a person stand behind the call in the transcript, or come there while a resumed client writes.

    A call is put off after ``hold`` seconds, so one that is older is made by a client that was resumed. Raises
    ``OSError`` where there is no transcript.
    """
    until = time.monotonic() + GRACE
    while True:
        has_words, made_at = _read(event)
        is_new = made_at is not None and (datetime.now(UTC) - made_at).total_seconds() < hold
        if has_words or is_new or time.monotonic() > until:
            return has_words
        time.sleep(0.1)


def _read(event: dict[str, Any]) -> tuple[bool, datetime | None]:
    """Whether words stand behind the call, and when the model made it, where the transcript says so."""
    was_called, made_at = False, None
    with open(str(event.get("transcript_path")), "rb") as file:  # noqa: PTH123 - pathlib costs a call 5 ms
        for line in file:
            try:
                parsed = plain_json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(parsed, dict):
                continue
            if was_called and _is_of_a_person(parsed):
                return True, made_at
            if any(block.get("id") == event["tool_use_id"] for block in _blocks(parsed)):
                was_called, made_at = True, _time_of(parsed)
    return False, made_at


def _time_of(line: dict[str, Any]) -> datetime | None:
    try:
        said = datetime.fromisoformat(str(line.get("timestamp")))
    except ValueError:
        return None
    return said if said.tzinfo else None


def _is_of_a_person(line: dict[str, Any]) -> bool:
    if line.get("type") == "queue-operation":
        return line.get("operation") == "enqueue" and line.get("content") != OF_THE_CLIENT
    if line.get("type") != "user" or line.get("isMeta"):
        return False
    return any(block.get("type") == "text" and block.get("text") != OF_THE_CLIENT for block in _blocks(line))


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
