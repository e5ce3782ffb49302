"""Dialect D7: a whole session of tool use in one dialog (draft-howe-vcon-mcp-session-00)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....drafts import ActorKind, Json, ToolDraft
from ...common.values import dict_of, text_of, text_or_none
from ..file import Notes, point, shown
from . import refs
from .clock import Clock
from .dialogs import Dialog, indices
from .entries import output_text, visible_text
from .pairs import Pairs
from .parties import Parties, Party
from .steps import Step

ROLES = {
    "user": "person",
    "human": "person",
    "assistant": "agent",
    "agent": "agent",
    "tool": "tool",
    "system": "system",
}
SHOWN_WITH_MESSAGE = ("text", "image", "document", "file", "audio", "resource")


def body_of(dialog: Dialog) -> dict[str, Any]:
    """The session object, empty when the dialog does not hold one."""
    return dict_of(dialog.content.value) if dialog.content.kind == "json" else {}


def mcp_session_id(dialog: Dialog) -> str:
    """Opaque and kept as it is (mcp_session s3.1); never a key to anything (s11.3)."""
    return text_or_none(body_of(dialog).get("session_id")) or text_or_none(dialog.item.get("session_id")) or ""


def steps_of_mcp(dialog: Dialog, parties: Parties, notes: Notes) -> list[Step]:
    """The messages of an mcp_session dialog as steps."""
    reader = _Reader(dialog, parties, notes)
    steps = [
        step
        for index, message in enumerate(_list(body_of(dialog).get("messages")))
        for step in reader.message(index, message)
    ]
    if not steps:
        notes.warn("R69", dialog.pointer, "This mcp_session dialog has no readable messages; it is kept as it is.")
    reader.pairs.finish()
    reader.report_requests()
    return steps + [
        reader.artifact(index, dict_of(item)) for index, item in enumerate(_list(body_of(dialog).get("artifacts")))
    ]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


class _Reader:
    def __init__(self, dialog: Dialog, parties: Parties, notes: Notes) -> None:
        self._base = point(dialog.pointer, "body")
        self._parties, self._notes = parties, notes
        self._clock = Clock(notes)
        self.pairs = Pairs(notes)
        self._asked: dict[str, Step] = {}

    def message(self, index: int, given: Json) -> Iterator[Step]:
        """Text with what belongs to it is one step; every call, result and unknown block is one of its own."""
        pointer, message = point(self._base, "messages", index), dict_of(given)
        at = self._clock.date(message.get("timestamp"), point(pointer, "timestamp")).at
        self._check_parties(message, pointer)
        made = self._steps_of(message, pointer)
        if made is None:
            made = [self._unknown(given, pointer, self._speaker(message), "A message without content")]
        for number, step in enumerate(made):
            step.at = at
            step.id = (text_or_none(message.get("id")) or "") if number == 0 else ""
            self.pairs.add_step(step)
            yield step

    def _steps_of(self, message: dict[str, Any], pointer: str) -> list[Step] | None:
        """The steps of a message; ``None`` when nothing is in it. Its calls may be known already, and give none."""
        if kind := text_or_none(message.get("type")):
            return [self._event(kind, message, pointer)]
        speaker, content = self._speaker(message), message.get("content")
        blocks = content if isinstance(content, list) else [content]
        spoken = [block for block in blocks if _is_spoken(block)]
        made = [self._message_step(speaker, spoken, pointer)] if spoken else []
        for number, block in enumerate(blocks):
            if not _is_spoken(block) and block is not None:
                made += self._block(block, point(pointer, "content", number), speaker)
        has_calls = any(dict_of(block).get("type") == "tool_call" for block in blocks)
        return made if made or has_calls else None

    def _speaker(self, message: dict[str, Any]) -> Party | None:
        """The party is authoritative over the role (mcp_session s4.2)."""
        known = indices(message.get("party"), len(self._parties))
        if known:
            return self._parties[known[0]]
        kind = ROLES.get(text_of(message.get("role")))
        if kind == "agent":
            return self._parties.agent
        return self._parties.human if kind == "person" else None

    def _check_parties(self, message: dict[str, Any], pointer: str) -> None:
        """``party`` is required and an index, ``to`` one or several (mcp_session s4.2)."""
        if message.get("party") is None:
            self._notes.warn(
                "R25",
                pointer,
                "This message names no party (mcp_session s4.2 requires it); its role has to tell.",
                "party",
            )
        for name in ("party", "to"):
            refs.check_reference(message, name, len(self._parties), "party", pointer, self._notes, many=name == "to")

    def _message_step(self, speaker: Party | None, blocks: list[Json], pointer: str) -> Step:
        words = visible_text(blocks)
        step = Step("user_message", pointer, text=words, actor=speaker.actor if speaker else ("unknown", ""))
        if speaker is not None and speaker.is_ai:
            step.kind = "agent_message"
        elif speaker is not None and speaker.kind == "tool":
            step.kind = "note"
        if any(isinstance(block, dict) and block.get("type") != "text" for block in blocks):
            step.for_writer["content"] = blocks
        return step

    def _event(self, kind: str, message: dict[str, Any], pointer: str) -> Step:
        """prompt, resource, root and sampling exchanges are events of the protocol."""
        step = Step("system", pointer, actor=("system", ""), text=visible_text(message.get("content")) or kind)
        step.data = {
            "event_type": kind,
            "details": {key: value for key, value in message.items() if key not in ("id", "type", "timestamp")},
        }
        return step

    def _block(self, given: Json, pointer: str, speaker: Party | None) -> Iterator[Step]:
        block = dict_of(given)
        kind = text_of(block.get("type"))
        if kind == "tool_use":
            yield self._call(block, pointer, speaker)
        elif kind == "tool_call":
            asked = self._asked.get(text_or_none(block.get("id")) or "")
            if asked is None:
                asked = self._call(block, pointer, speaker)
                yield asked
            asked.data["executed"] = True
            asked.for_writer["hop"] = block
        elif kind == "tool_result":
            yield self._result(block, pointer)
        else:
            what = f"A content block of the unknown type {shown(kind)}" if kind else "A content block of no type"
            yield self._unknown(given, pointer, speaker, what)

    def _unknown(self, given: Json, pointer: str, speaker: Party | None, what: str) -> Step:
        """Nothing is dropped for being strange (mcp_session s8.5)."""
        self._notes.info("R107", pointer, f"{what}; it is kept as it is.", what)
        kind = text_or_none(dict_of(given).get("type"))
        actor: tuple[ActorKind, str] = speaker.actor if speaker else ("unknown", "")
        return Step("unknown", pointer, actor=actor, data={"type": kind, "raw": given})

    def _call(self, block: dict[str, Any], pointer: str, speaker: Party | None) -> Step:
        step = Step(
            "tool_call",
            pointer,
            actor=speaker.actor if speaker else ("agent", ""),
            tool=ToolDraft(
                text_or_none(block.get("id")), text_or_none(block.get("name")), arguments=block.get("input")
            ),
        )
        if step.tool and step.tool.call_id:
            self._asked.setdefault(step.tool.call_id, step)
        return step

    def _result(self, block: dict[str, Any], pointer: str) -> Step:
        call_id, content = text_or_none(block.get("tool_use_id")), block.get("content")
        call = self._asked.get(call_id or "")
        failed = block.get("is_error")
        step = Step(
            "tool_result",
            pointer,
            text=output_text(content),
            actor=("tool", call.tool.name or "" if call and call.tool else ""),
        )
        step.tool = ToolDraft(
            call_id,
            result=None if isinstance(content, str) else content,
            status="error" if failed is True else "ok" if failed is False else None,
        )
        if block.get("duration_ms") is not None:
            step.data["duration_ms"] = block["duration_ms"]
        if call is not None:
            call.data["executed"] = True
        return step

    def report_requests(self) -> None:
        """A tool_use without tool_call or result was asked for, and is not shown to have run."""
        for step in self._asked.values():
            if "executed" not in step.data:
                step.data["executed"] = False

    def artifact(self, index: int, item: dict[str, Any]) -> Step:
        """What the session says it produced; the bytes are in an attachment, if anywhere."""
        pointer = point(self._base, "artifacts", index)
        told = {key: value for key, value in item.items() if key not in ("created_at",)}
        name = text_or_none(item.get("filename")) or text_or_none(item.get("title"))
        return Step(
            "artifact",
            pointer,
            text_or_none(item.get("id")) or "",
            at=self._clock.read(item.get("created_at"), pointer).at,
            actor=self._parties.agent.actor if self._parties.agent else ("agent", ""),
            data={**told, **({"name": name} if name else {})},
        )


def _is_spoken(block: Json) -> bool:
    return isinstance(block, str) or (isinstance(block, dict) and block.get("type") in SHOWN_WITH_MESSAGE)
