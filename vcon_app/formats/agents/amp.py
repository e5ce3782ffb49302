"""Amp: ``~/.local/share/amp/threads/T-UUID.json``, what ``amp threads export`` gives, and ``amp -x --stream-json``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO
from urllib.parse import unquote

from ...drafts import Draft, Usage
from .. import claude_code
from ..claude_code.detection import is_of
from ..claude_code.programs import AMP
from ..common.agents.pieces import Piece, pieces_of, readable
from ..common.agents.reading import AgentReading, unfolded
from ..common.facts import ID_LIMIT
from ..common.head import Head, open_plain, telling
from ..common.lines import Item, Line
from ..common.records import part_of, records
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "amp"
SPEC = Spec(name=NAME, title="Amp")
STATUSES = {"done": "ok", "error": "error", "cancelled": "cancelled", "rejected-by-user": "denied"}
OURS = frozenset({"nextMessageId", "usageLedger", "agentMode", "created", "env", "~debug"})


def detect(head: Head) -> bool:
    """By messages with a number for an id, by what only Amp keeps beside them, by older messages, or as a stream."""
    return _is_thread(head) or is_of(head, AMP)


def _is_thread(head: Head) -> bool:
    shape = head.shape
    if shape.get("messages") != "[" or shape.get("") != "{" or not isinstance(shape.get("id"), str):
        return False
    if {"sessionId", "session_id", "model", "mapping", "threadId"} & head.keys:
        return False
    numbered = isinstance(shape.get("messages.item.messageId"), (int, float))
    old = "messages.item.createdAt" in shape and "messages.item.text" in shape and "messages.item.role" in shape
    return numbered or old or ("messages.item.role" in shape and len(OURS & head.keys) > 1)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one thread. Raises ``FormatError``."""
    if is_of(telling(open_plain(source), detect), AMP):
        return claude_code.read(source)
    return AmpReading().run(_records(source))


def _records(source: BinaryIO) -> Iterator[Item]:
    """The thread, its messages, and what its ledger says of their cost where none of them does."""
    for item in records(source, NAME):
        yield from unfolded([item], NAME, "messages")
        value = item.value if isinstance(item, Line) else {}
        if isinstance(item, Line) and not any("usage" in dict_of(one) for one in list_of(value.get("messages"))):
            for index, entry in enumerate(list_of(dict_of(value.get("usageLedger")).get("events"))):
                yield part_of(item, dict_of(entry), f"/usageLedger/events/{index}")


class AmpReading(AgentReading):
    """The state of one thread while it is read."""

    name = NAME
    title = "Amp"
    stamps = ("createdAt", "created", "timestamp")
    ids = ("id",)

    def note(self, line: Line) -> None:
        value = line.value
        if line.pointer:
            return
        self.claim(value.get("id"))
        self.facts.title = text_of(value.get("title")) or self.facts.title
        initial = dict_of(dict_of(value.get("env")).get("initial"))
        tree = dict_of(next(iter(list_of(initial.get("trees"))), None))
        cwd = text_of(value.get("cwd")) or unquote(text_of(tree.get("uri")).removeprefix("file://"))
        self.facts.set_environment(cwd=cwd, git_branch=dict_of(tree.get("repository")).get("ref"))
        for tag in list_of(initial.get("tags")):
            if text_of(tag).startswith("model:"):
                self.facts.model = self.facts.model or tag[6:200]
        if mode := text_of(value.get("agentMode")):
            self.facts.more["mode"] = mode[:100]

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if not line.pointer:
            return
        if "tokens" in value and "role" not in value:
            yield self._entry(line)
            return
        sent = dict_of(value.get("meta")).get("sentAt")
        usage = dict_of(value.get("usage"))
        line.at = self.moment({"created": sent}) or self.moment({"created": usage.get("timestamp")}) or line.at
        self.facts.at(line.at)
        role, content = value.get("role"), value.get("content", value.get("text"))
        pieces = [_returned(piece, content, line.pointer) for piece in pieces_of(content)]
        if role == "assistant":
            state = scalars_of(dict_of(value.get("state")))
            yield from self.message(
                line, "assistant", [_noted(piece) for piece in pieces], model=usage.get("model"), usage=usage_of(usage),
                data={"state": state} if state else None,
            )  # fmt: skip
        elif role in ("user", "system"):
            yield from self.message(line, role, pieces)
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}")

    def _entry(self, line: Line) -> Draft:
        """An entry of the ledger of older threads."""
        stated, data = dict_of(line.value["tokens"]), scalars_of(line.value, frozenset({"id", "model", "timestamp"}))
        names = ("input", "cacheReadInputTokens", "cacheCreationInputTokens", "output")
        return line.event(
            "model_request", actor=line.agent, model=text_of(line.value.get("model"))[:ID_LIMIT] or self.facts.model,
            usage=Usage(*(count_of(stated.get(name)) for name in names)), request=line.key,
            data={"type": "usageLedger"} | data,
        )  # fmt: skip


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a response; ``inputTokens`` leaves the cache out."""
    names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
    counts = [count_of(stated.get(name)) for name in names]
    return Usage(*counts) if any(count is not None for count in counts) else None


def _returned(piece: Piece, content: Any, pointer: str) -> Piece:
    """A result as Amp keeps it: under ``run``, with a status."""
    if piece.kind != "result":
        return piece
    block = dict_of(content[int(piece.path.rpartition("/")[2])]) if isinstance(content, list) else {}
    run = dict_of(block.get("run"))
    text, value = readable(run.get("result"))
    error = run.get("error")
    failure = text_of(error) or text_of(dict_of(error).get("message"))
    status = text_of(run.get("status"))
    data = scalars_of({"status": status}) if status and status not in STATUSES else {}
    code = dict_of(run.get("result")).get("exitCode")
    outcome = "error" if isinstance(code, int) and code != 0 and status == "done" else STATUSES.get(status)
    return replace(piece, text=text or failure, value=value, status=outcome, data=data)


def _noted(piece: Piece) -> Piece:
    """Older threads say of a call only what it is about, and name a provider in a block of its own."""
    what = text_of(dict_of(piece.value).get("provider")) if piece.kind == "unknown" else ""
    return Piece("context", path=piece.path, data={"type": "provider", "provider": what[:200]}) if what else piece
