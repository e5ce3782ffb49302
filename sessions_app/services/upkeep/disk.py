"""A disk that is full: how it shows in an error, how much is free, and what people are told."""

from __future__ import annotations

import errno
import shutil

from django.conf import settings

FULL = "The disk of the server is full. It goes on when there is room again: ask whoever runs this desk."
"""For people whose file, session or export waits."""
REFUSED = "the disk of the server is full, so nothing more can be stored; ask whoever runs this desk, and try again"
"""For people and programs whose request was refused."""
ERRNOS = (errno.ENOSPC, errno.EDQUOT)
SQLSTATE = "53100"
"""disk_full, of PostgreSQL."""


def is_full(error: BaseException | None) -> bool:
    """Whether an error comes of a full disk, ours or the database's: itself, or what it was raised from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if getattr(error, "errno", None) in ERRNOS or getattr(error, "sqlstate", None) == SQLSTATE:
            return True
        error = error.__cause__ or error.__context__
    return False


def free_for_database() -> int | None:
    """Bytes that are free for the embedded database; None where the database is somebody else's."""
    cluster = settings.EMBEDDED_CLUSTER
    return shutil.disk_usage(cluster.data_dir).free if cluster else None
