"""Installations of earlier commits: today's code takes them over, and every row that they had is as it was."""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from config.database.postgres import wait_until
from tests import databases
from tests.places import ROOT

FOLDERS = sorted(path.name for path in Path(__file__).parent.iterdir() if (path / "database.sql.xz").exists())
MANAGE = [sys.executable, str(ROOT / "manage.py")]
SECRET_KEY = "an-invented-secret-key-of-a-fixture-1234"
API_KEY = "cs_fixture_{}_key_that_was_invented_for_a_test"
READY = re.compile(r"ready (http://[^/]+)/ sign in: (\S+)\n")
LEFT_ALONE = {"django_migrations", "django_content_type", "auth_permission", "sessions_app_signinlink"}
"""Django adds rows to these itself, and each start replaces the first admin's link."""
CHANGED: dict[str, set[str]] = {
    "django_session": {"session_key"},  # 0009: kept as a hash, and whoever is signed in stays so
    "sessions_app_session": {"indexed_seq"},  # 0028: there is a new search index, which is filled while the desk runs
    "vcon_app_import": {"checked_against"},  # 0003: those that leave parts out are checked again
    "vcon_app_importedsession": {"signature"},  # 0003: says which events it covers
}
"""Table to the columns that a later migration changes or drops on purpose, with a reason beside each."""

Rows = dict[str, tuple[list[str], list[str]]]
"""Table to its columns and to its rows as JSON."""


@dataclass
class Installation:
    """An old installation: its database, its directory, and what stood in its tables before anything was started."""

    parameters: dict[str, str]
    data_dir: Path
    before: Rows
    after: Rows | None = None

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "DATABASE_URL": databases.url_of(self.parameters),
            "COUNTERSIGN_DATA_DIR": str(self.data_dir),
            "SECRET_KEY": SECRET_KEY,
        }

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*MANAGE, *arguments], env=self.environment, capture_output=True, text=True, timeout=180)

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(make_conninfo(**self.parameters))


def rows_of(connection: psycopg.Connection, tables: dict[str, list[str]]) -> Rows:
    return {table: (columns, databases.rows(connection, table, columns)) for table, columns in tables.items()}


@pytest.fixture(scope="module", params=FOLDERS)
def installation(request: pytest.FixtureRequest, database_server: None) -> Iterator[Installation]:
    """One that was loaded, and whose migrations are those of today."""
    folder = Path(__file__).parent / request.param
    with databases.new_database() as parameters, tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        databases.load(parameters, lzma.decompress((folder / "database.sql.xz").read_bytes()))
        databases.unpack(folder / "documents.tar.xz", Path(directory))
        with psycopg.connect(make_conninfo(**parameters)) as connection:
            found = databases.columns(connection)
            tables = {table: columns for table, columns in found.items() if table not in LEFT_ALONE}
            before = rows_of(connection, tables)
        old = Installation(parameters, Path(directory), before)
        done = old.manage("prepare")
        assert done.returncode == 0, done.stderr
        with old.connect() as connection:
            old.after = rows_of(connection, {table: _kept(table, columns) for table, columns in tables.items()})
        yield old


def _kept(table: str, columns: list[str]) -> list[str]:
    return [column for column in columns if column not in CHANGED.get(table, set())]


def test_there_is_something_to_take_over():
    assert FOLDERS


def test_every_table_of_it_has_rows(installation):
    assert not [table for table, (_, rows) in installation.before.items() if not rows and not table.startswith("auth_")]


def test_every_row_is_as_it_was(installation):
    for table, (columns, rows) in installation.before.items():
        kept = _kept(table, columns)
        was = [{name: row[name] for name in kept} for row in map(json.loads, rows)]
        now = [json.loads(row) for row in installation.after[table][1]]
        assert [row for row in was if row not in now] == [], table
        if table != "sessions_app_auditentry":  # what the start did may stand there
            assert len(now) == len(was), table


def test_the_audit_chain_is_whole(installation):
    done = installation.manage("audit", "verify")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_money_adds_up(installation):
    with installation.connect() as connection:
        sums = connection.execute("SELECT count(*), sum(amount) FROM sessions_app_ledgerentry").fetchone()
    assert sums[0] > 1
    assert installation.manage("wallet", "show").returncode in (0, 1)


