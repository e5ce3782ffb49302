"""What ``gemini -p … --output-format stream-json`` prints: events on lines, from ``packages/core/src/output/types.ts``.

Answers come in pieces (``delta``), which are joined; the last line states the tokens of the whole run. With
``--output-format json`` one object says what was answered and what each model took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ..drafts import Draft, Finding, Usage
from .common.agents.pieces import Piece
from .common.agents.reading import AgentReading
from .common.calls import id_of
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Item, Line
from .common.reading import unknown_type
from .common.records import lines_or_list
from .common.usage import uncached
from .common.values import count_of, dict_of, scalars_of, text_of
from .contract import Spec

NAME = "gemini-stream"
SPEC = Spec(name=NAME, title="Gemini CLI (stream-json)")
STATUSES = {"success": "ok", "error": "error"}
MOST = 8 * 1024 * 1024
"""Characters of one joined answer."""


def detect(head: Head) -> bool:
    """By the line that begins a run, or by a call under the names that only this stream has."""
    first: dict[str, Any] = next(iter(head.records), {})
    if head.shape.get("stats.models") == "{" and {"response", "error"} & head.keys:
        return True
    begins = first.get("type") == "init" and isinstance(first.get("session_id"), str) and "model" in first
    return begins or any(
        line.get("type") == "tool_use" and "tool_name" in line and "tool_id" in line for line in head.records
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one run, a line in memory at a time. Raises ``FormatError``."""
    return StreamReading().run(_joined(lines_or_list(source, NAME)))


def _joined(items: Iterable[Item]) -> Iterator[Item]:
    """Lines with the pieces of one answer as one: the first, with the text of those that follow it at once."""
    held: Line | None = None
    said: list[str] = []
    size = 0
    for item in items:
        if isinstance(item, Finding):
            yield item
            continue
        is_piece = isinstance(item, Line) and item.value.get("delta") is True and item.value.get("type") == "message"
        if held is not None and isinstance(item, Line) and is_piece and size < MOST and _same(held, item):
            said.append(text_of(item.value.get("content")))
            size += len(said[-1])
            continue
        if held is not None:
            yield _whole(held, said)
        held = item if isinstance(item, Line) and is_piece else None
        if held is None:
            yield item
        else:
            said = [text_of(held.value.get("content"))]
            size = len(said[0])
    if held is not None:
        yield _whole(held, said)


def _same(one: Line, other: Line) -> bool:
    return bool(one.value.get("role") == other.value.get("role"))


def _whole(line: Line, said: list[str]) -> Line:
    if len(said) == 1:
        return line
    value = {**line.value, "content": "".join(said)}
    return Line(value, line.pointer, dumps(value), None)


class StreamReading(AgentReading):
    """The state of one run while it is read."""

    name = NAME
    title = "Gemini CLI"
    ids = ()

    def note(self, line: Line) -> None:
        if line.value.get("type") == "init" or "stats" in line.value:
            self.claim(line.value.get("session_id"))
            used = next(iter(dict_of(dict_of(line.value.get("stats")).get("models"))), "")
            self.facts.model = text_of(line.value.get("model"))[:200] or used[:200] or self.facts.model

    def events(self, line: Line) -> Iterator[Draft]:
        value, kind = line.value, line.value.get("type")
        model = self.facts.model
        if kind == "init":
            yield line.event("system", data=scalars_of(value, frozenset({"timestamp"})))
        elif kind == "message" and value.get("role") in ("user", "assistant"):
            pieces = [Piece("text", text_of(value.get("content")), "/content")]
            yield from self.message(line, value["role"], pieces, model=model if value["role"] == "assistant" else None)
        elif kind == "tool_use":
            call_id, name = id_of(value.get("tool_id")), id_of(value.get("tool_name"))
            piece = Piece("call", "", "/parameters", call_id, name, value.get("parameters"))
            yield from self.message(line, "assistant", [piece], model=model)
        elif kind == "tool_result":
            yield from self.message(line, "tool", [_result(value)])
        elif kind == "error":
            data = scalars_of({"severity": value.get("severity")})
            event: Any = "error" if value.get("severity") != "warning" else "status"
            yield line.event(event, text_of(value.get("message")), at_path="/message", data=data)
        elif kind == "result":
            yield from self._ended(line, value)
        elif kind is None and isinstance(value.get("stats"), dict):
            yield from self._whole_run(line, value)
        else:
            yield self.unknown(line, unknown_type(kind) if kind != "message" else "message of an unknown role")

    def _whole_run(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        """All that is printed of a run without its events."""
        if text := text_of(value.get("response")):
            piece = Piece("text", text, "/response")
            yield from self.message(line, "assistant", [piece], model=self.facts.model, part=":said")
        for name, told in dict_of(value["stats"].get("models")).items():
            usage = model_usage_of(dict_of(dict_of(told).get("tokens")))
            if usage:
                yield line.event(
                    "model_request", part=f":{name[:100]}", actor=line.agent, model=name[:200], usage=usage,
                    request=f"run:{name[:100]}", data=scalars_of(dict_of(dict_of(told).get("api"))),
                )  # fmt: skip
        error = dict_of(value.get("error"))
        self.facts.phase = "crashed" if error else "completed"
        if error:
            yield line.event("error", text_of(error.get("message")), part=":error", data=scalars_of(error))

    def _ended(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        """The end of the run: whether it went well, and what it took."""
        status, error = value.get("status"), dict_of(value.get("error"))
        self.facts.phase = "crashed" if status == "error" else "completed" if status == "success" else None
        if error:
            yield line.event("error", text_of(error.get("message")), part=":error", data=scalars_of(error))
        stats = dict_of(value.get("stats"))
        usage = usage_of(stats)
        data = {"type": "result"} | scalars_of({"status": status}) | scalars_of(stats)
        billing: dict[str, Any] = {"usage": usage, "request": "run", "model": self.facts.model} if usage else {}
        yield line.event("model_request" if usage else "status", actor=line.agent, data=data, **billing)


def usage_of(stats: dict[str, Any]) -> Usage | None:
    """Tokens of a whole run; ``input_tokens`` has what came out of the cache in it."""
    given, output = count_of(stats.get("input_tokens")), count_of(stats.get("output_tokens"))
    cached, fresh = count_of(stats.get("cached")), count_of(stats.get("input"))
    if given is None and output is None:
        return None
    return Usage(uncached(given, cached) if fresh is None else fresh, cached, None, output, quality="aggregate")


def model_usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a model in a whole run; the prompt has what came out of the cache in it, the candidates no thoughts."""
    prompt, cached, tool = (count_of(stated.get(name)) for name in ("prompt", "cached", "tool"))
    output, thoughts = count_of(stated.get("candidates")), count_of(stated.get("thoughts"))
    if prompt is None and output is None:
        return None
    fresh = uncached(prompt, cached)
    given = None if fresh is None else fresh + (tool or 0)
    return Usage(given, cached, None, (output or 0) + (thoughts or 0), thoughts, quality="aggregate")


def _result(value: dict[str, Any]) -> Piece:
    error = dict_of(value.get("error"))
    text = text_of(value.get("output")) or text_of(error.get("message"))
    facts = scalars_of({"error_type": error.get("type")})
    status = STATUSES.get(text_of(value.get("status")))
    return Piece("result", text, "/output", id_of(value.get("tool_id")), None, facts or None, status)
