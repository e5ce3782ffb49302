"""In by a one-time link or by password, out by POST. There is no default password anywhere."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import login, logout, password_validation, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.live import visits
from sessions_app.models import SignInLink
from sessions_app.services.people import members, password_checks, sign_in_links, sign_in_throttle
from sessions_app.services.people.password_checks import canonical_name

from . import known_browsers
from .access import path_here
from .settings import push

BY_LINK = "by_link"
"""In the browser session of who came by a link, its purpose: they need not know their password to choose another."""

BUSY = gettext_lazy("Many passwords are being checked just now. Try again in a few seconds.")


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
    name, secret = canonical_name(request.POST.get("email", "")), request.POST.get("password", "")
    try:
        user = _checked(request, name, secret)
    except sign_in_throttle.Paused as paused:
        return _again(request, target, name, _wait_sentence(paused.seconds), 429, paused.seconds)
    except password_checks.Busy as busy:
        return _busy(request, target, name, busy)
    if user is None:
        return _again(request, target, name, _("No member has this e-mail and password."), 422)
    login(request, user)
    tell_of_resets(request, user)
    response = redirect(target)
    known_browsers.remember(request, response, user)
    return response


def tell_of_resets(request: HttpRequest, user: User) -> None:
    """Say which links to change their password admins have made since this person was here last."""
    for reset in sign_in_links.untold_resets(user):
        messages.warning(
            request,
            f"{_made(reset)} {_used(reset)} {_('If you did not ask for it, tell another admin.')}",
        )


def _made(reset: SignInLink) -> str:
    moment = {"day": f"{reset.created_at:%Y-%m-%d}", "time": f"{reset.created_at:%H:%M}"}
    if reset.made_by:
        made = _("%(maker)s made a link to choose another password for you on %(day)s at %(time)s UTC.")
        return made % {"maker": reset.made_by, **moment}
    return _("You made a link to choose another password for you on %(day)s at %(time)s UTC.") % moment


def _used(reset: SignInLink) -> str:
    if reset.used_at is None:
        return _("Nobody has used it.")
    moment = {"day": f"{reset.used_at:%Y-%m-%d}", "time": f"{reset.used_at:%H:%M}"}
    return _("It was used on %(day)s at %(time)s UTC.") % moment


def _checked(request: HttpRequest, name: str, secret: str) -> User | None:
    """The user of this name and password. Raises ``Paused`` and ``Busy``."""
    browser = known_browsers.browser_id(request, name)
    address = request.META.get("REMOTE_ADDR", "")
    with password_checks.place_in_queue(browser or address):
        tried_by = sign_in_throttle.subjects(name, address, browser)
        sign_in_throttle.begin(tried_by)
        visits.leave()
        try:
            user = password_checks.user_with(name, secret)
        except password_checks.Busy:
            sign_in_throttle.take_back(tried_by, succeeded=False)
            raise
        if user is not None:
            sign_in_throttle.take_back(tried_by, succeeded=True)
    return user


def _wait_sentence(seconds: int) -> str:
    if seconds < 100:
        wait = ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    else:
        minutes = round(seconds / 60)
        wait = ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    return _(
        "Too many wrong passwords. Wait %(wait)s, then try again; in a browser in which you have signed in before, "
        "you can at once. An admin can also send you a one-time link."
    ) % {"wait": wait}


def _busy(request: HttpRequest, target: str, name: str, busy: password_checks.Busy) -> HttpResponse:
    """429 when the queue is full of this caller's passwords, 503 when it is everybody's."""
    return _again(request, target, name, BUSY, 429 if busy.of_caller else 503, password_checks.RETRY_SECONDS)


def _again(request: HttpRequest, target: str, name: str, error: str, status: int, retry_after: int = 0) -> HttpResponse:
    context = {"next": target, "email": name, "error": error}
    response = render(request, "sign_in/form.html", context, status=status)
    if retry_after:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _next(request: HttpRequest) -> str:
    """URL to go to after signing in; never on another site."""
    return path_here(request.POST.get("next") or request.GET.get("next") or "") or "/"


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
        if not password_checks.is_password_of(self.user, self.cleaned_data["current"]):
            raise forms.ValidationError(_("This is not your password."))
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
    entered = PasswordForm(request)
    try:
        return _change_password(request, entered)
    except password_checks.Busy:
        entered.add_error(None, f"{BUSY} {_('Nothing was changed.')}")
        response = render(request, "sign_in/password.html", {"form": entered}, status=503)
        response.headers["Retry-After"] = str(password_checks.RETRY_SECONDS)
        return response


def _change_password(request: HttpRequest, entered: PasswordForm) -> HttpResponse:
    came_by = request.session.get(BY_LINK)
    if entered.is_bound and entered.is_valid():
        wanted = {name: entered.cleaned_data[name] for name in ("name", "email", "password")}
        try:
            members.set_password(request.user, **wanted, by_operators_link=came_by == SignInLink.Purpose.OPERATOR)
        except members.Refused as refused:
            entered.add_error("email", str(refused))
        else:
            update_session_auth_hash(request, request.user)
            request.session.pop(BY_LINK, None)
            messages.success(request, _("Saved. Next time you can sign in with your e-mail and this password."))
            response = redirect("home")
            known_browsers.remember(request, response, request.user)
            return response
    status = 422 if entered.is_bound else 200
    return render(request, "sign_in/password.html", {"form": entered}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    answer = redirect("sign-in")
    push.leave(request, answer)
    logout(request)
    return answer
