"""Agent transcripts: ``{role, message: {content: [text | thinking | tool_use | tool_result]}}``."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, Finding, ToolDraft
from ..common.calls import Call, id_of, server_of
from ..common.lines import Actor, Line
from ..common.reading import FactsReading, unknown_type
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of

AGENT: Actor = ("agent", "Cursor")
OPEN_CALLS = 1024
QUERY, QUERY_END = "<user_query>", "</user_query>"
INJECTED = re.compile(
    r"\s*<(user_info|git_status|rules|attached_files|additional_data|open_and_recently_viewed_files|agent_transcripts|"
    r"system_reminder|system-reminder|agent_skills|mcp_file_system|project_layout|timestamp|environment_details)\b"
)
"""How the texts begin that Cursor puts before a prompt."""


class TranscriptReading(FactsReading):
    """The state of one transcript while it is read."""

    name = "cursor"
    title = "Cursor"

    def __init__(self) -> None:
        super().__init__()
        self._open: deque[Call] = deque(maxlen=OPEN_CALLS)
        """Calls without an id that have no result yet: results come in the order of their calls."""

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        self.facts.model = text_of(line.value.get("model"))[:200] or self.facts.model
        return True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        line.key = self._keys.derived(text_of(line.value.get("role")) or "line", line)
        self.note_session(line)
        line.agent = AGENT
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        role, content = line.value.get("role"), dict_of(line.value.get("message")).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        if role not in ("user", "assistant"):
            yield self.unknown(line, unknown_type(role).replace("type", "role"))
        elif not blocks:
            yield self.unknown(line, f"{role} line without content")
        elif role == "user":
            yield from self._asked(line, blocks)
        else:
            yield from self._answered(line, blocks)

    def _asked(self, line: Line, blocks: list[Any]) -> Iterator[EventDraft]:
        """Results, what Cursor put in, then one prompt of all that was typed."""
        said: list[str] = []
        attachments: list[dict[str, Any]] = []
        for index, value in enumerate(blocks):
            block = dict_of(value)
            place: dict[str, Any] = {"part": f":{index}", "at_path": f"/message/content/{index}"}
            kind = block.get("type")
            if kind == "tool_result":
                yield self._result(line, block, place)
            elif kind == "text" and isinstance(block.get("text"), str):
                typed, around = split_prompt(block["text"])
                said += [typed] if typed else []
                for number, (tag, text) in enumerate(around):
                    more = {**place, "part": f":{index}c{number}"}
                    yield line.event("injected_context", text, data={"type": tag}, **more)
            elif kind in ("image", "file", "document"):
                attachments.append({"type": kind})
            else:
                yield self.unknown(line, f"block type {str(kind)[:100]!r} of a user line", block, **place)
        if said or attachments:
            data = {"attachments": attachments} if attachments else {}
            yield line.event(
                "user_message", "\n\n".join(said), at_path="/message/content", actor=("person", ""), data=data
            )

    def _answered(self, line: Line, blocks: list[Any]) -> Iterator[EventDraft]:
        model = text_of(line.value.get("model"))[:200] or None
        for index, value in enumerate(blocks):
            block = dict_of(value)
            kind, text = block.get("type"), block.get("text")
            place: dict[str, Any] = {"part": f":{index}" if index else "", "at_path": f"/message/content/{index}"}
            if kind == "text" and isinstance(text, str):
                yield line.event("agent_message", text, actor=AGENT, model=model, **place)
            elif kind == "thinking":
                yield line.event("reasoning", text_of(block.get("thinking") or text), actor=AGENT, model=model, **place)
            elif kind == "redacted_thinking":
                yield line.event("reasoning", actor=AGENT, model=model, data={"encrypted": True}, **place)
            elif kind == "tool_use":
                yield self._call(line, block, place, model)
            else:
                yield self.unknown(line, f"block type {str(kind)[:100]!r} of an assistant line", block, **place)

    def _call(self, line: Line, block: dict[str, Any], place: dict[str, Any], model: str | None) -> EventDraft:
        call_id, name = id_of(block.get("id")), text_of(block.get("name"))[:200]
        call = Call(line.key + place["part"], name, server_of(name))
        self.calls.add(call_id, call)
        if call_id is None:
            self._open.append(call)
        tool = ToolDraft(call_id, name or None, call.server, bounded(block.get("input"), len(line.raw)))
        return line.event("tool_call", actor=AGENT, model=model, tool=tool, **place)

    def _result(self, line: Line, block: dict[str, Any], place: dict[str, Any]) -> EventDraft:
        call_id, content = id_of(block.get("tool_use_id")), block.get("content")
        call = self.calls.get(call_id) or (self._open.popleft() if self._open else None)
        parts = [dict_of(part) for part in list_of(content)]
        text = text_of(content) or "\n".join(found for part in parts if (found := text_of(part.get("text"))))
        status = {True: "error", False: "ok"}.get(block["is_error"]) if type(block.get("is_error")) is bool else None
        tool = ToolDraft(call_id, call.name if call else None, call.server if call else None, status=status)
        others = [scalars_of({"type": part.get("type")}) for part in parts if not isinstance(part.get("text"), str)]
        return line.event(
            "tool_result", text, actor=("tool", tool.name or ""), parent=call.key if call else None, tool=tool,
            data={"attachments": others} if others else {}, **place,
        )  # fmt: skip


def split_prompt(text: str) -> tuple[str, list[tuple[str, str]]]:
    """What a person typed, and what Cursor put around it: ``(prompt, [(tag, text)])``."""
    start = text.find(QUERY)
    end = text.find(QUERY_END, start)
    if start < 0 or end < 0:
        found = INJECTED.match(text)
        return ("", [(found[1], text)]) if found else (text, [])
    around = [part.strip() for part in (text[:start], text[end + len(QUERY_END) :])]
    tags = [(found[1] if (found := INJECTED.match(part)) else "untagged", part) for part in around if part]
    return text[start + len(QUERY) : end].strip(), tags
