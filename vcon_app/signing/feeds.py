"""llmfeed signatures: Ed25519 over blocks of a feed, in the schemes that were found to verify published files.

The specification describes one scheme; real files were signed in four, under one and the same identifier. Which blocks
are covered is chosen by the file, so findings name what is not covered. Keys are pinned beforehand, by origin.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ..drafts import Finding, Json, Signature
from . import canonical, states
from .chain import judge_anchor
from .keys import Anchor, PublicKey, fingerprint
from .one_signature import STATES
from .signers import Signer

RULES = ("L5", "L6")
SIZE = 64
"""Bytes of an Ed25519 signature (RFC 8032)."""
CANONICAL = "https://llmca.org/mcp-canonical-json/v1"
"""An identifier, never fetched; files of every scheme carry it."""
NAMED = 12
"""Blocks that are named one by one."""

Feed = dict[str, Json]


@dataclass(frozen=True, slots=True)
class _Payload:
    """What a scheme says was signed."""

    scheme: str
    blocks: Feed
    data: bytes


def check(feed: Feed, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a feed's signature, and what it leaves open. ``feed`` keeps the order of keys of the file."""
    if feed.get("signature") is None:
        names = _signed_blocks(feed)
        detail = f"It lists signed blocks ({_listed(names)}) but carries no signature." if names else ""
        return Signature("unsigned", detail=detail), []
    signature, findings = states.with_finding(RULES, "/signature", _state(feed, anchors, at))
    if signature.state.startswith("valid"):
        message = "The signature does not cover this block: anybody can have changed it."
        findings += [Finding("L6", "warning", f"/{_token(name)}", message) for name in signature.uncovered[:50]]
    return signature, findings


def sign(feed: Feed, signer: Signer, at: datetime) -> Feed:
    """The feed with a signature of scheme v1 over all its blocks, ``trust`` last. Raises ``ValueError``.

    Numbers with a fraction are refused: Python and JavaScript write them differently, so one of them could not
    verify it.
    """
    if not isinstance(signer.key, Ed25519PrivateKey):
        raise ValueError(f"llmfeed files are signed with Ed25519, not {signer.algorithm}.")
    blocks = {name: block for name, block in feed.items() if name not in ("signature", "trust")}
    stated = feed.get("trust")
    trust = stated if isinstance(stated, dict) else {}
    names = [*blocks, "trust"]
    hint = _hint_of(signer.key.public_key())
    terms = {"algorithm": "ed25519", "canonicalization": CANONICAL, "public_key_hint": hint}
    blocks["trust"] = trust | {"signed_blocks": names, **terms}
    data = canonical.python(blocks)
    if data != canonical.javascript(blocks):
        raise ValueError("A number or a key in it is written differently by Python and by JavaScript.")
    value = base64.b64encode(signer.sign(data)).decode()
    return blocks | {"signature": {"value": value, "created_at": f"{at:%Y-%m-%dT%H:%M:%SZ}"}}


def _state(feed: Feed, anchors: Sequence[Anchor], at: datetime) -> Signature:
    if fault := _unsupported(feed):
        return Signature("uncheckable", detail=fault)
    try:
        value = _value(feed)
    except ValueError as error:
        return Signature("invalid", detail=str(error))
    keys = [anchor for anchor in anchors if isinstance(anchor.key, Ed25519PublicKey)]
    for payload in _payloads(feed):
        for anchor in sorted(keys, key=lambda anchor: not _is_for(anchor, feed)):
            if _verifies(anchor, value, payload.data):
                return _verified(feed, payload, anchor, at)
    return _unverified(feed, keys)


def _unverified(feed: Feed, keys: list[Anchor]) -> Signature:
    """Invalid if somebody whose signature it should be is known, else there is just no key to check it with."""
    hint = _text(feed, "public_key_hint")
    expected = [key for key in keys if hint == _hint_of(key.key)]
    expected = expected or [key for key in keys if key.origin and _is_for(key, feed)]
    expected = expected or [key for key in keys if key.is_pinned]
    if not expected:
        where = f" It says its key is at {hint[:200]}; nothing was fetched." if hint else ""
        return Signature("uncheckable", detail=f"There is no trusted Ed25519 key for {origin_of(feed)}.{where}")
    names = ", ".join(key.title for key in expected[:5])
    detail = f"It does not verify with the key of {names}, in any scheme: the file was changed after it was signed, or"
    if _text(feed, "canonicalization") not in ("", CANONICAL):
        return Signature("uncheckable", detail=f"{detail} its canonicalization is one that is not known here.")
    return Signature("invalid", detail=f"{detail} it was signed with another key.")


