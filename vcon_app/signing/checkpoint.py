"""The statement of a checkpoint: what is signed of it, and what a leaf of its tree says. Pure.

A header is canonical JSON (sorted keys, no blanks, UTF-8) of ``version``, ``number``, ``at``, ``installation``,
``heads`` (how many), ``root`` and ``previous``; its signature is a detached JWS (``detached``). A leaf is canonical
JSON of ``[kind, chain, seq, hash]``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from . import merkle

VERSION = "countersign/checkpoint/1"
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True, order=True)
class Head:
    """The last row of a chain: ``kind`` is session, wallet or audit, ``chain`` its id, ``hash`` in hex."""

    kind: str
    chain: str
    seq: int
    hash: str

    def leaf(self) -> bytes:
        return _json([self.kind, self.chain, self.seq, self.hash])


@dataclass(frozen=True, slots=True)
class Header:
    """What a checkpoint states."""

    number: int
    at: datetime
    installation: str
    heads: int
    root: str
    previous: str
    """SHA-256 of the header before, in hex."""

    def text(self) -> str:
        """The very text that is signed."""
        fields = {
            "version": VERSION, "number": self.number, "at": self.at.isoformat(), "installation": self.installation,
            "heads": self.heads, "root": self.root, "previous": self.previous,
        }  # fmt: skip
        return _json(fields).decode()


class NotAHeader(ValueError):
    """A text is no header of a checkpoint; the message says why."""


def parse(text: str) -> Header:
    """The header that a text states. Raises ``NotAHeader``, also for one that is written in another way than ours."""
    try:
        fields = json.loads(text)
        header = Header(
            number=int(fields["number"]),
            at=datetime.fromisoformat(fields["at"]),
            installation=str(fields["installation"]),
            heads=int(fields["heads"]),
            root=str(fields["root"]),
            previous=str(fields["previous"]),
        )
    except (ValueError, KeyError, TypeError) as fault:
        raise NotAHeader(f"it cannot be read ({type(fault).__name__})") from None
    if header.text() != text:
        raise NotAHeader("it is not written as checkpoints of this version are")
    return header


def hash_of(text: str) -> str:
    """SHA-256 of a header, in hex: what the next one names as ``previous``."""
    return hashlib.sha256(text.encode()).hexdigest()


def root_of(heads: Sequence[Head]) -> str:
    """The root over heads in this order, in hex."""
    return merkle.root([head.leaf() for head in heads]).hex()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
