"""Who signed a VAC record, and whether anything was changed since (VAC s3.11). ``signing.cose`` does the checking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from ...drafts import Finding, FormatError, Signature
from ...signing import cose
from ...signing.keys import Anchor
from .forms import BESIDE, LARGEST, SIGN1, unzipped


def verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a record's signature at a time; only a COSE_Sign1 has one. Raises ``FormatError``."""
    data = unzipped(source)[0].read(LARGEST + 1)
    if not data.startswith(SIGN1):
        return Signature(), []
    if len(data) > LARGEST:
        raise FormatError(f"This signed record is larger than {LARGEST:,} bytes; it cannot be held in memory.")
    try:
        envelope = cose.parse(data)
    except cose.NotSign1 as error:
        raise FormatError(str(error)) from None
    signature, findings = cose.check(envelope, anchors, at)
    return replace(signature, uncovered=(BESIDE,) if envelope.unprotected else ()), findings
