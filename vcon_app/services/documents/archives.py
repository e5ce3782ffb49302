"""Zip archives that are imports of many files: what each kind of them holds, and the way back to a member."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO
from zipfile import ZipInfo

from django.conf import settings

from vcon_app import registry
from vcon_app.drafts import Finding, FormatError
from vcon_app.formats import bundle
from vcon_app.formats.common import zips
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.zips import Archive, is_zip
from vcon_app.formats.vcon.file import vconz

NAME = "zip"
TITLE = "zip archive"
KINDS = (NAME, bundle.NAME)
"""Formats of imports whose sessions were read from members."""
BUNDLE_PARTS = 4
"""A bundle unpacks to so many times the largest file that may come in: original, vCon, and a third for base64url."""
BEHIND_NAME = ": "
"""Stands between the name of a member and the place in it: ``chat.jsonl: L12``."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What of an archive may hold sessions, and what is odd about the rest."""

    members: list[ZipInfo]
    odd: list[Finding] = field(default_factory=list)
    is_vconz: bool = False
    is_bundle: bool = False

    @property
    def format(self) -> str:
        return bundle.NAME if self.is_bundle else NAME


def is_archive(source: BinaryIO, format_asked: str) -> bool:
    """Whether a stream is a zip archive that is no file of a format itself, as Inspect's logs are.

    Formats are shown the names of the members alone: what is stored in them is as if it stood in the archive itself.
    """
    if not is_zip(source):
        return False
    readers = registry.readers()
    candidates = {name: format for name, format in readers.items() if format_asked in ("auto", name)}
    return not registry.claims(Head(zips.headers(source)), candidates)


def open_archive(source: BinaryIO) -> Archive:
    """Raises ``FormatError`` for what is damaged, too much, or a bomb."""
    archive = Archive(source)
    archive.check_size(settings.MAX_UPLOAD_BYTES * (BUNDLE_PARTS if bundle.is_bundle(archive) else 1))
    return archive


def contents_of(archive: Archive) -> Contents:
    """The one session of a bundle of ours, the vCons of a ``.vconz``, or every file of another archive.

    Raises ``FormatError`` for a bundle that is refused.
    """
    if bundle.is_bundle(archive):
        return Contents([bundle.session_in(archive)], is_bundle=True)
    manifest = vconz.manifest_of(archive)
    if manifest is None:
        return Contents(archive.members, archive.refused)
    return Contents(*vconz.vcons_in(archive, manifest), is_vconz=True)


@contextmanager
def open_part(source: BinaryIO, pointer: str) -> Iterator[tuple[BinaryIO, str]]:
    """The file that a pointer leads into and the place in it: a member of an archive, else the source itself.

    Raises ``FormatError``.
    """
    archive = open_archive(source) if is_zip(source) else None
    named = [member for member in archive.members if _is_in(pointer, member)] if archive else []
    if archive is None or not named:
        source.seek(0)
        yield source, pointer
        return
    member = max(named, key=lambda member: len(member.filename))
    with archive.open(member) as file:
        yield file, pointer[len(member.filename) + len(BEHIND_NAME) :]


def member_of(archive: Archive, name: str) -> ZipInfo:
    """The member of that name. Raises ``FormatError`` where it is not there."""
    member = archive.member(name)
    if member is None:
        raise FormatError(f"there is no {name[:100]!r} in the archive")
    return member


def place_in(member: ZipInfo, pointer: str) -> str:
    """Where in the archive a place in a member is."""
    return f"{member.filename}{BEHIND_NAME}{pointer}"


def _is_in(pointer: str, member: ZipInfo) -> bool:
    return pointer.startswith(place_in(member, ""))
