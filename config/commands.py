"""Wrapper of every ``manage.py`` command: loads the environment and keeps a database running meanwhile."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext, suppress

from config import env
from config.database import postgres
from config.database.cluster import Cluster
from config.env import ConfigError
from config.processes import single_part, supervisor

WITHOUT_DATABASE = frozenset({"check", "collectstatic", "help", "makemessages", "prepare", "version"})
"""``prepare`` is run by `up`, which has started the database already."""
OWN_MIGRATIONS = frozenset({"backup", "makemigrations", "migrate", "restore", "sqlmigrate", "showmigrations"})
"""A backup changes nothing, and ``restore`` needs a database without any table."""
OWNERS = frozenset({"backup", "makemigrations", "migrate", "rebuild", "restore", "showmigrations", "sqlmigrate"})
"""Run as the database's owner; all others as the desk's role. ``prepare`` changes over for what needs it."""


def run(arguments: list[str]) -> int:
    """Run ``manage.py``'s ``arguments``; the exit status. Raises ConfigError for what cannot work."""
    write_whole_lines()
    env.load_dotenv()
    command = arguments[1] if len(arguments) > 1 else "help"
    if command == "up":
        return supervisor.main(arguments[2:])
    if command in single_part.KINDS:
        return single_part.main(command, arguments[2:])
    environment = env.read()
    if environment.database_url or command in WITHOUT_DATABASE or command.startswith("-") or "--help" in arguments:
        return _execute(arguments)
    cluster = Cluster(environment.data_dir)
    has_key = any(argument.partition("=")[0] == "--key" for argument in arguments)
    if command == "verify" and has_key and not cluster.directory.exists():
        return _execute(arguments)  # by somebody who runs no desk: there are no trust anchors to look up
    with postgres.on_demand(cluster) as started:
        if started and command not in OWN_MIGRATIONS:
            _bring_up_to_date(command)
        return _execute(arguments)


def write_whole_lines() -> None:
    """Let whoever reads a command through a pipe see each line when it is written, as on a terminal.

    Python keeps up to 8 kB back where standard output is no terminal (io.TextIOWrapper, ``line_buffering``): a log of
    `watch` stayed empty for as long as it ran. Bytes, as of `export`, go through ``sys.stdout.buffer`` as before.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _bring_up_to_date(command: str) -> None:
    """Where no `up` runs, nobody else has applied the migrations. ``doctor`` says itself what does not fit."""
    import django

    django.setup()
    from config import prepare  # after the set-up: it imports models

    with suppress(ConfigError) if command == "doctor" else nullcontext():
        prepare.database(host=command != "installation")


def _execute(arguments: list[str]) -> int:
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    command = arguments[1] if len(arguments) > 1 else "help"
    try:
        if command in OWNERS:
            _execute_as_owner(arguments)
        else:
            execute_from_command_line(arguments)
    except OperationalError as fault:
        from config import prepare

        prepare.connect()  # raises a ConfigError of one line where that is what is wrong
        raise fault
    return 0


def _execute_as_owner(arguments: list[str]) -> None:
    """Run a command with the rights of the database's owner; after ``migrate`` the desk's role has what it needs."""
    import django
    from django.core.management import execute_from_command_line

    django.setup()
    from config.database import roles

    roles.become_owner()
    execute_from_command_line(arguments)
    if arguments[1] == "migrate":
        roles.prepare()
