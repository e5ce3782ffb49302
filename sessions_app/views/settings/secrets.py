"""Secrets of agents' tools, and the workspace's key of the Anthropic API: entered by admins, never shown again."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from sessions_app.models import Secret
from sessions_app.services import secrets

from .. import access
from . import workspace


class ValueForm(forms.Form):
    value = forms.CharField(
        max_length=secrets.MAX_VALUE, label=gettext_lazy("Value"),
        error_messages={"required": gettext_lazy("Enter it: nothing was changed.")},
    )  # fmt: skip


class SecretForm(ValueForm):
    name = forms.CharField(max_length=100, label=gettext_lazy("Name"))
    origin = forms.CharField(max_length=300, label=gettext_lazy("Origin"))


@sensitive_post_parameters("value")
@require_POST
@access.admin
def add(request: access.DeskRequest) -> HttpResponse:
    """Keep a new one. What was typed is kept in a form that was wrong, but not the secret itself."""
    form = SecretForm(request.POST)
    if form.is_valid():
        entered = form.cleaned_data
        kept = _keep(request, form, entered["name"], entered["value"], entered["origin"], replace=False)
        if kept:
            told = _('"%(secret)s" is kept, for %(origin)s alone.') % {"secret": kept, "origin": kept.origin}
            messages.success(request, told)
            return _back()
    return workspace.page(request, 422, secret_form=form)


@sensitive_post_parameters("value")
@require_POST
@access.admin
def replace(request: access.DeskRequest, secret_id: UUID) -> HttpResponse:
    """Another value under the same name, for the same place."""
    secret = access.one(Secret.objects.defer("value"), request, secret_id)
    form = ValueForm(request.POST)
    if form.is_valid() and _keep(request, form, secret.name, form.cleaned_data["value"], secret.origin):
        told = _('"%(secret)s" has its new value: what begins from now on uses it.') % {"secret": secret}
        messages.success(request, told)
        return _back()
    return workspace.page(request, 422, secret_problem=f"{secret}: {_why(form)}")


@sensitive_post_parameters("value")
@require_POST
@access.admin
def set_provider_key(request: access.DeskRequest) -> HttpResponse:
    """The workspace's own key of the Anthropic API, in place of the one before it and of the installation's."""
    form = ValueForm(request.POST)
    if form.is_valid() and _keep(
        request, form, secrets.PROVIDER_KEY, form.cleaned_data["value"], secrets.provider_origin()
    ):  # fmt: skip
        messages.success(request, _("Agents of this workspace use this key from their next turn on."))
        return _back()
    return workspace.page(request, 422, provider_problem=_why(form))


@require_POST
@access.admin
def remove(request: access.DeskRequest, secret_id: UUID) -> HttpResponse:
    secret = access.one(Secret.objects.defer("value"), request, secret_id)
    secrets.forget(secret.workspace_id, secret.name, by=access.actor(request))
    messages.success(request, _('"%(name)s" is gone.') % {"name": secret})
    return _back()


def _keep(
    request: access.DeskRequest, form: forms.Form, name: str, value: str, origin: str, *, replace: bool = True
) -> Secret | None:  # fmt: skip
    """The secret, or None with the reason in the form."""
    try:
        return secrets.store_secret(
            request.member.workspace_id, name, value, origin, by=access.actor(request), replace=replace
        )  # fmt: skip
    except secrets.Refused as refused:
        form.add_error(None, str(refused))
        return None


def _why(form: forms.Form) -> str:
    return " ".join(error for errors in form.errors.values() for error in errors)


def _back() -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('settings')}#secrets")
