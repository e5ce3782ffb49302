"""The part of the settings page that says whose signatures are believed."""

from __future__ import annotations

from typing import Any

from django import template

from vcon_app.services.trust import own_keys, recipients
from vcon_app.signing.algorithms import kind_of
from vcon_app.signing.keys import BadKey, fingerprint

register = template.Library()


@register.inclusion_tag("settings/_trust.html", takes_context=True)
def trust_anchors(context: template.Context) -> dict[str, Any]:
    """The workspace's trust anchors, and the form to add one for those who may."""
    workspace = context["workspace"]
    return {
        "csrf_token": context["csrf_token"],
        "workspace": workspace,
        "can_change": context["can_change"],
        "anchors": recipients.candidates(workspace.pk),
        "form": context.get("anchor_form"),
        "own": _own_key(),
    }


def _own_key() -> dict[str, Any]:
    """The public half of the key that signs what leaves here, for others to pin."""
    try:
        ours = own_keys.signer()
    except (BadKey, OSError) as error:
        return {"problem": str(error)}
    return {
        "fingerprint": fingerprint(ours.key.public_key()),
        "kind": kind_of(ours.key.public_key()),
        "pem": ours.public_pem.decode(),
        "is_operators": own_keys.is_operators(),
    }
