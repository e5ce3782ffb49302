"""Heartbeats of all hosts in the database: copied by each host's scheduler, read by ``/readyz`` and ``doctor``."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from config.models import PartHeartbeat
from config.processes import heartbeat_files
from config.processes.heartbeat_files import SCHEDULER as SCHEDULER
from config.processes.heartbeat_files import SILENT_SECONDS, SUPERVISOR, HeartbeatFile

GONE_AFTER = timedelta(hours=1)
"""A host that has been silent for so long has left for good, and is forgotten. One that is stopped says so itself."""
LEADER_SECONDS = 30.0
"""So long nobody may call what is due: a scheduler that dies is replaced in less."""
COPY = """
INSERT INTO config_partheartbeat AS kept (host, part, beat_at, started_at, leads, counters)
SELECT %(host)s, part, clock_timestamp() - age * interval '1 second', now() - %(up)s * interval '1 second',
    leads, counters
FROM json_to_recordset(%(parts)s) AS given (part text, age float8, leads boolean, counters jsonb)
ON CONFLICT (host, part) DO UPDATE
SET beat_at = excluded.beat_at, leads = excluded.leads, counters = excluded.counters,
    started_at = CASE WHEN excluded.part = 'scheduler' THEN excluded.started_at ELSE kept.started_at END
"""


@dataclass(frozen=True, slots=True)
class Silence:
    """A part that does not beat: its host, its name, and for how many seconds."""

    host: str
    part: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.part} on {self.host} has shown no heartbeat for {self.seconds:.0f} s"


def this_host() -> str:
    """Name of this host in the table: the machine's, and the data directory."""
    return f"{socket.gethostname()}:{settings.DATA_DIR}"


def copy(data_dir: Path, *, leads: bool, up_seconds: float) -> None:
    """Copy the heartbeats of this host into the table, and forget hosts that have left for good.

    The scheduler does; on a host that has none, each part does (``config.processes.part_heartbeat``).
    """
    parts = [
        {
            "part": one.part,
            "age": age,
            "leads": leads and one.part == SCHEDULER,
            "counters": one.counters(),
        }
        for one in heartbeat_files.all_of(data_dir)
        if (age := one.age()) != float("inf")
    ]
    with connection.cursor() as cursor:
        cursor.execute(COPY, {"host": this_host(), "up": up_seconds, "parts": json.dumps(parts)})
    PartHeartbeat.objects.filter(beat_at__lt=Now() - GONE_AFTER).delete()


def leave() -> None:
    """Forget this host: it is being stopped."""
    PartHeartbeat.objects.filter(host=this_host()).delete()


def silent_here(data_dir: Path) -> list[Silence]:
    """Parts of this host that are silent, by their files: true also while the database is away."""
    found: list[HeartbeatFile] = [one for one in heartbeat_files.all_of(data_dir) if one.age() > SILENT_SECONDS]
    found.sort(key=lambda one: not one.part.startswith(SUPERVISOR))  # the first: it asks others for their heartbeats
    return [Silence(this_host(), one.part, one.age()) for one in found]


def silent_anywhere() -> list[Silence]:
    """Parts of any host that are silent, by the table; those of hosts that left for good are not in it any more."""
    rows = PartHeartbeat.objects.annotate(now=Now()).order_by("host", "part")
    ages = [(row, (row.now - row.beat_at).total_seconds()) for row in rows]
    return [Silence(row.host, row.part, age) for row, age in ages if age > SILENT_SECONDS]


def is_running_here(data_dir: Path) -> bool:
    """Whether some part of this host shows its heartbeat, by the files: they are there before the table knows."""
    return any(one.age() <= SILENT_SECONDS for one in heartbeat_files.all_of(data_dir))


def is_led() -> bool:
    """Whether some host's scheduler calls what is due; also true while ours has only just begun."""
    now = Now()
    leaders = PartHeartbeat.objects.filter(leads=True, beat_at__gt=now - timedelta(seconds=LEADER_SECONDS))
    young = PartHeartbeat.objects.filter(
        host=this_host(), part=SCHEDULER, started_at__gt=now - timedelta(seconds=LEADER_SECONDS)
    )
    return leaders.exists() or young.exists()
