"""What a decision is bound to."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

import orjson


def digest_of(session_id: UUID, approval_id: UUID, tool: str, server: str | None, arguments: Any) -> str:
    """SHA-256 of the canonical JSON (sorted keys, compact, UTF-8) of what a reviewer is shown."""
    shown = {
        "session": str(session_id), "approval": str(approval_id), "tool": tool, "server": server, "input": arguments,
    }  # fmt: skip
    return hashlib.sha256(orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)).hexdigest()
