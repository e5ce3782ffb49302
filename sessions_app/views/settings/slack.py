"""Slack: the page where it is set up, Slack's OAuth, and the two addresses that Slack's requests come to."""

from __future__ import annotations

import re
import secrets
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from sessions_app.channels.slack import install, manifest
from sessions_app.models import Agent, Role, SlackInstallation
from sessions_app.services.slack import installations

from .. import access

MOST_BYTES = 1_000_000
"""Of one request of Slack's; theirs have a few thousand."""
STATE = "slack_state"
"""Where the browser session keeps what Slack has to send back."""
LISTS = re.compile(r"[\s,]+")


class ConnectForm(forms.Form):
    token = forms.RegexField(
        r"\A(?:xoxe\.)?xoxb-[A-Za-z0-9-]{10,250}\Z", strip=True,
        error_messages={
            "invalid": gettext_lazy("A bot token begins with xoxb-. It is under OAuth & Permissions of your Slack app.")
        },
    )  # fmt: skip
    signing_secret = forms.RegexField(
        r"\A[A-Za-z0-9]{16,128}\Z", strip=True, required=False,
        error_messages={
            "invalid": gettext_lazy("A signing secret has 32 letters and digits. It is under Basic Information.")
        },
    )  # fmt: skip

    def clean(self) -> dict[str, str]:
        """Without a secret nothing of what Slack sends could be believed."""
        entered = super().clean() or {}
        if not entered.get("signing_secret") and not settings.SLACK_SIGNING_SECRET and not self.errors:
            self.add_error("signing_secret", _("It is needed: requests of Slack's are checked with it."))
        return entered


class SetupForm(forms.Form):
    agent = forms.UUIDField(required=False)
    escalation_channel = forms.RegexField(
        r"\A[CGD][A-Z0-9]{6,20}\Z", strip=True, required=False,
        error_messages={
            "invalid": gettext_lazy("Use the id of a channel, like C0123ABCDEF: it stands at the end of its details")
        },
    )  # fmt: skip
    outsiders = forms.ChoiceField(choices=SlackInstallation.Outsiders.choices)
    allow_list = forms.CharField(required=False, max_length=20_000)

    def clean_allow_list(self) -> list[str]:
        """Ids of people (U..., W...) and teams (T..., E...)."""
        ids = [id_ for id_ in LISTS.split(self.cleaned_data["allow_list"]) if id_]
        wrong = [id_ for id_ in ids if not re.fullmatch(r"[UWTE][A-Z0-9]{6,20}", id_)]
        if wrong:
            told = _('"%(given)s" is no id of a person (U…) or a Slack workspace (T…).') % {"given": wrong[0][:40]}
            raise forms.ValidationError(told)
        return list(dict.fromkeys(ids))


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    return _page(request)


def _page(
    request: access.DeskRequest, status: int = 200, connect_form: ConnectForm | None = None,
    setup: tuple[UUID, SetupForm] | None = None,
) -> HttpResponse:  # fmt: skip
    workspace_id = request.member.workspace_id
    found = list(installations.of_workspace(workspace_id))
    for installation in found:
        installation.form = setup[1] if setup and setup[0] == installation.pk else _filled(installation)
    # An archived one that answers so far stays a choice: without it, saving something else would take it away.
    answering = [installation.agent_id for installation in found]
    here = _run_here().filter(~Q(status=Agent.Status.ARCHIVED) | Q(pk__in=answering), workspace_id=workspace_id)
    context = {
        "installations": found,
        "agents": here.order_by("name").only("id", "name"),
        "policies": POLICIES,
        "can_change": request.member.role == Role.ADMIN,
        "can_add": bool(settings.SLACK_CLIENT_ID),
        "secret_is_set": bool(settings.SLACK_SIGNING_SECRET),
        "connect_form": connect_form or ConnectForm(),
        "address": _desk(request),
        "new_app": manifest.url_of_new_app(_desk(request)),
    }
    return render(request, "slack/index.html", context, status=status)


POLICIES = (
    (
        "reject",
        gettext_lazy("Turn them away"),
        gettext_lazy("They are told so once in a thread, where only they see it."),
    ),
    ("allow_list", gettext_lazy("Only those on the list"), gettext_lazy("The others are turned away.")),
    (
        "all",
        gettext_lazy("Everybody may"),
        gettext_lazy("Whoever is in a channel with the app starts sessions, and they cost money."),
    ),
)


def _filled(installation: SlackInstallation) -> SetupForm:
    return SetupForm(
        initial={
            "agent": installation.agent_id, "escalation_channel": installation.escalation_channel,
            "outsiders": installation.outsiders, "allow_list": "\n".join(installation.allow_list),
        }
    )  # fmt: skip


