"""Making a backup while the desk runs: one snapshot of the database, then the documents that it names.

Documents never change, so what is copied later is what the snapshot means.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from vcon_app.services.checkpoints import publishing
from vcon_app.services.documents import documents, storage

from . import manifest, tables
from .tables import Failed

MADE_AGAIN = {
    "postgres", "postgres.new", "postgres.start", "postgres.users", "up.lock", "run", "logs", "static", "uploads",
    "exports", "documents", "checkpoints",
}  # fmt: skip
"""In the data directory: the database itself, what is backed up from the storage, and what every start makes anew."""


def make(target: Path, parameters: Mapping[str, str], *, replace: bool = False) -> dict[str, Any]:
    """Back up into ``target``, read everything again, and return the manifest. Raises ``Failed``, ``OSError``.

    A directory that has something in it is left alone unless ``replace``; it goes only when the new backup is whole.
    """
    if target.exists() and not target.is_dir():
        raise Failed(f"{target} is no directory")
    if target.exists() and any(target.iterdir()) and not replace:
        raise Failed(f"{target} is not empty: choose another directory, or say --replace")
    aside = target.with_name(f"{target.name}.{os.getpid()}.partial")
    aside.mkdir(parents=True, mode=0o700)
    try:
        about, found = _write(aside, parameters)
        manifest.write(aside, found, about)
        checked = manifest.check(aside)
        if target.exists():
            shutil.rmtree(target)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return checked


def _write(folder: Path, parameters: Mapping[str, str]) -> tuple[dict[str, Any], tables.Tables]:
    with tables.connect(parameters) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        [snapshot] = connection.execute("SELECT pg_export_snapshot()").fetchone() or [""]
        tables.dump(parameters, snapshot, folder / manifest.DUMP)
        found = tables.in_database(connection)
        _copy_documents(connection, folder / manifest.DOCUMENTS)
        _copy_checkpoints(connection, folder / manifest.CHECKPOINTS)
        [server] = connection.execute("SHOW server_version").fetchone() or [""]
    _copy_data_dir(folder / manifest.DATA)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"made_at": made_at, "product": settings.VERSION, "postgresql": server}, found


def _copy_documents(connection: psycopg.Connection, folder: Path) -> None:
    place = storage.of_documents()
    for (sha256,) in connection.execute("SELECT DISTINCT sha256 FROM vcon_app_sourcedocument ORDER BY 1").fetchall():
        try:
            copied = _copy(place, documents.name_of(sha256), folder / documents.name_of(sha256))
        except storage.Missing:
            raise Failed(f"the document {sha256} is not in the storage ({place})") from None
        if copied != sha256:
            raise Failed(f"the document {sha256} in the storage ({place}) has other bytes than it should have")


def _copy_checkpoints(connection: psycopg.Connection, folder: Path) -> None:
    """Files of the checkpoints that the snapshot has: of a later one its database would know nothing."""
    if not tables.has_table(connection, "sessions_app_checkpoint"):
        return
    [last] = connection.execute("SELECT max(number) FROM sessions_app_checkpoint").fetchone() or [None]
    place = storage.of_checkpoints()
    for name in place.names():
        number = publishing.number_of(name)
        if number is not None and last is not None and number <= last:
            _copy(place, name, folder / name)


def _copy(place: storage.Storage, name: str, target: Path) -> str:
    """Copy an object of the storage to a file; the SHA-256 of what was read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with place.open(name) as source, target.open("wb") as file:
        for chunk in documents.chunks_of(source):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _copy_data_dir(folder: Path) -> None:
    """Keys, and whatever else lies in the data directory and cannot be made again."""
    folder.mkdir(mode=0o700)
    for path in sorted(Path(settings.DATA_DIR).iterdir()):
        if path.name in MADE_AGAIN:
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, symlinks=True)
        elif path.is_file():
            shutil.copy2(path, folder / path.name)
    key = folder / settings.SECRET_KEY_FILE.name  # also where SECRET_KEY comes from the environment
    key.touch(mode=0o600)
    key.write_text(str(settings.SECRET_KEY))
