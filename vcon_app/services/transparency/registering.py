"""Signed exports are registered at a transparency service, which an operator's setting names, and its receipts kept.

What is left to do stands in the row, not in a message: a killed worker loses nothing, and the next look goes on.
Only the SHA-256 of the file, its kind and its id go there. A receipt that does not check is not kept.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from sessions_app.services.log.sanitise import text
from vcon_app.models import Export, Registration
from vcon_app.signing import statement as statements
from vcon_app.signing import transparency
from vcon_app.signing.keys import Anchor, BadKey, anchors_of

from ..trust import own_keys
from . import scrapi

log = logging.getLogger(__name__)
AT_ONCE = 20
CLAIMED_FOR = timedelta(minutes=2)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=15), timedelta(hours=1)
POLL_AFTER = timedelta(seconds=5)
"""Where the service does not say when to ask again."""
ISSUER = "Countersign"
"""Who states it, while nobody has said our address."""


class WrongReceipt(Exception):
    """What came is no receipt for this statement by a key that is set; the message says why."""


def is_on() -> bool:
    """Whether the operator names a service."""
    return bool(settings.TRANSPARENCY_URL)


def begin(export: Export, digest: bytes, media_type: str) -> None:
    """Have a signed file registered, once for each file. In a transaction of the caller's. Raises ``BadKey``."""
    service = settings.TRANSPARENCY_URL
    if not service or Registration.objects.filter(session_id=export.session_id, sha256=digest.hex()).exists():
        return
    uuid = export.identity.get("uuid")
    made = statements.make(
        digest,
        media_type,
        settings.SITE_URL or ISSUER,
        f"urn:uuid:{uuid}" if uuid else export.filename,
        own_keys.signer(),
    )
    Registration.objects.bulk_create(
        [
            Registration(
                session_id=export.session_id, sha256=digest.hex(), filename=export.filename, statement=made,
                service=service, next_try_at=timezone.now(),
            )
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def go_on() -> int:
    """Do what is due, the longest due first; how many were seen to."""
    if not is_on():
        return 0
    now = timezone.now()
    due = Registration.objects.filter(next_try_at__lte=now).order_by("next_try_at").values_list("pk", flat=True)
    found = list(due[:AT_ONCE])
    for pk in found:
        # Compare-and-set: of two workers at once one has it, and what a killed one left is due again in two minutes.
        claimed = Registration.objects.filter(pk=pk, next_try_at__lte=now)
        if claimed.update(next_try_at=timezone.now() + CLAIMED_FOR):
            _try(pk)
    return len(found)


def _try(pk: UUID) -> None:
    row = Registration.objects.filter(pk=pk).first()
    if row is None:  # its session was erased meanwhile
        return
    try:
        _step(row)
    except scrapi.Refused as refusal:
        row.status, row.fault, row.next_try_at = Registration.Status.REFUSED, text(str(refusal)), None
    except (scrapi.NotYet, WrongReceipt) as fault:
        _put_off(row, fault)
    if row.fault:
        log.warning("registration %s of an export: %s", row.pk, row.fault)
    # No save(): a row that was erased meanwhile must not come back.
    Registration.objects.filter(pk=row.pk).update(
        status=row.status, location=row.location, receipt=row.receipt, signer=row.signer, fault=row.fault,
        failures=row.failures, registered_at=row.registered_at, next_try_at=row.next_try_at,
    )  # fmt: skip


def _step(row: Registration) -> None:
    """Ask once. A receipt that was checked ends it; else the service is asked again at the place that it names."""
    if row.location:
        answer = scrapi.ask(row.service, row.location)
    else:
        answer = scrapi.register(row.service, bytes(row.statement))
    if answer.receipt is None:
        row.status, row.location = Registration.Status.PENDING, answer.location
        row.next_try_at = timezone.now() + (answer.wait if answer.wait is not None else POLL_AFTER)
    else:
        row.signer = _checked(answer.receipt, bytes(row.statement))
        row.receipt, row.status = answer.receipt, Registration.Status.REGISTERED
        row.registered_at, row.next_try_at = timezone.now(), None
    row.fault, row.failures = "", 0


def _put_off(row: Registration, fault: Exception) -> None:
    row.fault, row.failures = text(str(fault)), row.failures + 1
    if isinstance(fault, (scrapi.Forgotten, WrongReceipt)):
        row.status, row.location = Registration.Status.WAITING, ""
    told = fault.wait if isinstance(fault, scrapi.NotYet) else None
    row.next_try_at = timezone.now() + (told or min(FIRST_WAIT * 2 ** min(row.failures - 1, 10), LONGEST_WAIT))


def _checked(receipt: bytes, statement: bytes) -> str:
    """Name of the key that a receipt was checked with, empty where it has none. Raises ``WrongReceipt``."""
    signature = transparency.check(receipt, [statement], service_keys(), timezone.now())
    if signature.state != "valid":
        raise WrongReceipt(f"the receipt of the service is not kept: {signature.state}. {signature.detail}")
    return signature.signer or ""


def service_keys() -> list[Anchor]:
    """Keys that the service signs receipts with, as the operator names them. Raises ``WrongReceipt``."""
    try:
        path = settings.TRANSPARENCY_KEYS
        return anchors_of(path.read_text()) if path else []
    except (BadKey, OSError, UnicodeDecodeError) as fault:
        raise WrongReceipt(f"COUNTERSIGN_TRANSPARENCY_KEYS cannot be used: {fault}") from None


def notice() -> str | None:
    """What is not registered although it should be, of all workspaces; the doctor asks."""
    try:
        service_keys()
    except WrongReceipt as fault:
        return str(fault)
    failing = Registration.objects.filter(next_try_at__isnull=False).exclude(fault="").order_by("created_at")
    if first := failing.first():
        return f"{failing.count():,} signed exports have no receipt yet; the oldest: {first.fault}"
    refused = Registration.objects.filter(
        status=Registration.Status.REFUSED, created_at__gt=timezone.now() - timedelta(days=1)
    )
    if last := refused.order_by("-created_at").first():
        return f"{refused.count():,} signed exports of the last day were refused; the newest: {last.fault}"
    return None
