"""Members, API keys and the workspace itself. Everybody sees them; admins change them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from sessions_app import extensions
from sessions_app.models import Agent, ApiKey, Invitation, Member, Role
from sessions_app.queries import members as queries
from sessions_app.queries import secrets as secret_queries
from sessions_app.services import secrets, workspaces
from sessions_app.services.log import pricing
from sessions_app.services.people import api_keys, invitations, members

from .. import access
from . import shown_once

NUMBERS = "numbers"
ROLES = [
    (Role.VIEWER, gettext_lazy("Viewer")),
    (NUMBERS, gettext_lazy("Viewer, numbers only")),
    (Role.REVIEWER, gettext_lazy("Reviewer")),
    (Role.ADMIN, gettext_lazy("Admin")),
]
"""What a member can be made; ``NUMBERS`` is a viewer who sees totals and no contents."""


def _role_of(chosen: str) -> tuple[Role, bool]:
    """The role, and whether it is of numbers only."""
    return (Role.VIEWER, True) if chosen == NUMBERS else (Role(chosen), False)


class MemberForm(forms.Form):
    name = forms.CharField(max_length=150, label=gettext_lazy("Name"))
    email = forms.EmailField(max_length=150, label=gettext_lazy("Email"))
    role = forms.ChoiceField(choices=ROLES, initial=Role.REVIEWER, label=gettext_lazy("Role"))


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=ROLES)


class KeyForm(forms.Form):
    name = forms.CharField(max_length=100, label=gettext_lazy("Name"))
    role = forms.ChoiceField(choices=Role.choices, initial=Role.AGENT, label=gettext_lazy("Role"))
    agent = forms.ModelChoiceField(Agent.objects.none(), required=False, label=gettext_lazy("Only for agent"))
    expires_in = forms.IntegerField(
        min_value=1, max_value=api_keys.MOST_DAYS, required=False, label=gettext_lazy("Expires in days")
    )

    def __init__(self, workspace_id: UUID, sent: QueryDict | None = None) -> None:
        super().__init__(sent)
        self.fields["agent"].queryset = Agent.objects.filter(workspace_id=workspace_id).order_by("name")


class NameForm(forms.Form):
    name = forms.CharField(max_length=200)


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    return page(request, **shown_once.take(request))


def page(request: access.DeskRequest, status: int = 200, **shown: Any) -> HttpResponse:
    """The page; ``shown`` has a form with its errors, or a secret that is seen this once."""
    workspace = request.member.workspace
    context = {
        "members": queries.members(workspace.id),
        "invitations": queries.open_invitations(workspace.id),
        "api_keys": queries.api_keys(workspace.id),
        "workspaces": queries.workspaces(request.user),
        "can_change": request.member.role == Role.ADMIN,
        "roles": ROLES,
        "key_roles": Role.choices,
        "member_form": MemberForm(),
        "key_form": KeyForm(workspace.id),
        **(_secrets(workspace.id) if request.member.role == Role.ADMIN else {}),
        "prices": pricing.source(),
        "version": django_settings.VERSION,
        "address": request.build_absolute_uri("/").rstrip("/"),
        "sections": extensions.parts(extensions.SETTINGS_SECTIONS, request, shown),
        **shown,
    }
    response = render(request, "settings/index.html", context, status=status)
    if shown:
        response.headers["Cache-Control"] = "no-store"
    return response


def _secrets(workspace_id: UUID) -> dict[str, Any]:
    """What only admins see: which secrets there are, who set them, and where the key of the model comes from."""
    kept = secret_queries.secrets(workspace_id)
    return {
        "secrets": [one for one in kept if one.row.name != secrets.PROVIDER_KEY],
        "provider_key": next((one for one in kept if one.row.name == secrets.PROVIDER_KEY), None),
        "provider_origin": secrets.provider_origin(),
        "installation_has_key": bool(django_settings.ANTHROPIC_API_KEY),
    }


@require_POST
@access.admin
def add_member(request: access.DeskRequest) -> HttpResponse:
    """Add somebody, or invite who has an account, and show the link that they need, once; or send it by e-mail."""
    form = MemberForm(request.POST)
    if not form.is_valid():
        return page(request, 422, member_form=form)
    entered = form.cleaned_data
    workspace, (role, numbers_only) = request.member.workspace, _role_of(entered["role"])
    how: Any = {"by": access.actor(request), "absolute": _absolute(request), "numbers_only": numbers_only}
    try:
        try:
            member, link = members.add_member(workspace, entered["email"], entered["name"], role, **how)
            shown = {"invited": str(member)}
        except members.HasAccount as known:
            _invitation, link = members.invite(workspace, known.user, role, **how)
            shown = {"invitation": known.user.get_username()}
    except members.Refused as refused:
        form.add_error("email", str(refused))
        return page(request, 422, member_form=form)
    return _to_section(request, "members", **shown, **_shown_link(request, link))


def _to_section(request: access.DeskRequest, section: str, **shown: str | bool) -> HttpResponse:
    """To the section of the page that shows a link or a key, once."""
    return shown_once.lead_to(request, f"{reverse('settings')}#{section}", **shown)


def _absolute(request: access.DeskRequest) -> members.Absolute:
    """Addresses as others open them: below the public one where it is set, for a Host header can say anything."""
    public = django_settings.PUBLIC_URL
    return lambda path: f"{public.rstrip('/')}{path}" if public else request.build_absolute_uri(path)


def _shown_link(request: access.DeskRequest, link: members.MadeLink) -> dict[str, str]:
    return {"link": _absolute(request)(link.path) if link.path else "", "sent_to": link.sent_to}


@require_POST
@access.admin
def new_link(request: access.DeskRequest, member_id: UUID) -> HttpResponse:
    member = access.one(Member.objects.select_related("user"), request, member_id)
    try:
        link = members.make_sign_in_link(member, by=access.actor(request), absolute=_absolute(request))
    except members.Refused as refused:
        return _refused(request, refused)
    is_reset = member.user.has_usable_password()
    return _to_section(request, "members", invited=str(member), is_reset=is_reset, **_shown_link(request, link))


@require_POST
@access.admin
def withdraw(request: access.DeskRequest, invitation_id: UUID) -> HttpResponse:
    """Take back an invitation that waits."""
    found = access.one(Invitation.objects.select_related("user"), request, invitation_id)
    invitations.withdraw(found, by=access.actor(request))
    messages.success(request, _("The invitation of %(guest)s is withdrawn.") % {"guest": found})
    return redirect("settings")


@require_POST
@access.admin
def change_role(request: access.DeskRequest, member_id: UUID) -> HttpResponse:
    member = access.one(Member.objects.select_related("user"), request, member_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return page(request, 422, role_error=form.errors["role"][0])
    try:
        role, numbers_only = _role_of(form.cleaned_data["role"])
        members.change_role(member, role, by=access.actor(request), numbers_only=numbers_only)
    except members.Refused as refused:
        return _refused(request, refused)
    only = _(", of numbers only") if member.numbers_only else ""
    now = {"member": member, "role": member.get_role_display().lower(), "only": only}
    messages.success(request, _("%(member)s is %(role)s now%(only)s.") % now)
    return redirect("settings")


@require_POST
@access.admin
def remove_member(request: access.DeskRequest, member_id: UUID) -> HttpResponse:
    member = access.one(Member.objects.select_related("user"), request, member_id)
    try:
        members.remove_member(member, by=access.actor(request))
    except members.Refused as refused:
        return _refused(request, refused)
    messages.success(request, _("%(member)s is not a member any more.") % {"member": member})
    return redirect("home" if member_id == request.member.pk else "settings")


@require_POST
@access.admin
def create_key(request: access.DeskRequest) -> HttpResponse:
    """Make an API key and show it, once."""
    form = KeyForm(request.member.workspace_id, request.POST)
    if not form.is_valid():
        return page(request, 422, key_form=form)
    entered = form.cleaned_data
    key, secret = api_keys.create_api_key(
        request.member.workspace,
        entered["name"],
        Role(entered["role"]),
        by=access.actor(request),
        agent=entered["agent"],
        expires_in=timedelta(days=entered["expires_in"]) if entered["expires_in"] else None,
    )
    return _to_section(request, "keys", new_key=str(key), secret=secret)


@require_POST
@access.admin
def revoke_key(request: access.DeskRequest, key_id: UUID) -> HttpResponse:
    key = access.one(ApiKey.objects.all(), request, key_id)
    api_keys.revoke_api_key(key, by=access.actor(request))
    messages.success(request, _('The key "%(key)s" does not work any more.') % {"key": key})
    return redirect("settings")


@require_POST
@access.admin
def rename(request: access.DeskRequest) -> HttpResponse:
    form = NameForm(request.POST)
    if not form.is_valid():
        return page(request, 422, name_error=form.errors["name"][0])
    workspaces.rename_workspace(request.member.workspace, form.cleaned_data["name"], by=access.actor(request))
    messages.success(request, _("The workspace has its new name."))
    return redirect("settings")


@require_POST
@access.numbers
def switch(request: access.DeskRequest) -> HttpResponse:
    """Work in another of one's workspaces from now on: at its home, or at ``next``, which was not found in this one."""
    wanted = request.POST.get("workspace", "")
    chosen = next((w for w in queries.workspaces(request.user) if str(w.id) == wanted), None)
    if chosen is None:
        messages.error(request, _("You are not a member of that workspace."))
        return redirect("settings")
    request.session[access.WORKSPACE_KEY] = str(chosen.id)
    return redirect(access.path_here(request.POST.get("next", "")) or "home")


def _refused(request: access.DeskRequest, refused: members.Refused) -> HttpResponse:
    messages.error(request, str(refused))
    return redirect("settings")
