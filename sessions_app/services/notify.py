"""Notices to other processes that something changed, in the transaction that changed it (PostgreSQL NOTIFY)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import orjson

from sessions_app.prepared import Statement, run

CHANNEL = "countersign"
SEND = Statement("SELECT pg_notify(%s, %s)")
SEND_EACH = Statement("SELECT pg_notify(%s, notice) FROM unnest(%s::text[]) AS notice")


def session_changed(session_id: UUID, last_seq: int) -> None:
    send({"session": str(session_id), "seq": last_seq})


def text_written(session_id: UUID, request: str, offset: int, text: str) -> None:
    """Send a piece of a message that is being written, and its offset. The log has the message when it is whole."""
    send({"session": str(session_id), "said": {"request": request, "offset": offset, "text": text}})


def approval_changed(approval_id: UUID, session_id: UUID, workspace_id: UUID) -> None:
    """Tell the readers of the session, of the approval, and of the workspace's inbox."""
    send({"approval": str(approval_id), "session": str(session_id), "workspace": str(workspace_id)})


def reviews_changed(session_ids: Iterable[UUID]) -> None:
    """Tell the readers of each session that people said something of it, or who is to review it."""
    notices = [_text({"session": str(id_), "review": str(id_)}) for id_ in session_ids]
    run(SEND_EACH, [CHANNEL, notices])


def send(message: dict[str, object]) -> None:
    """Send one notice: ``{KIND: ID, ...}``, at most 8,000 bytes as JSON (a limit of NOTIFY)."""
    run(SEND, [CHANNEL, _text(message)])


def _text(message: dict[str, object]) -> str:
    return orjson.dumps(message).decode()
