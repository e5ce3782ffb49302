"""Signatures of a feed: ours of scheme v1 (L11), and the check of those that others made.

Both work on the bytes of the file: a database would lose the order of keys, and with it the signature.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ...drafts import Finding, Signature
from ...signing import feeds
from ...signing.keys import Anchor
from ...signing.signers import Signer
from . import reserved
from .feed import load, unpacked


def verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a feed's signature, whether or not the feed is a session. Raises ``FormatError``."""
    load(source)  # refuses what is no feed; its values are repaired and were never signed like that
    source.seek(0)
    return feeds.check(json.loads(unpacked(source).decode("utf-8-sig")), anchors, at)


def sign(content: bytes, signer: Signer, at: datetime, options: dict[str, Any]) -> bytes:
    """The signed form of what ``write`` made. Raises ``ValueError`` for a key that is not Ed25519."""
    feed = json.loads(content)
    feed[reserved.SCOPE] = reserved.signed(feed.get(reserved.SCOPE))
    return json.dumps(feeds.sign(feed, signer, at), ensure_ascii=False, indent=1).encode() + b"\n"


def signs_with(signer: Signer) -> bool:
    """llmfeed knows Ed25519 alone."""
    return isinstance(signer.key, Ed25519PrivateKey)
