"""Gemini CLI: ``session-*.json`` (until 0.36 or so, one document that is rewritten) and ``.jsonl`` (appended to).

In both, a message is told again when something is added to it; ``{"$set": {"messages": [...]}}`` tells all of
them again, and ``{"$rewindTo": id}`` takes some out of the conversation. An event's key is therefore the
message's id, the part of the message, and a digest of its content: what is told again is the same event, what
changed is another one, and the log only grows. What was taken back has still happened (tools ran, tokens were
billed), so it stays, and the rewind is an event. From ``chatRecordingService.ts`` of 0.61 and files of 0.2x.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import ijson

from ..drafts import Draft, EventDraft, Finding, FormatError, Kind, ToolDraft, Usage
from .common.calls import Call, id_of
from .common.documents import read_whole
from .common.head import Head, open_plain, telling
from .common.jsonio import Unreadable, dumps, loads
from .common.lines import Actor, Item, Line, fingerprint
from .common.parts import REFUSED, STATUSES, answer_in, attachments_in, exit_code_in, parts_of, text_in
from .common.reading import FactsReading, unknown_type
from .common.records import lines_or_list, listed
from .common.streamed import items
from .common.times import parse
from .common.usage import uncached
from .common.values import bounded, count_of, dict_of, forget_oldest, list_of, scalars_of, text_of
from .contract import Spec

NAME = "gemini-cli"
SPEC = Spec(
    name=NAME,
    title="Gemini CLI",
    # Also the old documents: keys are natural, so a rewritten one only adds what is new (see above).
    grows="lines",
    children="named",
)

LARGEST_DOCUMENT = 50 * 1000 * 1000
"""Bytes of an old session in one document; it is held in memory, about six times as large. Lines have no limit."""
REMEMBERED = 20_000
"""Events whose repeats are noticed. A message is told again right after itself; a checkpoint tells all."""
INJECTED = ("<session_context>", "<hook_context>")
SPOKEN = ("gemini", "model")


def detect(head: Head) -> bool:
    """By the first lines of the appended kind, or the keys of the document."""
    if any(_is_record(line) for line in head.records):
        return True
    shape = head.shape
    told = "projectHash" in shape or {"sessionId", "startTime", "lastUpdated"} <= head.keys
    session = shape.get("messages") == "[" and bool({"sessionId", "startTime"} & head.keys) and told
    return session or _saved(head) is not None


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a session.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when it holds no JSON object
    among its first lines, or is an old document that is too large or broken from its beginning.
    """
    plain = open_plain(source)
    head = telling(plain, detect)
    if (wrapper := _saved(head)) is not None:
        return GeminiReading().run(_conversation(plain, wrapper))
    lines = any(map(_is_record, head.lines)) or head.shape.get("messages") != "["
    return GeminiReading().run(lines_or_list(source, NAME) if lines else _document(plain))


def _is_record(line: dict[str, Any]) -> bool:
    stated = isinstance(line.get("sessionId"), str) and isinstance(line.get("projectHash"), str)
    said = line.get("type") in SPOKEN and line.keys() >= {"id", "timestamp", "content"} and "uuid" not in line
    return stated or said or isinstance(line.get("$set"), dict) or isinstance(line.get("$rewindTo"), str)


def _saved(head: Head) -> str | None:
    """Where the contents of a saved conversation stand (``/chat save``, checkpoints); ``None`` for no such file.

    They are the API's, ``{role, parts}``, in a list or in ``history``. Parts with a type or a kind are those of other
    tools, and messages with an id are A2A's.
    """
    for wrapper in ("", "history"):
        item = f"{wrapper}.item" if wrapper else "item"
        if head.shape.get(wrapper) != "[" or head.shape.get(f"{item}.role") not in ("user", "model"):
            continue
        named = {key.removeprefix(f"{item}.") for key in head.shape if key.startswith(f"{item}.")}
        ours = (
            named.isdisjoint({"id", "messageId", "parts.item.type", "parts.item.kind"})
            and head.shape.get(f"{item}.parts.item") == "{"
        )
        if ours:
            return wrapper
    return None


def _conversation(source: BinaryIO, wrapper: str) -> Iterator[Item]:
    """The contents as the messages of one document. ``displayContent`` and ids are not saved with them."""
    found = list(listed(source, NAME, wrapper))
    values = [item.value for item in found if isinstance(item, Line)]
    messages = [{"type": "gemini" if value.get("role") == "model" else "user"} | value for value in values]
    yield from (item for item in found if isinstance(item, Finding))
    yield Line({"messages": messages}, "", dumps(messages), None)


