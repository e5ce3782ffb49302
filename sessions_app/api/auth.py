"""Authentication: an API key as bearer, or the browser session of a member. Each operation names the role it needs."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Model, Q
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from sessions_app.live import visits
from sessions_app.models import (
    Absence,
    Agent,
    Approval,
    Budget,
    Comment,
    Grant,
    GraphNode,
    Member,
    ReviewQueue,
    Role,
    Rubric,
    SavedView,
    Schedule,
    Session,
    Stop,
    TriggerRun,
    Workspace,
)
from sessions_app.models import WebhookDelivery as Delivery
from sessions_app.models import WebhookEndpoint as Webhook
from sessions_app.services import audit
from sessions_app.services.approvals import decisions
from sessions_app.services.log import heads
from sessions_app.services.people import api_keys, members

from .problems import Problem, not_found

WORKSPACE_KEY = "workspace"
"""Where a browser session keeps the workspace that was chosen last (see ``views.access``)."""
ACTS_FOR = "acts_for"
"""An attribute of requests that the desk makes to itself, which no header sets: their ``Principal``."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
IN_PATHS: dict[str, type[Model]] = {
    "agent_id": Agent,
    "session_id": Session,
    "approval_id": Approval,
    "budget_id": Budget,
    "grant_id": Grant,
    "schedule_id": Schedule,
    "webhook_id": Webhook,
    "delivery_id": Delivery,
    "run_id": TriggerRun,
    "stop_id": Stop,
    "absence_id": Absence,
    "queue_id": ReviewQueue,
    "rubric_id": Rubric,
    "comment_id": Comment,
    "view_id": SavedView,
    "decision_id": GraphNode,
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request acts for, and where. ``request.auth`` behind a door."""

    workspace: Workspace
    role: Role
    actor: audit.Actor
    member_id: UUID | None = None
    api_key_id: UUID | None = None
    agent: Agent | None = None
    """The only one that the key is for."""
    numbers_only: bool = False
    """A member who sees totals, counts and costs, and nothing of what is in sessions."""
    by_assistant: bool = False
    """The assistant of the desk, which reads for the member: its own chats are no finding of it."""
    is_told: bool = True
    """Whether what is answered reaches them: the body of an answer to HEAD does not."""

    @property
    def caller(self) -> str:
        """Name that limits are counted by."""
        return f"api_key:{self.api_key_id}" if self.api_key_id else f"member:{self.member_id}"

    @property
    def decider(self) -> decisions.Decider:
        """The same for a decision."""
        channel = "api" if self.api_key_id else "web"
        return decisions.Decider(self.actor, self.role, channel, self.member_id, self.api_key_id)

    @property
    def is_narrowed(self) -> bool:
        """Whether it sees only a part of the sessions: its own, or those of one agent."""
        return self.agent is not None or self.role == Role.AGENT

    @property
    def sees(self) -> Q:
        """Condition of the sessions that it sees; of approvals ``sees_approvals``."""
        here = Q(workspace=self.workspace)
        if self.agent:  # its program may be who executes what is approved: a planted call is not there for it
            return here & Q(agent=self.agent) & ~Q(pk__in=Approval.objects.filter(planted=True).values("session"))
        return here & Q(opened_by_key=self.api_key_id) if self.role == Role.AGENT else here

    def lists(self, asked_of_agent: bool) -> Q:
        """Condition of the sessions that its lists and searches show, where they are of one agent and where of all."""
        if not self.by_assistant or asked_of_agent:
            return self.sees
        own = Agent.objects.filter(workspace=self.workspace, runtime=Agent.Runtime.BUILT_IN)
        return self.sees & ~Q(agent__in=list(own.values_list("pk", flat=True)))

    def to_append(self, session_id: UUID) -> heads.Seen:
        """Which sessions it sees, for whoever locks this one. Raises ``Problem`` where that does not tell."""
        if self.agent:
            if not Session.objects.filter(self.sees, pk=session_id).exists():
                raise not_found("session")
            return heads.Seen(self.workspace.pk)
        return heads.Seen(self.workspace.pk, self.api_key_id if self.role == Role.AGENT else None)

    def may_see_agent(self, agent_id: UUID) -> bool:
        """Whether sessions of an agent of the workspace may be opened or listed."""
        return self.agent is None or self.agent.pk == agent_id

    def sees_approvals(self) -> Q:
        """Condition of the approvals that it sees: those in its sessions."""
        here = Q(workspace=self.workspace)
        return here & Q(session__in=Session.objects.filter(self.sees)) if self.is_narrowed else here


class Door(AuthBase):
    """Lets in whoever has one of the roles: 401 without a valid key or session, 403 when the role is too low.

    A stranger is told 404 before 403, so that an id of another workspace looks like one that nobody has. A key that
    sees only a part of the sessions comes through doors that are ``narrow``: what lies behind those asks
    ``Principal.sees`` for what there is. Every other door is shut to it, so that a new route is shut, too; and so it is
    with members who see ``numbers`` only.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, *needed: Role, narrow: bool = False, numbers: bool = False) -> None:
        super().__init__()
        self.needed, self.narrow, self.numbers = needed, narrow, numbers

    @property
    def in_words(self) -> str:
        """Whom it lets in, for the description of the API."""
        roles = [role for role in Role if any(role.covers(needed) for needed in self.needed)]
        said = f"Roles: {', '.join(roles)}."
        said += "" if self.narrow else " Not for keys of one agent."
        return said + (" Also for members who see numbers only." if self.numbers else "")

    def __call__(self, request: HttpRequest) -> Principal:
        principal = _principal_of(request)
        visits.note_caller(principal.caller)
        if not any(principal.role.covers(role) for role in self.needed):
            hide_foreign(request, principal)
            needed = self.needed[0]
            raise Problem(403, f'this needs the role "{needed}", and yours is "{principal.role}"; ask an admin')
        if principal.is_narrowed and not self.narrow:
            hide_foreign(request, principal)
            only = f'sessions and approvals of the agent "{principal.agent}"'
            raise Problem(403, f"this is of the whole workspace, and this key is for {only} only; ask an admin")
        if principal.numbers_only and not self.numbers:
            hide_foreign(request, principal)
            raise Problem(403, "you see numbers only in this workspace: GET /api/v1/usage; ask an admin for more")
        return principal


