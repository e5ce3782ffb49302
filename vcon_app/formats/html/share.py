"""What stands at the top of a page that is shown by a link: who shows it, until when, what is left out, and what its
reader can check. It leads nowhere: neither into the desk nor to another session.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sessions_app.rendering import numbers
from sessions_app.rendering.text import escape, first_line

PARTS = {
    "event": ("whole event", "whole events"), "text": ("text", "texts"), "arguments": ("call’s arguments",) * 2,
    "result": ("result of a tool", "results of tools"), "reasoning": ("passage of reasoning",) * 2,
    "attachments": ("attachment", "attachments"), "analysis": ("analysis", "analyses"),
    "people": ("what identifies persons",) * 2, "title": ("the title",) * 2, "summary": ("the summary",) * 2,
    "environment": ("where it ran",) * 2, "metadata": ("what programs noted of the session",) * 2,
}  # fmt: skip
UNCOUNTED = frozenset({"people", "title", "summary", "environment", "metadata"})


def section(share: Mapping[str, Any]) -> str:
    """``share``: ``shared_by`` and ``workspace`` (names), ``as_of`` and ``expires_at`` (datetime), ``events`` (how many
    are shown), ``redaction`` (its kind, or empty), ``counts`` (part -> times), ``log_hash`` (hex, or empty),
    ``without_cost`` (true where the page is to name neither money nor tokens).
    """
    by, desk = (escape(first_line(str(share[name]), 120)) for name in ("shared_by", "workspace"))
    events = f"{numbers.exact(share['events'])} event{'' if share['events'] == 1 else 's'}"
    return (
        '<aside class="share" aria-label="About this page">\n'
        f"<p><b>{by}</b> shares this session from the Countersign desk <b>{desk}</b>, "
        f"until {_time(share['expires_at'])}. It is shown as of {_time(share['as_of'])}, {events}; "
        "what came later is not here.</p>\n"
        f"<p>{_left_out(share)}{_cost(share)}</p>\n"
        f"<details><summary>What you can check, and what not</summary>{_checks(share)}</details>\n"
        "</aside>\n"
    )


def _left_out(share: Mapping[str, Any]) -> str:
    if not share["redaction"]:
        return "Nothing of these events was left out by whoever shares them."
    parts = ", ".join(_part(part, times) for part, times in share["counts"].items())
    kind = escape(first_line(str(share["redaction"]), 200))
    return f"Left out (<b>{kind}</b>): {parts or 'nothing that is in these events'}. Each place is marked."


def _cost(share: Mapping[str, Any]) -> str:
    if not share.get("without_cost"):
        return ""
    return (
        " What it cost is not shown, neither in money nor in tokens; where a message, a call or the result of a tool "
        "says so, it stands."
    )


def _part(part: str, times: int) -> str:
    one, many = PARTS.get(part, (part, part))
    return one if part in UNCOUNTED else f"{numbers.exact(times)} {one if times == 1 else many}"


def _checks(share: Mapping[str, Any]) -> str:
    """What a copy without a signature proves: by itself nothing."""
    lines = [
        "This page is a copy for reading. It has no signature: that it says what the session says, you believe the "
        "desk that shows it and whoever sent you its address.",
        "The number before each event is its place in the desk’s log. A missing number is a result that stands with "
        "its call.",
    ]
    if share["log_hash"]:
        lines.append(
            f"The hash of the log up to the last event here is <code>{escape(share['log_hash'])}</code>. A signed "
            "bundle of this session, which whoever shares it can hand over, holds the same hash beside the whole log, "
            "and its signature can be verified without this desk."
        )
    else:
        lines.append(
            "Ask for a signed copy, redacted in the same way, if you have to prove what it says: its signature can be "
            "verified without this desk."
        )
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _time(at: datetime) -> str:
    full = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'<time datetime="{full}">{full[:10]} {full[11:16]} UTC</time>'