@pytest.fixture(scope="module")
def address(installation) -> Iterator[tuple[str, str]]:
    """The running installation: its address and a sign-in link."""
    command = [*MANAGE, "up", "--port", "0"]
    with subprocess.Popen(command, env=installation.environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = READY.fullmatch(line := process.stdout.readline())
            assert found, f"no ready line but {line!r}"
            yield found[1], found[2]
        finally:
            process.terminate()


def read(address: tuple[str, str], path: str, role: str = "admin") -> Any:
    asked = Request(address[0] + path, headers={"Authorization": f"Bearer {API_KEY.format(role)}"})
    with urlopen(asked, timeout=30) as answer:
        return json.loads(answer.read())


def test_an_old_api_key_reads_everything(address):
    for noun in ("sessions", "agents", "approvals", "schedules", "wallets", "imports", "audit", "usage?group_by=day"):
        assert read(address, f"/api/v1/{noun}")["items"], noun
    sessions = read(address, "/api/v1/sessions?limit=100")["items"]
    assert len(sessions) > 5
    for session in sessions:
        path = f"/dashboard/agents/{session['agent']['id']}/sessions/{session['id']}/events?limit=500"
        while len(read(address, path, "viewer")["items"]) != session["event_count"]:  # an old question may expire now
            session = read(address, f"/api/v1/sessions/{session['id']}")


def test_what_it_said_is_found_while_the_search_index_is_filled_anew_and_afterwards(address, installation):
    with installation.connect() as connection:
        connection.autocommit = True
        session, word = connection.execute(
            "SELECT session_id, substring(text from '[a-z]{6,}') FROM sessions_app_event"
            " WHERE text ~ '[a-z]{6,}' ORDER BY session_id, seq LIMIT 1"
        ).fetchone()
        assert str(session) in [one["id"] for one in read(address, f"/api/v1/sessions?q={word}")["items"]]
        waiting = "SELECT EXISTS (SELECT FROM sessions_app_searchbacklog)"
        assert wait_until(lambda: connection.execute(waiting).fetchone() == (False,), 60)
        left = connection.execute("SELECT count(*) FROM sessions_app_eventtext").fetchone()
    assert left == (0,)
    assert str(session) in [one["id"] for one in read(address, f"/api/v1/sessions?q={word}")["items"]]


COMPARE = """
from django.db import connection, transaction
from sessions_app.models import Workspace
from sessions_app.queries.money import usage, usage_of_turns, usage_totals
with transaction.atomic(), connection.cursor() as cursor:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # approvals expire meanwhile
    for workspace in Workspace.objects.all():
        every = {"from": None, "to": None, "agent": "", "origin": "", "tag": "", "limit": 999}
        scope = every | {"workspace": workspace.pk}
        print("turns", usage_totals.total(scope)[3])
        for by in usage.GROUPS:
            kept, counted = usage_totals.ranked(by, scope), usage_of_turns.ranked(by, scope)
            if kept != counted:
                print("differs", workspace, by, kept, counted)
"""


def test_usage_of_old_sessions_is_filled_in_and_is_what_their_turns_say(address, installation):
    def is_filled_in() -> bool:
        with installation.connect() as connection:
            left = connection.execute("SELECT count(*) FROM sessions_app_usagefillin").fetchone()
        return left == (0,)

    assert read(address, "/api/v1/usage")["total"]["turns"] > 5, "also while it is filled in"
    assert wait_until(is_filled_in, seconds=60)
    done = installation.manage("shell", "-v", "0", "-c", COMPARE)
    assert done.returncode == 0, done.stderr
    assert "differs" not in done.stdout and sum(int(line.split()[1]) for line in done.stdout.splitlines()) > 5


def test_its_pages_open(address):
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    opener.open(address[1], timeout=30).read()
    found = opener.open(Request(address[0] + "/"), timeout=30)
    assert found.status == 200
    for path in ("/sessions/", "/approvals/", "/imports/", "/agents/", "/usage/", "/audit/"):
        assert opener.open(address[0] + path, timeout=30).status == 200, path
    session = read(address, "/api/v1/sessions?limit=1")["items"][0]
    page = f"/dashboard/sub-agents/{session['agent']['id']}/chat/{session['id']}"
    assert opener.open(address[0] + page, timeout=30).status == 200


def test_what_came_in_is_given_back(address, installation):
    imported = next(one for one in read(address, "/api/v1/imports")["items"] if one["sessions"] and not one["error"])
    asked = Request(
        f"{address[0]}/api/v1/sessions/{imported['sessions'][0]}/export?format=original",
        headers={"Authorization": f"Bearer {API_KEY.format('viewer')}"},
    )
    with urlopen(asked, timeout=30) as answer:
        assert answer.read()
