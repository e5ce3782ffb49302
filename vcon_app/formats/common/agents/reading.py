"""A reading that tells the messages of one session as events: each reader says what a record is, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Literal

from ....drafts import Draft, EventDraft, Finding, Kind, ToolDraft, Usage
from ..calls import Call, server_of
from ..facts import ID_LIMIT
from ..jsonio import dumps
from ..lines import Actor, Item, Line
from ..reading import FactsReading, Keys
from ..records import part_of
from ..times import moment_of
from ..values import bounded, dict_of, short_text, text_of
from .beside import KEY, beside
from .pieces import Piece, joined

Role = Literal["user", "assistant", "system", "context", "tool"]
SAID: dict[Role, Kind] = {
    "user": "user_message", "assistant": "agent_message", "system": "system", "context": "injected_context",
    "tool": "tool_result",
}  # fmt: skip
PERSON: Actor = ("person", "")


class AgentReading(FactsReading):
    """The state of one file while it is read. Subclasses say what a record means (``events``)."""

    stamps: tuple[str, ...] = ("timestamp",)
    """Names under which a record may state its time, as ISO text, seconds or milliseconds."""
    ids: tuple[str, ...] = ("id",)
    repeated: frozenset[str] = frozenset()
    """Members of records, by name or place, that say again what others say, or what nobody else should read."""

    def __init__(self) -> None:
        super().__init__()
        self._fixed = False
        self._zoneless = False
        self._begun = blake2b(digest_size=12)

    def note(self, line: Line) -> None:
        """Take session facts from a record. May be called twice for one."""

    def claim(self, session: Any) -> None:
        """Take an id of the session, unless there is one or the first events are out."""
        if not self._fixed and not self.facts.session:
            self.facts.session = text_of(session)[:ID_LIMIT]

    def note_session(self, line: Line) -> bool:
        line.at = self.moment(line.value)
        self.facts.note_line(line)
        self.note(line)
        if not self.facts.session and not self._fixed:
            self._begun.update(line.raw)
            if self.tells_apart(line):
                self.facts.session = f"{self.name}-{self._begun.hexdigest()}"
        return bool(self.facts.session)

    def tells_apart(self, line: Line) -> bool:
        """Whether the file up to this record is like no other, in formats that name no session and begin alike."""
        return False

    def fix_session_id(self) -> None:
        self._fixed = True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        own = next((text for name in self.ids if (text := text_of(line.value.get(name)))), "")
        chained = self._keys if not line.about_session else Keys()
        line.key = chained.derived(own or "line", line)
        line.agent = "agent", self.facts.agent
        self.facts.note_line(line)
        self.note(line)
        return ()

    def moment(self, value: dict[str, Any]) -> datetime | None:
        return next((at for name in self.stamps if (at := moment_of(value.get(name)).at)), None)

    def timed(self, line: Line) -> Iterator[Finding]:
        """Set the time of a record; a doubtful one is told, the want of a zone once."""
        for name in self.stamps:
            found = moment_of(line.value.get(name))
            line.at = found.at or line.at
            if found.fault == "zone" and not self._zoneless:
                self._zoneless = True
                yield from self._odd_time(line, "times state no zone; read as UTC")
            elif found.fault == "unreadable":
                yield from self._odd_time(line, f"{short_text(line.value.get(name))!r} is not a time")
            if found.at:
                return

    def _odd_time(self, line: Line, message: str) -> Iterator[Finding]:
        yield from self.findings.limit(Finding(f"{self.name}.time", "info", line.pointer, message))

    def told(self, line: Line) -> Iterator[Draft]:
        """The events of a record; with the first of them, or alone, what the record says and none of them does."""
        drafts = list(self.events(line))
        events = [draft for draft in drafts if isinstance(draft, EventDraft)]
        facts = self.facts
        known = (facts.session, facts.title, facts.parent, facts.environment, facts.more)
        left = beside(line.value, events, known, self.repeated)
        if left and not events:
            yield line.event("system", data={"type": "record", KEY: left})
        for draft in drafts:
            if left and isinstance(draft, EventDraft) and draft is events[0]:
                draft = replace(draft, data=draft.data | {KEY: left})
            yield draft

    # --- messages ---

    def message(
        self, line: Line, role: Role, pieces: Iterable[Piece], *, model: Any = None, usage: Usage | None = None,
        cost: Decimal | None = None, request: str | None = None, data: dict[str, Any] | None = None,
        actor: Actor | None = None,
        part: str = "",
    ) -> Iterator[EventDraft]:  # fmt: skip
        """The events of a message. What it cost stands on the last of them, so that it counts once.

        ``part`` tells several messages of one record apart in their keys.
        """
        told = [piece for piece in (joined(pieces) if role == "user" else pieces) if _says(piece)]
        name = text_of(model)[:ID_LIMIT] or None
        self.facts.model = name or self.facts.model
        billing: dict[str, Any] = {}
        if usage or cost is not None:
            billing = {"usage": usage, "cost": cost, "request": request or line.key}
        if not told:
            yield self._empty(line, role, name, billing | {"part": part}, data)
        for number, piece in enumerate(told):
            place: dict[str, Any] = {"part": f"{part}:{number}" if number else part, "at_path": piece.path}
            if role == "assistant":
                place |= {"model": name} | (billing if number == len(told) - 1 else {})
            yield self._event(
                line, role, piece, place, {**(data or {}), **piece.data} if number == 0 else piece.data, actor
            )

    def _empty(self, line: Line, role: Role, model: str | None, billing: dict[str, Any], data: Any) -> EventDraft:
        if "usage" in billing:
            return line.event("model_request", actor=line.agent, model=model, data=data, **billing)
        return line.event("system", model=model, data={"type": role, "empty": True} | (data or {}), **billing)

    def _event(
        self, line: Line, role: Role, piece: Piece, place: dict[str, Any], data: dict[str, Any], actor: Actor | None
    ) -> EventDraft:
        if piece.kind == "call":
            return self.called(line, piece, data, place, actor)
        if piece.kind == "result" or role == "tool":
            return self.returned(line, piece, data, place)
        if piece.kind == "unknown":
            what = text_of(data.get("what")) or "part"
            return self.unknown(line, what, dict_of(piece.value) or {"value": piece.value}, **place)
        if piece.kind == "media":
            data = {"attachments": [data]}
        if piece.kind == "reasoning":
            return line.event("reasoning", piece.text, actor=actor or line.agent, data=data, **place)
        if piece.kind == "context":
            return line.event("injected_context", piece.text, data=data, **place)
        speaker = actor or (PERSON if role == "user" else line.agent if role == "assistant" else ("system", ""))
        return line.event(SAID[role], piece.text, actor=speaker, data=data, **place)

    def called(
        self, line: Line, piece: Piece, data: dict[str, Any], place: dict[str, Any], actor: Actor | None = None
    ) -> EventDraft:
        """A tool call, remembered until its result comes."""
        server = server_of(piece.name)
        self.calls.add(piece.call_id, Call(line.key + place.get("part", ""), piece.name or "", server))
        arguments = bounded(piece.value, len(line.raw))
        tool = ToolDraft(piece.call_id, piece.name, server, arguments)
        return line.event("tool_call", actor=actor or line.agent, tool=tool, data=data, **place)

    def returned(self, line: Line, piece: Piece, data: dict[str, Any], place: dict[str, Any]) -> EventDraft:
        """A tool's result under the call that it names."""
        call = self.calls.get(piece.call_id)
        name = piece.name or (call.name if call else None) or None
        value = bounded(piece.value, len(line.raw)) if piece.value is not None else None
        tool = ToolDraft(piece.call_id, name, call.server if call else server_of(name), None, value, piece.status)
        place = {key: item for key, item in place.items() if key in ("part", "at_path")}
        parent = call.key if call else None
        return line.event(
            "tool_result", piece.text, actor=("tool", name or ""), tool=tool, data=data, parent=parent, **place
        )


