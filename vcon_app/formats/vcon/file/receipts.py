"""Receipts of transparency services in ``scitt_receipt`` attachments (agent_session s7): what each is worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ....drafts import Finding, Severity, Signature
from ....signing import cose, transparency
from ....signing.keys import Anchor
from .forms import decode_base64

RECEIPT, STATEMENT = "scitt_receipt", "agent_trace_cose_sign1"
MOST = 32
"""Receipts of one file that are checked."""
_WORDS: dict[str, tuple[Severity, str]] = {
    "valid": ("info", "The receipt is valid: the service had registered the statement"),
    "valid_untrusted": ("warning", "The receipt is valid, but nobody here trusts the service"),
    "valid_expired": ("warning", "The receipt is valid, but a certificate has expired"),
    "invalid": ("error", "The receipt is invalid"),
}


def receipt_findings(vcon: Any, pointer: str, anchors: Sequence[Anchor], at: datetime) -> Iterator[Finding]:
    """One finding for each receipt: its state, with the keys that are trusted here. Nothing is fetched."""
    attachments = vcon.get("attachments") if isinstance(vcon, dict) else None
    found = [(place, item) for place, item in enumerate(attachments if isinstance(attachments, list) else ())
             if isinstance(item, dict)]  # fmt: skip
    if not any(_purpose(item) == RECEIPT for _, item in found):
        return
    statements = [data for _, item in found if _purpose(item) == STATEMENT and (data := _bytes_of(item))]
    told = [(place, data) for place, item in found if _purpose(item) == RECEIPT and (data := _bytes_of(item))]
    for place, data in told[:MOST]:
        for signature in _states(data, statements, anchors, at):
            severity, words = _WORDS.get(signature.state, ("warning", "The receipt could not be checked"))
            by = f" ({signature.signer[:60]})" if signature.signer else ""
            yield Finding("R113", severity, f"{pointer}/attachments/{place}", f"{words}{by}. {signature.detail}")


def _purpose(item: dict[str, Any]) -> Any:
    return item.get("purpose") or item.get("type")


def _bytes_of(item: dict[str, Any]) -> bytes:
    body = item.get("body")
    try:
        return decode_base64(body)[0] if isinstance(body, str) else b""
    except ValueError:
        return b""


def _states(
    data: bytes, statements: list[bytes], anchors: Sequence[Anchor], at: datetime
) -> Iterator[Signature]:  # fmt: skip
    """Of a receipt alone, which is for a statement beside it, or of a statement with its receipts in it."""
    try:
        registered = [leaf for one in statements for leaf in {one, transparency.receipts_of(one)[0]}]
        if transparency.is_receipt(data):
            yield transparency.check(data, registered, anchors, at)
            return
        statement, receipts = transparency.receipts_of(data)
    except cose.NotSign1 as error:
        yield Signature("uncheckable", detail=str(error))
        return
    if not receipts:
        yield Signature("uncheckable", detail="It is a statement without a receipt.")
    for receipt in receipts[:MOST]:
        yield transparency.check(receipt, [statement], anchors, at)
