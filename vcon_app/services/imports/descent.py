"""Sessions below sessions: none comes to stand below itself, whatever its file and others say.

Files may say of two sessions that each started the other. Who walks down from one of them, as an export with the
sub-agents does, would never come to an end.
"""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import Session
from vcon_app.drafts import Finding


def is_below(session_id: UUID, other_id: UUID) -> bool:
    """Whether a session is the other one, or stands below it."""
    seen: set[UUID] = set()
    above: UUID | None = session_id
    while above and above not in seen:
        if above == other_id:
            return True
        seen.add(above)
        above = Session.objects.values_list("parent_id", flat=True).get(pk=above)
    return False


def in_a_circle(parent_id: str) -> Finding:
    """Told of a file that says it is a sub-agent of a session that stands below its own."""
    return Finding(
        "import.circle", "warning", "",
        f"It says that it is a sub-agent of the session {parent_id[:100]!r}, which stands below it itself, so it stays "
        "above that one.",
    )  # fmt: skip
