"""Zed's ``threads.db``: a row a thread, its record as JSON, mostly packed with Zstandard; such a record alone, too, and
those of acpx (``~/.acpx/sessions/ID.json``), which keep a session of any agent in the same shape.

No message has a time. What a thread took stands in it as a running total; ``request_token_usage`` beside it is of the
last request for each prompt and no sum. From ``crates/agent/src/db.rs`` and ``thread.rs`` of Zed, of both ages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Finding, Usage
from ..common.agents.pieces import Piece, pieces_of, readable
from ..common.agents.reading import AgentReading, Role, unfolded
from ..common.calls import id_of
from ..common.encodings.zstandard import OPTIONS, zstd
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.jsonio import dumps
from ..common.lines import Item, Line
from ..common.records import MAX_DOCUMENT, records
from ..common.sqlite.opening import Row, Store, is_sqlite
from ..common.sqlite.rows import json_of, line_of, read_store
from ..common.times import moment_of
from ..common.values import count_of, dict_of, first_text, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "zed"
SPEC = Spec(name=NAME, title="Zed", grows="lines")
TABLE = "threads"
RECORD = "acpx.session."
COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def detect(head: Head) -> bool:
    """By its table of threads, each with a record and how that is packed; of a record alone by the names of its
    messages, which are objects with one member, or by segments of what was said before 0.3.0."""
    if head.has_table(TABLE, "id", "summary", "updated_at", "data_type", "data"):
        return True
    told = "messages.item.User" in head.shape or "messages.item.Agent" in head.shape
    older = head.shape.get("messages.item.segments") == "[" and "updated_at" in head.keys
    return "item" not in head.shape and (told or older or RECORD in text_of(head.shape.get("schema")))


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all threads of a store, one in memory at a time, or of one record. Raises ``FormatError``."""
    if is_sqlite(source):
        return read_store(source, SPEC.title, _sessions)
    return ZedReading().run(_alone(records(source, NAME)))


