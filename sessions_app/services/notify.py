"""Notices to other processes that something changed, in the transaction that changed it (PostgreSQL NOTIFY)."""

from __future__ import annotations

from uuid import UUID

import orjson
from django.db import connection

CHANNEL = "countersign"


def session_changed(session_id: UUID, last_seq: int) -> None:
    send({"session": str(session_id), "seq": last_seq})


def text_written(session_id: UUID, request: str, offset: int, text: str) -> None:
    """Send a piece of a message that is being written, and its offset. The log has the message when it is whole."""
    send({"session": str(session_id), "said": {"request": request, "offset": offset, "text": text}})


def approval_changed(approval_id: UUID, session_id: UUID) -> None:
    """Tell the readers of the session, of the approval, and of the workspace's inbox."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_notify(%s, jsonb_build_object('approval', %s::text, 'session', %s::text,"
            " 'workspace', (SELECT workspace_id::text FROM sessions_app_session WHERE id = %s))::text)",
            [CHANNEL, str(approval_id), str(session_id), session_id],
        )


def send(message: dict[str, object]) -> None:
    """Send one notice: ``{KIND: ID, ...}``, at most 8,000 bytes as JSON (a limit of NOTIFY)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, orjson.dumps(message).decode()])
