"""Windsurf (Cascade): ``~/.windsurf/transcripts/TRAJECTORY.jsonl``, which it writes for hooks.

A line is a step: a prompt, an answer, or a call together with its result. No ids, times, tokens or models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, ToolDraft
from ..common.agents.pieces import Piece, readable
from ..common.agents.places import session_of
from ..common.agents.reading import PERSON, AgentReading
from ..common.head import Head
from ..common.lines import Line
from ..common.records import lines_or_list
from ..common.values import dict_of, text_of
from ..contract import Spec

NAME = "windsurf"
SPEC = Spec(name=NAME, title="Windsurf", grows="lines")
PLACE = re.compile(r"transcripts/([^/]+)\.jsonl$")
STATUSES = {"done": "ok", "error": "error", "canceled": "cancelled", "cancelled": "cancelled"}
RESULTS = (
    "output",
    "content",
    "result",
    "exit_code",
    "total_results",
    "results",
    "user_rejected",
    "acknowledgement_type",
)
"""Members of a step that say what came of it; the others are what it was asked."""
STEPS = frozenset({"user_input", "planner_response", "view_file", "code_action", "run_command", "mcp_tool"})
ACKNOWLEDGED = {"ACKNOWLEDGEMENT_TYPE_ACCEPT": "approved", "ACKNOWLEDGEMENT_TYPE_REJECT": "denied"}


def detect(head: Head) -> bool:
    """By lines whose type is the name of what stands in them."""
    return any(_is_ours(line) for line in head.records[:10])


def _is_ours(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    named = isinstance(kind, str) and isinstance(line.get(kind), dict)
    return named and ("status" in line or kind in STEPS)


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one trajectory, a line in memory at a time. Raises ``FormatError``."""
    return WindsurfReading().run(lines_or_list(source, NAME))


class WindsurfReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Windsurf"
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def tells_apart(self, line: Line) -> bool:
        return line.value.get("type") not in ("user_input", "planner_response")

    def events(self, line: Line) -> Iterator[Draft]:
        kind = text_of(line.value.get("type"))
        step = dict_of(line.value.get(kind))
        if kind == "user_input":
            text = text_of(step.get("user_response"))
            yield from self.message(line, "user", [Piece("text", text, "/user_input/user_response")])
        elif kind == "planner_response":
            yield from self.message(
                line, "assistant", [Piece("text", text_of(step.get("response")), "/planner_response")]
            )
        elif kind and isinstance(line.value.get(kind), dict):
            yield from self._step(line, kind, step)
        else:
            yield self.unknown(line, f"line type {kind[:100]!r}")

    def _step(self, line: Line, kind: str, step: dict[str, Any]) -> Iterator[Draft]:
        self._count += 1
        call_id = f"step-{self._count}"
        arguments = {key: value for key, value in step.items() if key not in RESULTS}
        rejected = (
            step.get("user_rejected") is True or ACKNOWLEDGED.get(text_of(step.get("acknowledgement_type"))) == "denied"
        )
        yield from self.message(line, "assistant", [Piece("call", "", f"/{kind}", call_id, kind[:200], arguments)])
        decision = "denied" if rejected else ACKNOWLEDGED.get(text_of(step.get("acknowledgement_type")))
        if decision:
            yield line.event(
                "approval", part=":a", actor=PERSON, parent=line.key, at_path=f"/{kind}",
                tool=ToolDraft(call_id, kind[:200], status="denied" if rejected else None),
                data={"type": "acknowledged", "decision": decision, "by": "user"},
            )  # fmt: skip
        brought = {key: step[key] for key in RESULTS if key in step}
        text, _ = readable({key: value for key, value in brought.items() if key in ("output", "content")})
        value = {key: item for key, item in brought.items() if item != text}
        code = step.get("exit_code")
        status = "denied" if rejected else STATUSES.get(text_of(line.value.get("status")))
        status = "error" if status == "ok" and isinstance(code, int) and code else status
        piece = Piece("result", text, f"/{kind}", call_id, kind[:200], value or None, status)
        yield self.returned(line, piece, {}, {"part": ":r", "at_path": f"/{kind}"})
