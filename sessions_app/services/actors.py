"""Actors of the audit log as rows: the API key or the user that one stands for."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import Member

from .audit import Actor


def api_key_id_of(actor: Actor) -> UUID | None:
    """Id of the API key that acts; None for everybody else."""
    return _id(actor) if actor.kind == "api_key" else None


def user_id_of(actor: Actor) -> int | None:
    """Id of the user behind the member that acts; None for everybody else.

    The user and not the member: who is removed and added again is another member, and the same person.
    """
    id_ = _id(actor)
    if actor.kind != "member" or id_ is None:
        return None
    return Member.objects.filter(pk=id_).values_list("user_id", flat=True).first()


def _id(actor: Actor) -> UUID | None:
    try:
        return UUID(actor.id)
    except ValueError:
        return None
