"""Pages behind links: sign in, choose another password, answer an invitation. Nothing happens by opening one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login, password_validation, update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from sessions_app.models import SignInLink
from sessions_app.services.people import invitations, sign_in_links
from sessions_app.services.people.password_checks import RETRY_SECONDS, Busy
from sessions_app.services.people.refused import Refused

from . import access, sign_in


def _too_busy(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    response = render(request, template, context, status=503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


class NewPasswordForm(forms.Form):
    password = forms.CharField(strip=False)

    def __init__(self, user: User, request: HttpRequest) -> None:
        self.user = user
        super().__init__(request.POST if request.method == "POST" else None)

    def clean_password(self) -> str:
        password_validation.validate_password(self.cleaned_data["password"], self.user)
        return self.cleaned_data["password"]


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "POST"])  # no HEAD: programs that preview links need not be told whether one works
def link(request: HttpRequest, token: str) -> HttpResponse:
    """A page that says whose link this is; its button signs in, or sets the password that was chosen."""
    found = sign_in_links.find(token)
    if found is None:
        return render(request, "sign_in/link_used.html", status=410)
    is_reset = found.purpose == SignInLink.Purpose.RESET
    form = NewPasswordForm(found.user, request) if is_reset else None
    if request.method != "POST" or (form and not form.is_valid()):
        context = {"link": found, "form": form, "replaces": _others_session(request, found.user)}
        return render(request, "sign_in/link.html", context, status=422 if request.method == "POST" else 200)
    try:
        used = sign_in_links.choose_password(token, form.cleaned_data["password"]) if form else sign_in_links.use(token)
    except Busy:
        form.add_error("password", sign_in.BUSY)
        context = {"link": found, "form": form, "replaces": _others_session(request, found.user)}
        return _too_busy(request, "sign_in/link.html", context)
    if used is None:
        return render(request, "sign_in/link_used.html", status=410)
    used.user.refresh_from_db()
    login(request, used.user)
    if form:
        messages.success(request, _("Your new password is saved. You are signed out everywhere else."))
        return redirect("home")
    request.session[sign_in.BY_LINK] = used.purpose
    return redirect("home" if used.user.has_usable_password() else "password-set")


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Who invites, to which workspace, with which role; whom it is for accepts or declines, signed in."""
    found = invitations.find(token)
    if found is None:
        return render(request, "sign_in/invitation_over.html", status=410)
    is_theirs = request.user.is_authenticated and request.user.pk == found.user_id
    needs_password = is_theirs and invitations.needs_password(request.user)
    form = NewPasswordForm(request.user, request) if needs_password else None
    shown = {
        "invitation": found, "form": form, "is_theirs": is_theirs,
        "replaces": _others_session(request, found.user),
    }  # fmt: skip
    if request.method != "POST" or not is_theirs:
        return render(request, "sign_in/invitation.html", shown, status=403 if request.method == "POST" else 200)
    try:
        if request.POST.get("answer") != "accept":
            invitations.decline(token, request.user)
            messages.success(
                request, _("You declined the invitation to %(workspace)s.") % {"workspace": found.workspace}
            )
            return redirect("home")
        if form and not form.is_valid():
            return render(request, "sign_in/invitation.html", shown, status=422)
        member = invitations.accept(token, request.user, form.cleaned_data["password"] if form else "")
    except Refused as refused:
        return render(request, "sign_in/invitation.html", shown | {"error": str(refused)}, status=409)
    except Busy:
        return _too_busy(request, "sign_in/invitation.html", shown | {"error": sign_in.BUSY})
    update_session_auth_hash(request, request.user)
    request.session.pop(sign_in.BY_LINK, None)
    request.session[access.WORKSPACE_KEY] = str(member.workspace_id)
    messages.success(request, _("You are a member of %(workspace)s now.") % {"workspace": found.workspace})
    return redirect("home")


def _others_session(request: HttpRequest, user: User) -> User | None:
    """Who is signed in here, when that is somebody else."""
    return request.user if request.user.is_authenticated and request.user.pk != user.pk else None
