"""Requests for an approval: by an agent in its session, or by one that has no session here and is given one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from sessions_app import canonical
from sessions_app.models import Agent, Approval, Member, Session
from sessions_app.rendering.toolline import name_in_words

from .. import actors, agents, audit, sessions
from ..escalations import steps
from ..log import events, heads, links
from ..log.sanitise import identifier, storable, text
from ..notices import announcing
from ..policies import gate
from ..stops import doors
from ..triggers import unattended
from . import automatic, endings, initiators, record
from .decisions import Conflict


@dataclass(frozen=True, slots=True)
class Question:
    """The tool call that an agent asks about. ``expires_in`` is in seconds; None waits without end."""

    tool: str
    arguments: Any
    server: str | None = None
    context: str = ""
    """Why the agent asks, in its words."""
    risk: str = ""
    expires_in: int | None = None
    client_id: str = ""
    """The asker's own id of the call: the same one again is the same approval."""
    fingerprint: str = ""
    """SHA-256 of the tool's schema and its server's address, where the asker knows them."""
    sub_agent: bool = False
    for_person: bool = False
    """Its result is what a person answers: no rule and no grant can allow it."""


def own_title(agent: Agent, question: Question) -> str:
    """Title of a session that is made for one question: ``run_sql · warehouse``."""
    return f"{question.tool} · {question.server or agent.name}"


IsTold = Callable[[Approval], bool]


def not_told(approval: Approval) -> bool:
    """Whoever asks in a way that tells nobody yet."""
    return False


@transaction.atomic
def request(
    session: Session, question: Question, *, by: audit.Actor, agent: Agent | None = None,
    planted_by: Member | None = None, is_told: IsTold = not_told,
) -> Approval:  # fmt: skip
    """Ask for a decision: of the rules, a grant, or else a person. The same ``client_id`` again is the same approval.

    A call that an admin planted is always for a person, and none that they are themselves. ``is_told`` says of one
    that is settled at once whether who asked reads the answer of this very call: then it is delivered.

    Raises ``sessions.Closed``, or ``Conflict`` when the client id was used for another question.
    """
    return _request(session, question, by=by, agent=agent, planted_by=planted_by, is_told=is_told)


def _request(
    session: Session, question: Question, *, by: audit.Actor, agent: Agent | None = None,
    planted_by: Member | None = None, is_told: IsTold = not_told,
) -> Approval:  # fmt: skip
    head = heads.lock(session.pk)  # the same question twice at once waits here
    sessions.refuse_where_signed(head)
    question = _storable(question)
    if question.client_id:
        asked = Approval.objects.filter(session=session, client_id=question.client_id).first()
        if asked and not (others := _differing(asked, question)):
            return asked
        if asked:
            name = question.client_id
            raise Conflict(asked, f'client_id "{name}" was used in this session with another {" and ".join(others)}')
    approval = _new_approval(session, question, by)
    if planted_by:
        approval.planted, approval.planted_by, approval.asked_by_user_id = True, planted_by, planted_by.user_id
        question = replace(question, for_person=True)  # no grant is used up for it
    stop = doors.stop_in(session.workspace_id, session.agent_id)
    judgement = gate.UNASKED if stop else gate.judge(session, _asked(question), agent=agent, head=head)
    if planted_by and judgement.effect != "ask":
        judgement = gate.UNASKED
    automatic.note_judgement(approval, judgement)
    sessions.refuse_archived(head)
    asked_so = automatic.Asked(
        by, record.event_of(approval, by, _asks(approval, by), actor_kind="agent"), _said_of_asking(approval, by)
    )
    if judgement.effect != "ask":
        automatic.settle(approval, judgement, head, asked_so, is_told)
        return approval
    origin = links.desk_for(by)
    approval.event_seq = events.append(session.pk, [asked_so.event], origin=origin, head=head).last_seq
    approval.save(force_insert=True)
    audit.record_each(session.workspace_id, [asked_so.said])
    record.announce(approval)
    announcing.requested(approval)
    if stop:
        endings.deny_by_stop(approval, stop)
    elif denial := unattended.denial_of(session):
        endings.end_by_rule(
            approval, allow=False, by=denial.by, decides_by=Approval.DecidesBy.SYSTEM, rule=approval.rule or "",
            reason=denial.reason,
        )  # fmt: skip
    else:
        steps.freeze(approval)
    return approval


