"""Agent Client Protocol: what a client logged of JSON-RPC messages (``session/update`` and others), as Grok's
``updates.jsonl`` does. One message alone is no session.

Chunks of one message follow one another and are joined; an update of a tool call has the id of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO

from ..drafts import Draft, EventDraft, Finding, FormatError, ToolDraft, Usage
from .common.agents.pieces import MEDIA, Piece, piece_of, pieces_of
from .common.agents.reading import PERSON, AgentReading
from .common.apis.openai import usage_of
from .common.calls import id_of
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Item, Line
from .common.reading import REMEMBERED
from .common.records import records
from .common.usage import first_count, uncached
from .common.values import count_of, dict_of, forget_oldest, list_of, money_of, scalars_of, text_of
from .contract import Spec

NAME = "acp"
SPEC = Spec(name=NAME, title="Agent Client Protocol")
METHODS = ("session/", "fs/", "terminal/", "authenticate", "_x.ai/", "$/cancel")
CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
STATUSES = {"completed": "ok", "failed": "error", "cancelled": "cancelled"}
MOST = 8 * 1024 * 1024
"""Characters of one joined message."""


def detect(head: Head) -> bool:
    """By methods of the protocol, or by updates without their envelope."""
    shape = head.shape
    if any(_is_ours(line) for line in head.lines[:10]):
        return True
    alone = isinstance(shape.get("sessionId"), str) and (
        shape.get("prompt") == "[" or ("toolCall.toolCallId" in shape and shape.get("options") == "[")
    )
    at = next((at for at in ("", "item.") if f"{at}sessionUpdate" in shape or f"{at}method" in shape), "")
    method = shape.get(f"{at}method")
    begins = method == "initialize" and isinstance(shape.get(f"{at}params.protocolVersion"), int)
    spoken = begins or (isinstance(method, str) and method.startswith(METHODS) and f"{at}params" in shape)
    return alone or isinstance(shape.get(f"{at}sessionUpdate"), str) or spoken


def _is_ours(line: dict[str, Any]) -> bool:
    method = text_of(line.get("method"))
    spoken = (method.startswith(METHODS) and "params" in line) or (method == "initialize" and _counts_versions(line))
    return spoken or "sessionUpdate" in line or "sessionUpdate" in dict_of(line.get("update"))


def _counts_versions(line: dict[str, Any]) -> bool:
    """MCP names its versions by dates, and language servers none."""
    return isinstance(dict_of(line.get("params")).get("protocolVersion"), int)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one log. Raises ``FormatError``, also for one message of the protocol alone."""
    items = records(source, NAME)
    first = [item for _, item in zip(range(2), items, strict=False)]
    if sum(isinstance(item, Line) for item in first) == 1 and len(first) == 1:
        raise FormatError(
            "it is one message of the Agent Client Protocol and no session: a log of them has one on each line"
        )
    return AcpReading().run(_joined(_all(first, items)))


def _all(first: list[Item], rest: Iterator[Item]) -> Iterator[Item]:
    yield from first
    yield from rest


def _joined(items: Iterable[Item]) -> Iterator[Item]:
    """Records with chunks of one message as one: the first, with the text of those that follow it at once."""
    held: Line | None = None
    said: list[str] = []
    size = 0
    for item in items:
        if isinstance(item, Finding):
            yield item
            continue
        text = _chunk_text(item)
        if held is not None and isinstance(item, Line) and text is not None and size < MOST and _same(held, item):
            said.append(text)
            size += len(text)
            continue
        if held is not None:
            yield _whole(held, said)
        held, said, size = (item, [text], len(text)) if isinstance(item, Line) and text is not None else (None, [], 0)
        if held is None:
            yield item
    if held is not None:
        yield _whole(held, said)


def _chunk_text(item: Item) -> str | None:
    update = update_of(item.value) if isinstance(item, Line) else {}
    content = dict_of(update.get("content"))
    is_text = text_of(update.get("sessionUpdate")) in CHUNKS and content.get("type") == "text"
    return text_of(content.get("text")) if is_text else None


