"""How far people have read a session."""

from __future__ import annotations

from django.utils import timezone

from sessions_app.models import Member, Session
from sessions_app.prepared import Statement, run

NOTE = Statement("""
INSERT INTO sessions_app_seenmark (member_id, session_id, seq, at) VALUES (%s, %s, %s, %s)
ON CONFLICT (member_id, session_id) DO UPDATE
SET seq = greatest(sessions_app_seenmark.seq, excluded.seq), at = excluded.at
""")


def note(session: Session, member: Member, seq: int) -> None:
    """They have read up to ``seq``, or further before; an event that is not there counts as the last one."""
    run(NOTE, [member.pk, session.pk, max(0, min(seq, session.last_seq)), timezone.now()])
