"""Connections that the threads of one process share. The web server and the worker of turns have such a pool."""

from __future__ import annotations

from django.conf import settings


def share(size: int) -> None:
    """Let all threads of this process share at most ``size`` connections. Call before the first query.

    The web server needs it, because Django gives every ASGI request a thread of its own and a connection that a
    thread keeps would be lost with it. Other processes open a connection when they need one (2 ms on a socket).
    It is no setting: processes that were forked from one another have the same settings.
    """
    pool = {"min_size": 1, "max_size": size, "timeout": 5, "max_idle": 60}
    settings.DATABASES["default"]["OPTIONS"]["pool"] = pool
