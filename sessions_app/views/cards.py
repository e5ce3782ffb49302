"""What the card of an approval shows of the question, beside others and on a page of its own."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import Approval
from sessions_app.rendering import text, toolbody, toolline

LARGE = 8_000
"""Characters of arguments as JSON that every card carries whole. Larger ones stand whole on the card's own page."""
WHOLE = 256 * 1024
CONTEXT = 4_000
"""Characters of one value there, and of what the agent says on a card among others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a card shows it. ``cut`` says that long values stand whole only on the card's own page."""

    line: toolline.ToolLine
    parts: list[toolbody.Part]
    why: text.Clamped
    """What the agent says of why it asks."""
    cut: bool


def asked(approval: Approval, *, alone: bool) -> Asked:
    """The question, nothing of it cut without saying so."""
    cut = not alone and len(toolbody.as_json(approval.arguments)) > LARGE
    return Asked(
        line=toolline.of_call(approval.tool_name, approval.arguments, approval.tool_server),
        parts=toolbody.of_arguments(approval.tool_name, approval.arguments, most=300 if cut else WHOLE),
        why=text.clamp(approval.context, characters=WHOLE if alone else CONTEXT, lines=5_000 if alone else 80),
        cut=cut,
    )


def weight(approval: Approval) -> int:
    """Bytes of HTML that a card among others takes: its arguments stand there twice, to read and to edit."""
    shown = toolbody.as_json(approval.arguments)
    said = len(text.escape(shown if len(shown) <= LARGE else "").encode())
    return (
        6_000 + 2 * said + len(text.escape(approval.context[:CONTEXT]).encode()) + (20_000 if len(shown) > LARGE else 0)
    )
