"""Outputs of tools: versions of Codex wrote them as text, as JSON in a text, as an object, and as blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..common.jsonio import Unreadable, loads
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .texts import attachment, block_text, blocks_of

HEAD = 400
"""Characters at the start of an output where Codex says how it went."""
EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,6})\b", re.MULTILINE)
REJECTED = re.compile(r"\b(?:[Rr]ejected(?:\(\\?\"| by user)|This action was rejected due to unacceptable risk)")
"""How Codex words a refusal: by a person, or by the model that reviews in a person's place. It stands where
nothing ran, so only in a short output without an exit code.
"""
CANCELLED = re.compile(r"\s*(?:aborted by user|tool call (?:was )?(?:aborted|cancelled|interrupted))\b")
FAILED = (
    "apply_patch verification failed", "failed to parse function arguments", "unsupported call:", "execution error:",
    "err: ", "tool call error:",
)  # fmt: skip
SMALL = 64 * 1024
"""Characters of a text that is looked into for an object."""


@dataclass(slots=True)
class Output:
    """What came back of a call."""

    text: str
    status: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    parsed: Any = None
    """The object that the text holds, when it is one."""
    by: str = "user"
    """Who refused."""


def output_of(payload: dict[str, Any], outcome: dict[str, Any]) -> Output:
    """The output of an item; ``outcome`` is what an event told of the same call."""
    given = payload.get("output")
    if payload["type"] == "tool_search_output":
        found = [text_of(dict_of(tool).get("name"))[:200] for tool in list_of(payload.get("tools"))[:200]]
        return Output("", "ok" if payload.get("status") == "completed" else None, {"tools": found})
    success = dict_of(given).get("success")
    if isinstance(given, dict) and "content" in given:
        given = given["content"]
    output = Output(given) if isinstance(given, str) else _of_blocks(given)
    _read_json_output(output)
    output.facts |= outcome
    output.status = _status(output, success)
    if output.status == "denied" and "unacceptable risk" in output.text[:HEAD]:
        output.by = "guardian"
    return output


def _of_blocks(given: Any) -> Output:
    blocks = blocks_of(given)
    texts = [text for block in blocks if (text := block_text(block)) is not None]
    others = [attachment(block) for block in blocks if block_text(block) is None]
    if blocks and not texts and all("type" not in block for block in blocks):  # an object of the tool's own
        return Output("", facts={"output": bounded(given, SMALL)})
    return Output("\n".join(texts), attachments=others)


def _read_json_output(output: Output) -> None:
    """``{"output": ..., "metadata": {...}}`` of shells until about 0.60, and the exit code that newer ones write."""
    if output.text.startswith("{") and len(output.text) < SMALL:
        try:
            output.parsed, _ = loads(output.text.encode(errors="replace"))
        except Unreadable:
            return
        if isinstance(text := dict_of(output.parsed).get("output"), str) and "metadata" in output.parsed:
            output.text = text
            output.facts = scalars_of(dict_of(output.parsed["metadata"]))
    if found := EXIT.search(output.text[:HEAD]):
        output.facts.setdefault("exit_code", int(found[1]))


def _status(output: Output, success: Any) -> str | None:
    """ok, error, denied or cancelled; ``None`` when nothing tells. A refusal is known by its text alone."""
    stated, code, head = output.facts.get("status"), output.facts.get("exit_code"), output.text[:HEAD]
    if stated == "declined":
        return "denied"
    if isinstance(code, int) and not isinstance(code, bool):
        return "ok" if code == 0 else "error"
    if len(output.text) < HEAD and REJECTED.search(head):
        return "denied"
    if CANCELLED.match(head):
        return "cancelled"
    well = output.facts.get("success", success)
    if stated == "failed" or well is False or head.startswith(FAILED):
        return "error"
    return "ok" if stated == "completed" or well is True else None