def _says(piece: Piece) -> bool:
    return bool(piece.text.strip() or piece.data or piece.kind not in ("text", "reasoning", "context"))


def unfolded(items: Iterable[Item], name: str, *lists: str) -> Iterator[Item]:
    """Records of a document: first the object without its lists, then what stands in the list.

    ``lists`` are the names under which the list may stand, with a dot where it lies deeper; the first that is there
    is taken. Records that are none of such objects pass as they are.
    """
    for item in items:
        found = _list_in(item.value, lists) if isinstance(item, Line) else None
        if not isinstance(item, Line) or found is None:
            yield item
            continue
        path, values = found
        header = {key: value for key, value in item.value.items() if key != path[0]}
        yield Line(header, item.pointer, dumps(header), item.offset, about_session=True)
        place = "/" + "/".join(path)
        for index, value in enumerate(values):
            if isinstance(value, dict):
                yield part_of(item, value, f"{place}/{index}")
            else:
                message = f"{short_text(value)} stands in the place of a record"
                yield Finding(f"{name}.no-record", "warning", f"{item.pointer}{place}/{index}", message)


def _list_in(value: dict[str, Any], lists: Iterable[str]) -> tuple[list[str], list[Any]] | None:
    for name in lists:
        path, found = name.split("."), value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None  # type: ignore[assignment]
        if isinstance(found, list):
            return path, found
    return None
