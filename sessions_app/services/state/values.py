"""State of sessions: read, written and deleted by key, each write under a new version.

The log of the session that wrote says so: which key, and the versions before and after, so that nobody replaces what
another wrote without a trace. It has no values: they can be forgotten, and what is in a log stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.ids import uuid7
from sessions_app.models import Session, StateValue
from sessions_app.services import audit
from sessions_app.services.log import events, heads, links

MOST_KEYS = 1_000
"""Of one session, user or agent."""
MOST_BYTES = 262_144
"""Of one value, as JSON."""
LONGEST_KEY = 255
LONGEST_VECTOR = 4_096
Scope = StateValue.Scope


class Refused(ValueError):
    """What was sent cannot be kept; ``field`` says which of it."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


class Stale(ValueError):
    """Somebody else wrote in between; ``version`` is that of their value, 0 where there is none any more."""

    def __init__(self, key: str, version: int) -> None:
        super().__init__(f'"{key}" was changed by somebody else: it is at version {version} now; read it again')
        self.version = version


class Over(ValueError):
    """The session is archived: what was kept for it alone is gone, and nothing more is kept."""

    def __init__(self) -> None:
        super().__init__("this session is archived: it keeps no state of its own")


@dataclass(frozen=True)
class Embedding:
    """What a model made of a text: a vector of length 1. Raises ``Refused`` for one that points nowhere."""

    model: str
    vector: list[float]

    def __post_init__(self) -> None:
        length = math.hypot(*self.vector)
        if not 0 < length < math.inf:
            raise Refused("embedding", f"the vector has the length {length:g}: it points nowhere")
        object.__setattr__(self, "vector", [number / length for number in self.vector])


def values_of(session: Session, scope: str) -> QuerySet[StateValue]:
    """Values that a session sees in a scope. Raises ``Refused`` for the scope of a user where it has none."""
    return StateValue.objects.filter(**_place(session, scope), is_deleted=False).defer("vector")


def values_of_agent(agent_id: UUID, user_id: str) -> QuerySet[StateValue]:
    """What is kept for a user of an agent or, with "", for all of its sessions: known without a session."""
    scope = Scope.USER if user_id else Scope.APP
    values = StateValue.objects.filter(agent=agent_id, scope=scope, user_id=user_id, session=None, is_deleted=False)
    return values.defer("vector")


@transaction.atomic
def write(
    session: Session, scope: str, key: str, value: Any, *, by: audit.Actor, if_version: int | None = None,
    embedding: Embedding | None = None,
) -> StateValue:  # fmt: skip
    """Keep a JSON value. ``if_version``: only while the key is at that version, 0: only where there is none.

    ``embedding`` is what a search compares; without it the value is found by its words alone.

    Raises ``Stale``, ``Refused`` and ``Over``.
    """
    size = len(orjson.dumps(value))
    if size > MOST_BYTES:
        raise Refused("value", f"the value has {size} bytes as JSON, and at most {MOST_BYTES} are kept")
    place, now = _place(session, scope), timezone.now()
    _lock_open(session, scope)
    first = StateValue(workspace_id=session.workspace_id, **place, key=key, is_deleted=True, at=now)
    StateValue.objects.bulk_create([first], ignore_conflicts=True)
    row = StateValue.objects.defer("vector").select_for_update().get(**place, key=key)
    _refuse_stale(row, if_version)
    if row.is_deleted and values_of(session, scope).count() >= MOST_KEYS:
        raise Refused("key", f"there are {MOST_KEYS} keys in this scope already; delete some")
    replaced = 0 if row.is_deleted else row.version
    row.value, row.is_deleted, row.at, row.by = value, False, now, by.name
    row.version += 1
    row.vector_model, row.vector = (embedding.model, embedding.vector) if embedding else ("", None)
    row.save()
    _note(session, by, scope, f'"{key}" is at version {row.version}', type="state_set", key=key, version=row.version,
          replaced=replaced)  # fmt: skip
    return row


@transaction.atomic
def delete(session: Session, scope: str, key: str, *, by: audit.Actor, if_version: int | None = None) -> int:
    """Forget a value; how many there were. Raises ``Stale``, ``Refused`` and ``Over``."""
    place = _place(session, scope)
    _lock_open(session, scope)
    row = StateValue.objects.select_for_update().filter(**place, key=key, is_deleted=False).first()
    if row is None:
        if if_version:
            raise Stale(key, 0)
        return 0
    _refuse_stale(row, if_version)
    row.value, row.vector, row.is_deleted, row.at = None, None, True, timezone.now()
    replaced, row.version = row.version, row.version + 1
    row.save()
    _forget_oldest(place)
    _note(session, by, scope, f'"{key}" is deleted', type="state_deleted", key=key, version=row.version,
          replaced=replaced)  # fmt: skip
    return 1


@transaction.atomic
def clear(session: Session, scope: str, *, by: audit.Actor) -> int:
    """Forget all values of a scope; how many there were. Raises ``Refused`` and ``Over``."""
    _lock_open(session, scope)
    cleared = values_of(session, scope).update(
        value=None, vector=None, is_deleted=True, version=F("version") + 1, at=timezone.now()
    )  # fmt: skip
    _forget_oldest(_place(session, scope))
    if cleared:
        _note(session, by, scope, f"cleared, {cleared} values", type="state_cleared", values=cleared)
    return cleared


def _note(session: Session, by: audit.Actor, scope: str, what: str, **facts: Any) -> None:
    """Say in the log of the session what became of its state. An archived one takes no events, and its user's state
    goes on.
    """
    head = heads.lock(session.pk)
    if head.status == Session.Status.ARCHIVED:
        return
    text, data = f"{scope} state: {what}", {"scope": scope} | facts
    note = EventDraft(kind="status", key=f"state:{uuid7()}", at=timezone.now(), text=text, data=data)
    events.append(session.pk, [note], origin=links.sent_by(by), head=head)


def _forget_oldest(place: dict[str, Any]) -> None:
    """Of deleted keys the newest ``MOST_KEYS`` keep their version: who deletes new names for ever fills no table."""
    deleted = StateValue.objects.filter(**place, is_deleted=True).order_by("-at", "-pk")
    StateValue.objects.filter(pk__in=deleted.values("pk")[MOST_KEYS:]).delete()


def end_of(session_id: UUID) -> None:
    """Nothing is kept for a session that is over; its log has the keys that there were."""
    StateValue.objects.filter(session=session_id).delete()


def _place(session: Session, scope: str) -> dict[str, Any]:
    """What names the scope: of an agent, of a user of it, or of the session."""
    if scope == Scope.USER and not session.user_id:
        raise Refused("scope", "this session has no user; open it with a user_id to keep state of its user")
    return {
        "agent_id": session.agent_id, "scope": scope, "user_id": session.user_id if scope == Scope.USER else "",
        "session_id": session.pk if scope == Scope.SESSION else None,
    }  # fmt: skip


def _lock_open(session: Session, scope: str) -> None:
    """State of a session is written under the lock that archiving takes: it ends what was kept, and nothing follows."""
    if scope != Scope.SESSION:
        return
    status = Session.objects.select_for_update().values_list("status", flat=True).get(pk=session.pk)
    if status == Session.Status.ARCHIVED:
        raise Over


def _refuse_stale(row: StateValue, if_version: int | None) -> None:
    version = 0 if row.is_deleted else row.version
    if if_version is not None and if_version != version:
        raise Stale(row.key, version)
