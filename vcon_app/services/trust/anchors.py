"""Trust anchors of a workspace: certificates and public keys that signatures are checked against."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import IntegrityError, transaction

from sessions_app.models import Workspace
from sessions_app.services import audit, task_queue
from sessions_app.services.fair_queue import Line
from vcon_app.models import TrustAnchor
from vcon_app.signing.algorithms import kind_of
from vcon_app.signing.feeds import host_of
from vcon_app.signing.keys import Anchor, BadKey, anchor_of, fingerprint, normal_pem

from .. import task_names
from . import own_keys

Refused = BadKey
"""What was given cannot be a trust anchor; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The anchors of a workspace and our own key, and a stamp that is another one as soon as they are others."""

    anchors: tuple[Anchor, ...]
    stamp: str


def keyring(workspace_id: UUID) -> Keyring:
    """Keyring that signatures are checked against in this workspace now."""
    rows = list(TrustAnchor.objects.filter(workspace_id=workspace_id).order_by("pk"))
    ours = own_keys.own_anchor()
    # a row is never changed, only added and removed, so its id stands for its content
    marks = [str(row.pk) for row in rows] + ([fingerprint(ours.key)] if ours else [])
    stamp = hashlib.sha256("\n".join(marks).encode()).hexdigest()
    anchors = (anchor_of(row.pem, row.name, row.origin) for row in rows)
    return Keyring((*anchors, *filter(None, (ours,))), stamp)


def add(workspace: Workspace, pem: str, *, name: str = "", origin: str = "", by: audit.Actor) -> TrustAnchor:
    """Trust a certificate or public key from now on; what was imported is checked again. Raises ``Refused``."""
    origin = _checked_origin(origin)
    anchor = anchor_of(pem, name, origin)
    if origin and not isinstance(anchor.key, Ed25519PublicKey):
        raise Refused(f"An origin is for keys of llmfeed files, which are Ed25519; this one is {kind_of(anchor.key)}.")
    new = TrustAnchor(
        workspace=workspace,
        name=_printable(anchor.title) or fingerprint(anchor.key)[:16],
        kind=TrustAnchor.Kind.CERTIFICATE if anchor.certificate else TrustAnchor.Kind.PUBLIC_KEY,
        pem=normal_pem(pem),
        fingerprint=fingerprint(anchor.key),
        origin=origin,
        added_by=by.name,
    )
    try:
        with transaction.atomic():
            new.save(force_insert=True)
            _record_change(new, "trust.added", by)
    except IntegrityError:
        known = TrustAnchor.objects.filter(workspace=workspace, fingerprint=new.fingerprint, origin=origin).first()
        raise Refused(f'This key is trusted already, as "{known}". To exchange it, remove that one first.') from None
    return new


@transaction.atomic
def remove(anchor: TrustAnchor, *, by: audit.Actor) -> None:
    """Trust it no longer; what hung on it is checked again."""
    if TrustAnchor.objects.filter(pk=anchor.pk).delete()[0]:
        _record_change(anchor, "trust.removed", by)


def _printable(name: str) -> str:
    """A name of one line; that of a certificate is whatever its maker wrote into it."""
    return "".join(character for character in name if character.isprintable()).strip()[:100]


def _record_change(anchor: TrustAnchor, action: str, by: audit.Actor) -> None:
    audit.record(
        anchor.workspace_id, by, action, subject=("trust_anchor", anchor.pk),
        name=anchor.name, kind=anchor.kind, fingerprint=anchor.fingerprint, origin=anchor.origin,
    )  # fmt: skip
    task_queue.enqueue(task_names.CHECK_SIGNATURES, anchor.workspace_id, Line(anchor.workspace_id))


def _checked_origin(origin: str) -> str:
    origin = origin.strip()
    host = host_of(origin)
    if origin and (not host or len(origin) > 200 or any(c.isspace() or not c.isprintable() for c in origin)):
        raise Refused(f"The origin {origin[:60]!r} is no site; it looks like https://example.org.")
    return origin
