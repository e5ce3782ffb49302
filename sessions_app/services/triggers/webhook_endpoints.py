"""Webhook endpoints: made, changed and closed by admins. Their secrets are shown in the moment they are made."""

from __future__ import annotations

import re
import secrets
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from sessions_app.models import Agent, WebhookEndpoint
from sessions_app.models.triggers import WhenAsking
from sessions_app.services import audit
from sessions_app.services.log.sanitise import text
from sessions_app.services.notices import standard_webhooks

from . import Refused

NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,48}[a-z0-9]")
OURS = ("github", "generic", "standard")
"""Schemes whose secret we make; the others' comes from the sender."""
Scheme = WebhookEndpoint.Scheme


@transaction.atomic
def create(
    workspace_id: UUID,
    name: str,
    scheme: str,
    *,
    agent: Agent | None,
    by: audit.Actor,
    secret: str = "",
    when_asking: str = WhenAsking.WAIT,
) -> tuple[WebhookEndpoint, str]:
    """An endpoint with an address of its own, and the secret if one was made here. Raises ``Refused``."""
    endpoint = WebhookEndpoint(
        workspace_id=workspace_id, name=name, scheme=scheme, agent=agent, hook_id=_hook_id(), when_asking=when_asking
    )
    _check(endpoint)
    shown = _give_secret(endpoint, secret)
    try:
        with transaction.atomic():
            endpoint.save(force_insert=True)
    except IntegrityError:
        raise Refused("name", f'"{name}" is taken, or was once: names of endpoints stay reserved') from None
    _audit(endpoint, by, "webhook.created", scheme=scheme, agent=agent and agent.name, when_asking=when_asking)
    return endpoint, shown


@transaction.atomic
def change(endpoint: WebhookEndpoint, changes: dict[str, Any], *, by: audit.Actor) -> WebhookEndpoint:
    """``changes``: agent (None: only keep what comes), active, when_asking.

    Name and scheme stay what senders were told. Raises ``Refused``.
    """
    endpoint = WebhookEndpoint.objects.select_for_update(of=("self",)).select_related("agent").get(pk=endpoint.pk)
    changed = {name: value for name, value in changes.items() if getattr(endpoint, name) != value}
    for name, value in changed.items():
        setattr(endpoint, name, value)
    _check_when_asking(endpoint)
    if changed:
        endpoint.save(update_fields=list(changed))
        _audit(endpoint, by, "webhook.changed", **{name: _audited_value(value) for name, value in changed.items()})
    return endpoint


@transaction.atomic
def rotate(endpoint: WebhookEndpoint, *, by: audit.Actor, secret: str = "") -> str:
    """Rotate the secret to the given or a new one; an unsigned endpoint gets another address.

    Returns the secret if it was made here. Raises ``Refused``.
    """
    if endpoint.scheme == Scheme.NONE:
        endpoint.hook_id = _hook_id()
        shown = ""
    else:
        shown = _give_secret(endpoint, secret, needed=True)
    endpoint.refused, endpoint.refused_at, endpoint.refused_why = 0, None, ""
    endpoint.save(update_fields=["hook_id", "secret", "refused", "refused_at", "refused_why"])
    _audit(endpoint, by, "webhook.secret_changed")
    return shown


def url_of(endpoint: WebhookEndpoint, here: str) -> str:
    """URL of an endpoint; ``here`` is the desk's address in this request, where ``PUBLIC_URL`` is not set."""
    return f"{(settings.PUBLIC_URL or here).rstrip('/')}/hooks/{endpoint.hook_id}"


def _check(endpoint: WebhookEndpoint) -> None:
    if not NAME.fullmatch(endpoint.name):
        raise Refused(
            "name",
            f'"{text(endpoint.name[:60])}" cannot be a name: use 3 to 50 of a-z, 0-9 and "-", '
            "with a letter or digit at both ends",
        )
    if endpoint.scheme not in Scheme.values:
        raise Refused("scheme", f'"{endpoint.scheme[:20]}" is no scheme; use one of {", ".join(Scheme.values)}')
    _check_when_asking(endpoint)


def _check_when_asking(endpoint: WebhookEndpoint) -> None:
    if endpoint.when_asking not in WhenAsking.values:
        raise Refused("when_asking", f'"{endpoint.when_asking[:20]}" is none of {", ".join(WhenAsking.values)}')


def _give_secret(endpoint: WebhookEndpoint, secret: str, *, needed: bool = False) -> str:
    secret = secret.strip()
    if endpoint.scheme == Scheme.NONE:
        if secret:
            raise Refused("secret", "an unsigned endpoint has no secret; its address is what must stay unknown")
        return ""
    if secret and (len(secret) < 8 or len(secret) > 500 or "\0" in secret):
        raise Refused("secret", f"has {len(secret)} characters; use 8 to 500")
    if secret and endpoint.scheme == Scheme.STANDARD:
        _check_standard(secret)
    made = "" if secret or endpoint.scheme not in OURS else _new_secret(endpoint)
    if needed and not (secret or made):
        raise Refused("secret", f"enter the one that {endpoint.get_scheme_display()} shows")
    endpoint.secret = secret or made
    return made


def _new_secret(endpoint: WebhookEndpoint) -> str:
    return standard_webhooks.new_secret() if endpoint.scheme == Scheme.STANDARD else secrets.token_urlsafe(32)


def _check_standard(secret: str) -> None:
    try:
        standard_webhooks.key_of(secret)
    except ValueError as fault:
        raise Refused("secret", f"{fault}; copy the one that the sender shows") from None


def _hook_id() -> str:
    return secrets.token_urlsafe(32)


def _audited_value(value: Any) -> Any:
    return value.name if isinstance(value, Agent) else value


def _audit(endpoint: WebhookEndpoint, by: audit.Actor, action: str, **details: Any) -> None:
    audit.record(endpoint.workspace_id, by, action, subject=("webhook", endpoint.pk), name=endpoint.name, **details)