def _run_here() -> QuerySet[Agent]:
    """Agents that can answer in Slack: the assistant of the desk answers members alone."""
    return Agent.objects.exclude(runtime__in=[Agent.Runtime.EXTERNAL, Agent.Runtime.BUILT_IN])


def _desk(request: HttpRequest) -> str:
    return (settings.PUBLIC_URL or request.build_absolute_uri("/")).rstrip("/")


@require_POST
@access.admin
def connect(request: access.DeskRequest) -> HttpResponse:
    """Connect with a token and a signing secret. Neither is shown again, not even in a form that was wrong."""
    form = ConnectForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, connect_form=form)
    entered = form.cleaned_data
    try:
        made = install.connect_with_token(
            request.member.workspace_id, entered["token"], entered["signing_secret"], by=access.actor(request),
            desk=_desk(request),
        )  # fmt: skip
    except installations.NotConnected as refused:
        form.add_error("token", str(refused))
        return _page(request, 422, connect_form=form)
    messages.success(request, _connected(made))
    return redirect("slack")


def _connected(made: SlackInstallation) -> str:
    return _("%(team)s is connected. Choose the agent that answers there.") % {"team": made}


@require_POST
@access.admin
def configure(request: access.DeskRequest, installation_id: UUID) -> HttpResponse:
    installation = access.one(installations.connected(), request, installation_id)
    form = SetupForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, setup=(installation.pk, form))
    entered = form.cleaned_data
    id_ = entered.pop("agent")
    agent = access.one(_run_here(), request, id_) if id_ else None
    installations.configure(installation, agent=agent, **entered, by=access.actor(request))
    messages.success(request, _("Saved for %(team)s.") % {"team": installation})
    return redirect("slack")


@require_POST
@access.admin
def disconnect(request: access.DeskRequest, installation_id: UUID) -> HttpResponse:
    installation = access.one(installations.connected(), request, installation_id)
    fault = install.disconnect(installation, by=access.actor(request))
    if fault:
        told = _("%(team)s is forgotten here, but %(fault)s. Remove the app in Slack as well.")
        messages.error(request, told % {"team": installation, "fault": fault})
    else:
        told = _("%(team)s is disconnected, and its token does not work any more.")
        messages.success(request, told % {"team": installation})
    return redirect("slack")


# --- Slack's OAuth ---


@require_safe
@access.admin
def add(request: access.DeskRequest) -> HttpResponse:
    """To Slack's question whether the app may be added. A link and no form: the page lets no form lead elsewhere."""
    if not settings.SLACK_CLIENT_ID:
        messages.error(request, _("No Slack app is named in SLACK_CLIENT_ID; connect with a token instead."))
        return redirect("slack")
    state = request.session[STATE] = secrets.token_urlsafe(32)
    return redirect(install.oauth_url(state, _returns_to(request)))


@require_safe
@access.admin
def added(request: access.DeskRequest) -> HttpResponse:
    """Back from Slack, with a code for the token or with why not."""
    expected = request.session.pop(STATE, "")
    if not expected or not constant_time_compare(expected, request.GET.get("state", "")):
        messages.error(request, _("Slack's answer does not belong to a question of this browser. Begin again."))
    elif error := request.GET.get("error"):
        messages.error(request, _("Slack was not connected: %(why)s.") % {"why": error[:100]})
    else:
        _connect(request, request.GET.get("code", ""))
    return redirect("slack")


def _connect(request: access.DeskRequest, code: str) -> None:
    about = {"by": access.actor(request), "desk": _desk(request)}
    try:
        made = install.connect_with_code(request.member.workspace_id, code, _returns_to(request), **about)
    except installations.NotConnected as refused:
        messages.error(request, _("Slack was not connected: %(why)s.") % {"why": refused})
    else:
        messages.success(request, _connected(made))


def _returns_to(request: HttpRequest) -> str:
    return f"{_desk(request)}{reverse('slack-added')}"


# --- what Slack sends ---


@csrf_exempt
@require_POST
def events(request: HttpRequest) -> HttpResponse:
    """POST /slack/events, /interactions and /commands: whose signature is right is heard; 401 for all others."""
    if int(request.headers.get("Content-Length") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    from sessions_app.channels.slack import app  # Bolt: imported when the first request of Slack's comes

    try:
        answer = app.handle(request.body, request.headers)
    except app.Malformed as malformed:
        return HttpResponse(str(malformed), content_type="text/plain; charset=utf-8", status=400)
    return HttpResponse(answer.body.encode(), status=answer.status, headers=answer.first_headers_without_set_cookie())
