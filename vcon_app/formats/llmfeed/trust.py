"""Claims of a feed about its own trustworthiness, told as claims. Its signature is checked by ``verify``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...drafts import Finding, Json, Signature
from ..common.times import parse
from ..common.values import text_of
from .feed import Feed

SIGNING_FIELDS = (
    "signed_blocks", "algorithm", "canonicalization", "public_key_hint", "valid_signature", "valid_certification",
)  # fmt: skip
"""Parts of ``trust`` that speak of one signature over one document."""


def signature_of(feed: Feed) -> Signature:
    """The state of the signature before a check: uncheckable where there is one, else none."""
    if "signature" in feed.blocks and feed.blocks["signature"] is not None:
        return Signature("uncheckable", detail="There is a signature; it is not checked while reading.")
    claimed = _signed_blocks(feed)
    detail = f"The file lists signed blocks ({_names(claimed)}) but carries no signature." if claimed else ""
    return Signature("unsigned", detail=detail)


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


def _certification(block: dict[str, Json]) -> str:
    by = text_of(block.get("certifier"))[:100] or "somebody not named"
    level = text_of(block.get("level") or block.get("certification_level"))[:40]
    issued = text_of(block.get("issued_at"))[:40]
    more = "".join(f", {label} {value}" for label, value in (("level", level), ("issued", issued)) if value)
    return f"Certification is claimed by {by}{more}."


def _names(blocks: list[Json]) -> str:
    shown = ", ".join(str(name)[:40] for name in blocks[:12])
    return shown + (f" and {len(blocks) - 12} more" if len(blocks) > 12 else "")
