"""File descriptors of the web process: each connection takes one, and without any nobody is served."""

from __future__ import annotations

import resource
from functools import cache

WANTED = 65_536
KEPT_BACK = 200
"""For the database, files and logs."""


@cache
def most_connections() -> int:
    """Number of connections that may be open at once, with the process's limit raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    most = WANTED if soft == resource.RLIM_INFINITY else soft
    return max(most - KEPT_BACK, most // 2)
