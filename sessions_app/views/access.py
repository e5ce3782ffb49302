"""The doors: every object enters a page through one of these, or the page is 404.

``@viewer``, ``@reviewer`` and ``@admin`` let a member of that role in and put the membership on the request, and
``@numbers`` every member, also one who sees numbers only;
``session_read`` and its like then find an object in that member's workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from sessions_app.compiled import Compiled
from sessions_app.live import visits
from sessions_app.models import Agent, Approval, Member, Role, Session
from sessions_app.queries import erasure
from sessions_app.services import audit
from sessions_app.services.approvals import decisions
from sessions_app.services.log.sanitise import text
from sessions_app.services.people import members

from .labels import label

WORKSPACE_KEY = "workspace"
"""Where the browser session keeps the id of the workspace that was chosen last."""


class Deleted(str):
    """Why a page is not there, of something that was: the message of its ``Http404``, which the page gets as it is."""

    subject_id: UUID

    def __new__(cls, told: str, subject_id: UUID) -> Deleted:
        made = super().__new__(cls, told)
        made.subject_id = subject_id
        return made


class DeskRequest(HttpRequest):
    """A request that came through a door."""

    member: Member
    htmx: HtmxDetails


View = Callable[..., HttpResponseBase]
Found = TypeVar("Found", bound=Model)


def _door(needed: Role, *, numbers: bool = False) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: DeskRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            request.member = member_of(request)
            require(request.member, needed)
            if request.member.numbers_only and not numbers:
                raise PermissionDenied(_("You see numbers only in this workspace. Ask an admin of it for more."))
            visits.note_caller(f"member:{request.member.id}")
            response = view(request, *args, **kwargs)
            if "Cache-Control" not in response.headers:
                response.headers["Cache-Control"] = "private, no-cache"
            return response

        return guarded

    return decorate


viewer = _door(Role.VIEWER)
reviewer = _door(Role.REVIEWER)
admin = _door(Role.ADMIN)
numbers = _door(Role.VIEWER, numbers=True)
"""Members who see numbers only come through this one alone, so that a new page is shut to them. What lies behind it
asks ``member.numbers_only`` what it may show: totals, counts and costs, never what is in a session.
"""


def member_of(request: HttpRequest) -> Member:
    """The signed-in person's membership in the workspace they chose, or in their first one. Raises 403."""
    chosen = request.session.get(WORKSPACE_KEY)
    member = members.membership(request.user, UUID(chosen)) if chosen else None
    member = member or members.membership(request.user)
    if member is None:
        raise PermissionDenied(_("You are not a member of any workspace. Ask an admin to add you to theirs."))
    return member


def require(member: Member, needed: Role) -> None:
    """Raises 403 when the member's role does not cover the one that is needed."""
    if not Role(member.role).covers(needed):
        needs = _(
            "This needs the role %(needed)s; you are %(role)s in %(workspace)s. "
            "Ask an admin of the workspace for the role."
        )
        role = label(member.get_role_display().lower())
        raise PermissionDenied(
            needs % {"needed": label(needed.label.lower()), "role": role, "workspace": member.workspace}
        )


def _to_sign_in(request: DeskRequest) -> HttpResponseBase:
    """A fragment cannot show the sign-in form in its place, so htmx is told to leave the page."""
    if request.htmx:
        return HttpResponseClientRedirect(redirect_to_login(request.htmx.current_url_abs_path or "/").url)
    return redirect_to_login(request.get_full_path() if request.method == "GET" else "/")


def path_here(asked: str) -> str | None:
    """An address that was sent along, to lead back to; None where it is no path of this site.

    ``redirect`` takes what begins without a slash for the name of a view, and fails where none is called so.
    """
    return asked if asked.startswith("/") and url_has_allowed_host_and_scheme(asked, allowed_hosts=None) else None


def actor(request: DeskRequest) -> audit.Actor:
    """Actor for the audit log: the signed-in member."""
    return audit.Actor("member", str(request.member.id), str(request.member))


def decider(request: DeskRequest) -> decisions.Decider:
    """Decider of an approval on a page: the signed-in member."""
    return decider_of(request.member)


def decider_of(member: Member) -> decisions.Decider:
    who = audit.Actor("member", str(member.id), str(member))
    return decisions.Decider(who, Role(member.role), "web", member_id=member.id, member=member)


def session_read(request: DeskRequest, session_id: UUID) -> Session:
    """A session of the workspace, with its agent, its retention and that workspace; 404 otherwise."""
    found = _SESSION.first(request.member.workspace_id, session_id)
    session = found or _missing(Session, request, session_id)
    session.workspace = request.member.workspace
    return session


_SESSION = Compiled[Session](
    lambda workspace_id, pk: Session.objects.select_related("agent", "retention").filter(
        workspace_id=workspace_id, pk=pk
    )[:1]
)


def agent_read(request: DeskRequest, slug: str) -> Agent:
    """An agent of the workspace by its slug; 404 otherwise."""
    agent = Agent.objects.filter(workspace_id=request.member.workspace_id, slug=text(slug)).first()
    if agent is None:
        raise Http404(_("There is no such agent in this workspace."))
    return agent


def approval_read(request: DeskRequest, approval_id: UUID) -> Approval:
    """An approval of the workspace, with its session and agent; 404 otherwise."""
    return one(Approval.objects.select_related("session__agent"), request, approval_id)


def one(objects: QuerySet[Found], request: DeskRequest, id_: UUID) -> Found:
    """The object with this id in the member's workspace; 404 when there is none, or it is somebody else's."""
    found = objects.filter(workspace_id=request.member.workspace_id, pk=id_).first()
    return found or _missing(objects.model, request, id_)


def _missing(model: type[Model], request: DeskRequest, id_: UUID) -> NoReturn:
    """Raises the 404 of what is not there: it was deleted, or is somebody else's, or never was."""
    noun = label(str(model._meta.verbose_name))
    if gone := erasure.tombstone_of(request.member.workspace_id, id_):
        told = _("This %(noun)s was deleted on %(day)s.") % {"noun": noun, "day": f"{gone.at:%Y-%m-%d}"}
        raise Http404(Deleted(told, id_))
    raise Http404(_("There is no such %(noun)s in this workspace.") % {"noun": noun})
