"""Redacted vCons: made of a draft, written as an export, and released.

A file is released when nothing that was removed still stands in it, or when somebody accepted that it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from django.db import transaction

from sessions_app.models import Session
from sessions_app.services import audit
from vcon_app.models import Export, Redaction
from vcon_app.signing.keys import Anchor

from ..redaction import redaction_drafts
from ..redaction.redaction_rules import BadRule, Rule, checked_rules
from . import export_jobs

LONGEST_TYPE = 200
FORMAT = "vcon"


class NotReady(Exception):
    """The file cannot be handed out; the message says why and what to do."""


def make(
    session: Session, rules: list[Rule], kind: str, *, by: audit.Actor, signed: bool = False,
    encrypt_for: Sequence[Anchor] = (),
) -> Redaction:  # fmt: skip
    """Write the redacted vCon: at once when the session is small, else by a worker.

    Encrypted it is signed first. A draft of ``by`` that says the same is used up; one that says something else is
    what they chose meanwhile, and stays. Raises ``BadRule``, and ``exports.CannotExport`` where it cannot be signed or
    encrypted.
    """
    kind = " ".join(kind.split())
    if not 0 < len(kind) <= LONGEST_TYPE or "\0" in kind:
        raise BadRule(
            "/type", f'say in 1 to {LONGEST_TYPE} characters what kind of redaction it is, as "PII Redaction"'
        )
    rules = checked_rules(session, rules)
    if not rules:
        raise BadRule("/remove", "nothing is chosen that could be removed")
    with transaction.atomic():
        Session.objects.select_for_update(no_key=True).only("id").get(pk=session.pk)
        draft = redaction_drafts.draft_of(session, by)
        redaction_drafts.discard(session, by)  # somebody has one of a session, and what is made begins as one
        redaction = Redaction.objects.create(
            workspace_id=session.workspace_id, session=session, type=kind, rules=rules,
            actor_kind=by.kind, actor_id=by.id, actor_name=by.name,
        )  # fmt: skip
        wrapped = {"encrypt_for": encrypt_for} if encrypt_for else {"signed": True} if signed else {}
        export_jobs.start_export(session, FORMAT, by=by, options=wrapped, redaction=str(redaction.pk))
        if draft.rules and draft.rules != rules:
            draft.save(force_insert=True)
    return Redaction.objects.select_related("export").get(pk=redaction.pk)


def state_of(redaction: Redaction) -> str:
    """draft, writing, failed, held (removed words still stand in the file) or ready."""
    if redaction.export is None:
        return "draft"
    if redaction.export.status in (Export.Status.QUEUED, Export.Status.RUNNING):
        return "writing"
    if redaction.export.status == Export.Status.FAILED:
        return "failed"
    return "held" if (redaction.leak_count or redaction.unchecked) and not redaction.accepted_by else "ready"


def accept(redaction: Redaction, *, by: audit.Actor) -> None:
    """Hand it out although removed words still stand in it; a second time changes nothing. Raises ``NotReady``."""
    state = state_of(redaction)
    if state == "ready":
        return
    if state != "held":
        raise NotReady(f"this redaction is {state}: there is nothing to accept")
    with transaction.atomic():
        if not Redaction.objects.filter(pk=redaction.pk, accepted_by="").update(accepted_by=by.name or by.kind):
            return
        audit.record(
            redaction.workspace_id, by, "session.redaction_accepted", subject=("session", redaction.session_id),
            redaction=str(redaction.pk), still_there=redaction.leak_count, unchecked=redaction.unchecked,
        )  # fmt: skip
    redaction.refresh_from_db()


def open_file(redaction: Redaction) -> BinaryIO:
    """The finished file, written again when it was cleared away. Raises ``NotReady``."""
    state, export = state_of(redaction), redaction.export
    if state != "ready" or export is None:
        raise NotReady(_WHY[state])
    if not export_jobs.has_file(export):
        export_jobs.write_again(export)
        redaction.refresh_from_db()
        state = state_of(redaction)
        if state != "ready":
            raise NotReady(_WHY[state])
    return export_jobs.open_file(export)


_WHY = {
    "draft": "this redaction is a draft: make its file first",
    "writing": "the file is still being written; ask again in a minute",
    "failed": "the file could not be written; make it again",
    "held": "words that were removed still stand in this file: remove those places too, or accept them",
}


def rules_for_leaks(redaction: Redaction) -> list[Rule]:
    """The rules of a redaction, and those that remove what was found in its file."""
    more = [leak["rule"] for leak in redaction.leaks if leak["rule"]]
    return list({tuple(sorted(rule.items())): rule for rule in [*redaction.rules, *more]}.values())
