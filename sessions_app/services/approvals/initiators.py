"""Initiators: the person whose message or schedule began the turn in which a call is asked about."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import ValidationError

from sessions_app.models import ApiKey, AuditEntry, Event, EventLink, Member, Session, TriggerRun

MEMBER = "member"
"""Key in what a message from Slack says of its place: the member that its sender is."""


def initiator_of(session: Session) -> int | None:
    """Id of the user who wrote the last message to the agent, sent it by a key of theirs, or made its schedule.

    None where that is nobody the desk knows: a webhook, a file, a stranger in Slack.
    """
    turn = Session.objects.filter(pk=session.pk).values("last_turn")[:1]
    message = Event.objects.filter(session=session, turn=turn).only("seq", "kind", "data").order_by("seq").first()
    if message is None or message.kind != "user_message":
        return None
    links = EventLink.objects.filter(session=session, last_seq__gte=message.seq).order_by("last_seq")
    link = links.only("reporter_kind", "reporter_id").first()
    kind, id_ = (link.reporter_kind, link.reporter_id) if link else ("", "")
    if kind == "slack":
        source = message.data.get("slack")
        kind, id_ = "member", str(source.get(MEMBER) or "") if isinstance(source, dict) else ""
    try:
        return _user(kind, UUID(id_))
    except (ValueError, ValidationError):
        return None


def _user(kind: str, id_: UUID) -> int | None:
    if kind == "member":
        return Member.objects.filter(pk=id_).values_list("user_id", flat=True).first()
    if kind == "api_key":
        return ApiKey.objects.filter(pk=id_).values_list("made_by_id", flat=True).first()
    if kind == "trigger":
        run = TriggerRun.objects.filter(pk=id_).exclude(schedule=None).first()
        return _maker_of_schedule(run) if run else None
    return None


def _maker_of_schedule(run: TriggerRun) -> int | None:
    of_schedule = AuditEntry.objects.filter(workspace_id=run.workspace_id, subject_id=str(run.schedule_id))
    made = of_schedule.filter(action="schedule.created", actor_kind="member").values_list("actor_id", flat=True).first()
    return _user("member", UUID(made)) if made else None
