"""``manage.py backup`` and ``restore``: a drill beside a running desk, and what is refused."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from config.backup import tables
from config.database import postgres
from config.database.cluster import Cluster
from config.env import BASE_DIR
from tests import databases
from tests.config.test_up import Up, start
from tests.upgrades.test_upgrade import SECRET_KEY

MANAGE = [sys.executable, str(BASE_DIR / "manage.py")]
FIXTURE = BASE_DIR / "tests" / "upgrades" / "2026-11-22"


def manage(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*MANAGE, *map(str, arguments)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=170)


def own(data_dir: Path) -> dict[str, str]:
    return {"COUNTERSIGN_DATA_DIR": str(data_dir), "DATABASE_URL": "", "DATABASE_OWNER_URL": ""}


def sessions(up: Up, key: str) -> list[dict[str, object]]:
    asked = Request(f"{up.address}api/v1/sessions", headers={"Authorization": f"Bearer {key}"})
    with urlopen(asked, timeout=30) as answer:
        return json.loads(answer.read())["items"]


def rows(data_dir: Path) -> tables.Tables:
    cluster = Cluster(data_dir)
    with postgres.on_demand(cluster), tables.connect(cluster.parameters) as connection:
        return tables.in_database(connection)


def stored(data_dir: Path) -> dict[str, bytes]:
    found = (path for name in ("documents", "checkpoints") for path in (data_dir / name).rglob("*") if path.is_file())
    return {str(path.relative_to(data_dir)): path.read_bytes() for path in found}


@pytest.fixture
def place() -> Iterator[Path]:
    """Not below pytest's own folder, which is closed to the user that the server of root runs as."""
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        yield Path(directory)


def test_what_a_running_desk_had_is_there_after_a_restore(place):
    """The drill: back up beside `up`, lose everything, restore into an empty directory, and go on."""
    lost, kept, again = place / "lost", place / "kept", place / "again"
    running = start(lost)
    try:
        assert manage(own(lost), "demo").returncode == 0
        key = manage(own(lost), "apikey", "create", "--name", "drill", "--role", "viewer").stdout.split()[-1]
        before = sessions(running, key)
        made = manage(own(lost), "backup", kept)
        assert (made.returncode, made.stdout.count("checked")) == (0, 1), made.stderr
        assert manage(own(lost), "restore", kept).returncode == 1
    finally:
        running.process.terminate()
        running.process.wait(60)
    told = json.loads((kept / "manifest.json").read_text())
    assert told["tables"]["sessions_app_event_first"]["rows"] > 10
    documents = {name for name in told["files"] if name.startswith("documents/")}
    assert len(documents) == 3

    restored = manage(own(again), "restore", kept)
    assert restored.returncode == 0, restored.stderr
    found = {name: content.as_json() for name, content in rows(again).items()}
    assert found.pop("config_partheartbeat")["rows"] == 0  # of parts that do not run here
    assert told["tables"].pop("config_partheartbeat")["rows"] > 0
    assert found == told["tables"]
    assert documents <= stored(again).keys()
    assert all(stored(lost)[name] == content for name, content in stored(again).items())
    for name in ("secret_key", "signing_key.pem"):
        assert (again / name).exists() == (lost / name).exists()
        assert not (lost / name).exists() or (again / name).read_bytes() == (lost / name).read_bytes()
    shutil.rmtree(lost)

    assert manage(own(again), "audit", "verify").returncode == 0
    running = start(again)
    try:
        assert sessions(running, key) == before
        doctor = manage(own(again), "doctor")
        assert doctor.returncode == 0, doctor.stdout
    finally:
        running.process.terminate()
        running.process.wait(60)


@pytest.fixture(scope="module")
def installation(tmp_path_factory, database_server) -> Iterator[dict[str, str]]:
    """The environment of an installation with a row in every table, on a PostgreSQL of its own."""
    data_dir = Path(tmp_path_factory.mktemp("installation"))
    with databases.new_database() as parameters:
        databases.load(parameters, lzma.decompress((FIXTURE / "database.sql.xz").read_bytes()))
        databases.unpack(FIXTURE / "documents.tar.xz", data_dir)
        (data_dir / "signing_key.pem").write_text("an invented key")
        (data_dir / "notes").mkdir()
        (data_dir / "notes" / "mine").write_text("whatever else lies there")
        yield {
            "DATABASE_URL": databases.url_of(parameters),
            "COUNTERSIGN_DATA_DIR": str(data_dir),
            "SECRET_KEY": SECRET_KEY,
        }


