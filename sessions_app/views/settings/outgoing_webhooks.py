"""Outgoing webhooks: admins say which programs are told of approvals, and see what became of the posts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import OutgoingMessage, OutgoingWebhook
from sessions_app.queries import notices as queries
from sessions_app.services.notices import announcing, outgoing_webhooks

from .. import access
from . import shown_once

SHOWN = 30
"""Messages on the page; the others are in the API."""


class WebhookForm(forms.Form):
    name = forms.CharField(max_length=outgoing_webhooks.MOST_NAME, label=gettext_lazy("Name"))
    url = forms.CharField(max_length=outgoing_webhooks.MOST_URL, label=gettext_lazy("Address"))
    events = forms.MultipleChoiceField(
        choices=[(one, one) for one in announcing.EVENTS], required=False, label=gettext_lazy("Events")
    )


@require_safe
@access.admin
def index(request: access.DeskRequest) -> HttpResponse:
    return _list(request, WebhookForm())


def _list(request: access.DeskRequest, form: forms.Form, status: int = 200) -> HttpResponse:
    webhooks = queries.outgoing_webhooks(request.member.workspace_id)
    context = {"webhooks": webhooks, "form": form, "events": announcing.EVENTS}
    return render(request, "settings/outgoing_webhooks.html", context, status=status)


@require_POST
@access.admin
def create(request: access.DeskRequest) -> HttpResponse:
    """Make one and show its secret, once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        entered = form.cleaned_data
        try:
            made, secret = outgoing_webhooks.create(
                request.member.workspace_id, entered["name"], entered["url"], entered["events"],
                by=access.actor(request),
            )  # fmt: skip
            return _shown(request, made.pk, secret)
        except outgoing_webhooks.Refused as refused:
            form.add_error(refused.field, str(refused))
    return _list(request, form, 422)


@require_safe
@access.admin
def webhook(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """One webhook: where it leads, what it is told of, and its last messages."""
    return _page(request, webhook_id, **shown_once.take(request))


def _shown(request: access.DeskRequest, webhook_id: UUID, secret: str) -> HttpResponse:
    """To the page, which shows the secret once."""
    return shown_once.lead_to(request, reverse("outgoing-webhook", args=[webhook_id]), secret=secret)


def _page(request: access.DeskRequest, webhook_id: UUID, status: int = 200, **shown: Any) -> HttpResponse:
    """``shown`` has a secret that is seen this once, or a form with its errors."""
    found = _read(request, webhook_id)
    form = WebhookForm(initial={"name": found.name, "url": found.url, "events": found.events})
    context = {
        "webhook": found, "form": form, "events": announcing.EVENTS, "rows": queries.messages_of(found)[:SHOWN], **shown
    }  # fmt: skip
    response = render(request, "settings/outgoing_webhook.html", context, status=status)
    if shown:
        response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
@access.admin
def change(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Another name, address or choice of events."""
    found, form = _read(request, webhook_id), WebhookForm(request.POST)
    if form.is_valid():
        try:
            outgoing_webhooks.change(found, form.cleaned_data, by=access.actor(request))
            messages.success(request, _("Changed."))
            # Without a fragment of its own a redirect keeps the form's, which is below the message.
            return redirect(f"{reverse('outgoing-webhook', args=[webhook_id])}#main")
        except outgoing_webhooks.Refused as refused:
            form.add_error(refused.field, str(refused))
    return _page(request, webhook_id, 422, form=form)


@require_POST
@access.admin
def switch(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Switch it off, and give up what waits; or on again."""
    active = request.POST.get("active") == "true"
    found = outgoing_webhooks.change(_read(request, webhook_id), {"active": active}, by=access.actor(request))
    told = _("%(webhook)s is told from now on.") if active else _("%(webhook)s is told nothing more.")
    messages.success(request, told % {"webhook": found.name})
    return redirect("outgoing-webhook", webhook_id)


@require_POST
@access.admin
def rotate(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """A new secret, shown once."""
    secret = outgoing_webhooks.rotate(_read(request, webhook_id), by=access.actor(request))
    return _shown(request, webhook_id, secret)


@require_POST
@access.admin
def test(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Send a message that tells of nothing; what became of it is on the page in a moment."""
    try:
        outgoing_webhooks.send_test(_read(request, webhook_id), by=access.actor(request))
        messages.success(request, _("A test is on its way: load the page again to see what became of it."))
    except outgoing_webhooks.Refused as refused:
        messages.error(request, str(refused))
    return redirect("outgoing-webhook", webhook_id)


@require_POST
@access.admin
def send_again(request: access.DeskRequest, webhook_id: UUID, message_id: UUID) -> HttpResponse:
    """Send a message once more that was given up."""
    try:
        outgoing_webhooks.send_again(_read(request, webhook_id), message_id, by=access.actor(request))
        messages.success(request, _("It is sent again: load the page again to see what became of it."))
    except OutgoingMessage.DoesNotExist:
        raise Http404(_("There is no such delivery of this webhook.")) from None
    except (outgoing_webhooks.NotGivenUp, outgoing_webhooks.Refused) as refused:
        messages.error(request, _("It was not sent again: %(why)s.") % {"why": refused})
    return redirect("outgoing-webhook", webhook_id)


@require_POST
@access.admin
def remove(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    found = _read(request, webhook_id)
    outgoing_webhooks.remove(found, by=access.actor(request))
    messages.success(request, _('"%(name)s" is gone.') % {"name": found.name})
    return redirect("outgoing-webhooks")


def _read(request: access.DeskRequest, webhook_id: UUID) -> OutgoingWebhook:
    return access.one(queries.outgoing_webhooks(request.member.workspace_id), request, webhook_id)
