"""Webhook endpoints and what came to them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import WebhookDelivery, WebhookEndpoint
from sessions_app.queries import triggers as queries
from sessions_app.rendering import text
from sessions_app.services.triggers import Refused, unattended, webhook_deliveries, webhook_endpoints

from .. import access
from ..pages import page_or_fragment
from ..settings import shown_once
from .forms import OF_SENDER, SCHEMES, WHEN_ASKING, ChangedEndpointForm, EndpointForm, agents_of
from .schedules import follow, older, rights

DELIVERIES = 50
SHOWN = 100_000
"""Characters of a delivery on its page; the whole is in the API."""
ACKNOWLEDGED = {"": None, "no": False, "yes": True}


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def new(request: access.DeskRequest) -> HttpResponse:
    """The form; what it makes is shown with its secret, once."""
    initial = {"agent": request.GET.get("agent", "").replace("\0", "")}
    form = EndpointForm(request.member.workspace_id, request.POST or None, initial=initial)
    if request.method != "POST" or not form.is_valid():
        return _form(request, form, 200 if request.method != "POST" else 422)
    entered = form.cleaned_data
    try:
        made, secret = webhook_endpoints.create(
            request.member.workspace_id, entered["name"], entered["scheme"], agent=entered["agent"],
            by=access.actor(request), secret=entered["secret"], when_asking=entered.get("when_asking", "wait"),
        )  # fmt: skip
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _form(request, form, 422)
    return _shown(request, made.pk, secret)


def _form(request: access.DeskRequest, form: EndpointForm, status: int) -> HttpResponse:
    context = {"form": form, "of_sender": {SCHEMES[scheme]: words for scheme, words in OF_SENDER.items()}}
    return render(request, "triggers/endpoint_form.html", context, status=status)


@require_safe
@access.viewer
def endpoint(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """One endpoint: its address, who is given what comes, and what came."""
    return _page(request, webhook_id, **shown_once.take(request))


def _shown(request: access.DeskRequest, webhook_id: UUID, secret: str) -> HttpResponse:
    """To the page, which shows the secret once."""
    return shown_once.lead_to(request, reverse("webhook-detail", args=[webhook_id]), secret=secret)


def _page(request: access.DeskRequest, webhook_id: UUID, status: int = 200, **shown: Any) -> HttpResponse:
    """``shown`` has a secret that is seen this once, or an error."""
    found = _read(request, webhook_id)
    wanted = request.GET.get("acknowledged", "")
    context = older(request, queries.deliveries(found, ACKNOWLEDGED.get(wanted)), DELIVERIES)
    context["rows"] = queries.with_latest_runs(context["rows"])
    context |= {
        "endpoint": found, "wanted": wanted, "scheme": SCHEMES[found.scheme], "of_sender": OF_SENDER.get(found.scheme),
        "agents": agents_of(found.workspace_id, found.agent_id),
        "when_asking": WHEN_ASKING, "asking": WHEN_ASKING[found.when_asking],
        "warnings": unattended.Rules(found.workspace_id).warnings(found.agent, "webhook", found.when_asking),
        **rights(request), **shown,
    }  # fmt: skip
    if context["can_change"]:
        context["url"] = webhook_endpoints.url_of(found, request.build_absolute_uri("/"))
    response = page_or_fragment(
        request, "triggers/endpoint.html", "triggers/_deliveries.html", context, status=status
    )  # fmt: skip
    if shown:
        response.headers["Cache-Control"] = "no-store"
    return response


def _read(request: access.DeskRequest, webhook_id: UUID) -> WebhookEndpoint:
    return access.one(queries.endpoints(request.member.workspace_id), request, webhook_id)


@require_POST
@access.admin
def change(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Another agent or none, and what becomes of its questions."""
    found = _read(request, webhook_id)
    form = ChangedEndpointForm(found.workspace_id, request.POST, kept=found.agent_id)
    if not form.is_valid():
        return _page(request, webhook_id, 422, agent_error=next(iter(form.errors.values()))[0])
    webhook_endpoints.change(found, form.cleaned_data, by=access.actor(request))
    messages.success(request, _("Changed."))
    return redirect("webhook-detail", webhook_id)


@require_POST
@access.admin
def switch(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Deactivate it, or activate it again at the same address."""
    active = request.POST.get("active") == "true"
    found = webhook_endpoints.change(_read(request, webhook_id), {"active": active}, by=access.actor(request))
    told = _("%(webhook)s takes posts again.") if active else _("%(webhook)s answers 404 from now on.")
    messages.success(request, told % {"webhook": found.name})
    return redirect("webhook-detail", webhook_id)


@require_POST
@access.admin
def rotate(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Another secret; one that is made here is shown, once."""
    try:
        secret = webhook_endpoints.rotate(
            _read(request, webhook_id), by=access.actor(request), secret=request.POST.get("secret", "")
        )
    except Refused as refused:
        return _page(request, webhook_id, 422, secret_error=str(refused))
    if secret:
        return _shown(request, webhook_id, secret)
    messages.success(request, _("Changed; the old one is refused from now on."))
    return redirect("webhook-detail", webhook_id)


# --- deliveries -------------------------------------------------------------------------------------------------


@require_safe
@access.viewer
def delivery(request: access.DeskRequest, delivery_id: UUID) -> HttpResponse:
    """What was posted, and what came of it."""
    found = _read_delivery(request, delivery_id)
    whole = webhook_deliveries.message_of(found)
    context = {
        "delivery": found, "endpoint": found.endpoint, "body": text.clean(whole[:SHOWN]), "cut": len(whole) - SHOWN,
        "headers": sorted(found.headers.items()), "is_emptied": webhook_deliveries.is_emptied(found),
        "kept_days": settings.KEEP_DELIVERIES_DAYS, **rights(request),
    }  # fmt: skip
    return render(request, "triggers/delivery.html", context)


def _read_delivery(request: access.DeskRequest, delivery_id: UUID) -> WebhookDelivery:
    return access.one(queries.delivery(request.member.workspace_id), request, delivery_id)


@require_POST
@access.reviewer
def acknowledge(request: access.DeskRequest, webhook_id: UUID) -> HttpResponse:
    """Mark the chosen deliveries as seen to: ``ids`` of the form."""
    found = _read(request, webhook_id)
    mine = queries.deliveries(found).filter(pk__in=_uuids(request.POST.getlist("ids"))).values_list("pk", flat=True)
    number = webhook_deliveries.acknowledge(found.workspace_id, list(mine), by=access.actor(request))
    told = _("None was chosen that is not acknowledged.")
    if number:
        told = ngettext("%(n)d acknowledged.", "%(n)d acknowledged.", number) % {"n": number}
    messages.success(request, told)
    if request.POST.get("back") in map(str, mine):
        return redirect("delivery-detail", request.POST["back"])
    return redirect("webhook-detail", webhook_id)


def _uuids(values: list[str]) -> list[UUID]:
    found = []
    for value in values[:DELIVERIES]:
        try:
            found.append(UUID(value))
        except ValueError:
            continue  # not from our page
    return found


@require_POST
@access.reviewer
def replay(request: access.DeskRequest, delivery_id: UUID) -> HttpResponse:
    """Give it to the agent once more and go to the session, or stay and say why there is none."""
    found = _read_delivery(request, delivery_id)
    try:
        run = webhook_deliveries.replay(found, by=access.actor(request))
    except (webhook_deliveries.NoAgent, webhook_deliveries.Emptied) as why:
        messages.error(request, str(why))
        return redirect("delivery-detail", delivery_id)
    return follow(request, run, "delivery-detail", delivery_id)