@pytest.fixture(scope="module")
def backup(installation, tmp_path_factory) -> Path:
    folder = Path(tmp_path_factory.mktemp("backup")) / "made"
    done = manage(installation, "backup", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def empty(database_server, tmp_path) -> Iterator[dict[str, str]]:
    with databases.new_database() as parameters:
        data_dir = str(tmp_path / "data")
        yield {"DATABASE_URL": databases.url_of(parameters), "COUNTERSIGN_DATA_DIR": data_dir, "SECRET_KEY": ""}


def test_every_row_document_and_key_is_restored(installation, backup, empty):
    done = manage(empty, "restore", backup)
    assert done.returncode == 0, done.stderr
    contents = []
    for environment in (installation, empty):
        with tables.connect(psycopg.conninfo.conninfo_to_dict(environment["DATABASE_URL"])) as connection:
            contents.append(tables.in_database(connection))
    assert contents[0] == contents[1]
    assert all(content.rows for table, content in contents[1].items() if not table.startswith("auth_"))
    old, new = (Path(environment["COUNTERSIGN_DATA_DIR"]) for environment in (installation, empty))
    assert stored(new) == stored(old)
    assert (new / "secret_key").read_text() == SECRET_KEY
    assert (new / "notes" / "mine").read_text() == "whatever else lies there"
    assert (new / "signing_key.pem").read_text() == "an invented key"


def test_a_directory_with_something_in_it_is_left_alone(installation, backup):
    before = {path: path.stat().st_mtime_ns for path in backup.rglob("*")}
    done = manage(installation, "backup", backup)
    assert (done.returncode, "is not empty" in done.stderr) == (1, True)
    assert {path: path.stat().st_mtime_ns for path in backup.rglob("*")} == before


def test_a_document_that_is_lost_or_damaged_is_no_backup(installation, tmp_path):
    document = next(
        path for path in Path(installation["COUNTERSIGN_DATA_DIR"], "documents").rglob("*") if path.is_file()
    )
    content = document.read_bytes()
    try:
        document.write_bytes(b"damaged")
        damaged = manage(installation, "backup", tmp_path / "damaged")
        document.unlink()
        lost = manage(installation, "backup", tmp_path / "lost")
    finally:
        document.write_bytes(content)
    assert (damaged.returncode, "has other bytes" in damaged.stderr) == (1, True)
    assert (lost.returncode, "is not in the storage" in lost.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["dump", "document", "row", "added"])
def test_a_backup_that_was_changed_is_not_restored(backup, empty, tmp_path, damage):
    changed = tmp_path / "changed"
    shutil.copytree(backup, changed)
    if damage == "row":
        manifest = json.loads((changed / "manifest.json").read_text())
        manifest["tables"]["sessions_app_event"]["rows"] += 1
        (changed / "manifest.json").write_text(json.dumps(manifest))
    elif damage == "added":
        (changed / "data" / "more").write_text("added")
    else:
        files = (path for path in (changed / "documents").rglob("*") if path.is_file())
        path = changed / "database.dump" if damage == "dump" else next(files)
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    done = manage(empty, "restore", changed)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    with psycopg.connect(make_conninfo(empty["DATABASE_URL"])) as connection:
        assert databases.columns(connection) == {}
    assert stored(Path(empty["COUNTERSIGN_DATA_DIR"])) == {}


def test_an_installation_with_something_in_it_is_left_alone(installation, backup, empty):
    full = manage(installation, "restore", backup)
    assert (full.returncode, "the database is not empty" in full.stderr) == (1, True)
    documents = Path(empty["COUNTERSIGN_DATA_DIR"], "documents")
    documents.mkdir(parents=True)
    (documents / "mine").write_text("somebody's")
    strange = manage(empty, "restore", backup)
    assert (strange.returncode, "is not empty: it has mine" in strange.stderr) == (1, True)


def test_another_secret_key_is_refused(backup, empty):
    done = manage(empty | {"SECRET_KEY": "another invented key that is long enough"}, "restore", backup)
    assert (done.returncode, "SECRET_KEY is not the one of the backup" in done.stderr) == (1, True)


def test_what_is_no_backup_is_said(empty, tmp_path):
    done = manage(empty, "restore", tmp_path)
    assert (done.returncode, "holds no backup" in done.stderr) == (1, True)
