"""Notices to other processes that something changed, in the transaction that changed it (PostgreSQL NOTIFY)."""

from __future__ import annotations

from uuid import UUID

import orjson

from sessions_app.prepared import Statement, run

CHANNEL = "countersign"
SEND = Statement("SELECT pg_notify(%s, %s)")


def session_changed(session_id: UUID, last_seq: int) -> None:
    send({"session": str(session_id), "seq": last_seq})


def text_written(session_id: UUID, request: str, offset: int, text: str) -> None:
    """Send a piece of a message that is being written, and its offset. The log has the message when it is whole."""
    send({"session": str(session_id), "said": {"request": request, "offset": offset, "text": text}})


def approval_changed(approval_id: UUID, session_id: UUID, workspace_id: UUID) -> None:
    """Tell the readers of the session, of the approval, and of the workspace's inbox."""
    send({"approval": str(approval_id), "session": str(session_id), "workspace": str(workspace_id)})


def review_changed(session_id: UUID) -> None:
    """Tell the readers of a session that people said something of it, or who is to review it."""
    send({"session": str(session_id), "review": str(session_id)})


def send(message: dict[str, object]) -> None:
    """Send one notice: ``{KIND: ID, ...}``, at most 8,000 bytes as JSON (a limit of NOTIFY)."""
    run(SEND, [CHANNEL, orjson.dumps(message).decode()])
