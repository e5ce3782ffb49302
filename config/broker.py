"""Celery's broker when nobody names one: queues in the same PostgreSQL, through kombu's ``pgmq`` transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

URL = "pgmq://database"
"""Where is said by the conn_string; kombu logs a warning about a URL without a host."""
QUEUE = "countersign"
"""Imports, exports, search rows, signatures: what computes, one at a time in each of a few processes."""
BIG = "countersign_big"
"""Imports and exports that take minutes: one worker of each host does not read it, so that small ones always get on."""
TURNS = "countersign_turns"
"""Turns that webhooks began, which nobody waits for; turns wait for models most of the time, so many in threads."""
PEOPLE = "countersign_people"
"""Turns of people and of schedules, and notices to people: never behind what machines send."""
QUEUES = (QUEUE, BIG, TURNS, PEOPLE)
NOTIFY_MILLISECONDS = 250
"""At most one NOTIFY in this time and queue; kombu's own figure."""
# A job row's heartbeat, not this, says that a worker died: the sweep enqueues it again within 25 s. This is for tasks
# without a row. A task that takes longer is delivered twice, finds its row claimed, and ends.
VISIBILITY_SECONDS = 60


def transport_options(parameters: Mapping[str, str] | None) -> dict[str, Any]:
    """kombu's options for the broker in the database of ``parameters``; None for a broker of its own.

    ``wait_time_seconds`` 0: a long poll of one queue would keep the other waiting, NOTIFY wakes both.
    """
    common: dict[str, Any] = {"visibility_timeout": VISIBILITY_SECONDS}
    if parameters is None:
        return common
    return common | {
        "conn_string": conn_string(parameters),
        "init_extension": False,
        "pool_size": 1,
        "pool_timeout": 5,
        "wait_time_seconds": 0,
        "polling_interval": 2,
        "use_notify": False,
    }


def conn_string(parameters: Mapping[str, str]) -> str:
    """libpq's key=value form (the URI form loses a socket directory), made to survive the pgmq client.

    The client parses it, keeps five values and pastes these into a new string without quotes (``PGMQConfig.dsn``
    in pgmq 1.1.4). So each value is quoted twice, and the password carries the other parameters, sslmode among
    them, which would be lost without a word.
    """
    kept = ("host", "port", "dbname", "user")
    tail = [_quoted(parameters.get("password", "unused"))]
    tail += [f"{name}={_quoted(value)}" for name, value in parameters.items() if name not in (*kept, "password")]
    values = {name: _quoted(parameters[name]) for name in kept if name in parameters}
    return " ".join(f"{name}={_quoted(value)}" for name, value in (values | {"password": " ".join(tail)}).items())


def _quoted(value: object) -> str:
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def install(parameters: Mapping[str, str]) -> None:
    """Make the queues' schema and our queues in the database of ``parameters``, where they are missing.

    Their owner's work, with the triggers that NOTIFY: the role that sends and reads may make neither.
    """
    import psycopg
    from pgmq import install_pgmq_from_sql
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(make_conninfo(**parameters)) as connection:
        found = connection.execute("SELECT to_regclass('pgmq.meta')").fetchone()
        if found == (None,):
            install_pgmq_from_sql(conn=connection)
        for queue in QUEUES:
            connection.execute("SELECT pgmq.create(%s)", [queue])
            told = connection.execute("SELECT 1 FROM pgmq.notify_insert_throttle WHERE queue_name = %s", [queue])
            if told.fetchone() is None:
                connection.execute("SELECT pgmq.enable_notify_insert(%s, %s)", [queue, NOTIFY_MILLISECONDS])
