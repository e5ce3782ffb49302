"""Tasks that a sweep has enqueued again."""

from __future__ import annotations

from django.db import models


class Requeue(models.Model):
    """The last time that a sweep enqueued the task of a row again: it waits longer before each further time."""

    pk = models.CompositePrimaryKey("task", "row_id")
    task = models.TextField()
    row_id = models.UUIDField()
    since = models.DateTimeField()
    """When the row lost its message or its worker."""
    at = models.DateTimeField(db_index=True)
    times = models.IntegerField(default=0)
    """In a row, without a worker that took it meanwhile."""