def _verified(feed: Feed, payload: _Payload, anchor: Anchor, at: datetime) -> Signature:
    judgement = judge_anchor(anchor, at)
    state = STATES[judgement.state]
    reason = judgement.reason
    if not _is_for(anchor, feed):
        state, reason = "valid_untrusted", f"its key is pinned to {anchor.origin}, the file says {origin_of(feed)}"
    uncovered = tuple(name for name in feed if name not in payload.blocks and name != "signature")
    covers = f"It covers {_listed(list(payload.blocks))}"
    leaves = f"; it does not cover {_listed(list(uncovered))}" if uncovered else ""
    made = f" It says it was made at {made_at[:40]}." if (made_at := _text(feed, "created_at", ("signature",))) else ""
    key = f"Ed25519, scheme {payload.scheme}, key SHA-256 {fingerprint(anchor.key)}"
    detail = f"{key}; {reason}. {covers}{leaves}.{made}"
    return Signature(state, anchor.title, detail, until=judgement.until, uncovered=uncovered)


def _payloads(feed: Feed) -> Iterator[_Payload]:
    """What may have been signed, by what the feed says of it."""
    names = _signed_blocks(feed)
    if names == ["all"]:
        yield from _payloads_of_all(feed)
        return
    if not names or not all(isinstance(name, str) and name in feed for name in names):
        return
    blocks = {name: feed[name] for name in names}
    without_trust = {name: block for name, block in blocks.items() if name != "trust"}
    writers: tuple[tuple[str, Feed, Callable[[], bytes]], ...] = (
        ("v1", blocks, lambda: canonical.python(blocks)),
        ("v1 as JavaScript writes it", blocks, lambda: canonical.javascript(blocks)),
        ("25x", without_trust, lambda: canonical.javascript(without_trust, sort=True)),
        ("of April 2025", blocks, lambda: canonical.python(blocks, sort=True, ascii_only=True)),
    )
    for scheme, covered, write in writers:
        if covered:
            try:
                yield _Payload(scheme, covered, write())
            except UnicodeEncodeError:
                continue  # a lone surrogate: this writer cannot have made the signature


def _payloads_of_all(feed: Feed) -> Iterator[_Payload]:
    blocks = {name: block for name, block in feed.items() if name not in ("signature", "certification")}
    yield _Payload("all, sorted", blocks, canonical.python(blocks, sort=True, ascii_only=True))
    if blocks.pop("trust", None) is not None and blocks:
        yield _Payload("all but trust, sorted", blocks, canonical.python(blocks, sort=True, ascii_only=True))


def _verifies(anchor: Anchor, value: bytes, data: bytes) -> bool:
    if not isinstance(anchor.key, Ed25519PublicKey):
        return False
    try:
        anchor.key.verify(value, data)
    except InvalidSignature:
        return False
    return True


def _is_for(anchor: Anchor, feed: Feed) -> bool:
    """Whether the key is one for this feed: pinned to its origin, or to none."""
    return not anchor.origin or host_of(anchor.origin) == host_of(origin_of(feed))


def host_of(origin: str) -> str:
    """The host, and port if there is one, of an origin with or without a scheme; lower case."""
    try:
        found = urlsplit(origin if "://" in origin else f"https://{origin}")
        return found.netloc.rpartition("@")[2].lower().removesuffix(":443")
    except ValueError:
        return origin.lower()


def origin_of(feed: Feed) -> str:
    """``metadata.origin``, in the oldest layout at the top."""
    return _text(feed, "origin", ("metadata",)) or (origin if isinstance(origin := feed.get("origin"), str) else "")


def _hint_of(key: PublicKey) -> str:
    """The name of a key as an address that needs no network: its SHA-256 (RFC 6920 section 3)."""
    return f"ni:///sha-256;{base64.urlsafe_b64encode(bytes.fromhex(fingerprint(key))).rstrip(b'=').decode()}"


def _unsupported(feed: Feed) -> str:
    algorithm = _text(feed, "algorithm")
    if algorithm and algorithm.casefold() != "ed25519":
        return f"Its algorithm is {algorithm[:40]!r}; llmfeed files are checked for Ed25519."
    return ""


def _value(feed: Feed) -> bytes:
    """The 64 bytes of the signature. Raises ``ValueError`` with the reason."""
    signature = feed["signature"]
    value = signature.get("value") if isinstance(signature, dict) else None
    if not isinstance(value, str) or not value:
        raise ValueError("The signature has no value.")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"Its value ({value[:40]!r}) is not base64: a placeholder, not a signature.") from None
    if len(data) != SIZE:
        raise ValueError(f"Its value is {len(data)} bytes long, a signature has {SIZE}.")
    return data


def _signed_blocks(feed: Feed) -> list[Json]:
    """Named in ``trust``, before 2025-05 in ``signature``, in one layout at the top."""
    places = (feed.get("trust"), feed.get("signature"), feed)
    found = (place.get("signed_blocks") for place in places if isinstance(place, dict))
    return next((names for names in found if isinstance(names, list)), [])


def _text(feed: Feed, name: str, blocks: tuple[str, ...] = ("trust", "signature")) -> str:
    found = (block.get(name) for block in map(feed.get, blocks) if isinstance(block, dict))
    return next((value for value in found if isinstance(value, str) and value), "")


def _listed(blocks: list[Json]) -> str:
    shown = ", ".join(str(name)[:40] for name in blocks[:NAMED])
    return shown + (f" and {len(blocks) - NAMED} more" if len(blocks) > NAMED else "")


def _token(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