@transaction.atomic
def request_in_own_session(
    workspace_id: UUID, agent_name: str, question: Question, *, by: audit.Actor, among: Q | None = None,
    external_id: str = "", title: str = "", is_told: IsTold = not_told,
) -> Approval:  # fmt: skip
    """Ask for a decision in a session made for the question, or for all that are asked with its ``external_id``.

    The same agent and ``client_id`` again is the same approval, where its session is ``among`` those that the asker
    sees. Raises ``Conflict`` when the client id was used for another question.
    """
    agent = agents.get_or_create_agent(workspace_id, agent_name)
    session = None
    if external_id:
        session = sessions.known_as(agent, external_id, among or Q())
    elif question.client_id:
        session = _session_asked_in(agent, question.client_id, among or Q())
    if session is None:
        title = title or own_title(agent, question)
        session = sessions.create(
            agent, by=by, origin=Session.Origin.API, title=title, external_id=external_id, for_question=True
        )
    session.agent = agent
    return _request(session, question, by=by, is_told=is_told)


def _asks(approval: Approval, by: audit.Actor) -> str:
    """That it asks, in the words of its event: of an escalation the question itself."""
    if not approval.is_escalation:
        return f"{by.name} asks to run {name_in_words(approval.tool_name)}"
    given = approval.arguments if isinstance(approval.arguments, dict) else {}
    return f"{by.name} asks a person: {given.get('question') or approval.context}"


def _asked(question: Question) -> gate.Asked:
    return gate.Asked(
        question.tool, question.arguments, question.server, question.fingerprint, question.risk,
        sub_agent=question.sub_agent, for_person=question.for_person,
    )  # fmt: skip


def _said_of_asking(approval: Approval, by: audit.Actor) -> audit.Said:
    details = {
        "session": str(approval.session_id), "tool": approval.tool_name, "digest": approval.digest,
        **_why_asked(approval),
    }  # fmt: skip
    return audit.Said(by, "approval.requested", ("approval", approval.pk), details)


def _why_asked(approval: Approval) -> dict[str, str]:
    """The rules that asked and the version they are of, for the audit log."""
    version = approval.policy_version_id
    return {name: str(value) for name, value in (("rule", approval.rule), ("policy_version", version)) if value}


def _storable(question: Question) -> Question:
    return replace(
        question,
        tool=text(question.tool),
        server=text(question.server),
        context=text(question.context),
        arguments=storable(question.arguments),
        client_id=identifier(question.client_id),
        fingerprint=text(question.fingerprint),
    )


def _new_approval(session: Session, question: Question, by: audit.Actor) -> Approval:
    now = timezone.now()
    approval = Approval(
        workspace_id=session.workspace_id,
        session=session,
        client_id=question.client_id,
        tool_name=question.tool,
        tool_server=question.server,
        arguments=question.arguments,
        context=question.context,
        risk=question.risk,
        tool_fingerprint=question.fingerprint,
        requested_by=by.name,
        asked_by_key_id=actors.api_key_id_of(by),
        asked_by_user_id=actors.user_id_of(by),
        initiated_by_id=initiators.initiator_of(session),
        requested_at=now,
        expires_at=now + timedelta(seconds=question.expires_in) if question.expires_in else None,
    )
    approval.digest = approval.digest_of_question()
    return approval


def _differing(asked: Approval, question: Question) -> list[str]:
    """Names of the fields in which a repeated question differs from the first."""
    said = asked.terms.get("asked", {})  # what the rules changed is not what the asker said
    seconds = said.get("expires_in", automatic.seconds_to_expiry(asked))
    before = (asked.tool_name, asked.tool_server, asked.context, said.get("risk", asked.risk), seconds)
    now = (question.tool, question.server, question.context, question.risk, question.expires_in)
    names = ("tool.name", "tool.server", "context", "risk", "expires_in")
    differing = [name for name, first, second in zip(names, before, now, strict=True) if first != second]
    # As canonical JSON: to Python {"n": 1} and {"n": true} are equal.
    return differing if canonical.same(asked.arguments, question.arguments) else [*differing, "tool.arguments"]


def _session_asked_in(agent: Agent, client_id: str, among: Q) -> Session | None:
    with connection.cursor() as cursor:  # two first questions at once must not make two sessions
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"ask:{agent.id}:{client_id}"])
    asked = Approval.objects.filter(client_id=identifier(client_id))
    sessions_asked_in = Session.objects.filter(among, agent=agent, approvals__in=asked)
    return sessions_asked_in.order_by("approvals__requested_at").first()
