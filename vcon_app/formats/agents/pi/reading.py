"""What the entries of a session mean, and the messages in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ....drafts import Draft, Finding, Kind, Usage
from ...common.agents.pieces import Piece, pieces_of, readable, shown
from ...common.agents.reading import PERSON, AgentReading
from ...common.documents import dollars
from ...common.facts import ID_LIMIT
from ...common.lines import Line
from ...common.reading import REMEMBERED, unknown_type
from ...common.times import moment_of
from ...common.usage import first_count
from ...common.values import count_of, dict_of, forget_oldest, list_of, scalars_of, text_of

NAME = "pi"
SENDER = re.compile(
    r"\s*(?:Sender|Conversation info) \(untrusted metadata\):\s*```json\n(.{0,8000}?)\n```\s*", re.DOTALL
)
STAMP = re.compile(r"\[([A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,20})\]\s*")
"""What OpenClaw's gateway puts before the words of a person: who sent them, and when."""
SETTINGS = frozenset({"title", "model_change", "thinking_level_change", "label", "session_info", "custom",
                      "compaction_start", "compaction_end", "session_compact", "compact", "auto_compaction_start",
                      "auto_compaction_end", "auto_retry_start", "auto_retry_end", "leaf", "active_tools_change",
                      "title_change", "mode_change", "ttsr_injection", "mcp_tool_selection", "service_tier_change",
                      "reset", "reset_boundary", "credential_pin"})  # fmt: skip
SUMMED = frozenset({"role", "summary", "timestamp"})
GATEWAY = "openclaw"
"""Provider of what OpenClaw's gateway wrote itself: no model said it."""
SUMMARIES = frozenset({"compaction", "compactionSummary"})
COMPACTED = frozenset({"compaction_end", "auto_compaction_end"})
"""What a stream says of a compaction that an entry of a session says later."""
BRANCHES = frozenset({"branch_summary", "branchSummary"})


def usage_of(stated: dict[str, Any], *, ended: bool = True) -> Usage | None:
    """Tokens of a response; the cache is counted apart. All zero is what is written where nothing is known."""
    cache = {
        "cacheRead": dict_of(stated.get("cache")).get("read"),
        "cacheWrite": dict_of(stated.get("cache")).get("write"),
    }
    names = (("input",), ("cacheRead",), ("cacheWrite", "cacheCreation"), ("output",))
    counts = [first_count(cache | stated, *alike) for alike in names]
    if not any(counts):
        return None
    reasoning = first_count(stated, "reasoningTokens", "reasoning")
    return Usage(*counts, reasoning_tokens=reasoning, quality="final" if ended else "interrupted")


class PiReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "pi"

    def __init__(self) -> None:
        super().__init__()
        self._tips: dict[str, str] = {}
        """Entry -> the last message on the way to it."""
        self._tip = ""

    def note(self, line: Line) -> None:
        value = line.value
        kind, payload = value.get("type"), dict_of(value.get("payload"))
        if kind in ("title", "title_change"):
            self.facts.title = text_of(value.get("title")) or self.facts.title
        elif kind in ("session", "header"):
            self.facts.title = self.facts.title or text_of(value.get("title"))
            self.claim(value.get("id") if kind == "session" else payload.get("sessionId"))
            self.facts.set_environment(cwd=value.get("cwd") or payload.get("cwd"))
            self.facts.version = str(value.get("version") or 1)[:20]
            self.facts.model = text_of(value.get("modelId"))[:ID_LIMIT] or self.facts.model
            if origin := text_of(value.get("parentSession")) or text_of(value.get("branchedFrom")):
                self.facts.more["forked_from"] = origin[-ID_LIMIT:]
        elif kind == "session_info":
            self.facts.title = text_of(value.get("name")) or text_of(payload.get("name")) or self.facts.title
        elif kind == "model_change":
            self.facts.model = _model(value) or self.facts.model
        if kind in ("custom", "custom_message") and text_of(value.get("customType")).startswith(
            ("openclaw", "model-snap")
        ):
            self.facts.agent = "OpenClaw"

    def moment(self, value: dict[str, Any]) -> datetime | None:
        """A message has a time of its own, which stands alone in some files."""
        return super().moment(value) or moment_of(dict_of(value.get("message")).get("timestamp")).at

    def timed(self, line: Line) -> Iterator[Finding]:
        yield from super().timed(line)
        line.at = line.at or self.moment(line.value)

    def events(self, line: Line) -> Iterator[Draft]:
        value, kind = line.value, text_of(line.value.get("type"))
        if kind in ("session", "header"):
            yield line.event("system", data={"type": "session"} | scalars_of(value, frozenset({"type"})))
            return
        if kind == "message":
            yield from self._went_back(line)
            yield from self._message(line)
        elif kind in COMPACTED and (text := text_of(dict_of(value.get("result")).get("summary"))):
            yield line.event("compaction", text, at_path="/result/summary", data=_setting(value, kind))
        elif kind in SUMMARIES:
            data = scalars_of(value, frozenset({"type", "summary", "id", "parentId", "timestamp"}))
            yield line.event("compaction", text_of(value.get("summary")), data=data)
            yield from self.spent(line, dict_of(value.get("usage")), "compaction_request")
        elif kind in BRANCHES:
            text = text_of(value.get("summary")) or text_of(dict_of(value.get("payload")).get("summary"))
            yield line.event("injected_context", text, data={"type": kind})
            yield from self.spent(line, dict_of(value.get("usage")), "summary_request")
        elif kind == "session_init":
            prompt, task = text_of(value.get("systemPrompt")), text_of(value.get("task"))
            data = _setting(value, kind) | {"tools": len(list_of(value.get("tools")))}
            yield line.event("system", prompt, at_path="/systemPrompt", data=data)
            yield line.event("injected_context", task, part=":task", at_path="/task", data={"type": "task"})
        elif kind == "custom_message":
            text, rest = readable(value.get("content"))
            data = {"type": text_of(value.get("customType"))[:100] or kind} | ({"content": rest} if rest else {})
            yield line.event("injected_context", text, data=data)
        elif value.get("customType") == "openclaw:prompt-error":
            yield line.event("error", text_of(dict_of(value.get("data")).get("error")), data=_setting(value, kind))
        elif kind in SETTINGS:
            yield line.event("system", data=_setting(value, kind))
        else:
            yield self.unknown(line, unknown_type(value.get("type")))
        self._remember(value)

    def spent(self, line: Line, stated: dict[str, Any], kind: str) -> Iterator[Draft]:
        """What a summary, or the work of a tool, took: it is no answer, and counts in the totals of the program."""
        if usage := usage_of(stated):
            cost = dollars(dict_of(stated.get("cost")).get("total")) or None
            yield line.event(
                "model_request", part=":usage", at_path="/usage", actor=line.agent, model=self.facts.model, usage=usage,
                cost=cost, request=f"{line.key}:usage", data={"type": kind},
            )  # fmt: skip

    def _went_back(self, line: Line) -> Iterator[Draft]:
        """A message that does not follow the last one begins another branch."""
        parent = line.value.get("parentId")
        if isinstance(parent, str) and self._tips.get(parent, self._tip) != self._tip:
            data = {"type": "rewind", "to": parent[:ID_LIMIT]}
            yield line.event("status", part=":back", actor=PERSON, data=data)

    def _remember(self, value: dict[str, Any]) -> None:
        own, parent = text_of(value.get("id")), value.get("parentId")
        tip = self._tips.get(parent, self._tip) if isinstance(parent, str) else self._tip
        if value.get("type") == "message":
            tip = self._tip = own
        if own:
            self._tips[own] = tip
            forget_oldest(self._tips, REMEMBERED)

    def _message(self, line: Line) -> Iterable[Draft]:
        message = dict_of(line.value.get("message")) or dict_of(line.value.get("payload"))
        role = message.get("role")
        teller = ROLES.get(role) if isinstance(role, str) else None
        return teller(self, line, message) if teller else [self.unknown(line, f"role {str(role)[:100]!r}")]


