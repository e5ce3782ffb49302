"""May a session be handed on? What its legal basis says of redistribution, and what whoever exports it answers.

draft-howe-vcon-agent-session s9: without a grant it must not be transmitted outside. Whether a download leaves the
house only its reader knows, so it is asked, told with the file, and written down.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from sessions_app.models import Session
from vcon_app.queries import legal_basis

from .export_options import CannotExport

PARAMETER = "redistribution"
CHECK, CONFIRMED = "check", "confirmed"
ANSWERS = (CHECK, CONFIRMED)
REASONS = {
    "denied": "its legal basis denies redistribution",
    "expired": "the grant to redistribute it has expired",
    "missing": "its legal basis does not grant redistribution",
}


class NotGranted(ValueError):
    """Nobody granted that this session is handed on, and the caller asked to be told."""


def bases_of(session: Session) -> list[legal_basis.Basis]:
    return legal_basis.bases_of(session, timezone.now())


def state_of(session: Session) -> str:
    """granted, denied, expired, missing; empty where no legal basis is stated."""
    return legal_basis.redistribution_state(bases_of(session))


def is_confirmed(session: Session, answer: Any) -> bool:
    """Whether whoever exports says that it is handed on without a grant. Raises ``CannotExport``, ``NotGranted``."""
    if answer not in ("", *ANSWERS):
        raise CannotExport(f'{PARAMETER} is "{str(answer)[:40]}"; it is one of {", ".join(ANSWERS)}', PARAMETER)
    reason = REASONS.get(state_of(session), "")
    if reason and answer == CHECK:
        raise NotGranted(f"this session is not handed on: {reason}; {PARAMETER}={CONFIRMED} gives it all the same")
    return bool(reason) and answer == CONFIRMED
