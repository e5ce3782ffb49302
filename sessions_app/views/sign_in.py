"""In by a one-time link or by password, out by POST. There is no default password anywhere."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, password_validation, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import SignInLink
from sessions_app.services import members, sign_in_links, sign_in_throttle

BY_LINK = "by_link"
"""In the browser session of who came by a link, its purpose: they need not know their password to choose another."""


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def form(request: HttpRequest) -> HttpResponse:
    """Sign in by e-mail (or user name) and password."""
    target = _next(request)
    if request.user.is_authenticated:
        return redirect(target)
    if request.method != "POST":
        return render(request, "sign_in/form.html", {"next": target})
    name, secret = request.POST.get("email", "").strip().lower(), request.POST.get("password", "")
    subjects = name, request.META.get("REMOTE_ADDR", "")
    if sign_in_throttle.paused(*subjects):
        return _again(request, target, name, "Too many wrong passwords. Wait five minutes, then try again.", 429)
    user = authenticate(request, username=name.replace("\0", ""), password=secret)
    if user is None:
        sign_in_throttle.note_failure(*subjects)
        return _again(request, target, name, "No member has this e-mail and password.", 422)
    login(request, user)
    tell_of_resets(request, user)
    return redirect(target)


def tell_of_resets(request: HttpRequest, user: User) -> None:
    """Say which links to change their password admins have made since this person was here last."""
    for reset in sign_in_links.untold_resets(user):
        used = f"It was used on {reset.used_at:%Y-%m-%d at %H:%M} UTC" if reset.used_at else "Nobody has used it"
        messages.warning(
            request,
            f"{reset.made_by or 'You'} made a link to choose another password for you on "
            f"{reset.created_at:%Y-%m-%d at %H:%M} UTC. {used}. If you did not ask for it, tell another admin.",
        )


def _again(request: HttpRequest, target: str, name: str, error: str, status: int) -> HttpResponse:
    return render(request, "sign_in/form.html", {"next": target, "email": name, "error": error}, status=status)


def _next(request: HttpRequest) -> str:
    """URL to go to after signing in; never on another site."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    allowed = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if allowed else "/"


class PasswordForm(forms.Form):
    name = forms.CharField(max_length=150)
    email = forms.EmailField(max_length=150)
    current = forms.CharField(strip=False)
    password = forms.CharField(strip=False)

    def __init__(self, request: HttpRequest) -> None:
        self.user = request.user
        known = {"name": self.user.get_full_name(), "email": self.user.email}
        super().__init__(request.POST if request.method == "POST" else None, initial=known)
        # Invitations go by e-mail: nobody may take another person's for theirs.
        self.fields["email"].disabled = bool(self.user.email)
        if BY_LINK in request.session or not self.user.has_usable_password():
            del self.fields["current"]

    def clean_current(self) -> str:
        if not self.user.check_password(self.cleaned_data["current"]):
            raise forms.ValidationError("This is not your password.")
        return self.cleaned_data["current"]

    def clean_password(self) -> str:
        password_validation.validate_password(self.cleaned_data["password"], self.user)
        return self.cleaned_data["password"]


@sensitive_post_parameters("password", "current")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Choose a name, an e-mail and a password for the next time."""
    entered, came_by = PasswordForm(request), request.session.get(BY_LINK)
    if entered.is_bound and entered.is_valid():
        wanted = {name: entered.cleaned_data[name] for name in ("name", "email", "password")}
        try:
            members.set_password(request.user, **wanted, by_operators_link=came_by == SignInLink.Purpose.OPERATOR)
        except members.Refused as refused:
            entered.add_error("email", str(refused))
        else:
            update_session_auth_hash(request, request.user)
            request.session.pop(BY_LINK, None)
            messages.success(request, "Saved. Next time you can sign in with your e-mail and this password.")
            return redirect("home")
    status = 422 if entered.is_bound else 200
    return render(request, "sign_in/password.html", {"form": entered}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")
