"""What ``manage.py`` does around a command: environment first, and a database for as long as the command takes."""

from __future__ import annotations

from config import env, postgres, supervisor

WITHOUT_DATABASE = frozenset({"check", "collectstatic", "help", "makemessages", "prepare", "version"})
"""``prepare`` is run by `up`, which has started the database already."""
OWN_MIGRATIONS = frozenset({"makemigrations", "migrate", "sqlmigrate", "showmigrations"})


def run(arguments: list[str]) -> int:
    """Run ``manage.py``'s ``arguments``; the exit status. Raises ConfigError for what cannot work."""
    env.load_dotenv()
    command = arguments[1] if len(arguments) > 1 else "help"
    if command == "up":
        return supervisor.main(arguments[2:])
    environment = env.read()
    if environment.database_url or command in WITHOUT_DATABASE or command.startswith("-") or "--help" in arguments:
        return _execute(arguments)
    with postgres.on_demand(postgres.Cluster(environment.data_dir)) as started:
        if started and command not in OWN_MIGRATIONS:
            _bring_up_to_date()
        return _execute(arguments)


def _bring_up_to_date() -> None:
    """Where no `up` runs, nobody else has applied the migrations."""
    import django

    from config import prepare

    django.setup()
    prepare.database()


def _execute(arguments: list[str]) -> int:
    from django.core.management import execute_from_command_line

    execute_from_command_line(arguments)
    return 0
