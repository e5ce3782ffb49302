"""What a session led to, recorded here: by people on its page, and by programs over the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import GraphNode, Role, Session

from .. import audit
from ..log.sanitise import text
from ..reviews.problems import NotAllowed, Refused
from ..sessions import lock
from . import fields as known

MOST = 500
"""Of one session, recorded here."""
PROPOSED = "proposed"
Kind = GraphNode.Kind


class SentBefore(ValueError):
    """Its ``client_id`` came before with other content."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What somebody records. ``fields`` are those of ``fields.OF_DECISION`` or ``fields.OF_EVIDENCE``."""

    title: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[int, int] | None = None
    """First and last event that it was drawn from."""
    status: str = PROPOSED
    """Of a decision."""
    about: UUID | None = None
    """Of evidence: the decision that it speaks for or against."""
    client_id: str = ""
    """With one a repeat changes nothing."""


@transaction.atomic
def decide(session_id: UUID, said: Recorded, role: Role, *, by: audit.Actor) -> GraphNode:
    """Record a decision that a session led to. Agents only propose.

    Raises ``Refused``, ``NotAllowed``, ``SentBefore``.
    """
    if said.status not in known.TRANSITIONS:
        raise Refused("status", f'"{said.status[:40]}" is none; use one of {", ".join(known.TRANSITIONS)}')
    if said.status != PROPOSED and not role.covers(Role.REVIEWER):
        raise NotAllowed(f'an agent proposes decisions, and a person or a reviewer\'s key makes one "{said.status}"')
    return _record(session_id, Kind.DECISION, said, known.checked(said.fields, known.OF_DECISION), None, by)


@transaction.atomic
def support(session_id: UUID, said: Recorded, *, by: audit.Actor) -> GraphNode:
    """Record evidence, for or against a decision of the session or of itself. Raises ``Refused``, ``SentBefore``."""
    about = None
    if said.about:
        here = GraphNode.objects.filter(session=session_id, kind=Kind.DECISION, pk=said.about)
        if (about := here.first()) is None:
            raise Refused("decision_id", "there is no such decision of this session")
    return _record(session_id, Kind.EVIDENCE, said, known.checked(said.fields, known.OF_EVIDENCE), about, by)


@transaction.atomic
def change_status(node: GraphNode, status: str, *, by: audit.Actor) -> GraphNode:
    """Move a decision on in its lifecycle; the same again changes nothing.

    Raises ``Refused``: also for one that an event tells, whose word it stays.
    """
    decision = GraphNode.objects.select_for_update().get(pk=node.pk)
    if decision.status == status:
        return decision
    if decision.seq is not None:
        raise Refused("status", f"event {decision.seq} of the record says this decision; record one of your own")
    if status not in (then := known.TRANSITIONS.get(decision.status, ())):
        words = f"it can become {' or '.join(then)}" if then else "it stays so"
        raise Refused("status", f'this decision is {decision.status} and cannot become "{status[:40]}"; {words}')
    before, decision.status, decision.changed_at = decision.status, status, timezone.now()
    decision.save(update_fields=["status", "changed_at"])
    _audit("decision.changed", decision, by, before=before, status=status)
    return decision


def _record(
    session_id: UUID, kind: GraphNode.Kind, said: Recorded, told: dict[str, Any], about: GraphNode | None,
    by: audit.Actor,
) -> GraphNode:  # fmt: skip
    session = lock(session_id)
    first, last = _events(session, said.events)
    content = {"kind": kind, "title": known.title_of(said.title), "told": told, "first_seq": first, "last_seq": last,
               "about_id": about.pk if about else None}  # fmt: skip
    client_id = text(said.client_id)
    if client_id and (before := GraphNode.objects.filter(session=session, client_id=client_id).first()):
        return _repeated(before, content)
    others = GraphNode.objects.filter(session=session)
    if others.filter(seq=None).count() >= MOST:
        raise Refused("title", f"this session has {MOST} decisions and pieces of evidence already")
    made = GraphNode.objects.create(
        workspace_id=session.workspace_id, agent_id=session.agent_id, session=session,
        status=said.status if kind == Kind.DECISION else "", by=text(by.name), by_kind=by.kind, client_id=client_id,
        is_first=not others.exists(), **content,
    )  # fmt: skip
    _audit(f"{kind.value}.recorded", made, by)
    return made


def _repeated(before: GraphNode, content: dict[str, Any]) -> GraphNode:
    differs = [name for name, value in content.items() if getattr(before, name) != value]
    if differs:
        raise SentBefore(f'client_id "{before.client_id[:80]}" came before with another {differs[0]}; give it its own')
    return before


def _events(session: Session, events: tuple[int, int] | None) -> tuple[int | None, int | None]:
    if events is None:
        return None, None
    first, last = events
    if not 1 <= first <= last <= session.last_seq:
        raise Refused("first_seq", f"{first} to {last} are no events of this session; it has 1 to {session.last_seq}")
    return first, last


def _audit(action: str, node: GraphNode, by: audit.Actor, **details: Any) -> None:
    """Without its text, which may quote the session: nothing is ever deleted from the audit log."""
    audit.record(node.workspace_id, by, action, subject=("session", node.session_id), node=str(node.pk), **details)
