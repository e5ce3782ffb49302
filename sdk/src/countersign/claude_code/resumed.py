"""A run that was put off (``defer``) and is resumed: whether a person wrote something else meanwhile.

Claude Code 2.1.330 makes the call that was put off before it hands a new prompt to the model: ``claude -p "Do not do
that" --resume ID`` would do it. The prompt is in the transcript by then, in the queue.
"""

from __future__ import annotations

from .. import plain_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUPERSEDED = "Not run: after this call was put off, a person wrote something else. Make it again if it is still wanted."
OF_THE_CLIENT = "Continue from where you left off."
"""What the client itself puts into the queue when it resumes."""


def is_superseded(event: dict[str, Any]) -> bool:
    """Whether words of a person stand behind the call in the transcript. Raises ``OSError`` where none can be read."""
    was_called = False
    with open(str(event.get("transcript_path")), "rb") as file:  # noqa: PTH123 - pathlib costs a call 5 ms
        for line in file:
            try:
                parsed = plain_json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(parsed, dict):
                continue
            if was_called and _is_of_a_person(parsed):
                return True
            was_called |= any(block.get("id") == event["tool_use_id"] for block in _blocks(parsed))
    return False


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
