"""What a feed says of its own trustworthiness: told as claims. Nothing is verified here, and no key is fetched.

The published verifier knows one scheme and real files were signed by at least four, so a check needs the
stored bytes, a pinned key and care; until then a signature is "uncheckable", never "valid".
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator

from ...drafts import Finding, Json, Signature
from ..times import parse
from .feed import Feed
from .values import first_text, text_of

SIGNATURE_BYTES = 64
"""Of Ed25519 (RFC 8032), the one algorithm the specification names."""
SIGNING_FIELDS = (
    "signed_blocks", "algorithm", "canonicalization", "public_key_hint", "valid_signature", "valid_certification",
)  # fmt: skip
"""Parts of ``trust`` that speak of one signature over one document."""


def signature_of(feed: Feed) -> Signature:
    """The state of the signature (L5), with what it covers in words."""
    signature = feed.blocks.get("signature")
    if signature is None:
        claimed = _signed_blocks(feed)
        detail = f"The file lists signed blocks ({_names(claimed)}) but carries no signature." if claimed else ""
        return Signature("unsigned", detail=detail)
    parts = [
        _value_fault(signature),
        _covers(feed),
        f"Its key is said to be at {hint}; nothing was fetched." if (hint := _hint(feed)) else "",
        "This version does not check llmfeed signatures.",
    ]
    return Signature("uncheckable", detail=" ".join(part for part in parts if part))


def findings(feed: Feed) -> Iterator[Finding]:
    """Claims that a reader must not take for facts (L5, L9), and what the schemas ask for and is missing (L4)."""
    if "signature" not in feed.blocks and _signed_blocks(feed):
        yield Finding("L5", "warning", "/trust/signed_blocks", "Signed blocks are claimed, but there is no signature.")
    certification = feed.object_at("certification")
    if certification:
        yield Finding("L9", "info", "/certification", f"{_certification(certification)} It cannot be verified.")
    if faults := list(_schema_faults(feed)):
        lite = [fault for fault, in_lite in faults if in_lite]
        verdict = "nor the lite one" if lite else "but follows the lite one"
        text = "; ".join(fault for fault, _ in faults)
        message = f"The feed does not follow the full llmfeed schema, {verdict}: {text}."
        yield Finding("L4", "info", "/metadata", message)


def kept_trust(trust: Json) -> Json:
    """The ``trust`` block without what spoke of a signature that no longer stands; ``None`` when nothing is left."""
    if not isinstance(trust, dict):
        return trust
    return {name: value for name, value in trust.items() if name not in SIGNING_FIELDS} or None


def _schema_faults(feed: Feed) -> Iterator[tuple[str, bool]]:
    """Each fault, and whether the lite schema has it too."""
    if not isinstance(feed.blocks.get("feed_type"), str):
        yield "feed_type is missing", True
    if not isinstance(feed.blocks.get("metadata"), dict):
        yield "metadata is missing", True
        return
    metadata = feed.object_at("metadata")
    if not isinstance(metadata.get("title"), str):
        yield "metadata.title is missing", True
    if not isinstance(metadata.get("origin"), str):
        yield "metadata.origin is missing", True
    elif not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", metadata["origin"]):
        yield f"metadata.origin {metadata['origin'][:60]!r} is not a URI", True
    if parse(metadata.get("generated_at"))[0] is None:
        yield "metadata.generated_at is missing or no time", False
    trust = feed.blocks.get("trust")
    if isinstance(trust, dict) and not isinstance(trust.get("signed_blocks"), list):
        yield "trust.signed_blocks is missing", False


def _signed_blocks(feed: Feed) -> list[Json]:
    """Named in ``trust``, before 2025-05 in ``signature``, in one layout at the top."""
    places = (feed.object_at("trust"), feed.object_at("signature"), feed.blocks)
    return next((place["signed_blocks"] for place in places if isinstance(place.get("signed_blocks"), list)), [])


def _covers(feed: Feed) -> str:
    signed = _signed_blocks(feed)
    if not signed:
        return "It does not say which blocks it covers."
    if signed == ["all"]:
        return "It is said to cover the whole file."
    open_blocks = [name for name in feed.blocks if name not in signed and name != "signature"]
    uncovered = f"; not covered: {_names(open_blocks)}" if open_blocks else ""
    return f"It is said to cover {_names(signed)}{uncovered}."


def _value_fault(signature: Json) -> str:
    value = text_of(signature.get("value")) if isinstance(signature, dict) else ""
    if not value:
        return "The signature has no value."
    try:
        size = len(b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return "Its value is not base64: a placeholder, not a signature."
    return "" if size == SIGNATURE_BYTES else f"Its value is {size} bytes long, a signature {SIGNATURE_BYTES}."


def _hint(feed: Feed) -> str:
    hints = (feed.object_at(block).get("public_key_hint") for block in ("trust", "signature"))
    return first_text(*hints)[:200]


def _certification(block: dict[str, Json]) -> str:
    by = text_of(block.get("certifier"))[:100] or "somebody not named"
    level = text_of(block.get("level") or block.get("certification_level"))[:40]
    issued = text_of(block.get("issued_at"))[:40]
    more = "".join(f", {label} {value}" for label, value in (("level", level), ("issued", issued)) if value)
    return f"Certification is claimed by {by}{more}."


def _names(blocks: list[Json]) -> str:
    shown = ", ".join(str(name)[:40] for name in blocks[:12])
    return shown + (f" and {len(blocks) - 12} more" if len(blocks) > 12 else "")