reader, writer, admin = Door(Role.VIEWER), Door(Role.REVIEWER), Door(Role.ADMIN)
numbers_reader = Door(Role.VIEWER, numbers=True)
"""Reads totals; what lies behind it asks ``Principal.numbers_only`` which."""
own_reader = Door(Role.VIEWER, Role.AGENT, narrow=True)
"""Reads sessions and approvals: all, or its own."""
own_viewer = Door(Role.VIEWER, narrow=True)
"""Takes files of sessions away, which an agent does not."""
own_asker = Door(Role.AGENT, narrow=True)
"""Asks, opens and appends."""
own_writer = Door(Role.REVIEWER, narrow=True)
"""Decides, and speaks with agents; in all sessions, or in those of one agent."""


def reader_for(member: Member) -> Principal:
    """A member who reads by the assistant and does nothing else, whatever else their role covers."""
    actor = audit.Actor("member", str(member.pk), str(member))
    return Principal(member.workspace, Role.VIEWER, actor, member_id=member.pk, numbers_only=member.numbers_only,
                     by_assistant=True)  # fmt: skip


def _principal_of(request: HttpRequest) -> Principal:
    if acts_for := getattr(request, ACTS_FOR, None):
        return acts_for
    return _by_key(request) if "Authorization" in request.headers else _by_session(request)


def _by_key(request: HttpRequest) -> Principal:
    scheme, _, secret = request.headers["Authorization"].partition(" ")
    if scheme.lower() != "bearer":
        raise _unauthorized(f'use "Authorization: Bearer cs_...", not "{scheme[:20]}"')
    try:
        key = api_keys.find_api_key(secret.strip())
    except api_keys.Expired as expired:
        raise _unauthorized(str(expired), ', error="invalid_token"') from None
    if key is None:
        raise _unauthorized("this API key is unknown or revoked", ', error="invalid_token"')
    actor = audit.Actor("api_key", str(key.id), key.name)
    is_told = request.method != "HEAD"
    return Principal(key.workspace, Role(key.role), actor, api_key_id=key.id, agent=key.agent, is_told=is_told)


def _by_session(request: HttpRequest) -> Principal:
    if not request.user.is_authenticated:
        raise _unauthorized('sign in, or send an API key as "Authorization: Bearer cs_..."')
    if request.method not in SAFE_METHODS and check_csrf(request):
        raise Problem(403, "the CSRF token is missing or wrong: send it as the header X-CSRFToken")
    member = _member(request)
    actor = audit.Actor("member", str(member.id), str(member))
    only = member.numbers_only
    is_told = request.method != "HEAD"
    return Principal(
        member.workspace, Role(member.role), actor, member_id=member.id, numbers_only=only, is_told=is_told
    )


def _member(request: HttpRequest) -> Member:
    chosen = request.session.get(WORKSPACE_KEY)
    member = members.membership(request.user, UUID(chosen)) if chosen else None
    member = member or members.membership(request.user)
    if member is None:
        raise Problem(403, "you are not a member of any workspace; ask an admin to add you to theirs")
    return member


def _unauthorized(detail: str, parameters: str = "") -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": f'Bearer realm="countersign"{parameters}'})


def hide_foreign(request: HttpRequest, principal: Principal) -> None:
    """Raises 404 when the address names what the principal does not see, as if nobody had it."""
    for name, id_ in request.resolver_match.kwargs.items():
        model = IN_PATHS.get(name)
        if model and not model.objects.filter(_visible(principal, model), pk=id_).exists():
            raise not_found(noun_of(model))


def noun_of(model: type[Model]) -> str:
    """What a row is called in a problem."""
    return "decision" if model is GraphNode else str(model._meta.verbose_name)


def _visible(principal: Principal, model: type[Model]) -> Q:
    if model is Session:
        return principal.sees
    if model is Approval:
        return principal.sees_approvals()
    limited = model is Agent and principal.agent
    return Q(workspace=principal.workspace) & (Q(pk=principal.agent.pk) if limited else Q())
