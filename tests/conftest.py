"""One embedded PostgreSQL for the whole run, in a directory of its own that goes away with it.

Set here, before pytest-django loads the settings: an environment of the tests' own, so that neither a ``.env`` nor
the developer's shell decides what is tested. ``DATABASE_URL`` alone is respected, for a server of your choice.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import django
import pytest
from django.conf import settings
from pytest_django import DjangoDbBlocker

from config import env
from config.database import postgres

# Not below pytest's own temporary directory: root's database server runs as another user, who has to reach it.
DATA_DIR = Path(tempfile.mkdtemp(prefix="countersign-test-"))
atexit.register(shutil.rmtree, DATA_DIR, ignore_errors=True)
os.environ.pop("PYTHONUNBUFFERED", None)  # with it, a command that keeps its lines back looks as if it did not
os.environ |= {name: "" for name in (*env.OURS, *env.COMMON) if name != "DATABASE_URL"}
os.environ |= {
    "COUNTERSIGN_DATA_DIR": str(DATA_DIR),
    "DJANGO_SETTINGS_MODULE": "config.settings",
    # Playwright runs an event loop in the test's thread, where Django would refuse the ORM.
    "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
    # A decision takes effect at once; tests of taking one back set their own seconds.
    "COUNTERSIGN_UNDO_SECONDS": "0",
}
if os.environ.setdefault("DATABASE_URL", "") == "":
    postgres.TUNING |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
    # Of tables that are full of what tests took back, and at any moment: those who need statistics take them.
    postgres.TUNING |= {"autovacuum_analyze_threshold": "2000000000"}


pytest_plugins = ["tests.fixtures"]

# Here and not in a hook: the conftest.py of a folder below imports models as soon as pytest finds it.
django.setup()
from config import health  # noqa: E402
from config.database import roles, vectors  # noqa: E402

roles.become_owner()  # who may make the test database
# What production needs and tests only wait for: slow password hashes, hashed names of static files.
health.KEPT_SECONDS = -1.0
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
settings.STORAGES |= {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


def pytest_configure(config: pytest.Config) -> None:
    """With ``-n`` each process makes an environment of its own: pytest-django would load this one's before that."""
    if getattr(config.option, "numprocesses", None):
        for name in ("DJANGO_SETTINGS_MODULE", "COUNTERSIGN_DATA_DIR"):
            del os.environ[name]


# What starts desks, workers and database servers of its own and stops them in the middle, what other people's agents
# and a browser do, what upgrades whole installations, and what collects all tests once more: a twentieth of the tests,
# half of the time.
DRILLS = (
    "architecture/test_collection.py",
    "browser",
    "commands/test_backup.py",
    "config/database",
    "config/test_going_on.py",
    "config/test_installation.py",
    "sdk/acp",
    "sdk/adapters",
    "services/imports/test_worker.py",
    "upgrades",
)
WAITING = (
    "commands/test_backup.py",
    "config",
    "sdk",
    "services/imports/test_worker.py",
    "upgrades",
)
"""Places whose tests wait for processes: beside each other three of them keep little more than one core busy."""
TESTS = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Without the garbage collector: it would go over thousands of tests again and again, and all of them stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the drills, and puts browser tests last: Playwright leaves an event loop in which no other can start.

    Those that wait are spread evenly among the others: beside each other they would leave both cores idle.
    Two tests with one id are an error: of those pytest-xdist runs the first alone, and says nothing.
    """
    twice = [nodeid for nodeid, times in Counter(item.nodeid for item in items).items() if times > 1]
    if twice:
        raise pytest.UsageError(f"more than one test is called {', '.join(twice)}: only one of them would run")
    for item in items:
        if is_drill(item.path):
            item.add_marker(pytest.mark.drill)
        if is_in_browser(item.path):
            item.add_marker(pytest.mark.flaky(reruns=1))
    others = [path for path in dict.fromkeys(item.path for item in items) if not is_in_browser(path)]
    waiting = [path for path in others if is_waiting(path)]
    ranks = {path: float(rank) for rank, path in enumerate(path for path in others if not is_waiting(path))}
    apart = len(ranks) / (len(waiting) + 1)
    ranks |= {path: number * apart for number, path in enumerate(waiting, 1)}
    items.sort(key=lambda item: (is_in_browser(item.path), ranks.get(item.path, 0.0), str(item.path)))


@cache
def is_drill(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / place) for place in DRILLS)


@cache
def is_waiting(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / place) for place in WAITING)


@cache
def is_in_browser(path: Path) -> bool:
    return path.is_relative_to(TESTS / "browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What failed first and passed then, in full: a browser on a busy machine gets a second try, nothing else does.

    Most such failures were faults of a test's waiting, some were races in the page: each is to be read and mended.
    """
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"passed only at the second try, or not: {report.nodeid}")
        terminalreporter.line(report.longreprtext)


@pytest.fixture(scope="session")
def database_server() -> Iterator[None]:
    """The server, started by the first test that needs a database and stopped after the last one."""
    if settings.EMBEDDED_CLUSTER is None:
        yield
    else:
        with postgres.on_demand(settings.EMBEDDED_CLUSTER):
            yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(database_server: None) -> None:
    """pytest-django's hook: whatever makes the test database comes after the server."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The test database, with the broker's queues and the desk's role in it: tests do as web server and workers may.

    Yields the name of a copy that stays as it is: an installation of a test's own begins with it, since the migrations
    take longer than most tests.
    """
    from django.db import connection
    from django.db.backends.signals import connection_created
    from kombu import pools

    from config import broker, prepare
    from config.celery import app
    from tests import database_roles, databases

    with django_db_blocker.unblock():
        broker.install(prepare.connection_parameters())
        vectors.prepare()
        roles.prepare()
        options = broker.transport_options(prepare.connection_parameters())
        connection.close()
    connection_created.connect(database_roles.work_as_the_desk)
    app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
    with databases.new_database(connection.settings_dict["NAME"]) as copy:
        yield copy["dbname"]
    connection_created.disconnect(database_roles.work_as_the_desk)
    with django_db_blocker.unblock():
        connection.close()
    pools.reset()  # a database that somebody is connected to cannot be dropped
    app.close()


@pytest.fixture(scope="session")
def migrated_database(django_db_setup: str) -> str:
    """Name of a database with all migrations and no rows, for ``databases.new_database`` to copy."""
    return django_db_setup


@pytest.fixture(scope="session")
def process_environment(django_db_setup: None) -> dict[str, str]:
    """The environment of a process (a real worker, a command) that is to work on the test database."""
    from config import prepare

    place = {"dbname": prepare.connection_parameters()["dbname"]}
    urls = {"DATABASE_URL": database_url(settings.DATABASE_PARAMETERS | place)}
    if roles.are_two():
        urls["DATABASE_OWNER_URL"] = database_url(settings.DATABASE_OWNER_PARAMETERS | place)
    return os.environ | urls


def database_url(parameters: dict[str, str]) -> str:
    user, password = quote(parameters.get("user", "")), quote(parameters.get("password", ""))
    host, port, name = quote(parameters.get("host", ""), safe=""), parameters.get("port", "5432"), parameters["dbname"]
    return f"postgresql://{user}:{password}@{host}:{port}/{name}"
