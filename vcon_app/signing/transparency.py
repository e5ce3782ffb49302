"""Receipts of transparency services, checked offline: COSE receipts (RFC 9942) over SCITT statements (RFC 9943).

A receipt is a COSE_Sign1 over the root of a Merkle tree with the way from one leaf to that root: the tree of RFC 9162
with SHA-256, whose leaf is the statement, or that of a ledger of the Confidential Consortium Framework
(draft-ietf-scitt-receipts-ccf-profile), whose leaf is a transaction that names the statement's hash. The statement is a
COSE_Sign1 itself, which carries its receipts in its unprotected header once it has them; that header is not registered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from ..drafts import Signature
from . import cbor, cose, merkle, states
from .keys import Anchor

RECEIPTS, STRUCTURE, PROOFS = 394, 395, 396
INCLUSION = -1
"""In the proofs: those that a leaf is in the tree."""
RFC9162_SHA256, CCF_LEDGER_SHA256 = 1, 2
LEAF, PATH = 1, 2
"""In a proof of a CCF ledger."""
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
        structure = envelope.header.get(STRUCTURE)
        roots_from = _ROOTS_FROM.get(structure) if type(structure) is int else None
        roots = list(_roots(envelope, statements, roots_from)) if roots_from else []
    except (cose.NotSign1, ValueError) as error:
        return Signature("invalid", detail=f"The receipt cannot be read: {str(error)[:200]}")
    if roots_from is None:
        return Signature(
            "uncheckable", detail=f"Its proof is of the structure {str(structure)[:20]}; 1 and 2 are checked here."
        )
    if envelope.payload is not None:
        return Signature("invalid", detail="A receipt holds no payload: its root is computed (RFC 9942 s5.2).")
    if not statements:
        return Signature("uncheckable", detail="The statement that it is for is not in the file.")
    if not roots:
        return Signature("invalid", detail="No proof leads from the statement to a root.")
    found = [cose.check(envelope, anchors, at, root)[0] for root in roots]
    return max(found, key=lambda signature: states.rank(signature.state))


def _roots(envelope: cose.Envelope, statements: Sequence[bytes], roots_from: RootsFrom) -> Iterator[bytes]:
    proofs: Any = envelope.unprotected.get(PROOFS)
    held = proofs.get(INCLUSION) if isinstance(proofs, dict) else None
    for proof in held[:MOST_PROOFS] if isinstance(held, list) else ():
        yield from roots_from(proof, statements)


def _rfc9162_roots(proof: Any, statements: Sequence[bytes]) -> Iterator[bytes]:
    size, index, path = _proof(proof)
    for statement in statements:
        if (root := merkle.root_from(statement, index, size, path)) is not None:
            yield root


def _ccf_roots(proof: Any, statements: Sequence[bytes]) -> Iterator[bytes]:
    """The root is the same for all statements; it says something about the one that the transaction names."""
    (transaction, evidence, data_hash), path = _ccf_proof(proof)
    if data_hash not in [hashlib.sha256(statement).digest() for statement in statements]:
        return
    node = hashlib.sha256(transaction + hashlib.sha256(evidence.encode()).digest() + data_hash).digest()
    for is_left, beside in path:
        node = hashlib.sha256(beside + node if is_left else node + beside).digest()
    yield node


def _proof(data: Any) -> tuple[int, int, list[bytes]]:
    """Raises ``ValueError`` for what is no ``[size, index, [hash, …]]``."""
    value = cbor.loads(data, raw=True) if isinstance(data, bytes) else None
    size, index, path = value if isinstance(value, list) and len(value) == 3 else (None, None, None)
    if type(size) is not int or type(index) is not int or not isinstance(path, list) or len(path) > LONGEST_PATH:
        raise ValueError("an inclusion proof is [size, index, [hashes]]")
    if not all(map(_is_hash, path)):
        raise ValueError("the hashes of an inclusion proof have 32 bytes")
    return size, index, path


def _ccf_proof(data: Any) -> tuple[tuple[bytes, str, bytes], list[tuple[bool, bytes]]]:
    """Raises ``ValueError`` for what is no ``{1: [transaction, evidence, data hash], 2: [[is left, hash], …]}``."""
    value = cbor.loads(data, raw=True) if isinstance(data, bytes) else None
    leaf, path = (value.get(LEAF), value.get(PATH)) if isinstance(value, dict) else (None, None)
    if not isinstance(leaf, list) or len(leaf) != 3 or not isinstance(path, list) or len(path) > LONGEST_PATH:
        raise ValueError("a proof of a CCF ledger is a map of a leaf of three parts and a path")
    transaction, evidence, data_hash = leaf
    if not _is_hash(transaction) or not isinstance(evidence, str) or not _is_hash(data_hash):
        raise ValueError("the leaf of a CCF ledger is a hash of 32 bytes, a text and another hash")
    steps = [tuple(step) for step in path if isinstance(step, list) and len(step) == 2]
    if len(steps) != len(path) or not all(isinstance(is_left, bool) and _is_hash(one) for is_left, one in steps):
        raise ValueError("the path of a CCF ledger is made of a side and a hash of 32 bytes each")
    return (transaction, evidence, data_hash), steps


def _is_hash(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == 32


def _registered(envelope: cose.Envelope, *, is_tagged: bool) -> bytes:
    """The statement with an empty unprotected header, as a service has it in its tree."""
    payload = b"\xf6" if envelope.payload is None else cose.byte_string(envelope.payload)
    parts = cose.byte_string(envelope.protected) + b"\xa0" + payload + cose.byte_string(envelope.value)
    return (b"\xd2" if is_tagged else b"") + b"\x84" + parts


RootsFrom = Callable[[Any, Sequence[bytes]], Iterator[bytes]]
_ROOTS_FROM: dict[int, RootsFrom] = {RFC9162_SHA256: _rfc9162_roots, CCF_LEDGER_SHA256: _ccf_roots}
