"""Storage of bytes under names: a folder, or a bucket that speaks S3. Documents have one, and exports.

All hosts of an installation use the same (``STORAGE_URL``); a single host has two folders in its data directory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, ParamSpec, Protocol, TypeVar, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages

if TYPE_CHECKING:
    from storages.backends.s3 import S3Storage

P = ParamSpec("P")
R = TypeVar("R")
READ_AHEAD = 256 * 1024
"""A hundred lines of a transcript; with Python's 8 KB every third line is put together from two reads."""
EXPORTS = "exports"
CHECKPOINTS = "checkpoints"
INCOMING = ".incoming-"
"""Begins the names of temporary files; what a killed process leaves of them is removed after a day."""


class Missing(FileNotFoundError):
    """The bytes are not in the storage that this host uses."""


class Unavailable(OSError):
    """The storage does not answer, or refuses what is asked; the message is its own."""


class Storage(Protocol):
    """Bytes under names. What a full disk raises is left as it is; S3 raises ``Unavailable`` when it is away."""

    temporary: Path
    """Where bytes are written before they have a name."""

    def open(self, name: str) -> BinaryIO:
        """The bytes, to be read from any place. Raises ``Missing``."""

    def exists(self, name: str) -> bool: ...

    def take(self, path: Path, name: str) -> None:
        """Move a file that is in ``temporary`` to its name, over what is there."""

    def names(self, before: datetime | None = None) -> Iterator[str]:
        """Everything that it has, or what was written before a time."""

    def remove(self, name: str) -> None: ...

    def free(self) -> int | None:
        """Bytes that are free, None where nobody can tell."""


class Folder:
    """A folder of this machine's, or one that several mount."""

    def __init__(self, root: Path) -> None:
        self.root = self.temporary = root

    def __str__(self) -> str:
        return str(self.root)

    def open(self, name: str) -> BinaryIO:
        try:
            return (self.root / name).open("rb", buffering=READ_AHEAD)
        except FileNotFoundError:
            raise Missing(f"{name} is not in {self.root}") from None

    def exists(self, name: str) -> bool:
        return (self.root / name).exists()

    def take(self, path: Path, name: str) -> None:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.replace(target)

    def names(self, before: datetime | None = None) -> Iterator[str]:
        for folder, _, files in os.walk(self.root):
            for path in (Path(folder, file) for file in files):
                with suppress(FileNotFoundError):  # another host may remove it meanwhile
                    if before is None or path.stat().st_mtime < before.timestamp():
                        yield str(path.relative_to(self.root))

    def remove(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    def free(self) -> int | None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        return shutil.disk_usage(self.root).free


def _raising_unavailable(call: Callable[P, R]) -> Callable[P, R]:
    """``Unavailable`` for what boto3 raises: nothing above knows boto3, which is installed only where it is used."""

    @wraps(call)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call(*args, **kwargs)
        except (BotoCoreError, ClientError) as fault:
            raise Unavailable(f"the storage does not do what is asked: {fault}") from fault

    return told


class Bucket:
    """A bucket of a server that speaks S3, below a prefix; through django-storages."""

    def __init__(self, below: str = "") -> None:
        self.below = f"{below}/" if below else ""
        self.temporary = Path(settings.FILE_UPLOAD_TEMP_DIR)

    def __str__(self) -> str:
        return settings.STORAGE_NAME

    @property
    def _s3(self) -> S3Storage:
        return cast("S3Storage", storages["documents"])

    @_raising_unavailable
    def open(self, name: str) -> BinaryIO:
        try:
            found = self._s3.open(self.below + name, "rb")
            return cast(BinaryIO, found.file)  # a temporary file of its own: formats read back and forth in it
        except FileNotFoundError:
            raise Missing(f"{name} is not in {self}") from None

    @_raising_unavailable
    def exists(self, name: str) -> bool:
        return self._s3.exists(self.below + name)

    @_raising_unavailable
    def take(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            self._s3.save(self.below + name, File(file))
        path.unlink()

    def names(self, before: datetime | None = None) -> Iterator[str]:
        yield from self._listed(before)

    @_raising_unavailable
    def _listed(self, before: datetime | None) -> list[str]:
        location = f"{self._s3.location.strip('/')}/" if self._s3.location.strip("/") else ""
        prefix = location + self.below
        found = self._s3.bucket.objects.filter(Prefix=prefix)
        return [one.key[len(prefix) :] for one in found if before is None or one.last_modified < before]

    @_raising_unavailable
    def remove(self, name: str) -> None:
        self._s3.delete(self.below + name)

    def free(self) -> int | None:
        return None


def of_documents() -> Storage:
    """Where documents are kept."""
    return Bucket() if settings.DOCUMENTS_DIR is None else Folder(Path(settings.DOCUMENTS_DIR))


def of_exports() -> Storage:
    """Where files are kept that were written for somebody: beside the documents where several hosts share these."""
    if settings.DOCUMENTS_DIR is None:
        return Bucket(EXPORTS)
    return Folder(Path(settings.DOCUMENTS_DIR if settings.STORAGE_NAME else settings.DATA_DIR) / EXPORTS)


def of_checkpoints() -> Storage:
    """Where checkpoints are kept, which must not be in the database: beside the documents where hosts share these."""
    if settings.DOCUMENTS_DIR is None:
        return Bucket(CHECKPOINTS)
    return Folder(Path(settings.DOCUMENTS_DIR if settings.STORAGE_NAME else settings.DATA_DIR) / CHECKPOINTS)


def remove_abandoned() -> None:
    """Remove what writers that were killed a day ago have left without a name."""
    oldest = time.time() - 24 * 60 * 60
    for path in of_documents().temporary.glob(f"{INCOMING}*"):
        with suppress(FileNotFoundError):  # another host shares the folder
            if path.stat().st_mtime < oldest:
                path.unlink()


@dataclass(slots=True)
class Incoming:
    """Bytes that are being written and have no name yet."""

    storage: Storage
    file: IO[bytes]
    path: Path

    def keep(self, name: str) -> int:
        """Give them their name, over what has it already; how many they are."""
        self.file.flush()
        os.fsync(self.file.fileno())  # bytes before name: after a power cut no document has half of its bytes
        size = self.file.tell()
        self.storage.take(self.path, name)
        return size


@contextmanager
def incoming(storage: Storage) -> Iterator[Incoming]:
    """A file to write to, which is gone at the end unless it was kept: a full disk is not made fuller."""
    storage.temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=storage.temporary, prefix=INCOMING)
    try:
        with os.fdopen(handle, "wb") as file:
            yield Incoming(storage, file, Path(name))
    finally:
        Path(name).unlink(missing_ok=True)
