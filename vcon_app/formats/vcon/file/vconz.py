"""``.vconz``: vCons and the files they refer to in one zip archive (draft-miller-vcon-zip-bundle-00)."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID
from zipfile import ZipInfo

from ....drafts import Finding, FormatError
from ...common import jsonio
from ...common.zips import Archive, name_without_suffix

MANIFEST = "manifest.json"
MANIFEST_BYTES = 64 * 1024
VERSIONS = ("1.0",)
HASHES = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
_HASHED = re.compile(r"files/(sha256|sha384|sha512)-([A-Za-z0-9_-]+)(\.[^/]*)?")
_VCON = re.compile(r"vcons/[^/]+\.json")


def name_findings(member: ZipInfo, uuids: Collection[str]) -> Iterator[Finding]:
    """What is wrong with the file name of a vCon that was read: it must be the vCon's own uuid (s3.2)."""
    try:
        named = str(UUID(name_without_suffix(member)))
    except ValueError:
        yield Finding("R95", "warning", member.filename, "the name of a vCon in a bundle must be its uuid")
        return
    if uuids and named not in {uuid.lower() for uuid in uuids}:
        message = f"named after another vCon; its own uuid is {', '.join(uuids)}"
        yield Finding("R95", "warning", member.filename, message)


def manifest_of(archive: Archive) -> dict[str, Any] | None:
    """The manifest by which an archive says that it is a bundle; None for any other archive."""
    member = archive.member(MANIFEST)
    if member is None or member.file_size > MANIFEST_BYTES:
        return None
    try:
        with archive.open(member) as file:
            value, _ = jsonio.loads(file.read())
    except (jsonio.Unreadable, FormatError):
        return None
    return value if isinstance(value, dict) and value.get("format") == "vcon-bundle" else None


def vcons_in(archive: Archive, manifest: dict[str, Any]) -> tuple[list[ZipInfo], list[Finding]]:
    """The vCons of a bundle, and what is odd about everything else in it.

    Raises ``FormatError`` for a bundle with members that no honest tool writes, or without vCons (s3, s7.1, s13.2).
    """
    if archive.refused:
        path, message = archive.refused[0].path, archive.refused[0].message
        raise FormatError(f"the bundle is refused (R95, R96) for its member {path!r}: {message}")
    vcons = [member for member in archive.members if _VCON.fullmatch(member.filename)]
    if not vcons:
        raise FormatError("the bundle holds no vCon: there is no vcons/UUID.json in it (R95)")
    findings = list(_of_manifest(manifest))
    for member in archive.members:
        if member.filename.startswith("files/"):
            findings += _of_file(archive, member)
        elif member not in vcons and member.filename != MANIFEST:
            findings.append(Finding("R95", "info", member.filename, "no vCon and no file of one; left out"))
    return vcons, findings


def _of_manifest(manifest: dict[str, Any]) -> Iterator[Finding]:
    version = manifest.get("version")
    if version not in VERSIONS:
        said = f"says version {version!r}" if version else "names no version"
        yield Finding("R95", "warning", MANIFEST, f"the manifest {said}; read as version {VERSIONS[-1]}")


def _of_file(archive: Archive, member: ZipInfo) -> Iterator[Finding]:
    """The hash of a file is its name (s4.1)."""
    named = _HASHED.fullmatch(member.filename)
    if named is None:
        yield Finding("R95", "warning", member.filename, "not named after its hash, so that nothing can refer to it")
        return
    try:
        found = _hash_of(archive, member, named[1])
    except FormatError as error:
        yield Finding("R95", "error", member.filename, f"the file is refused: {error}")
        return
    if found != named[2].rstrip("="):
        message = f"the file is refused: its bytes are not of the hash in its name, but of {named[1]}-{found}"
        yield Finding("R95", "error", member.filename, message)


def _hash_of(archive: Archive, member: ZipInfo, algorithm: str) -> str:
    digest = HASHES[algorithm]()
    for chunk in archive.chunks(member):
        digest.update(chunk)
    return urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