def user(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    pieces: list[Piece] = []
    for piece in pieces_of(message.get("content"), "/message/content"):
        pieces += _without_metadata(piece) if piece.kind == "text" else [piece]
    yield from reading.message(line, "user", pieces)


def _without_metadata(piece: Piece) -> Iterator[Piece]:
    text = piece.text
    while found := SENDER.match(text):
        yield Piece("context", found[0].strip(), piece.path, data={"type": "sender_metadata"})
        text = text[found.end() :]
    stamp = STAMP.match(text)
    data = {"stamp": stamp[1]} if stamp else {}
    yield replace(piece, text=text[stamp.end() :] if stamp else text, data=data)


def assistant(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    stated, stop = dict_of(message.get("usage")), text_of(message.get("stopReason"))
    usage = usage_of(stated, ended=stop != "aborted")
    cost = dollars(dict_of(stated.get("cost")).get("total")) or None  # 0 is written where no price is known
    own = text_of(line.value.get("id"))[:ID_LIMIT]  # not responseId: some servers give one id to every response
    data = scalars_of({key: message.get(key) for key in ("provider", "api", "stopReason", "duration", "ttft")})
    model = message.get("model") if message.get("provider") != GATEWAY else None
    yield from reading.message(
        line, "assistant", pieces_of(message.get("content"), "/message/content"), model=model,
        usage=usage, cost=cost if usage else None, request=own or None, data=data,
    )  # fmt: skip
    if error := text_of(message.get("errorMessage")):
        yield line.event("error", error, part=":error", actor=line.agent, data=scalars_of({"type": stop}))


def tool_result(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    text, rest = readable(message.get("content"))
    failed = message.get("isError")
    status = ("error" if failed else "ok") if isinstance(failed, bool) else None
    call_id, name = text_of(message.get("toolCallId"))[:ID_LIMIT], text_of(message.get("toolName"))[:ID_LIMIT]
    value = message.get("details") or rest
    yield from reading.message(
        line, "tool", [Piece("result", text, "/message/content", call_id or None, name or None, value, status)]
    )
    yield from reading.spent(line, dict_of(message.get("usage")), "tool_request")


def bash(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    """A command, or code of Python, that the person ran themselves."""
    call_id = f"bash:{text_of(line.value.get('id'))[:ID_LIMIT]}"
    name, given = ("python", "code") if message.get("role") == "pythonExecution" else ("bash", "command")
    call = Piece("call", path=f"/message/{given}", call_id=call_id, name=name, value={given: message.get(given)})
    yield from reading.message(line, "user", [call], actor=PERSON)
    code = count_of(message.get("exitCode"))
    status = "cancelled" if message.get("cancelled") is True else None if code is None else "error" if code else "ok"
    value = scalars_of({"exit_code": code})
    result = Piece("result", shown(message.get("output")), "/message/output", call_id, name, value or None, status)
    yield reading.returned(line, result, {}, {"part": ":out", "at_path": "/message/output"})


def mentioned(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    """Files that a prompt names, with what is in them."""
    for index, file in enumerate(map(dict_of, list_of(message.get("files"))[:200])):
        data = {"type": "file"} | scalars_of(file, frozenset({"content"}))
        place = f"/message/files/{index}/content"
        yield line.event("injected_context", text_of(file.get("content")), part=f":f{index}", at_path=place, data=data)


def system(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    yield from reading.message(line, "system", pieces_of(message.get("content"), "/message/content"))


def _model(value: dict[str, Any]) -> str | None:
    return text_of(value.get("modelId"))[:ID_LIMIT] or text_of(value.get("model"))[:ID_LIMIT] or None


def _setting(value: dict[str, Any], kind: str) -> dict[str, Any]:
    skip = frozenset({"type", "id", "parentId", "timestamp"})
    return {"type": text_of(value.get("customType"))[:100] or kind} | scalars_of(value, skip) | (
        {"data": inner} if (inner := scalars_of(dict_of(value.get("data")))) else {}
    )  # fmt: skip


def summary(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    """What stands in the context in place of what was said before, or on a branch that was left."""
    kind: Kind = "compaction" if message.get("role") in SUMMARIES else "injected_context"
    yield line.event(
        kind, text_of(message.get("summary")), at_path="/message/summary", data=scalars_of(message, SUMMED)
    )


def custom(reading: PiReading, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
    yield from reading.message(line, "context", pieces_of(message.get("content"), "/message/content"))


ROLES: dict[str, Callable[[PiReading, Line, dict[str, Any]], Iterable[Draft]]] = {
    "user": user, "assistant": assistant, "toolResult": tool_result, "bashExecution": bash, "system": system,
    "pythonExecution": bash, "developer": system, "fileMention": mentioned,
    "branchSummary": summary, "compactionSummary": summary, "custom": custom, "hookMessage": custom,
}  # fmt: skip