def _document(source: BinaryIO) -> Iterator[Item]:
    """The one object of an old file; of a broken one the messages before the break."""
    data = read_whole(source, LARGEST_DOCUMENT, "Gemini CLI")
    try:
        value, repairs = loads(data)
    except Unreadable as error:
        value, repairs = _rescued(data, str(error)), []
        yield Finding(f"{NAME}.cut-off-document", "warning", "", f"{error}; read up to there")
    yield from (Finding(f"{NAME}.repaired-document", "info", "", repair) for repair in repairs)
    if isinstance(value, dict):
        yield Line(value, "", data, None)


def _rescued(data: bytes, why: str) -> dict[str, Any]:
    messages: list[Any] = []
    try:
        messages.extend(items(io.BytesIO(data), "messages"))
    except (ijson.JSONError, UnicodeDecodeError):
        if not messages:
            raise FormatError(f"it is a Gemini CLI session that cannot be read: {why}") from None
    return {key: item for key, item in Head(data).shape.items() if isinstance(item, str)} | {"messages": messages}


class GeminiReading(FactsReading):
    """The state of one session while it is read."""

    name = NAME
    title = SPEC.title

    def __init__(self) -> None:
        super().__init__()
        self.agent: Actor = ("agent", self.title)
        self._seen: dict[str, None] = {}
        self._wrong_totals = 0

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        value = line.value
        # The appended form states the same members as updates under $set.
        for stated in (value, dict_of(value.get("$set"))):
            self.facts.session = self.facts.session or text_of(stated.get("sessionId"))
            self.facts.title = text_of(stated.get("summary")) or self.facts.title
            self.facts.at(parse(stated.get("startTime"))[0])
            self.facts.at(parse(stated.get("lastUpdated"))[0])
            if stated.get("kind") == "subagent":
                self.agent = ("subagent", self.title)
            if folders := [text_of(folder)[:1000] for folder in list_of(stated.get("directories"))[:50]]:
                self.facts.more["directories"] = folders
        return bool(self.facts.session)

    def assign_key(self, line: Line) -> Iterable[Finding]:
        line.key = self._keys.derived("line", line)
        self.note_session(line)
        return ()

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if isinstance(value.get("$rewindTo"), str):
            yield line.event("status", data={"type": "rewind", "to": value["$rewindTo"][:200]}, actor=("person", ""))
        elif isinstance(value.get("$set"), dict):
            yield line.event("system", data={"type": "$set"} | scalars_of(value["$set"]))
            yield from self._messages(line, value["$set"], "/$set/messages")
        elif isinstance(value.get("messages"), list):
            yield from self._messages(line, value, "/messages")
        elif "type" in value:
            yield from self._fresh(line, self._message(replace(line, key=_id(value) or line.key), ""))
        elif "sessionId" in value or "projectHash" in value:
            yield line.event("system", data={"type": "session"} | scalars_of(value))
        else:
            yield self.unknown(line, "line that is no message and no update")

    def closing(self) -> Iterator[Finding]:
        if self._wrong_totals:
            yield Finding(
                f"{NAME}.total", "info", "",
                f"{self._wrong_totals} responses state another total than input + output + thoughts + tool",
            )  # fmt: skip

    def _messages(self, line: Line, holder: dict[str, Any], path: str) -> Iterator[Draft]:
        messages = [dict_of(value) for value in list_of(holder.get("messages"))]
        # A checkpoint repeats the conversation; one known message tells it from the first document of a session.
        goes_on = any(f"id:{_id(message)}" in self._seen for message in messages)
        for index, message in enumerate(messages):
            inner = replace(line, value=message, key=_id(message) or f"m{index}", at=None)
            yield from self.timed(inner)
            self.facts.at(inner.at)
            yield from self._new(self._message(inner, f"{path}/{index}"), checkpoint=goes_on)

    def _fresh(self, line: Line, events: Iterable[EventDraft]) -> Iterator[EventDraft]:
        """Events that a line adds to its message, else one that marks the line as a repeat."""
        new = list(self._new(events))
        yield from new or [line.event("system", data={"type": "repeated", "message": _id(line.value)})]

    def _new(self, events: Iterable[EventDraft], *, checkpoint: bool = False) -> Iterator[EventDraft]:
        """Events that are not out yet. A checkpoint repeats messages; what it replaces them by begins no turn."""
        for event in events:
            # The document is rewritten as a whole, so most of each copy was told before.
            if event.key in self._seen:
                continue
            self._mark_told(event.key)
            if event.kind in ("user_message", "agent_message"):
                if (message := f"id:{event.key.rpartition(':')[0]}") in self._seen:
                    event = replace(event, kind="system", data=event.data | {"type": "replaced"})
                elif checkpoint and event.kind == "user_message":
                    event = replace(event, kind="injected_context", actor_kind="system", data={"type": "checkpoint"})
                self._mark_told(message)
            yield event

    def _mark_told(self, key: str) -> None:
        self._seen[key] = None
        forget_oldest(self._seen, REMEMBERED)

    def _message(self, line: Line, path: str) -> Iterator[EventDraft]:
        """The events of a message. ``path`` is its place behind the line's pointer."""
        kind, content = line.value.get("type"), line.value.get("content") or line.value.get("parts")
        if kind == "user":
            yield from self._asked(line, path, content)
        elif kind in SPOKEN:
            yield from self._answered(line, path, content)
        elif kind in ("info", "warning", "error"):
            text = text_in(content)
            part = f":{fingerprint(text)}"
            what: Kind = "error" if kind == "error" else "system"
            yield line.event(what, text, part=part, at_path=path, data={"type": kind})
        else:
            part = f":{fingerprint(line.value)}"
            yield self.unknown(line, unknown_type(kind).replace("line", "message"), part=part, at_path=path)

    def _asked(self, line: Line, path: str, content: Any) -> Iterator[EventDraft]:
        """What a person typed; files that were named in it stand behind it in ``content``."""
        responses = [dict_of(part.get("functionResponse")) for part in parts_of(content)]
        yield from (self._returned(line, path, response) for response in responses if response)
        text, typed = text_in(content), text_in(line.value.get("displayContent"))
        attachments = attachments_in(content)
        if any(responses) and not text and not attachments:
            return
        if text.lstrip().startswith(INJECTED):
            part, tag = f":{fingerprint(text)}", text.lstrip()[1:].partition(">")[0]
            yield line.event("injected_context", text, part=part, at_path=f"{path}/content", data={"type": tag})
            return
        data: dict[str, Any] = {"attachments": attachments} if attachments else {}
        actor: Actor = ("agent", "") if self.agent[0] == "subagent" else ("person", "")
        said = typed or text
        part = f":{fingerprint([said, data])}"
        yield line.event("user_message", said, part=part, at_path=f"{path}/content", actor=actor, data=data)
        if typed and typed.strip() != text.strip():
            part = f":context:{fingerprint(text)}"
            yield line.event(
                "injected_context", text, part=part, at_path=f"{path}/content", data={"type": "expanded_prompt"}
            )

    def _answered(self, line: Line, path: str, content: Any) -> Iterator[EventDraft]:
        value, model = line.value, text_of(line.value.get("model"))[:200] or None
        self.facts.model = model or self.facts.model
        for index, thought in enumerate(list_of(value.get("thoughts"))):
            yield self._thought(line, f"{path}/thoughts/{index}", dict_of(thought), model)
        attachments = attachments_in(content)
        if (text := text_in(content)) or attachments:
            data = {"attachments": attachments} if attachments else {}
            yield line.event(
                "agent_message", text, part=f":{fingerprint([text, data])}", at_path=f"{path}/content",
                actor=self.agent, model=model, data=data,
            )  # fmt: skip
        if tokens := dict_of(value.get("tokens")):
            yield self._counted(line, path, tokens, model)
        for index, call in enumerate(list_of(value.get("toolCalls"))):
            yield from self._called(line, f"{path}/toolCalls/{index}", dict_of(call), str(index), model)
        yield from self._only_in_content(line, path, content, model)
        if not (text or attachments or any(map(value.get, ("thoughts", "tokens", "toolCalls")))):
            yield line.event("system", part=":empty", at_path=path, data={"type": "gemini", "empty": True})

    def _only_in_content(self, line: Line, path: str, content: Any, model: str | None) -> Iterator[EventDraft]:
        """Calls that stand among the parts of the content, and not in ``toolCalls``."""
        for index, part in enumerate(parts_of(content)):
            call = dict_of(part.get("functionCall"))
            if call and self.calls.get(call.get("id")) is None:
                yield from self._called(line, f"{path}/content/{index}", call, f"c{index}", model)

    def _thought(self, line: Line, path: str, thought: dict[str, Any], model: str | None) -> EventDraft:
        subject, description = text_of(thought.get("subject")), text_of(thought.get("description"))
        text = "\n\n".join(filter(None, (subject and f"**{subject}**", description)))
        at = parse(thought.get("timestamp"))[0] or line.at
        return replace(line, at=at).event(
            "reasoning", text, part=f":thought:{fingerprint(thought)}", at_path=path, actor=self.agent, model=model
        )

    def _counted(self, line: Line, path: str, tokens: dict[str, Any], model: str | None) -> EventDraft:
        """The tokens of the response. They come with the message or behind it, so they are an event of their own."""
        usage = usage_of(tokens)
        total, stated = sum(filter(None, map(count_of, map(tokens.get, SUMMED)))), count_of(tokens.get("total"))
        self._wrong_totals += stated is not None and stated != total
        return line.event(
            "model_request", part=f":tokens:{fingerprint(tokens)}", at_path=f"{path}/tokens", actor=self.agent,
            usage=usage, request=line.key, model=model,
        )  # fmt: skip

    def _called(
        self, line: Line, path: str, call: dict[str, Any], place: str, model: str | None
    ) -> Iterator[EventDraft]:
        """A call and, once it has ended, its result right behind it."""
        call_id, name = id_of(call.get("id")), text_of(call.get("name"))[:200]
        arguments = bounded(call.get("args"), len(line.raw))
        part = f":call:{call_id or place}:{fingerprint([name, arguments])}"
        self.calls.add(call_id, Call(line.key + part, name))
        data = scalars_of({"display_name": call.get("displayName"), "description": call.get("description")})
        yield line.event(
            "tool_call", part=part, at_path=path, actor=self.agent, model=model,
            tool=ToolDraft(call_id, name or None, None, arguments), data=data,
        )  # fmt: skip
        if call.get("result") or call.get("resultDisplay") or text_of(call.get("status")) in STATUSES:
            yield from self._ended(line, path, call, call_id or place, line.key + part)

    def _ended(self, line: Line, path: str, call: dict[str, Any], place: str, parent: str) -> Iterator[EventDraft]:
        call_id, name = id_of(call.get("id")), text_of(call.get("name"))[:200]
        text, failed = "", None
        for part in parts_of(call.get("result")):
            said, error = answer_in(dict_of(part.get("functionResponse")).get("response"))
            text, failed = "\n".join(filter(None, (text, said or text_of(part.get("text"))))), failed or error
        shown = call.get("resultDisplay")
        text = text or text_of(shown)
        status = STATUSES.get(text_of(call.get("status"))) or failed
        line = replace(line, at=parse(call.get("timestamp"))[0] or line.at)
        if status in ("cancelled", "error") and REFUSED.search(text[:500]):
            status = "denied"
            yield line.event(
                "approval", part=f":denied:{place}", at_path=path, parent=parent,
                tool=ToolDraft(call_id, name or None, status="denied"),
                data={"type": "rejected", "decision": "denied", "by": "user", "inferred": True},
            )  # fmt: skip
        facts = exit_code_in(text) | bounded(dict_of(shown), len(line.raw))
        attachments, child = attachments_in(call.get("result")), text_of(call.get("agentId"))[:200]
        data = ({"attachments": attachments} if attachments else {}) | ({"child_session": child} if child else {})
        yield line.event(
            "tool_result", text, part=f":result:{place}:{fingerprint([text, status, facts])}", at_path=path,
            actor=("tool", name), parent=parent, data=data,
            tool=ToolDraft(call_id, name or None, None, None, facts or None, status),
        )  # fmt: skip

    def _returned(self, line: Line, path: str, response: dict[str, Any]) -> EventDraft:
        """A result in the user's place: the API's history, told again by a checkpoint."""
        call_id, name = id_of(response.get("id")), text_of(response.get("name"))[:200]
        call = self.calls.get(call_id)
        text, status = answer_in(response.get("response"))
        part = f":result:{call_id}:{fingerprint([text, status])}"
        if call is not None:
            return line.event("system", part=part, at_path=path, parent=call.key, data={"type": "repeated_result"})
        tool = ToolDraft(call_id, name or None, status=status)
        return line.event("tool_result", text, part=part, at_path=path, actor=("tool", name), tool=tool)


SUMMED = ("input", "output", "thoughts", "tool")


def usage_of(tokens: dict[str, Any]) -> Usage:
    """``input`` holds the cached part, ``output`` is without ``thoughts``; ``tool`` is on the side of the prompt."""
    prompt, cached, tool = (count_of(tokens.get(name)) for name in ("input", "cached", "tool"))
    given = uncached(prompt, cached)
    output, thoughts = count_of(tokens.get("output")), count_of(tokens.get("thoughts"))
    return Usage(
        input_tokens=None if given is None else given + (tool or 0),
        cache_read_tokens=cached,
        output_tokens=None if output is None and thoughts is None else (output or 0) + (thoughts or 0),
        reasoning_tokens=thoughts,
    )


def _id(message: dict[str, Any]) -> str:
    return text_of(message.get("id"))[:200]