def _same(one: Line, other: Line) -> bool:
    kind = update_of(one.value).get("sessionUpdate") == update_of(other.value).get("sessionUpdate")
    return kind and session_of(one.value) == session_of(other.value)


def _whole(line: Line, said: list[str]) -> Line:
    update = update_of(line.value)
    text = {"type": "text", "text": "".join(said)}
    value = {
        "timestamp": line.value.get("timestamp"), "_meta": line.value.get("_meta"),
        "params": {"sessionId": session_of(line.value), "update": {**update, "content": text}},
    }  # fmt: skip
    return Line(value, line.pointer, dumps(value), line.offset if len(said) == 1 else None)


def update_of(value: dict[str, Any]) -> dict[str, Any]:
    """The update in a message, with its envelope or without."""
    params = dict_of(value.get("params")) or value
    return dict_of(params.get("update")) or (params if "sessionUpdate" in params else {})


def session_of(value: dict[str, Any]) -> str:
    params = dict_of(value.get("params")) or value
    return text_of(params.get("sessionId")) or text_of(dict_of(value.get("result")).get("sessionId"))


class AcpReading(AgentReading):
    """The state of one log while it is read."""

    name = NAME
    title = "ACP agent"
    stamps = ("timestamp",)
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, dict[str, Any]] = {}
        """Requests for permission by their JSON-RPC id."""
        self._said = ""
        self._cost = Decimal(0)
        """US dollars that the session has cost, as last stated."""
        self._cost_stated = False
        """Whether that was in this turn."""

    def note(self, line: Line) -> None:
        params, result = dict_of(line.value.get("params")), dict_of(line.value.get("result"))
        self.claim(session_of(line.value))
        self.facts.set_environment(cwd=params.get("cwd"))
        info = dict_of(result.get("agentInfo")) or dict_of(result.get("serverInfo"))
        if name := text_of(info.get("title")) or text_of(info.get("name")):
            self.facts.agent = name[:200]
        update = update_of(line.value)
        if update.get("sessionUpdate") == "session_info_update":
            self.facts.title = text_of(update.get("title")) or self.facts.title
        models = dict_of(result.get("models"))
        self.facts.model = text_of(models.get("currentModelId"))[:200] or self.facts.model

    def tells_apart(self, line: Line) -> bool:
        return bool(update_of(line.value))

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        update, params, method = update_of(value), dict_of(value.get("params")), text_of(value.get("method"))
        if update:
            yield from self._update(line, update)
        elif method == "session/prompt":
            pieces = list(pieces_of(params.get("prompt"), "/params/prompt"))
            self._said = "\n".join(piece.text for piece in pieces if piece.kind == "text").strip()
            yield from self.message(line, "user", pieces)
        elif method == "session/request_permission":
            yield self._permission(line, params)
        elif "result" in value or "error" in value:
            yield from self._answered(line)
        elif method:
            skip = frozenset({"sessionId", "content"})
            yield line.event("system", data={"type": method[:100]} | scalars_of(params, skip))
        else:
            yield self.unknown(line, "neither a method nor a result")

    def _update(self, line: Line, update: dict[str, Any]) -> Iterator[Draft]:
        kind = text_of(update.get("sessionUpdate"))
        if kind in CHUNKS:
            content = dict_of(update.get("content"))
            piece = piece_of(content, "/params/update/content")
            if kind == "user_message_chunk" and piece.text.strip() and piece.text.strip() == self._said:
                yield line.event("system", data={"type": kind, "repeats": "prompt"})
            elif kind == "agent_thought_chunk":
                yield from self.message(line, "assistant", [Piece("reasoning", piece.text, piece.path)])
            else:
                role = "user" if kind == "user_message_chunk" else "assistant"
                yield from self.message(line, role, [piece], model=self.facts.model)  # type: ignore[arg-type]
        elif kind in ("tool_call", "tool_call_update"):
            yield from self._tool(line, update)
        elif kind == "plan":
            entries = [dict_of(entry) for entry in list_of(update.get("entries"))[:200]]
            text = "\n".join(f"[{text_of(e.get('status'))}] {text_of(e.get('content'))}" for e in entries)
            yield line.event("system", text, data={"type": "plan"})
        elif kind and isinstance(update.get("usage"), dict):
            yield from self._spent(line, update, kind)
        elif kind == "usage_update" and (cost := _dollars(dict_of(update.get("cost")))) is not None:
            yield self._costs(line, update, cost)
        elif kind:
            yield line.event("system", data={"type": kind[:100]} | scalars_of(update, frozenset({"sessionUpdate"})))
        else:
            yield self.unknown(line, "update without a kind")

    def _spent(self, line: Line, update: dict[str, Any], kind: str) -> Iterator[Draft]:
        """What a turn used, as Grok says it at its end: model by model, or together."""
        stated = dict_of(update["usage"])
        by_model = dict_of(stated.get("modelUsage")) or {"": stated}
        turn = text_of(update.get("prompt_id"))[:200] or line.key
        told = {"type": kind[:100]} | scalars_of(update, frozenset({"sessionUpdate"}))
        for model, one in by_model.items():
            usage, cost = _usage_of_grok(dict_of(one)), _ticks(dict_of(one).get("costUsdTicks"))
            if usage is None and cost is None:
                yield line.event("system", part=f":{model[:100]}", data=told)
                continue
            yield line.event(
                "model_request", part=f":{model[:100]}", actor=line.agent, model=model[:200] or self.facts.model,
                usage=usage, cost=cost, request=f"{turn}:{model[:100]}", data=told,
            )  # fmt: skip

    def _costs(self, line: Line, update: dict[str, Any], cost: Decimal) -> EventDraft:
        """What the session has cost up to here; it stands before the end of the turn whose tokens it pays for."""
        spent, self._cost, self._cost_stated = max(cost - self._cost, Decimal(0)), cost, True
        data = {"type": "usage_update", "cost_covers": "everything since the statement before"}
        return line.event(
            "model_request", actor=line.agent, model=self.facts.model, cost=spent, request=line.key,
            data=data | scalars_of(update, frozenset({"sessionUpdate"})),
        )  # fmt: skip

    def _tool(self, line: Line, update: dict[str, Any]) -> Iterator[Draft]:
        """A call, told when it is first heard of; its result when an update ends it."""
        call_id, status = id_of(update.get("toolCallId")), STATUSES.get(text_of(update.get("status")))
        name = text_of(update.get("title"))[:200] or text_of(update.get("kind"))[:200] or None
        call = self.calls.get(call_id)
        if call is None:
            data = scalars_of({"kind": update.get("kind"), "title": update.get("title")})
            tool = text_of(update.get("kind"))[:200] or name
            yield from self.message(
                line,
                "assistant",
                [Piece("call", "", "/params/update", call_id, tool, update.get("rawInput"), data=data)],
            )
        elif status is None:
            more = {"input": update["rawInput"]} if "rawInput" in update else {}
            yield line.event("status", parent=call.key, data={"type": "tool_call_update"} | scalars_of(update) | more)
        if status:
            piece = self._result(update, call_id, status)
            yield self.returned(line, piece, {}, {"part": ":r", "at_path": "/params/update/content"})

    def _result(self, update: dict[str, Any], call_id: str | None, status: str) -> Piece:
        blocks = [dict_of(block) for block in list_of(update.get("content"))]
        inner = [piece_of(dict_of(block.get("content")), "") for block in blocks if block.get("type") == "content"]
        diffs = [block for block in blocks if block.get("type") not in ("content", *MEDIA)]
        text = "\n".join(piece.text for piece in inner if piece.text)
        value = {key: item for key, item in (("diffs", diffs), ("output", update.get("rawOutput"))) if item}
        return Piece("result", text, "", call_id, None, value or None, status)

    def _permission(self, line: Line, params: dict[str, Any]) -> EventDraft:
        told = dict_of(params.get("toolCall"))
        call_id = id_of(told.get("toolCallId"))
        call = self.calls.get(call_id)
        request = str(line.value.get("id"))[:200]
        self._asked[request] = params
        forget_oldest(self._asked, REMEMBERED)
        options = [text_of(dict_of(option).get("name"))[:200] for option in list_of(params.get("options"))[:20]]
        tool = ToolDraft(call_id, (call.name if call else "") or text_of(told.get("title"))[:200] or None)
        return line.event(
            "approval", text_of(told.get("title")), tool=tool, parent=call.key if call else None,
            data={"type": "requested", "options": options},
        )  # fmt: skip

    def _answered(self, line: Line) -> Iterator[Draft]:
        """What a request brought: a decision of the person, or the end of a turn."""
        value, result = line.value, dict_of(line.value.get("result"))
        asked = self._asked.pop(str(value.get("id"))[:200], None) if result.get("outcome") is not None else None
        if asked is not None:
            yield self._decided(line, asked, dict_of(result.get("outcome")))
        elif isinstance(value.get("error"), dict):
            yield line.event("error", text_of(value["error"].get("message")), data=scalars_of(value["error"]))
        elif "stopReason" in result:
            usage = _usage(dict_of(result.get("usage")))
            billing: dict[str, Any] = {"usage": usage, "request": line.key, "model": self.facts.model} if usage else {}
            if usage and self._cost_stated:
                billing["cost"] = Decimal(0)
            self._cost_stated = False
            kind = "model_request" if usage else "status"
            yield line.event(kind, actor=line.agent, data={"type": "turn_ended"} | scalars_of(result), **billing)  # type: ignore[arg-type]
        else:
            yield line.event("system", data={"type": "result"} | scalars_of(result))

    def _decided(self, line: Line, asked: dict[str, Any], outcome: dict[str, Any]) -> EventDraft:
        chosen = outcome.get("optionId")
        options = [dict_of(option) for option in list_of(asked.get("options"))]
        kind = next((text_of(option.get("kind")) for option in options if option.get("optionId") == chosen), "")
        decision = "approved" if kind.startswith("allow") else "denied"
        call_id = id_of(dict_of(asked.get("toolCall")).get("toolCallId"))
        call = self.calls.get(call_id)
        tool = ToolDraft(call_id, call.name if call else None, status=None if decision == "approved" else "denied")
        data = {"type": "answered", "decision": decision, "by": "user"} | scalars_of(outcome)
        return line.event("approval", actor=PERSON, tool=tool, parent=call.key if call else None, data=data)


def _usage_of_grok(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a turn of Grok; what came out of the cache is part of the input."""
    given, output = count_of(stated.get("inputTokens")), count_of(stated.get("outputTokens"))
    if given is None and output is None:
        return None
    read = count_of(stated.get("cachedReadTokens"))
    return Usage(uncached(given, read), read, None, output, count_of(stated.get("reasoningTokens")))


def _dollars(stated: dict[str, Any]) -> Decimal | None:
    return money_of(stated.get("amount")) if stated.get("currency") in ("USD", None) else None


def _ticks(count: Any) -> Decimal | None:
    """Dollars of xAI's ticks, of which one has 10 billion."""
    found = count_of(count)
    return None if found is None else Decimal(found) / 10**10


def _usage(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a turn where the agent gives them, under the protocol's names or those of an API."""
    if "inputTokens" not in stated:
        return usage_of(stated)
    names = (("inputTokens",), ("cachedReadTokens",), ("cachedWriteTokens",), ("outputTokens",), ("thoughtTokens",))
    return Usage(*(first_count(stated, *name) for name in names))
