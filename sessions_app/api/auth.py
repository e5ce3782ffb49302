"""Authentication: an API key as bearer, or the browser session of a member. Each operation names the role it needs."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from sessions_app.models import Agent, Approval, Budget, Member, Role, Schedule, Session, TriggerRun, Workspace
from sessions_app.models import WebhookDelivery as Delivery
from sessions_app.models import WebhookEndpoint as Webhook
from sessions_app.services import api_keys, audit, members
from sessions_app.services.approvals import decisions

from .problems import Problem, not_found

WORKSPACE_KEY = "workspace"
"""Where a browser session keeps the workspace that was chosen last (see ``views.access``)."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
IN_PATHS: dict[str, type[Model]] = {
    "agent_id": Agent,
    "session_id": Session,
    "approval_id": Approval,
    "budget_id": Budget,
    "schedule_id": Schedule,
    "webhook_id": Webhook,
    "delivery_id": Delivery,
    "run_id": TriggerRun,
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request acts for, and where. ``request.auth`` behind a door."""

    workspace: Workspace
    role: Role
    actor: audit.Actor
    member_id: UUID | None = None
    api_key_id: UUID | None = None

    @property
    def decider(self) -> decisions.Decider:
        """The same for a decision."""
        channel = "api" if self.api_key_id else "web"
        return decisions.Decider(self.actor, self.role, channel, self.member_id, self.api_key_id)


class Door(AuthBase):
    """Lets in whoever has a role: 401 without a valid key or session, 403 when the role is too low.

    A stranger is told 404 before 403, so that an id of another workspace looks like one that nobody has.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, needed: Role) -> None:
        super().__init__()
        self.needed = needed

    def __call__(self, request: HttpRequest) -> Principal:
        principal = _by_key(request) if "Authorization" in request.headers else _by_session(request)
        if not principal.role.covers(self.needed):
            hide_foreign(request, principal)
            raise Problem(403, f'this needs the role "{self.needed}", and yours is "{principal.role}"; ask an admin')
        return principal


reader, writer, admin = Door(Role.VIEWER), Door(Role.REVIEWER), Door(Role.ADMIN)


def _by_key(request: HttpRequest) -> Principal:
    scheme, _, secret = request.headers["Authorization"].partition(" ")
    if scheme.lower() != "bearer":
        raise _unauthorized(f'use "Authorization: Bearer cs_...", not "{scheme[:20]}"')
    key = api_keys.find_api_key(secret.strip())
    if key is None:
        raise _unauthorized("this API key is unknown or revoked", ', error="invalid_token"')
    actor = audit.Actor("api_key", str(key.id), key.name)
    return Principal(key.workspace, Role(key.role), actor, api_key_id=key.id)


def _by_session(request: HttpRequest) -> Principal:
    if not request.user.is_authenticated:
        raise _unauthorized('sign in, or send an API key as "Authorization: Bearer cs_..."')
    if request.method not in SAFE_METHODS and check_csrf(request):
        raise Problem(403, "the CSRF token is missing or wrong: send it as the header X-CSRFToken")
    member = _member(request)
    actor = audit.Actor("member", str(member.id), str(member))
    return Principal(member.workspace, Role(member.role), actor, member_id=member.id)


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
    """Raises 404 when the address names something of another workspace, as if nobody had it."""
    for name, id_ in request.resolver_match.kwargs.items():
        model = IN_PATHS.get(name)
        if model and not model.objects.filter(pk=id_, workspace_id=principal.workspace.id).exists():
            raise not_found(model._meta.model_name)
