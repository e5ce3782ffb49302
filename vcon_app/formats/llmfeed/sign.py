"""A feed of ours with our signature, of scheme v1 (L11)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ...signing import feeds
from ...signing.signers import Signer
from . import reserved


def sign(content: bytes, signer: Signer, at: datetime, options: dict[str, Any]) -> bytes:
    """The signed form of what ``write`` made. Raises ``ValueError`` for a key that is not Ed25519."""
    feed = json.loads(content)
    feed[reserved.SCOPE] = reserved.signed(feed.get(reserved.SCOPE))
    return json.dumps(feeds.sign(feed, signer, at), ensure_ascii=False, indent=1).encode() + b"\n"


def signs_with(signer: Signer) -> bool:
    """llmfeed knows Ed25519 alone."""
    return isinstance(signer.key, Ed25519PrivateKey)
