"""Older files of the CLI: a document with a ``timeline`` (until about 0.0.340).

From documentation and other readers; the corpus has no file of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ...drafts import Draft, EventDraft, Finding, FormatError, ToolDraft
from ..common.calls import Call, id_of
from ..common.documents import read_whole
from ..common.head import Head
from ..common.jsonio import Unreadable, loads
from ..common.lines import Actor, Item, Line, fingerprint
from ..common.reading import FactsReading, unknown_type
from ..common.times import from_epoch, parse
from ..common.values import bounded, dict_of, list_of, text_of

LARGEST_DOCUMENT = 50 * 1000 * 1000
"""Bytes of a session in one document; it is held in memory, about six times as large."""
AGENT: Actor = ("agent", "Copilot")
STATUSES = {"success": "ok", "failure": "error", "error": "error", "rejected": "denied", "denied": "denied"}


def is_timeline(head: Head) -> bool:
    """A document with a ``timeline`` or, from the first versions, only the messages of the API."""
    shape = head.shape
    return isinstance(shape.get("sessionId"), str) and "[" in (shape.get("timeline"), shape.get("chatMessages"))


def parsed(arguments: Any) -> Any:
    """Arguments that are written as JSON in a string, as what they are."""
    if not isinstance(arguments, str) or not arguments.startswith(("{", "[")):
        return arguments
    try:
        return loads(arguments.encode(errors="replace"))[0]
    except Unreadable:
        return arguments


def document(source: BinaryIO) -> Iterator[Item]:
    """The one object of a file. Raises ``FormatError``."""
    data = read_whole(source, LARGEST_DOCUMENT, "Copilot")
    try:
        value, repairs = loads(data)
    except Unreadable as error:
        raise FormatError(f"it is a Copilot session that cannot be read: {error}") from None
    yield from (Finding("copilot-cli.repaired-document", "info", "", repair) for repair in repairs)
    if isinstance(value, dict):
        yield Line(value, "", data, None)


def text_of_entry(value: dict[str, Any]) -> str:
    """The text of an entry, wherever it stands."""
    names = ("text", "prompt", "content", "response", "message", "log")
    return next((found for name in names if (found := text_of(value.get(name)))), "")


class TimelineReading(FactsReading):
    """The state of one document while it is read; it is one line for ``Reading``."""

    name = "copilot-cli"
    title = "GitHub Copilot CLI"

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        self.facts.session = text_of(line.value.get("sessionId"))
        self.facts.at(parse(line.value.get("startTime"))[0])
        self.facts.model = text_of(line.value.get("selectedModel"))[:200] or None
        return True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        return ()

    def events(self, line: Line) -> Iterator[Draft]:
        """Events of the timeline (what was shown). The API's messages repeat it and stand in where it is missing."""
        timeline = list_of(line.value.get("timeline"))
        for index, value in enumerate(timeline):
            entry = dict_of(value)
            key = text_of(entry.get("id"))[:200] or f"t{index}"
            inner = replace(line, value=entry, key=f"{key}:{fingerprint(entry)}", at=_time(entry.get("timestamp")))
            self.facts.at(inner.at)
            yield from self._entry(inner, f"/timeline/{index}")
        for index, value in enumerate([] if timeline else list_of(line.value.get("chatMessages"))):
            message = dict_of(value)
            inner = replace(line, value=message, key=f"m{index}:{fingerprint(message)}", at=None)
            yield from self._message(inner, f"/chatMessages/{index}")

    def _entry(self, line: Line, path: str) -> Iterator[EventDraft]:
        value, kind = line.value, text_of(line.value.get("type"))
        if kind == "user":
            yield line.event("user_message", text_of_entry(value), at_path=path, actor=("person", ""))
        elif kind in ("copilot", "assistant"):
            yield line.event("agent_message", text_of_entry(value), at_path=path, actor=AGENT, model=self.facts.model)
        elif kind == "tool_call_requested":
            yield self._call(line, path, value.get("callId"), value.get("name"), value.get("arguments"))
        elif kind == "tool_call_completed":
            result = dict_of(value.get("result"))
            if text_of(value.get("name")) and self.calls.get(value.get("callId")) is None:
                asked = replace(line, key=f"{line.key}:call")  # the entry of the request was replaced by this one
                yield self._call(asked, path, value.get("callId"), value.get("name"), value.get("arguments"))
            yield self._result(
                line, path, value.get("callId"), text_of_entry(result), STATUSES.get(text_of(result.get("type")))
            )
        elif kind in ("info", "error", "warning"):
            yield line.event(
                "error" if kind == "error" else "system", text_of_entry(value), at_path=path, data={"type": kind}
            )
        else:
            yield self.unknown(line, unknown_type(value.get("type")).replace("line", "entry"), at_path=path)

    def _message(self, line: Line, path: str) -> Iterator[EventDraft]:
        value, role = line.value, line.value.get("role")
        if role == "user":
            yield line.event("user_message", text_of_entry(value), at_path=path, actor=("person", ""))
        elif role == "assistant":
            yield line.event("agent_message", text_of_entry(value), at_path=path, actor=AGENT, model=self.facts.model)
            for index, asked in enumerate(map(dict_of, list_of(value.get("tool_calls")))):
                function, inner = dict_of(asked.get("function")), replace(line, key=f"{line.key}:{index}")
                place = f"{path}/tool_calls/{index}"
                yield self._call(inner, place, asked.get("id"), function.get("name"), function.get("arguments"))
        elif role == "tool":
            yield self._result(line, path, value.get("tool_call_id"), text_of_entry(value), None)
        elif role == "system":
            yield line.event("injected_context", text_of_entry(value), at_path=path, data={"type": "system"})
        else:
            yield self.unknown(line, f"message of role {str(role)[:100]!r}", at_path=path)

    def _call(self, line: Line, path: str, call_id: Any, name: Any, arguments: Any) -> EventDraft:
        tool = ToolDraft(id_of(call_id), text_of(name)[:200] or None, None, bounded(parsed(arguments), len(line.raw)))
        self.calls.add(tool.call_id, Call(line.key, tool.name or ""))
        return line.event("tool_call", at_path=path, actor=AGENT, tool=tool, model=self.facts.model)

    def _result(self, line: Line, path: str, call_id: Any, text: str, status: str | None) -> EventDraft:
        call = self.calls.get(call_id)
        tool = ToolDraft(id_of(call_id), call.name if call else None, status=status)
        parent = call.key if call else None
        return line.event("tool_result", text, at_path=path, actor=("tool", tool.name or ""), parent=parent, tool=tool)


def _time(value: Any) -> Any:
    return parse(value)[0] if isinstance(value, str) else from_epoch(value, 1000)
