"""Tables of the installation itself."""

from __future__ import annotations

from django.db import models


class PartHeartbeat(models.Model):
    """The last heartbeat of a part of a host, as that host's scheduler copied it."""

    pk = models.CompositePrimaryKey("host", "part")
    host = models.TextField()
    """Name of the machine and data directory: two installations may stand on one machine."""
    part = models.TextField()
    """web, worker-1, ..., scheduler, supervisor, forker, postgres."""
    beat_at = models.DateTimeField()
    """By the database's clock."""
    started_at = models.DateTimeField()
    """Since when the row is kept up; of the scheduler: since when it runs."""
    leads = models.BooleanField(default=False)
    """Of a scheduler: it is the one that calls what is due."""
    counters = models.JSONField(default=dict)
    """What the part has counted since it began (``sessions_app.counts``)."""
