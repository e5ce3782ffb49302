"""The part of the settings page that says whose signatures are believed."""

from __future__ import annotations

from typing import Any

from django import template

from vcon_app.models import TrustAnchor

register = template.Library()


@register.inclusion_tag("settings/_trust.html", takes_context=True)
def trust_anchors(context: template.Context) -> dict[str, Any]:
    """The workspace's trust anchors, and the form to add one for those who may."""
    workspace = context["workspace"]
    return {
        "csrf_token": context["csrf_token"],
        "workspace": workspace,
        "can_change": context["can_change"],
        "anchors": TrustAnchor.objects.filter(workspace=workspace).order_by("added_at"),
        "form": context.get("anchor_form"),
    }
