"""Cline, Roo Code and Kilo Code in VS Code: ``.../globalStorage/EXTENSION/tasks/TASK/ui_messages.json``, and the
messages that were sent beside it, ``api_conversation_history.json``.

Rows of what the person saw: ``say`` and ``ask``. A row is rewritten until its text is whole; ``partial`` ones are
half texts. The three write the same rows and name neither themselves nor the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ...drafts import Draft, Finding, ToolDraft, Usage
from ..common.agents.pieces import Piece, pieces_of, with_context
from ..common.agents.places import session_of
from ..common.agents.reading import AgentReading
from ..common.apis.openai import arguments_of
from ..common.documents import dollars
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.records import records
from ..common.values import count_of, dict_of, scalars_of, text_of
from ..contract import Spec

NAME = "cline-classic"
SPEC = Spec(name=NAME, title="Cline, Roo Code, Kilo Code (VS Code)")
PLACE = re.compile(r"tasks/([^/]+)/(?:ui_messages|(api)_conversation_history)\.json$")
PROMPTS = frozenset({"task", "user_feedback", "user_feedback_diff"})
ANSWERS = frozenset(
    {
        "text",
        "completion_result",
        "plan_completion_result",
        "plan_mode_respond",
        "act_mode_respond",
        "followup",
        "plan_mode_response",
        "subtask_result",
    }
)
CALLS = frozenset(
    {
        "tool",
        "command",
        "use_mcp_server",
        "browser_action",
        "browser_action_launch",
        "mcp_server_request_started",
        "use_subagents",
    }
)
RESULTS = frozenset({
    "command_output", "mcp_server_response", "browser_action_result", "codebase_search_result", "subagent",
})  # fmt: skip
SPENT = frozenset({"api_req_started", "api_req_finished", "deleted_api_reqs", "subagent_usage"})
"""Rows that state tokens; what sub-agents used stands in no other row."""
ERRORS = frozenset(
    {"error", "diff_error", "api_req_failed", "mistake_limit_reached", "clineignore_error", "rooignore_error"}
)
ADDED = ("<environment_details>", "[TASK RESUMPTION]", "# Reading ", "[ERROR] You did not use")
MARKS = (b"<environment_details>", b'"<task>', b'"<user_message>')
COUNTS = ("tokensIn", "cacheReads", "cacheWrites", "tokensOut")


def detect(head: Head) -> bool:
    """By the first row, or by the marks that the extensions put around a prompt in what they send."""
    shape = head.shape
    if shape.get("") != "[":
        return False
    if shape.get("item.type") in ("say", "ask") and ("item.say" in shape or "item.ask" in shape):
        return True
    sent = shape.get("item.role") in ("user", "assistant") and "item.content" in shape and "item.type" not in shape
    marked = any(mark in head.data[:65536] for mark in MARKS)
    # Chats of other programs have a time beside a message, too, but not blocks as Anthropic has them.
    timed = isinstance(shape.get("item.ts"), (int, float)) and shape.get("item.content") == "["
    return sent and (marked or timed)


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one task, a row in memory at a time. Raises ``FormatError``."""
    return TaskReading().run(_whole(records(source, NAME)))


def _whole(items: Iterable[Item]) -> Iterator[Item]:
    """Rows without those half texts that a later row repeats in whole."""
    held: Line | None = None
    for item in items:
        if isinstance(item, Finding):
            yield item
            continue
        if held and not (isinstance(item, Line) and _goes_on(held.value, item.value)):
            yield held
        held = item if isinstance(item, Line) and item.value.get("partial") is True else None
        if held is None:
            yield item
    if held:
        yield held


def _goes_on(half: dict[str, Any], row: dict[str, Any]) -> bool:
    kind = row.get("type")
    alike = half.get("type") == kind and isinstance(kind, str) and half.get(kind) == row.get(kind)
    said = text_of(half.get("text")).rstrip(".… ")
    return alike and (half.get("ts") == row.get("ts") or text_of(row.get("text")).startswith(said[:200]))


@dataclass(frozen=True, slots=True)
class Row:
    """A row as the readers below take it."""

    kind: str
    text: str
    told: dict[str, Any]
    """Its text where that is JSON, else empty."""
    data: dict[str, Any]


class TaskReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Cline, Roo Code, Kilo Code"
    stamps = ("ts",)
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self._prompted = False
        self._call: str | None = None
        self._calls = 0
        self._asked = ""
        self._request = ""

    def note(self, line: Line) -> None:
        model = dict_of(line.value.get("modelInfo"))
        self.facts.model = text_of(model.get("modelId"))[:ID_LIMIT] or self.facts.model

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "role" in value:
            yield from self._sent(line)
            return
        kind = text_of(value.get(text_of(value.get("type"))))
        text = text_of(value.get("text"))
        partial = {"partial": True} if value.get("partial") is True else {}
        told = arguments_of(text) if text.lstrip().startswith("{") else None
        yield from self._row(line, Row(kind, text, dict_of(told), partial))

    def _row(self, line: Line, row: Row) -> Iterator[Draft]:
        model = dict_of(line.value.get("modelInfo")).get("modelId") or self.facts.model
        images = [Piece("media", path="/images", data={"type": "image"}) for item in [line.value.get("images")] if item]
        text = [Piece("text", row.text, "/text")]
        if row.kind in PROMPTS or (row.kind == "text" and not self._prompted):
            self._prompted = True
            yield from self.message(line, "user", [*text, *images], data=row.data)
        elif row.kind in ANSWERS:
            said = next(filter(None, (text_of(row.told.get(key)) for key in ("question", "response"))), row.text)
            data = row.data | ({"type": row.kind} if row.kind != "text" else {})
            yield from self.message(line, "assistant", [Piece("text", said, "/text")], model=model, data=data)
        elif row.kind == "reasoning":
            yield from self.message(
                line, "assistant", [Piece("reasoning", row.text, "/text")], model=model, data=row.data
            )
        elif row.kind in SPENT:
            yield from self._requested(line, row)
        elif row.kind in CALLS:
            yield from self._called(line, row)
        elif "contextCondense" in line.value:
            yield self._condensed(line, dict_of(line.value["contextCondense"]))
        elif row.kind in RESULTS:
            piece = Piece("result", row.text, "/text", self._call, data=row.data)
            yield from self.message(line, "tool", [piece])
        elif row.kind == "command_permission_denied":
            call = self.calls.get(self._call)
            tool = ToolDraft(self._call, call.name if call else None, status="denied")
            data = {"type": row.kind, "decision": "denied", "by": "rule"}
            yield line.event("approval", row.text, at_path="/text", tool=tool, parent=self._parent(), data=data)
        elif row.kind == "condense" or (row.kind == "compaction" and row.told.get("status") == "completed"):
            said = "" if row.told else row.text
            yield line.event("compaction", said, at_path="/text", actor=line.agent, data=scalars_of(row.told))
        elif row.kind in ERRORS:
            yield line.event("error", row.text, at_path="/text", data={"type": row.kind})
        else:
            skip = frozenset({"text", "partial", "images"})
            yield line.event(
                "system", row.text, data={"type": row.kind[:100]} | scalars_of(line.value, skip) | row.data
            )

    def _requested(self, line: Line, row: Row) -> Iterator[Draft]:
        """A request; old versions say what it cost when it has ended, newer ones rewrite the row."""
        counts = [count_of(row.told.get(name)) for name in COUNTS]
        cost = dollars(row.told.get("cost"))
        usage = Usage(*counts) if any(count is not None for count in counts) else None
        if row.kind == "api_req_started" or not self._request:
            self._request = line.key
        request = line.key if row.kind == "subagent_usage" else self._request
        skip = frozenset({"request", "cost", *COUNTS})
        billing: dict[str, Any] = {"usage": usage, "cost": cost} if usage or cost else {}
        yield line.event(
            "model_request", actor=line.agent, model=self.facts.model, data=scalars_of(row.told, skip),
            request=request if billing else None, **billing,
        )  # fmt: skip
        if failed := text_of(row.told.get("streamingFailedMessage")):
            yield line.event("error", failed, part=":failed", at_path="/text", data={"type": row.kind})

    def _condensed(self, line: Line, told: dict[str, Any]) -> Draft:
        """The words that stand for what was said before, which cost a request of their own."""
        cost = dollars(told.get("cost"))
        return line.event(
            "compaction", text_of(told.get("summary")), actor=line.agent, at_path="/contextCondense/summary",
            model=self.facts.model, data=scalars_of(told, frozenset({"summary", "cost"})),
            cost=cost, request=line.key if cost else None,
        )  # fmt: skip

    def _called(self, line: Line, row: Row) -> Iterator[Draft]:
        """A call: it is asked about first where a person has to allow it, and said again when it runs."""
        again = line.value.get("type") == "say" and self._asked == row.kind + row.text
        self._asked = row.kind + row.text if line.value.get("type") == "ask" else ""
        if again:
            yield line.event("status", data={"type": "started", "call": row.kind}, parent=self._parent())
            return
        self._calls += 1
        self._call = f"call-{self._calls}"
        name, arguments = _call_of(row)
        piece = Piece("call", path="/text", call_id=self._call, name=name, value=arguments, data=row.data)
        yield from self.message(line, "assistant", [piece], model=self.facts.model)

    def _parent(self) -> str | None:
        call = self.calls.get(self._call)
        return call.key if call else None

    def _sent(self, line: Line) -> Iterator[Draft]:
        """A message as it was sent to the model."""
        pieces = pieces_of(line.value.get("content"))
        if line.value.get("role") == "user":
            yield from self.message(line, "user", with_context(pieces, ADDED))
        else:
            model = dict_of(line.value.get("modelInfo")).get("modelId")
            yield from self.message(line, "assistant", pieces, model=model)


def _call_of(row: Row) -> tuple[str, Any]:
    if row.kind == "tool" and row.told:
        return text_of(row.told.get("tool"))[:ID_LIMIT] or "tool", {k: v for k, v in row.told.items() if k != "tool"}
    if row.kind == "use_mcp_server" and row.told:
        server, tool = (text_of(row.told.get(key))[:80] for key in ("serverName", "toolName"))
        return f"mcp__{server}__{tool}" if server and tool else "use_mcp_server", arguments_of(
            row.told.get("arguments")
        )
    if row.kind == "command":
        return "execute_command", {"command": row.text}
    return row.kind, row.told or ({"text": row.text} if row.text else None)
