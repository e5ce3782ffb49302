"""Restoring a backup into an installation that has nothing in it, and reading everything again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from config.processes.system import open_lock, try_lock
from vcon_app.services.documents import storage, storage_mark

from . import manifest, tables
from .manifest import sha256_of
from .tables import Failed


def restore(source: Path, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Restore from a backup's directory and return its manifest. Raises ``Failed``, ``OSError``.

    Nothing is changed unless the backup is whole, no `up` runs here, and database and storage are empty.
    """
    wanted = manifest.check(source)
    with _not_running():
        _check_empty(source, parameters)
        _copy_data_dir(source / manifest.DATA)
        _copy_into(storage.of_documents(), source / manifest.DOCUMENTS)
        _copy_into(storage.of_checkpoints(), source / manifest.CHECKPOINTS)
        tables.load(parameters, source / manifest.DUMP)
        with tables.connect(parameters) as connection:
            manifest.compare(tables.in_database(connection), wanted["tables"], "the restored database")
            _write_mark(connection)
            # The parts whose hearts beat there do not run here, and nobody waits for them to come back.
            if "config_partheartbeat" in wanted["tables"]:  # a backup of before heartbeats has none
                connection.execute("DELETE FROM config_partheartbeat")
    return wanted


@contextmanager
def _not_running() -> Iterator[None]:
    with open_lock(Path(settings.DATA_DIR) / "up.lock") as lock:
        if not try_lock(lock):
            raise Failed(f"`up` runs on {settings.DATA_DIR}: stop it, or choose another COUNTERSIGN_DATA_DIR")
        yield


def _check_empty(source: Path, parameters: Mapping[str, str]) -> None:
    with tables.connect(parameters) as connection:
        rows = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' LIMIT 1"
        ).fetchall()
    if rows:
        raise Failed("the database is not empty: restore into a new data directory, or a new database")
    for place, name in ((storage.of_documents(), manifest.DOCUMENTS), (storage.of_checkpoints(), manifest.CHECKPOINTS)):
        own = {str(path.relative_to(source / name)) for path in (source / name).rglob("*") if path.is_file()}
        # what a restore that was cut off has copied already is the same
        strange = (found for found in place.names() if found not in own and not found.startswith(storage.INCOMING))
        if found := next(strange, None):
            raise Failed(f"the storage ({place}) is not empty: it has {found}")
    kept = source / manifest.DATA / settings.SECRET_KEY_FILE.name
    if settings.ENV.secret_key and kept.read_text() != settings.ENV.secret_key:
        raise Failed(f"SECRET_KEY is not the one of the backup: unset it, or set what {kept} holds")


def _copy_into(place: storage.Storage, folder: Path) -> None:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        with storage.incoming(place) as incoming, path.open("rb") as file:
            shutil.copyfileobj(file, incoming.file, manifest.CHUNK)
            incoming.keep(name)
        with place.open(name) as back:
            if manifest.hash_of(back) != sha256_of(path):
                raise Failed(f"{name} was not stored as it is ({place})")


def _copy_data_dir(folder: Path) -> None:
    """Keys and the rest; the ``secret_key`` that this command's own start has made goes."""
    target = Path(settings.DATA_DIR)
    for path in sorted(folder.iterdir()):
        if settings.ENV.secret_key and path.name == settings.SECRET_KEY_FILE.name:
            continue
        if path.is_dir():
            shutil.copytree(path, target / path.name, dirs_exist_ok=True)
        else:
            shutil.copy2(path, target / path.name)


def _write_mark(connection: psycopg.Connection) -> None:
    """Mark the storage as the installation's: it is another one now, and has what that one had."""
    if not tables.has_table(connection, "sessions_app_installation"):
        return
    [mark] = connection.execute("SELECT storage_mark FROM sessions_app_installation").fetchone() or [""]
    if not mark:
        return
    with storage.incoming(storage.of_documents()) as incoming:
        incoming.file.write(mark.encode())
        incoming.keep(storage_mark.NAME)
