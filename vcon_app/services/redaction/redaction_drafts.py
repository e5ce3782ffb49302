"""The draft of a redaction: one for each person and session, kept on every click until a file is made of it."""

from __future__ import annotations

from django.db import transaction

from sessions_app.models import Session
from sessions_app.services import audit
from vcon_app.models import Redaction

from .redaction_rules import Rule, checked_rules, rules_without_events


def draft_of(session: Session, by: audit.Actor) -> Redaction:
    """The draft that somebody has of a session; a new one, not yet saved, where there is none."""
    own = {"session": session, "actor_kind": by.kind, "actor_id": by.id}
    draft = Redaction.objects.filter(export=None, **own).first()
    draft = draft or Redaction(workspace_id=session.workspace_id, actor_name=by.name, **own)
    draft.session = session  # as it was read, without a query for it
    return draft


def change(
    session: Session, by: audit.Actor, *, add: list[Rule] | None = None, drop: list[Rule] | None = None,
    seen: list[int] | None = None,
) -> Redaction:  # fmt: skip
    """Change the rules of a draft and save it. Raises ``BadRule``.

    ``seen``: the numbers of the events whose boxes were on the page. Their rules are exchanged for those in ``add``,
    since a box that is not ticked is not sent.
    """
    with transaction.atomic():
        Session.objects.select_for_update(no_key=True).only("id").get(pk=session.pk)  # two clicks at once
        draft = draft_of(session, by)
        kept = [rule for rule in rules_without_events(draft.rules, set(seen or ())) if rule not in (drop or ())]
        draft.rules = checked_rules(session, kept + (add or []))
        draft.save()
    return draft


def discard(session: Session, by: audit.Actor) -> None:
    """Throw a draft away."""
    Redaction.objects.filter(session=session, export=None, actor_kind=by.kind, actor_id=by.id).delete()
