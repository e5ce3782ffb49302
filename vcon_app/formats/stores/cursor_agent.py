"""``store.db`` of cursor-agent, a file a session: messages of the AI SDK as JSON, each under the SHA-256 of its bytes.

What the model is sent next is a list of these ids in a Protocol Buffers message, the root; ``meta`` says which is the
latest. Its fields are published nowhere: only that list is read. The layout is as SpecStory's reader has it
(https://github.com/specstoryai/getspecstory, ``pkg/providers/cursorcli``). No message has a time or tokens.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from ...drafts import Draft, Finding
from ..common.agents.pieces import Piece, pieces_of
from ..common.agents.reading import AgentReading
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.sqlite.opening import Store
from ..common.sqlite.rows import json_of, line_of, read_store, session_of
from ..common.values import dict_of, list_of, text_of
from ..contract import Spec
from ..cursor.transcript import split_prompt

NAME = "cursor-agent-store"
SPEC = Spec(name=NAME, title="Cursor agent (store)", grows="lines")
BLOBS, META = "blobs", "meta"
MESSAGE = (b'{"id":"', b'{"role":"')
"""How a message begins; older versions have the id of the one before it in front."""
LIST, HASH = 0x0A, 32
"""The tag of the root's list of messages, and the length of an id in it."""


def detect(head: Head) -> bool:
    """By its two tables."""
    return head.has_table(BLOBS, "id", "data") and head.has_table(META, "key", "value")


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of the session in a store, a message in memory at a time. Raises ``FormatError``."""
    return read_store(source, SPEC.title, _sessions)


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    about: dict[str, Any] = {}
    for _, value in store.places(META, ["value"]):
        about |= _about(value)
    held: dict[str, int] = {}
    listed: list[str] = []
    latest = text_of(about.pop("latestRootBlobId", ""))
    for number, own, data in store.places(BLOBS, ["id", "data"]):
        if isinstance(own, str) and _message_in(data):
            held[own] = number
        elif own == latest and isinstance(data, bytes):
            listed = _ids_in(data)
    if held:
        yield CursorAgentReading().run(_items(store, about, held, listed))


def _items(store: Store, about: dict[str, Any], held: dict[str, int], listed: list[str]) -> Iterator[Item]:
    """The session, then its messages in the order of the list. One that is in it no more was summarised or undone: it
    stands where it was written.
    """
    yield from session_of(about, f"/{META}")
    sent = set(listed)
    left = deque(sorted((number, own) for own, number in held.items() if own not in sent))
    if listed and left:
        message = f"{len(left)} messages are no longer sent to the model: they were summarised, or undone"
        yield Finding(f"{NAME}.not-sent", "info", f"/{BLOBS}", message)
    for own in listed:
        while left and left[0][0] < held.get(own, 0):
            yield from _line(store, left.popleft()[1], held, gone=True)
        if own in held:
            yield from _line(store, own, held, gone=False)
    for _, own in left:
        yield from _line(store, own, held, gone=bool(listed))


def _line(store: Store, own: str, held: dict[str, int], *, gone: bool) -> Iterator[Item]:
    told: dict[str, Any] = {"blob": own, "message": _message_in(store.row(BLOBS, held[own]).get("data"))}
    yield from line_of(told | ({"gone": True} if gone else {}), f"/{BLOBS}/{own[:ID_LIMIT]}")


def _about(value: Any) -> dict[str, Any]:
    """What ``meta`` says about the session: JSON, written in hexadecimal."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else text_of(value)
    with suppress(ValueError):
        text = bytes.fromhex(text).decode("utf-8", "replace")
    return dict_of(json_of(text))


def _message_in(data: Any) -> dict[str, Any]:
    """The message in a blob; empty where there is none."""
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    starts = [at for begin in MESSAGE if (at := data.find(begin)) >= 0] if isinstance(data, bytes) else []
    if not starts:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(data[min(starts) :].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("role"), str) else {}


def _ids_in(data: bytes) -> list[str]:
    """The ids that a root begins with."""
    found, at, step = list[str](), 0, HASH + 2
    while data[at : at + 2] == bytes((LIST, HASH)) and len(data) >= at + step:
        found.append(data[at + 2 : at + step].hex())
        at += step
    return found


class CursorAgentReading(AgentReading):
    """The state of one session while it is read."""

    name = NAME
    title = "Cursor"
    stamps = ("createdAt",)

    def __init__(self) -> None:
        super().__init__()
        self._told = Counter[str]()

    def assign_key(self, line: Line) -> Iterable[Finding]:
        """A message is known by its bytes and by how often they came before: it may be sent no more later on."""
        super().assign_key(line)
        if own := text_of(line.value.get("blob"))[:ID_LIMIT]:
            line.key = f"{own}#{self._told[own]}" if self._told[own] else own
            self._told[own] += 1
        return ()

    def note(self, line: Line) -> None:
        value, facts = line.value, self.facts
        if "message" in value:
            facts.model = _model_of(dict_of(value["message"])) or facts.model
            return
        self.claim(value.get("agentId"))
        facts.title = text_of(value.get("name")) or facts.title
        model = text_of(value.get("lastUsedModel"))[:ID_LIMIT]
        facts.model = model if model not in ("", "default") else facts.model
        if mode := text_of(value.get("mode")):
            facts.more["mode"] = mode[:100]

    def events(self, line: Line) -> Iterator[Draft]:
        message = dict_of(line.value.get("message"))
        role, gone = message.get("role"), line.value.get("gone") is True
        data = {"no_longer_sent": True} if gone else None
        pieces = pieces_of(message.get("content"), "/message/content")
        if not message:
            return
        if role == "assistant":
            yield from self.message(line, "assistant", pieces, model=_model_of(message) or self.facts.model, data=data)
        elif role == "user":
            yield from self.message(line, "user", [part for piece in pieces for part in _asked(piece)], data=data)
        elif role in ("system", "tool"):
            yield from self.message(line, role, pieces, data=data)
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}")


def _model_of(message: dict[str, Any]) -> str:
    """The model that wrote a message, where Cursor says so beside one of its parts."""
    holders = (message, *map(dict_of, list_of(message.get("content"))))
    told = (dict_of(dict_of(holder.get("providerOptions")).get("cursor")).get("modelName") for holder in holders)
    return next(filter(None, map(text_of, told)), "")[:ID_LIMIT]


def _asked(piece: Piece) -> Iterator[Piece]:
    """What a person typed, and what Cursor put around it."""
    if piece.kind != "text":
        yield piece
        return
    typed, around = split_prompt(piece.text)
    for tag, text in around:
        yield Piece("context", text, piece.path, data={"type": tag})
    if typed:
        yield Piece("text", typed, piece.path)
