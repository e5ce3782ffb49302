"""Aider: ``.aider.chat.history.md`` in a working tree, to which each chat is appended; each is a session.

``#### `` begins what the person said, ``> `` what the console did, all else is the model's. Times are local, without a
zone; tokens are rounded, so they are estimates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import BinaryIO

from ...drafts import Draft, EventDraft, Finding, FormatError, SessionDraft, Usage
from ..common.documents import fingerprint
from ..common.head import Head, open_plain
from ..common.lines import MAX_UNPACKED, digest
from ..common.times import moment_of
from ..common.usage import uncached_if_inside
from ..contract import Spec

NAME = "aider"
SPEC = Spec(name=NAME, title="Aider")
BEGIN = "# aider chat started at "
TOKENS = re.compile(r"Tokens: ([\d.,]+k?M?) sent")
COUNT = re.compile(r"([\d.,]+)([kM]?) (sent|received|cache write|cache hit)")
COST = re.compile(r"Cost: \$([\d.]+) message")
MODEL = re.compile(r"(?:Main )?[Mm]odel: (\S{1,200})")
EDITED = re.compile(r"Applied edit to (.{1,1000})")
COMMIT = re.compile(r"Commit ([0-9a-f]{7,40}) (.{0,500})")
FAILED = re.compile(r"(?:litellm\.\w*Error|\w+Error:|The API provider|Can't |Unable to |Error)")
MAX_LINE = 1024 * 1024
MAX_TEXT = 8 * 1024 * 1024


def detect(head: Head) -> bool:
    """By the line that every chat begins with, at the start of the file."""
    return head.data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(BEGIN.encode())


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of each chat of the file, one block in memory at a time. Raises ``FormatError``."""
    plain = open_plain(source)
    chat: Chat | None = None
    for number, text in enumerate(_lines(plain), 1):
        if text.startswith(BEGIN):
            if chat:
                yield from chat.end()
            chat = Chat(text, number)
            yield chat.session()
        elif chat:
            yield from chat.line(text, number)
        elif text.strip():
            yield Finding(f"{NAME}.before", "info", f"L{number}", "text before the first chat; left out")
    if chat is None:
        raise FormatError("it is no history of Aider: no line in it begins a chat")
    yield from chat.end()


def _lines(source: BinaryIO) -> Iterator[str]:
    size = 0
    while raw := source.readline(MAX_LINE):
        size += len(raw)
        if size > MAX_UNPACKED:
            raise FormatError(f"it is larger than {MAX_UNPACKED // 1024**2:,} MB; split it first")
        yield raw.decode("utf-8", "replace").replace("\0", "\ufffd").rstrip("\r\n")


class Chat:
    """Reads one chat, line by line: lines of one kind are a block, and each block an event."""

    def __init__(self, first: str, number: int) -> None:
        found = moment_of(first.removeprefix(BEGIN).strip())
        self._start = found.at
        self._id = f"{NAME}-{digest(f'{first.strip()}'.encode())}"
        self._model: str | None = None
        self._kind = ""
        self._block: list[str] = []
        self._size = 0
        self._place = number
        self._fenced = False
        self._count = 0

    def session(self) -> SessionDraft:
        return SessionDraft(
            external_id=self._id, agent_name="Aider", started_at=self._start, model=self._model,
            metadata={"recorder": {"name": NAME}, "times": "local, without a zone; read as UTC"},
        )  # fmt: skip

    def line(self, text: str, number: int) -> Iterator[Draft]:
        if text.startswith("> Tokens: "):
            self._fenced = False  # the console speaks: a fence that was left open has ended
        kind = "said" if self._fenced else _kind_of(text)
        if kind == "said" and text.lstrip().startswith("```"):
            self._fenced = not self._fenced
        if kind == "blank":
            if self._kind == "said":
                self._block.append("")
            return
        if kind != self._kind or self._size > MAX_TEXT:
            yield from self._told()
            self._kind, self._place = kind, number
        self._block.append(_bare(text, kind))
        self._size += len(text) + 1

    def end(self) -> Iterator[Draft]:
        """The last block, and the session with the model that it used."""
        yield from self._told()
        yield self.session()

    def _told(self) -> Iterator[Draft]:
        lines, self._block, self._size = self._block, [], 0
        if self._kind == "asked":
            yield self._event("user_message", "\n".join(lines), "person")
        elif self._kind == "said" and any(line.strip() for line in lines):
            yield self._event("agent_message", "\n".join(lines).strip("\n"), "agent")
        elif self._kind == "console":
            for line in lines:
                yield from self._console(line)

    def _console(self, text: str) -> Iterator[EventDraft]:
        """A line of the console: what was counted, edited, committed, asked."""
        if found := MODEL.match(text):
            self._model = self._model or found[1]
        if TOKENS.match(text):
            yield self._counted(text)
        elif found := EDITED.match(text):
            yield self._event("file_change", text, "tool", {"type": "edit", "path": found[1].strip()})
        elif found := COMMIT.match(text):
            yield self._event("status", text, "system", {"type": "commit", "commit": found[1], "message": found[2]})
        else:
            yield self._event("error" if FAILED.match(text) else "system", text, "system", {"type": "console"})

    def _counted(self, text: str) -> EventDraft:
        counts = {name: _number(number, unit) for number, unit, name in COUNT.findall(text)}
        read, written = counts.get("cache hit"), counts.get("cache write")
        fresh = uncached_if_inside(counts.get("sent"), read, written)
        usage = Usage(fresh, read, written, counts.get("received"), quality="estimated")
        event = self._event("model_request", text, "agent", {"type": "tokens", "rounded": True})
        event.usage, event.request, event.model = usage, event.key, self._model
        found = COST.search(text)
        event.cost = _decimal(found[1]) if found else None
        return event

    def _event(self, kind: str, text: str, actor: str, data: dict[str, object] | None = None) -> EventDraft:
        self._count += 1
        name = "Aider" if actor == "agent" else ""
        return EventDraft(
            kind=kind, key=f"{self._count}:{fingerprint(text.encode(errors='replace'))}", actor_kind=actor,  # type: ignore[arg-type]
            actor_name=name, text=text, data=dict(data or {}), pointer=f"L{self._place}",
            model=self._model if kind == "agent_message" else None,
        )  # fmt: skip


def _kind_of(text: str) -> str:
    if text.startswith("#### ") or text.rstrip() == "####":
        return "asked"
    if text.startswith("> ") or text.rstrip() == ">":
        return "console"
    return "said" if text.strip() else "blank"


def _bare(text: str, kind: str) -> str:
    if kind == "said":
        return text
    return text.rstrip()[5 if kind == "asked" else 2 :]


def _number(number: str, unit: str) -> int | None:
    value = _decimal(number.replace(",", ""))
    return None if value is None else int(value * {"": 1, "k": 1000, "M": 10**6}[unit])


def _decimal(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value < 10**6 else None
