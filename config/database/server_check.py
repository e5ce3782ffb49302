"""What ``doctor`` asks about processes of the database server that can hang while pages are answered."""

from __future__ import annotations

from django.db import connection

from config.processes import leadership

TIMES, LEAST = 3, 64 * 1024**2
"""A checkpoint is late after so many of its intervals, or as many times of the log that it may leave (a busy server has
up to two); and where bytes of the log wait for it: an idle server makes none."""
# https://www.postgresql.org/docs/18/functions-info.html#FUNCTIONS-PG-CONTROL-CHECKPOINT
LATE = """
SELECT extract(epoch FROM now() - checkpoint_time)::bigint, waiting::bigint FROM pg_control_checkpoint()
CROSS JOIN LATERAL (SELECT pg_current_wal_lsn() - redo_lsn AS waiting) log
WHERE waiting > %(times)s * pg_size_bytes(current_setting('max_wal_size'))
   OR waiting > %(least)s AND now() - checkpoint_time > %(times)s * current_setting('checkpoint_timeout')::interval
"""


def fault() -> str | None:
    """Whether the server's checkpointer goes on, and all of its processes end that are told to."""
    with connection.cursor() as cursor:
        cursor.execute(LATE, {"times": TIMES, "least": LEAST})
        late = cursor.fetchone()
    if late:
        seconds, waiting = late
        return (
            f"PostgreSQL wrote its last checkpoint {seconds // 60} min ago, and {waiting // 1024**2} MiB of its log"
            " since, which stay on the disk until the next"
        )
    if held := leadership.hanging():
        pids = ", ".join(map(str, sorted(held)))
        return f"processes {pids} of PostgreSQL all hold the lead of the schedulers: all but one were told to end"
    return None
