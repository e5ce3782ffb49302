"""Receipts of transparency services, checked offline: COSE receipts (RFC 9942) over SCITT statements (RFC 9943).

A receipt is a COSE_Sign1 over the root of a Merkle tree (RFC 9162, SHA-256) with the way from one leaf to that root.
The leaf is the statement that was registered: a COSE_Sign1 itself, which carries its receipts in its unprotected header
once it has them; that header is no part of the leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ..drafts import Signature
from . import cbor, cose, merkle, states
from .keys import Anchor

RECEIPTS, STRUCTURE, PROOFS = 394, 395, 396
INCLUSION = -1
"""In the proofs: those that a leaf is in the tree."""
RFC9162_SHA256 = 1
MOST_PROOFS, LONGEST_PATH = 16, 64


def receipts_of(statement: bytes) -> tuple[bytes, list[bytes]]:
    """The statement as it was registered, and the receipts that it carries. Raises :class:`cose.NotSign1`."""
    envelope = cose.parse(statement)
    carried = envelope.unprotected.get(RECEIPTS)
    found = [one for one in carried if isinstance(one, bytes)] if isinstance(carried, list) else []
    return _registered(envelope, is_tagged=statement[:1] == b"\xd2"), found


def is_receipt(data: bytes) -> bool:
    """Is it a receipt, or a statement? A receipt says of which structure its proof is."""
    return STRUCTURE in cose.parse(data).header


def check(receipt: bytes, statements: Sequence[bytes], anchors: Sequence[Anchor], at: datetime) -> Signature:
    """The state of a receipt for one of these statements, with the keys of services that are trusted."""
    try:
        envelope = cose.parse(receipt)
        roots = list(_roots(envelope, statements))
    except (cose.NotSign1, ValueError) as error:
        return Signature("invalid", detail=f"The receipt cannot be read: {str(error)[:200]}")
    structure = envelope.header.get(STRUCTURE)
    if structure != RFC9162_SHA256:
        return Signature(
            "uncheckable", detail=f"Its proof is of the structure {str(structure)[:20]}; 1 is checked here."
        )
    if envelope.payload is not None:
        return Signature("invalid", detail="A receipt holds no payload: its root is computed (RFC 9942 s5.2).")
    if not statements:
        return Signature("uncheckable", detail="The statement that it is for is not in the file.")
    if not roots:
        return Signature("invalid", detail="No proof leads from the statement to a root.")
    found = [cose.check(envelope, anchors, at, root)[0] for root in roots]
    return max(found, key=lambda signature: states.rank(signature.state))


def _roots(envelope: cose.Envelope, statements: Sequence[bytes]) -> Iterator[bytes]:
    proofs: Any = envelope.unprotected.get(PROOFS)
    held = proofs.get(INCLUSION) if isinstance(proofs, dict) else None
    for proof in held[:MOST_PROOFS] if isinstance(held, list) else ():
        size, index, path = _proof(proof)
        for statement in statements:
            if (root := merkle.root_from(statement, index, size, path)) is not None:
                yield root


def _proof(data: Any) -> tuple[int, int, list[bytes]]:
    """Raises ``ValueError`` for what is no ``[size, index, [hash, …]]``."""
    value = cbor.loads(data, raw=True) if isinstance(data, bytes) else None
    size, index, path = value if isinstance(value, list) and len(value) == 3 else (None, None, None)
    if type(size) is not int or type(index) is not int or not isinstance(path, list) or len(path) > LONGEST_PATH:
        raise ValueError("an inclusion proof is [size, index, [hashes]]")
    if not all(isinstance(one, bytes) and len(one) == 32 for one in path):
        raise ValueError("the hashes of an inclusion proof have 32 bytes")
    return size, index, path


def _registered(envelope: cose.Envelope, *, is_tagged: bool) -> bytes:
    """The statement with an empty unprotected header, as a service has it in its tree."""
    payload = b"\xf6" if envelope.payload is None else cose.byte_string(envelope.payload)
    parts = cose.byte_string(envelope.protected) + b"\xa0" + payload + cose.byte_string(envelope.value)
    return (b"\xd2" if is_tagged else b"") + b"\x84" + parts
