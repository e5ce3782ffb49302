"""The members of a bundle by name, and what stands in its README."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

NAME = "bundle"
FORMAT, VERSION = "countersign-bundle", 1
"""By these the manifest says what it is."""
README, VCON, AUDIT, LOSSES, SIGNER = "README.txt", "session.vcon", "audit.jsonl", "losses.json", "signer.pem"
CHECKPOINT, LINKS, EVENTS = "checkpoint.json", "links.jsonl", "events.pgcopy"
RECEIPTS = "receipts.jsonl"
ORIGINALS = "original/"
MANIFEST, SIGNATURE = "manifest.json", "manifest.jws"
"""The last two, which no manifest lists: it cannot hold its own hash."""
LONGEST_NAME = 100
"""Characters: some file systems allow 255 bytes."""
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10))}
"""Names that Windows keeps for devices, whatever stands behind their first dot."""

TEXT = """\
{title}

One session of an AI agent, handed over by Countersign {version}. In this archive:

{members}

To check it:  manage.py verify FILE [--key signer.pem]     (0: nothing was changed, and the signer is trusted)
By hand:      compare each SHA-256 with `sha256sum`; check the signature with any JOSE library, or with openssl:
              see docs/bundle.md of Countersign.

Whose key it is only its owner can tell you: compare the fingerprint of signer.pem with what they publish.
"""
SIGNED = "a signature over the bytes of manifest.json (JWS, RFC 7515, with detached content)"
MEANINGS = {
    VCON: "the session as a vCon, as it is recorded",
    AUDIT: "who did what with it: each line has the text that its hash is of",
    CHECKPOINT: "what the installation signed of how far this and other logs had grown",
    LINKS: "who sent which events when, in a chain of hashes",
    EVENTS: "the events as the links are hashes of them (a binary file of PostgreSQL's COPY)",
    RECEIPTS: "each decision as a signed receipt",
    LOSSES: "what the vCon cannot carry of the session",
    SIGNER: "whose signature it is, as they say themselves",
}


def readme(title: str, version: str, original: str | None, members: tuple[str, ...]) -> bytes:
    """What the archive is and how to check it, for somebody who never heard of it."""
    meanings = {original: "the file as it came in"} if original else {}
    meanings |= {name: meaning for name, meaning in MEANINGS.items() if name in members}
    meanings |= {MANIFEST: "path, size and SHA-256 of each of these", SIGNATURE: SIGNED if SIGNER in members else ""}
    lines = [f"  {name:<{max(map(len, meanings))}}  {meaning}" for name, meaning in meanings.items() if meaning]
    lines += [] if original else ["  (There is no original: the session was not read from a file.)"]
    shown = "".join(character if character.isprintable() else " " for character in title).strip()[:200]
    text = TEXT.format(title=shown or "A session", version=version, members="\n".join(lines))
    return text.encode("utf-8", "replace")


def safe_name(name: str) -> str:
    """A file name that every system takes, as like the given one as can be: no path, nothing hidden, no device."""
    last = PurePosixPath(unicodedata.normalize("NFC", name).replace("\\", "/")).name
    plain = "".join(character if character.isalnum() or character in "._-+ " else "_" for character in last)
    plain = plain.strip(" .") or "original"
    if plain.split(".")[0].rstrip().upper() in _RESERVED:
        plain = f"_{plain}"
    stem, suffix = plain[: -len(ending)] if (ending := PurePosixPath(plain).suffix[:20]) else plain, ending
    return stem[: LONGEST_NAME - len(suffix)] + suffix
