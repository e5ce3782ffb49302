"""Preparation of an installation before its first request: tables, queues, static files."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import Error, connection
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor

from config import broker, installation
from config.database import roles, schema, vectors
from config.env import ConfigError
from sessions_app.services.upkeep import event_months

ADVISORY_LOCK = 0x636F756E746572  # "counter": two hosts that start on one database migrate one after the other
LOCK_SECONDS = 0.2
STATIC_DAYS = 7
"""For which static files of a release that was replaced stay."""
MANIFEST = "staticfiles.json"
KEPT = (MANIFEST, ".collected")


def database(*, host: bool = True) -> None:
    """Apply missing migrations, make the broker's queues, give the desk's role what it needs, and compare this host.

    All as the owner. Raises ConfigError for a database that does not answer, is of a PostgreSQL too old, or does not
    fit, for a role of the desk that may do too much, and, unless ``host`` is False, for a ``SECRET_KEY`` or a storage
    that is not the installation's.
    """
    with roles.as_owner():
        connect()
        if fault := schema.version_fault():
            raise ConfigError(fault)
        _prepare_alone(host)


def part() -> None:
    """Look whether a part can run on the database, which ``database`` has prepared. Raises ConfigError where not."""
    connect()
    if fault := schema.version_fault():
        raise ConfigError(fault)
    executor = MigrationExecutor(connection)
    if fault := schema.fault(executor):
        raise ConfigError(fault)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise ConfigError("the database is not prepared for this version: run `prepare` first (manage.py prepare)")
    installation.check_host()


def _prepare_alone(host: bool) -> None:
    with connection.cursor() as cursor:
        _lock(cursor)
        try:
            _migrate()
            if settings.CELERY_BROKER_URL == broker.URL:
                broker.install(connection_parameters())
            vectors.prepare()
            roles.prepare()
            event_months.make()  # of an installation that was off for longer than they are made ahead
            if host:
                installation.check_host()
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])


def _lock(cursor: CursorWrapper) -> None:
    """Take the lock, for as long as another host has it by asking again: who waits inside a statement holds a snapshot,
    for the end of which CREATE INDEX CONCURRENTLY waits in the migrations of the other, and both would wait for ever.
    """
    while True:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_LOCK])
        if cursor.fetchone() == (True,):
            return
        time.sleep(LOCK_SECONDS)


def connect() -> None:
    """Connect to the database. Raises ConfigError with one line where that cannot be done."""
    try:
        connection.ensure_connection()
    except Error as fault:
        setting = "DATABASE_OWNER_URL" if roles.are_two() and roles.is_owner() else "DATABASE_URL"
        cluster = settings.EMBEDDED_CLUSTER
        place, more = (cluster.directory, f" (see {cluster.log})") if cluster else (setting, "")
        raise ConfigError(f"cannot connect to the database ({place}): {one_line(fault)}{more}") from fault


def one_line(fault: BaseException) -> str:
    """What libpq says of a connection that failed, without the blanks; of several addresses, the last one's."""
    lines = [line.strip(" -\t") for line in str(fault).strip().splitlines()]
    told = [line for line in lines if "failed" in line and not line.endswith(":")] or lines[:1]
    return told[-1] if told and told[-1] else type(fault).__name__


def _migrate() -> None:
    """``migrate``, unless there is nothing to do: its signals alone take longer than the look.

    Raises ConfigError, before anything is changed, for a database that is not what its migrations say.
    """
    executor = MigrationExecutor(connection)
    if fault := schema.fault(executor):
        raise ConfigError(fault)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


def connection_parameters() -> dict[str, str]:
    """libpq's parameters of the database that Django uses now, which in a test is the test's."""
    parameters = settings.DATABASE_OWNER_PARAMETERS if roles.is_owner() else settings.DATABASE_PARAMETERS
    return {**parameters, "dbname": connection.settings_dict["NAME"]}


def static_files() -> None:
    """Collect the static files when one of them has changed since the last time.

    Those of the release before stay for a week: a page that was open when the desk was replaced still fetches scripts
    of its own release, such as that of the palette, and their names are of their content, so none is in another's way.
    """
    if settings.DEBUG:
        return
    mark = Path(settings.STATIC_ROOT) / ".collected"
    fingerprint = _static_fingerprint()
    if mark.exists() and mark.read_text() == fingerprint:
        return
    for path in _collected():
        os.utime(path)  # in use until now
    call_command("collectstatic", verbosity=0, interactive=False)
    used, long_ago = _collected(), time.time() - STATIC_DAYS * 86_400
    for path in Path(settings.STATIC_ROOT).rglob("*"):
        if path.is_file() and path not in used and path.name not in KEPT and path.stat().st_mtime < long_ago:
            path.unlink()
    mark.write_text(fingerprint)


def _collected() -> set[Path]:
    """The static files that pages are made with now, and the packed ones beside them; none before the first time."""
    root = Path(settings.STATIC_ROOT)
    manifest = root / MANIFEST
    names = orjson.loads(manifest.read_bytes())["paths"].values() if manifest.exists() else ()
    return {path for name in names for path in (root / name, root / f"{name}.gz") if path.exists()}


def _static_fingerprint() -> str:
    """Paths, sizes and times of all static files, and the storage that would write them."""
    lines = sorted(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in _static_sources())
    return hashlib.sha256("\n".join([settings.STORAGES["staticfiles"]["BACKEND"], *lines]).encode()).hexdigest()


def _static_sources() -> Iterator[Path]:
    for finder in get_finders():
        for name, storage in finder.list([]):
            yield Path(storage.path(name))


def uploads() -> None:
    """Remove what an upload that was cut off by a ``kill -9`` has left."""
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir():
        path.unlink()
