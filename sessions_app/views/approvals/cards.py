"""What the card of an approval shows of the question, beside others and on a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions_app.models import Approval
from sessions_app.rendering import marks, text, toolbody, toolline

LARGE = 8_000
"""Characters of arguments as JSON that every card carries whole. Larger ones stand whole on the card's own page."""
WHOLE = 256 * 1024
CONTEXT = 4_000
"""Characters of one value there, and of what the agent says on a card among others."""


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """A question as a card shows it. ``cut`` says that long values stand whole only on the card's own page."""

    line: toolline.ToolLine
    question: text.Clamped | None
    """What a person is to answer in words; None where the agent asks whether it may run something."""
    parts: list[toolbody.Part]
    """The arguments, without the question."""
    why: text.Clamped
    """What the agent says of why it asks, where that is not the question again."""
    cut: bool
    after: tuple[marks.Mark, marks.Mark]
    """What became of the decision: whether the agent was told, and whether the call was run."""


def card_of(approval: Approval, *, alone: bool) -> ApprovalCard:
    """The question, nothing of it cut without saying so."""
    cut = not alone and len(toolbody.as_json(approval.arguments)) > LARGE
    question = _question(approval)
    rest = {key: value for key, value in approval.arguments.items() if key != "question"} if question else None
    return ApprovalCard(
        line=line_of(approval),
        question=_clamped(question, alone) if question else None,
        parts=toolbody.parts_of_arguments(
            approval.tool_name, rest or (None if question else approval.arguments), most=300 if cut else WHOLE
        ),
        why=_clamped("" if approval.context == question else approval.context, alone),
        cut=cut,
        after=(_delivery(approval), marks.EXECUTIONS.get(approval.execution, marks.NOT_EXECUTED)),
    )


def _delivery(approval: Approval) -> marks.Mark:
    """A decision that was read from a file was never ours to deliver."""
    if approval.recorded:
        is_inferred = bool(approval.decision) and approval.decision.get("inferred")
        return marks.Mark("as the file tells it, inferred" if is_inferred else "as the file tells it")
    return marks.DELIVERIES.get(approval.delivery, marks.NOTHING_TO_DELIVER)


def line_of(approval: Approval) -> toolline.ToolLine:
    """The question on one line."""
    return toolline.describe_call(approval.tool_name, approval.arguments, approval.tool_server)


def _question(approval: Approval) -> str:
    """The words of a question to a person; empty for every other call."""
    asked: Any = approval.arguments.get("question") if isinstance(approval.arguments, dict) else None
    to_a_person = line_of(approval).verb == toolline.ASK and not approval.tool_server
    return asked if to_a_person and isinstance(asked, str) else ""


def _clamped(said: str, alone: bool) -> text.Clamped:
    return text.clamp(said, characters=WHOLE if alone else CONTEXT, lines=5_000 if alone else 80)


def weight(approval: Approval) -> int:
    """Bytes of HTML that a card among others takes: its arguments stand there twice, to read and to edit."""
    shown = toolbody.as_json(approval.arguments)
    said = len(text.escape(shown if len(shown) <= LARGE else "").encode())
    return (
        6_000 + 2 * said + len(text.escape(approval.context[:CONTEXT]).encode()) + (20_000 if len(shown) > LARGE else 0)
    )
