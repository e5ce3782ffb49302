"""Connections that the threads of one process share. The web server and the workers of turns have such a pool."""

from __future__ import annotations

import select
from typing import Any

import psycopg
from django.conf import settings
from psycopg_pool import ConnectionPool
from psycopg_pool.base import AttemptWithBackoff

# psycopg_pool doubles its wait for a server that is away, up to 5 minutes: after 3 minutes nobody looked for one that
# was back for 82 s more (measured). The pools are few, and a try that is refused costs a millisecond.
AttemptWithBackoff.DELAY_BACKOFF = 1.0
_ask = ConnectionPool.check_connection


def still_open(connection: psycopg.Connection[Any]) -> None:
    """Raises where a connection of the pool is not to be used any more.

    Of a backend that ended, or a server that did, the socket has something to read. Only then is it asked, which
    Django has done for each request: a round trip of twelve that an event costs which is sent alone.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        _ask(connection)


setattr(ConnectionPool, "check_connection", staticmethod(still_open))  # noqa: B010 - Django names it itself
WEB_PATIENCE, WORKER_PATIENCE = 5, 60
"""Seconds that a thread waits for a connection. Somebody waits for a page; a turn that waits is slow, one that fails
is lost until its lease is over."""


def share(size: int, patience: int = WEB_PATIENCE) -> None:
    """Let all threads of this process share at most ``size`` connections. Call before the first query.

    The web server needs it, because Django gives every ASGI request a thread of its own and a connection that a
    thread keeps would be lost with it. Other processes open a connection when they need one (2 ms on a socket).
    It is no setting: processes that were forked from one another have the same settings.
    """
    pool = {"min_size": 1, "max_size": size, "timeout": patience, "max_idle": 60}
    settings.DATABASES["default"]["OPTIONS"]["pool"] = pool
