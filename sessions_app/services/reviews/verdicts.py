"""Verdicts: what a person says of a session. Programs say none: neither agents nor API keys of any role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.models import Member, Role, Rubric, Session, TakenSession, Verdict

from .. import audit, notify
from ..log.sanitise import text
from ..sessions import lock
from .problems import Refused, require

MOST_NOTE = 10_000
SCALE = range(1, 6)
YES_NO = {"yes": True, "no": False}
SAYS = [str(says) for says in Verdict.Says if says]
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody says. ``scores`` by the rubric's name or id; an empty one is not given."""

    says: str
    scores: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    last_seq: int | None = None
    """The last event that they had before them; None: the last there is."""


@transaction.atomic
def give(session_id: UUID, member: Member, said: Said, *, by: audit.Actor) -> Verdict:
    """The verdict of a member, in place of the one they gave before, which stays in the history.

    The same again changes nothing. Raises ``Refused`` and ``NotAllowed``.
    """
    require(member, Role.REVIEWER)
    session = lock(session_id)
    if said.says not in SAYS:
        raise Refused("verdict", f'"{said.says[:40]}" is no verdict; use one of {", ".join(SAYS)}')
    note = text(said.note).strip()
    if len(note) > MOST_NOTE:
        raise Refused("note", f"has {len(note):,} characters; use at most {MOST_NOTE:,}")
    seq = session.last_seq if said.last_seq is None else said.last_seq
    if not 0 <= seq <= session.last_seq:
        raise Refused("last_seq", f"{seq} is no event of this session; its last one is {session.last_seq}")
    scores = _scores(session.workspace_id, said.scores)
    before = _current(session, member)
    if before and (before.says, before.scores, before.note, before.last_seq) == (said.says, scores, note, seq):
        return before
    made = _replace(session, member, says=said.says, scores=scores, note=note, last_seq=seq)
    TakenSession.objects.filter(session=session, member=member).delete()
    _record("verdict.given", made, by, before)
    return made


@transaction.atomic
def withdraw(session_id: UUID, member: Member, *, by: audit.Actor) -> None:
    """The member says nothing of the session any more; the history tells what they said. Twice changes nothing."""
    require(member, Role.REVIEWER)
    session = lock(session_id)
    before = _current(session, member)
    if before is None or before.says == Verdict.Says.WITHDRAWN:
        return
    made = _replace(session, member, says=Verdict.Says.WITHDRAWN, last_seq=session.last_seq)
    _record("verdict.withdrawn", made, by, before)


def _current(session: Session, member: Member) -> Verdict | None:
    return Verdict.objects.filter(session=session, user_id=member.user_id, is_current=True).first()


def _replace(session: Session, member: Member, **said: Any) -> Verdict:
    mine = Verdict.objects.filter(session=session, user_id=member.user_id, is_current=True)
    mine.update(is_current=False)
    made = Verdict.objects.create(
        workspace_id=session.workspace_id, session=session, user_id=member.user_id, by=text(str(member)), **said
    )
    current = Verdict.objects.filter(session=session, is_current=True).exclude(says=Verdict.Says.WITHDRAWN)
    different = set(current.values_list("says", flat=True))
    verdict = different.pop() if len(different) == 1 else MIXED if different else ""
    Session.objects.filter(pk=session.pk).exclude(verdict=verdict).update(verdict=verdict)
    return made


def _scores(workspace_id: UUID, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Scores with the names and kinds of their rubrics, in the order of the rubrics. Raises ``Refused``."""
    rubrics = list(Rubric.objects.filter(workspace_id=workspace_id, retired_at=None).order_by("id"))
    known = {key for rubric in rubrics for key in (str(rubric.pk), rubric.name)}
    if unknown := [name for name in given if name not in known]:
        names = ", ".join(rubric.name for rubric in rubrics) or "none"
        raise Refused("scores", f'"{unknown[0][:60]}" is no rubric of this workspace; there are: {names}')
    values = ((rubric, given.get(str(rubric.pk), given.get(rubric.name))) for rubric in rubrics)
    return [
        {"name": rubric.name, "kind": rubric.kind, "value": _value(rubric, value)}
        for rubric, value in values
        if value not in (None, "")
    ]


def _value(rubric: Rubric, value: Any) -> int | bool:
    if rubric.kind == Rubric.Kind.YES_NO:
        value = YES_NO.get(value, value) if isinstance(value, str) else value
        if isinstance(value, bool):
            return value
        raise Refused("scores", f'"{rubric.name}" is answered yes or no, not "{str(value)[:40]}"')
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 1 else value
    if isinstance(number, int) and not isinstance(number, bool) and number in SCALE:
        return number
    raise Refused("scores", f'"{rubric.name}" is scored from 1 to 5, not "{str(value)[:40]}"')


def _record(action: str, made: Verdict, by: audit.Actor, before: Verdict | None) -> None:
    """The note stays out of the audit log, which nothing is ever deleted from: it may quote the session. Who has the
    session open is told that there is something new.
    """
    notify.reviews_changed([made.session_id])
    audit.record(
        made.workspace_id, by, action, subject=("session", made.session_id), verdict=made.says,
        before=before.says if before else None, scores={one["name"]: one["value"] for one in made.scores},
        has_note=bool(made.note), last_seq=made.last_seq,
    )  # fmt: skip