def _alone(items: Iterator[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Line):
            yield from _unfolded({**item.value, "thread": _row_of(item.value)}, item.pointer)
        else:
            yield item


def _row_of(record: dict[str, Any]) -> Row:
    """What a store has in columns beside a record, as one that lies alone says it. A thread that Zed shares has no id:
    that of its first message is in no other one."""
    users = (dict_of(dict_of(one).get("User")).get("id") for one in list_of(record.get("messages"))[:20])
    ids = (record.get("id"), record.get("acp_session_id"), record.get("acpx_record_id"), *users)
    return {
        "id": first_text(*ids), "summary": first_text(record.get("summary"), record.get("name")),
        "created_at": record.get("created_at"), "updated_at": record.get("last_used_at"),
        "folder_paths": text_of(record.get("cwd")),
    }  # fmt: skip


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    for number, row in store.rows(TABLE, store.all_numbers(TABLE, "updated_at", "id")):
        yield from _thread(row, f"/{TABLE}/{number}")


def _thread(row: Row, place: str) -> Iterator[Iterator[Draft]]:
    """The drafts of a thread; a finding where its record cannot be read, nothing where nobody said anything."""
    data = row.pop("data", None)
    found, why = _unpacked(data) if row.get("data_type") == "zstd" else (data, "")
    record = dict_of(json_of(found))
    if list_of(record.get("messages")):
        yield ZedReading().run(_items(row, record, place))
    elif why or not record:
        message = f"the thread {str(row.get('summary'))[:100]!r} is left out: {why or 'its record is no JSON object'}"
        yield iter([Finding(f"{NAME}.thread", "warning", place, message)])


def _unpacked(data: Any) -> tuple[bytes, str]:
    """The bytes in a frame of Zstandard, or why there are none."""
    if not isinstance(data, bytes):
        return b"", "its record is no bytes"
    unpacker = zstd.ZstdDecompressor(options=OPTIONS)
    try:
        found = unpacker.decompress(data, MAX_DOCUMENT)
    except zstd.ZstdError as error:
        return b"", f"it cannot be unpacked: {error}"
    if unpacker.eof:
        return found, ""
    too_large = len(found) >= MAX_DOCUMENT
    return b"", f"it unpacks to more than {MAX_DOCUMENT // 1024**2} MB" if too_large else "its record is cut off"


def _items(row: Row, record: dict[str, Any], place: str) -> Iterator[Item]:
    yield from _unfolded({**record, "thread": row}, place)


def _unfolded(record: dict[str, Any], place: str) -> Iterator[Item]:
    messages = [one if isinstance(one, dict) else {str(one)[:ID_LIMIT]: {}} for one in list_of(record.get("messages"))]
    yield from unfolded(line_of({**record, "messages": messages}, place), NAME, "messages")


class ZedReading(AgentReading):
    """The state of one thread while it is read."""

    name = NAME
    title = "Zed"
    stamps = ()

    def note(self, line: Line) -> None:
        value, facts = line.value, self.facts
        if "thread" not in value:
            return
        row = dict_of(value["thread"])
        self.claim(row.get("id"))
        if RECORD in text_of(value.get("schema")):
            facts.agent = text_of(value.get("agent_command"))[:ID_LIMIT] or "acpx"
        facts.title = first_text(value.get("title"), row.get("summary")) or facts.title
        parent = dict_of(value.get("subagent_context")).get("parent_thread_id")
        facts.parent = first_text(row.get("parent_id"), parent)[:ID_LIMIT] or None
        model = dict_of(value.get("model"))
        facts.model = text_of(model.get("model"))[:ID_LIMIT] or facts.model
        facts.more |= scalars_of({"provider": model.get("provider"), "profile": value.get("profile")})
        for at in (row.get("created_at"), row.get("updated_at"), value.get("updated_at")):
            facts.at(moment_of(at).at)
        trees = list_of(dict_of(value.get("initial_project_snapshot")).get("worktree_snapshots"))
        tree = dict_of(next(iter(trees), None))
        git = dict_of(tree.get("git_state"))
        folder = text_of(row.get("folder_paths")).partition("\n")[0]
        facts.set_environment(
            cwd=folder or tree.get("worktree_path"),
            git_branch=git.get("current_branch"),
            git_commit=git.get("head_sha"),
        )

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "thread" in value:
            yield from self._totals(line, value)
        elif "User" in value:
            yield from self._said(line, "user", dict_of(value["User"]), "/User")
        elif "Agent" in value:
            yield from self._said(line, "assistant", dict_of(value["Agent"]), "/Agent")
        elif "role" in value:
            yield from self._older(line, value)
        elif "Resume" in value:
            yield line.event("status", actor=("person", ""), data={"type": "resumed"})
        else:
            yield self.unknown(line, f"message {str(next(iter(value), ''))[:100]!r}")

    def _totals(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        stated = dict_of(value.get("cumulative_token_usage"))
        counts = [count_of(stated.get(name)) for name in COUNTS]
        data = {"type": "session_total"} | scalars_of({"summary": value.get("detailed_summary")})
        if any(counts):
            yield line.event(
                "model_request", actor=line.agent, model=self.facts.model, usage=Usage(*counts, quality="aggregate"),
                request="session", data=data,
            )  # fmt: skip

    def _said(self, line: Line, role: Role, message: dict[str, Any], path: str) -> Iterator[Draft]:
        line.key = f"{text_of(message.get('id'))[:ID_LIMIT]}" or line.key
        pieces = [_piece(item, f"{path}/content/{n}") for n, item in enumerate(list_of(message.get("content")))]
        open_calls = {piece.call_id for piece in pieces if piece.data.get("incomplete")}
        results = {
            call_id: result for call_id, result in dict_of(message.get("tool_results")).items()
            if call_id not in open_calls or _brings(dict_of(result))
        }  # fmt: skip
        if pieces or not results:
            yield from self.message(line, role, pieces, model=self.facts.model if role == "assistant" else None)
        for number, (call_id, result) in enumerate(results.items()):
            piece = _result(dict_of(result), call_id, f"{path}/tool_results")
            yield self.returned(line, piece, {}, {"part": f":r{number}", "at_path": piece.path})

    def _older(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        """A message of the store before 0.3.0: segments, calls and results beside one another."""
        role = text_of(value.get("role")).lower()
        uses = [{"type": "tool_use", **dict_of(use)} for use in list_of(value.get("tool_uses"))]
        pieces = [*pieces_of(value.get("segments"), "/segments"), *pieces_of(uses, "/tool_uses")]
        if role not in ("user", "assistant", "system"):
            yield self.unknown(line, f"role {role[:100]!r}")
            return
        if not pieces and text_of(value.get("context")):
            pieces = [Piece("text", value["context"], "/context")]
        yield from self.message(line, role, pieces, model=self.facts.model if role == "assistant" else None)  # type: ignore[arg-type]
        for number, result in enumerate(map(dict_of, list_of(value.get("tool_results")))):
            piece = _result(result, result.get("tool_use_id"), f"/tool_results/{number}")
            yield self.returned(line, piece, {}, {"part": f":r{number}", "at_path": piece.path})


def _piece(item: Any, path: str) -> Piece:
    """A part of a message: an object with one member, which says what it is."""
    kind, value = next(iter(dict_of(item).items()), ("", None))
    held = dict_of(value)
    if kind == "Text":
        return Piece("text", text_of(value), path)
    if kind == "Thinking":
        return Piece("reasoning", text_of(held.get("text")), path)
    if kind == "RedactedThinking":
        return Piece("reasoning", "", path, data={"withheld": True})
    if kind == "ToolUse":
        given = held["input"] if held.get("input") is not None else held.get("raw_input")
        data = {} if held.get("is_input_complete") is not False else {"incomplete": True}
        return Piece("call", "", path, id_of(held.get("id")), id_of(held.get("name")), given, data=data)
    if kind == "Mention":
        uri = held.get("uri")
        named = scalars_of({"uri": uri if isinstance(uri, str) else dumps(uri).decode()})
        return Piece("context", text_of(held.get("content")), path, data={"type": "mention"} | named)
    if kind == "Image":
        return Piece("media", path=path, data={"type": "image"})
    return Piece("unknown", path=path, value=item, data={"what": f"part {kind[:100]!r}"})


def _brings(result: dict[str, Any]) -> bool:
    """Whether a call has a result: acpx writes an empty one down with the call."""
    return bool(result.get("output") or result.get("is_error") or any(dict_of(result.get("content")).values()))


def _result(result: dict[str, Any], call_id: Any, path: str) -> Piece:
    """What a tool brought: a text, an image, or a list of them, and its own record of it."""
    brought = result.get("content")
    parts = brought if isinstance(brought, list) else [brought]
    texts = [part if isinstance(part, str) else text_of(dict_of(part).get("Text")) for part in parts]
    text, rest = readable(result.get("output"))
    failed = result.get("is_error")
    status = ("error" if failed else "ok") if isinstance(failed, bool) else None
    said = "\n".join(filter(None, texts)) or text
    value = rest if rest is not None else text if text != said else None
    return Piece("result", said, path, id_of(call_id), id_of(result.get("tool_name")), value or None, status)
