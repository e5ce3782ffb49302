"""From bytes to the blocks of a feed, and whether they tell of a session (llmfeed spec, "feed types")."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, BinaryIO

from ...drafts import Finding, FormatError, Json
from ..common.head import open_plain
from ..common.jsonio import MAX_DEPTH, Unreadable, loads
from .block_text import kind_name
from .schema import as_found

MAX_BYTES = 32 * 1024 * 1024
"""A feed is one JSON object and is held in memory, at about five times its size. Published ones are below 30 KB."""

SESSION_TYPES = ("session", "session-feed", "session-replay")


@dataclass(frozen=True, slots=True)
class Feed:
    """The top-level blocks in the order of the file, and what was odd about its JSON."""

    blocks: dict[str, Json]
    digest: str
    """SHA-256 of the document, for an identity where the file states none."""
    findings: list[Finding]

    def object_at(self, name: str) -> dict[str, Json]:
        """A block that is an object; an empty one for everything else."""
        value = self.blocks.get(name)
        return value if isinstance(value, dict) else {}

    def list_at(self, name: str) -> list[Json]:
        """A block that is a list; an empty one for everything else."""
        value = self.blocks.get(name)
        return value if isinstance(value, list) else []


def load(source: BinaryIO) -> Feed:
    """Read a whole feed. Raises ``FormatError`` that names the place and the reason."""
    data = unpacked(source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"The file is not UTF-8: byte {byte:#04x} at offset {error.start} (line {line}).") from None
    try:
        value, repairs = loads(data)
    except Unreadable as error:
        raise FormatError(f"The file is {error}.") from None
    if not isinstance(value, dict):
        raise FormatError(f"An llmfeed file is a JSON object; this one is {kind_name(value)}.")
    if _too_deep(value):
        raise FormatError(f"The file is nested deeper than {MAX_DEPTH} levels; nothing that is a session is.")
    findings = [Finding("L3", "warning", "", f"The JSON had to be repaired: {repair}.") for repair in repairs]
    return Feed(as_found(value), sha256(data).hexdigest(), findings + _repeated_keys(text))


def require_session(feed: Feed, *, anyway: bool) -> list[Finding]:
    """Refuse what is no session (L2), unless it is to be read ``anyway``. Without a session type: a finding."""
    feed_type = feed.blocks.get("feed_type")
    if feed_type in SESSION_TYPES:
        return []
    if feed_type == "export" and any(_is_session_item(item) for item in feed.list_at("data")):
        return []
    if feed_type is not None and _says_session_state(feed):
        return [
            Finding(
                "L2", "info", "/feed_type", f"The feed_type is {feed_type!r}; its session_state makes it a session."
            )
        ]
    found = layouts(feed)
    if feed_type is None and found:
        said = _stated_elsewhere(feed)
        return [
            Finding(
                "L2",
                "warning",
                "",
                f"The file has no feed_type{said}; read as a session for its blocks ({', '.join(found)}).",
            )
        ]
    if anyway:
        message = f"This is no session: {_refusal(feed, feed_type)} It is read as one because that was asked for."
        return [Finding("L2", "warning", "/feed_type", message)]
    raise FormatError(_refusal(feed, feed_type))


def layouts(feed: Feed) -> list[str]:
    """The layouts of session feeds, S1 to S13, that these blocks show; one file may show several."""
    return [name for name, shows in _LAYOUTS.items() if shows(feed)]


def is_loose(keys: Set[str]) -> bool:
    """Whether these top-level keys are those of a capture without a feed_type (S12)."""
    return len(LOOSE_KEYS & keys) >= 3


def _data_has(*names: str) -> Callable[[Feed], bool]:
    return lambda feed: any(name in feed.object_at("data") for name in names)


def _has(*names: str) -> Callable[[Feed], bool]:
    return lambda feed: any(name in feed.blocks for name in names)


def _is_session_item(item: Json) -> bool:
    return isinstance(item, dict) and item.get("type") == "session"


def _says_session_state(feed: Feed) -> bool:
    return "session_id" in feed.object_at("session_state")


LOOSE_KEYS = frozenset({"session_date", "project", "goals", "key_files_created", "pending_tasks"})
"""Of a session capture without a feed_type (S12); three of them together are enough to know it."""

_LAYOUTS: dict[str, Callable[[Feed], bool]] = {
    "S1": _has("context", "imports", "decisions", "outputs"),
    "S2": lambda feed: (
        "session_summary" in feed.blocks
        or "learning_progress" in feed.blocks
        or any(
            name.endswith("_context") and name not in ("session_context", "workflow_context") for name in feed.blocks
        )
    ),
    "S3": _has("conversation_trace", "session_context", "replay_instructions"),
    "S4": _has("workflow_context", "prompt_execution", "api_execution"),
    "S5": lambda feed: bool(feed.object_at("session")),
    "S6": _data_has("completed", "in_progress", "remaining"),
    "S7": lambda feed: bool(feed.list_at("blocks")) and "metadata" not in feed.blocks,
    "S8": _data_has("timeline", "topics"),
    "S9": _data_has("chat_transcript", "full_chat_transcript"),
    "S10": _data_has("context_summary"),
    "S11": lambda feed: any(_is_session_item(item) for item in feed.list_at("data")),
    "S12": lambda feed: is_loose(feed.blocks.keys()),
    "S13": _says_session_state,
}


def _refusal(feed: Feed, feed_type: Json) -> str:
    wanted = f"Sessions are {', '.join(SESSION_TYPES)}, and export with an item of type session."
    if feed_type is None:
        keys = ", ".join(list(feed.blocks)[:12]) or "none"
        return f"The file has no feed_type{_stated_elsewhere(feed)}; its keys are {keys}. {wanted}"
    if feed_type == "export":
        return f'feed_type "export" holds no item of type session. {wanted}'
    return f"feed_type {json.dumps(feed_type)[:80]} is not a session. {wanted}"


def _stated_elsewhere(feed: Feed) -> str:
    said = feed.object_at("metadata").get("feed_type")
    return f" at its top (metadata says {json.dumps(said)[:80]})" if said is not None else ""


def unpacked(source: BinaryIO) -> bytes:
    """The bytes of a feed, out of gzip when they are in it. Raises ``FormatError``."""
    try:
        data = open_plain(source).read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"The gzip file cannot be unpacked: {error}.") from None
    if len(data) > MAX_BYTES:
        raise FormatError(
            f"The file is larger than {MAX_BYTES // 2**20} MB; llmfeed sessions are read up to that size."
        )
    return data


def _too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _repeated_keys(text: str) -> list[Finding]:
    """Keys that stand twice in one object: JSON readers keep the last, and a signature covers who knows which."""
    found: dict[str, None] = {}

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(names := Counter(name for name, _ in pairs)) < len(pairs):
            found.update(dict.fromkeys(name for name, count in names.items() if count > 1))

    json.loads(text, object_pairs_hook=look)
    return [
        Finding("L3", "warning", "", f"The key {name[:60]!r} occurs more than once in an object; the last one counts.")
        for name in list(found)[:10]
    ]
