"""The forms of schedules and webhook endpoints."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy

from sessions_app.models import Agent, Schedule, WebhookEndpoint
from sessions_app.services.triggers import cron_times

MISSED = {
    "once": gettext_lazy("make up for one of them"),
    "skip": gettext_lazy("skip them"),
    "all": gettext_lazy("make up for all of them, the last 100 at most"),
}
OVERLAP = {"allow": gettext_lazy("begin another one"), "skip": gettext_lazy("skip this time")}
WHEN_ASKING = {
    "wait": gettext_lazy("wait for a person"),
    "deny": gettext_lazy("deny the call at once"),
    "refuse": gettext_lazy("begin no session of an agent that could ask"),
}
SCHEMES = {
    "generic": gettext_lazy("Countersign's own: HMAC-SHA256 of time and body"),
    "standard": "Standard Webhooks",
    "github": "GitHub",
    "stripe": "Stripe",
    "slack": "Slack",
    "shopify": "Shopify",
    "twilio": "Twilio",
    "none": gettext_lazy("unsigned: whoever knows the address may send"),
}
OF_SENDER = {
    "stripe": gettext_lazy("the signing secret of the endpoint (whsec_…)"),
    "slack": gettext_lazy("the signing secret of the app"),
    "shopify": gettext_lazy("the client secret of the app, or the key below the webhooks of the shop"),
    "twilio": gettext_lazy("the auth token of the account"),
}
"""Where the sender shows the secret."""


def agents_of(workspace_id: UUID, kept: UUID | None = None) -> Any:
    """Agents that may be chosen: the assistant of the desk answers members alone. ``kept`` is the one so far, which
    stays a choice when it is archived: where it is missing, a form that changes something else takes another one.
    """
    here = Agent.objects.filter(~Q(status=Agent.Status.ARCHIVED) | Q(pk=kept), workspace_id=workspace_id)
    here = here.exclude(runtime=Agent.Runtime.BUILT_IN)
    return here.only("id", "name", "status", "slug").order_by("name")


class OfAgent(forms.Form):
    """A form in which an agent of the workspace is chosen, or the one ``kept`` that it has so far."""

    def __init__(self, workspace_id: UUID, *args: Any, kept: UUID | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["agent"].queryset = agents_of(workspace_id, kept)

    def clean(self) -> dict[str, Any]:
        """What was entered; a page of before that does not know ``when_asking`` leaves it as it is."""
        entered = super().clean()
        if not entered.get("when_asking"):
            entered.pop("when_asking", None)
        return entered


class ScheduleForm(OfAgent):
    name = forms.CharField(max_length=100)
    agent = forms.ModelChoiceField(Agent.objects.none(), to_field_name="slug", empty_label=None)
    cron = forms.CharField(max_length=200, label=gettext_lazy("Times"))
    timezone = forms.CharField(max_length=64, label=gettext_lazy("Time zone"), initial="UTC")
    input_text = forms.CharField(label=gettext_lazy("First message"), strip=False)
    missed = forms.ChoiceField(choices=MISSED.items(), initial=Schedule.Missed.ONCE)
    overlap = forms.ChoiceField(choices=OVERLAP.items(), initial=Schedule.Overlap.ALLOW)
    when_asking = forms.ChoiceField(choices=WHEN_ASKING.items(), initial="wait", required=False)

    def clean(self) -> dict[str, Any]:
        """The times, checked as they are shown."""
        entered = super().clean()
        if "cron" in entered and "timezone" in entered:
            try:
                cron_times.checked(entered["cron"], entered["timezone"])
            except cron_times.Invalid as invalid:
                self.add_error(invalid.field, str(invalid))
        return entered


class EndpointForm(OfAgent):
    name = forms.CharField(max_length=200)
    scheme = forms.ChoiceField(
        choices=SCHEMES.items(), initial=WebhookEndpoint.Scheme.GENERIC, label=gettext_lazy("Signed as")
    )
    agent = forms.ModelChoiceField(Agent.objects.none(), to_field_name="slug", required=False)
    secret = forms.CharField(max_length=500, required=False)
    when_asking = forms.ChoiceField(choices=WHEN_ASKING.items(), initial="wait", required=False)


class ChangedEndpointForm(OfAgent):
    agent = forms.ModelChoiceField(Agent.objects.none(), to_field_name="slug", required=False)
    when_asking = forms.ChoiceField(choices=WHEN_ASKING.items(), required=False)
