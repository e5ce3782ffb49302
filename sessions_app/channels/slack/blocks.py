"""Blocks of messages, and names in them: https://docs.slack.dev/reference/block-kit/blocks.

What others wrote stands in sections. In a thread, where an agent speaks, the desk itself speaks in context blocks
(small and grey), which nothing that an agent writes becomes: so it can imitate none of the desk's words.
"""

from __future__ import annotations

from typing import Any

from sessions_app.rendering import mrkdwn
from sessions_app.rendering.text import first_line

MOST_SECTION = 3_000
"""Characters of a text in a block, entities counted."""
MOST_NAME = 200
_STAR = "\u2217"
"""Looks like an asterisk and ends no bold text."""


def text(written: str) -> dict[str, Any]:
    """Text of a block. ``verbatim``: without it Slack makes links and mentions of ``@here``, ``#general`` and
    addresses that stand in it as plain text, too.
    """
    return {"type": "mrkdwn", "text": written, "verbatim": True}


def section(written: str) -> dict[str, Any]:
    """A paragraph."""
    return {"type": "section", "text": text(written)}


def context(written: str) -> dict[str, Any]:
    """A small grey line."""
    return {"type": "context", "elements": [text(written)]}


def name(given: str, most: int = MOST_NAME) -> str:
    """The first line of a name, without what would end bold text or begin code: what follows it is the desk's."""
    return _line(given, most).replace("*", _STAR)


def bold(given: str, most: int = MOST_NAME) -> str:
    """A name in bold, all of it."""
    return f"*{name(given, most)}*"


def code(given: str, most: int = MOST_NAME) -> str:
    """A name in the form of code, all of it."""
    return f"`{_line(given, most)}`"


def _line(given: str, most: int) -> str:
    return mrkdwn.escape(first_line(given, most)).replace("`", "'")
