"""Kimi Code and Kimi CLI: ``~/.kimi-code/sessions/WD/SESSION/agents/AGENT/wire.jsonl``; before that
``~/.kimi/sessions/HASH/ID/{wire,context}.jsonl``.

A wire is a log of events. What a step cost is said at its end and again in ``usage.record``; a compaction's only there.
No file names its session: the folder does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from ....drafts import Draft, FormatError
from ...common.agents.places import session_of
from ...common.head import Head, open_plain
from ...common.records import lines_or_list
from ...common.values import text_of
from ...contract import Spec
from .reading import NAME, KimiReading
from .wire import WIRE, message_of, whole

SPEC = Spec(
    name=NAME, title="Kimi Code, Kimi CLI", grows="lines", children="beside", starts_sessions=("Agent", "AgentSwarm")
)
PLACE = re.compile(r"/([^/]+)/agents/(?:main|([^/]+))/wire\.jsonl$|([0-9a-f-]{16,})/wire\.jsonl$")
STATE_FILES = (
    frozenset({"title", "isCustomTitle", "agents", "workDir", "lastPrompt"}),
    frozenset({"custom_title", "title_generated", "wire_mtime"}),
)
"""Members of ``state.json`` beside a session, of both ages."""
BEGINNING = 65_536
"""Bytes in which it is recognised."""
NEW = frozenset({"turn.prompt", "context.append_loop_event", "context.append_message", "usage.record", "config.update",
                 "llm.request", "tools.set_active_tools"})  # fmt: skip


def detect(head: Head) -> bool:
    """By events of a wire of either age, or by the rows of a context that are no messages."""
    if is_state(head.keys):
        return True
    first: dict[str, Any] = next(iter(head.records), {})
    if first.get("type") in ("metadata", "hello") and "protocol_version" in first:
        return True
    return any(map(_is_ours, head.records[:20]))


def is_state(keys: Collection[str]) -> bool:
    """Whether these are members of ``state.json``, which lies beside a session and holds no message of it."""
    return any(state <= set(keys) for state in STATE_FILES)


def _is_ours(line: dict[str, Any]) -> bool:
    kind, inner = text_of(line.get("type")), message_of(line).get("type")
    if kind in NEW:
        return not {"uuid", "sessionId", "payload"} & line.keys()
    return text_of(inner) in WIRE or line.get("role") in ("_checkpoint", "_usage", "_system_prompt")


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one file, a line in memory at a time. Raises ``FormatError``."""
    plain = open_plain(source)
    if is_state(Head(plain.read(BEGINNING)).keys):
        raise FormatError(
            "it is the state of a Kimi session and holds no message; the session is in wire.jsonl or context.jsonl "
            "beside it"
        )
    source.seek(0)
    return KimiReading().run(whole(lines_or_list(source, NAME)))
