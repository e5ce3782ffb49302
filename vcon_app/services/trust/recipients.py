"""Recipients of an encrypted export: trust anchors of a workspace, or a certificate that somebody gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from django.utils import timezone

from sessions_app.services.log.sanitise import text
from vcon_app.models import TrustAnchor
from vcon_app.signing.algorithms import kind_of
from vcon_app.signing.keys import Anchor, BadKey, anchor_of


class NoRecipient(ValueError):
    """Nobody who could be encrypted for was named; the message says why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A trust anchor as somebody to encrypt for; ``reason`` says why that cannot be, empty when it can."""

    row: TrustAnchor
    reason: str


def candidates(workspace_id: UUID) -> list[Candidate]:
    """Every trust anchor of a workspace, the oldest first."""
    rows = TrustAnchor.objects.filter(workspace_id=workspace_id).order_by("added_at")
    return [Candidate(row, reason_against(anchor_of(row.pem, row.name, row.origin))) for row in rows]


def recipients_named(workspace_id: UUID, names: Sequence[str]) -> list[Anchor]:
    """The trust anchors of a workspace with these ids or fingerprints. Raises ``NoRecipient`` for any other name."""
    found: list[Anchor] = []
    for name in names:
        try:
            named: dict[str, UUID | str] = {"pk": UUID(name)}
        except ValueError:
            named = {"fingerprint": text(name).lower()[:64]}
        row = TrustAnchor.objects.filter(workspace_id=workspace_id, **named).order_by("pk").first()
        if row is None:
            raise NoRecipient(f'"{name[:40]}" is no trust anchor of this workspace; Settings lists them')
        found.append(anchor_of(row.pem, row.name, row.origin))
    return found


def recipient_from_pem(pem: str, name: str = "") -> Anchor:
    """The owner of the certificate or public key in a PEM text. Raises ``NoRecipient``."""
    try:
        return anchor_of(pem, name)
    except BadKey as error:
        raise NoRecipient(f"nothing can be encrypted for this key: {error}") from None


def reason_against(anchor: Anchor) -> str:
    """Why nothing can be encrypted for this key now; empty when it can. Core s5.3 has RSA-OAEP alone."""
    if not isinstance(anchor.key, RSAPublicKey):
        return f"its key is {kind_of(anchor.key)}, and RSA-OAEP needs an RSA key"
    if anchor.certificate is None:
        return ""
    now = timezone.now()
    if now > anchor.certificate.not_valid_after_utc:
        return f"its certificate expired on {anchor.certificate.not_valid_after_utc:%-d %B %Y}"
    if now < anchor.certificate.not_valid_before_utc:
        return f"its certificate is valid only from {anchor.certificate.not_valid_before_utc:%-d %B %Y}"
    return ""
