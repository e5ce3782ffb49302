"""Decisions by a click in Slack: the same as at the desk, by a member who may decide there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.core.exceptions import ValidationError
from django.urls import reverse

from sessions_app.models import Approval, Role, SlackEvent, SlackInstallation
from sessions_app.queries import stops as queries
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.toolline import name_in_words
from sessions_app.services import audit
from sessions_app.services.approvals import decisions
from sessions_app.services.stops import stops

from . import install, people

STOP = "approval_stop"
"""The button that stops the agent: it needs no digest, since it allows nothing."""
VERDICTS = {"approval_approve": "approve", "approval_deny": "deny"}


def value_of(approval: Approval, *, sure: bool = False) -> str:
    """What a button carries: the question with the version and digest that its message shows.

    ``sure``: Slack asks once more before it sends the click.
    """
    shown = {"approval": str(approval.pk), "version": approval.version, "digest": approval.digest}
    return orjson.dumps(shown | ({"sure": True} if sure else {})).decode()


def card_url(installation: SlackInstallation, approval: Approval) -> str:
    """Where the approval is decided at the desk."""
    return f"{install.desk_url(installation)}{reverse('approval-detail', args=[approval.pk])}"


def decide(event: SlackEvent, person: people.Person) -> dict[str, Any]:
    """Decide as the button says; what is to be told to who clicked, as a call of Slack's API."""
    installation, click = event.installation, event.payload
    asked, approval = _asked(click["value"]), asked_by(installation, click)
    if approval is None:
        return _only_to_clicker(click, "There is no such question here any more.")
    member = people.member_of(installation, person)
    if member is None or not Role(member.role).covers(Role.REVIEWER):
        return _only_to_clicker(click, _not_you(installation, approval, person, member is not None))
    actor = audit.Actor("member", str(member.pk), str(member))
    decider = decisions.Decider(actor, Role(member.role), "slack", member_id=member.pk)
    decision = decisions.Decision(
        VERDICTS[click["action"]], version=asked["version"], digest=str(asked.get("digest")),
        reason=click.get("reason", ""), sure=asked.get("sure") is True,
    )  # fmt: skip
    try:
        why_not = decisions.decide(approval, decider, decision).not_kept
    except (decisions.Conflict, decisions.NotAllowed, decisions.Invalid) as refused:
        why_not = str(refused)
    if not why_not:
        return {}
    link = mrkdwn.link(card_url(installation, approval), "Open it in Countersign")
    text = f"{mrkdwn.escape(why_not)}. {link}"
    return _only_to_clicker(click, text[:1].upper() + text[1:])


def stop(event: SlackEvent, person: people.Person) -> dict[str, Any]:
    """Stop the agent whose message has the button, in transactions of its own; what is to be told to who clicked.

    The same click read twice is the same stop.
    """
    installation, click = event.installation, event.payload
    approval = asked_by(installation, click)
    if approval is None:
        return _only_to_clicker(click, "There is no such question here any more.")
    member = people.member_of(installation, person)
    if member is None or not Role(member.role).covers(Role.REVIEWER):
        return _only_to_clicker(click, _not_you(installation, approval, person, member is not None))
    made = stops.make(
        installation.workspace, by=audit.Actor("member", str(member.pk), str(member)), role=Role(member.role),
        reason=f"stopped in Slack, when it asked about {name_in_words(approval.tool_name)}",
        agent=approval.session.agent, id_=event.pk,
    )  # fmt: skip
    address = f"{install.desk_url(installation)}{reverse('stop-list')}#stop-{made.pk}"
    text = f"{mrkdwn.escape(queries.sentence(made))}. {mrkdwn.link(address, 'Lift it in Countersign')}"
    return _only_to_clicker(click, text[:1].upper() + text[1:])


def _asked(value: str) -> dict[str, Any]:
    try:
        asked = orjson.loads(value)
    except orjson.JSONDecodeError:
        asked = None
    return asked if isinstance(asked, dict) and isinstance(asked.get("version"), int) else {}


def asked_by(installation: SlackInstallation, click: dict[str, Any]) -> Approval | None:
    """The approval that a button names, if it is one of the installation's workspace."""
    asked = _asked(click["value"])
    here = Approval.objects.select_related("session__agent").filter(workspace_id=installation.workspace_id)
    try:
        return here.filter(pk=UUID(str(asked.get("approval")))).first()
    except (ValueError, ValidationError):
        return None


def _not_you(installation: SlackInstallation, approval: Approval, person: people.Person, is_member: bool) -> str:
    why = "You may read this but not decide it; an admin can give you the role reviewer."
    why = mrkdwn.escape(why) if is_member else not_a_member(installation, person)
    return f"{why} {mrkdwn.link(card_url(installation, approval), 'Open it in Countersign')}"


def not_a_member(installation: SlackInstallation, person: people.Person) -> str:
    """What is said to somebody who is no member of the workspace, as far as Slack tells."""
    which = f"and {person.outsider}" if person.outsider else "by the e-mail that Slack has confirmed"
    return mrkdwn.escape(f"Only members of {installation.workspace} decide here, {which}.")


def _only_to_clicker(click: dict[str, Any], text: str) -> dict[str, Any]:
    """A message that only the person who clicked sees."""
    return {"method": "chat_postEphemeral", "channel": click["channel"], "user": click["user"], "text": text}
