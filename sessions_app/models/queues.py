"""What waits for a worker: tasks in line, and whose turn was how long ago; tasks enqueued again."""

from __future__ import annotations

from django.db import models


class QueuedTask(models.Model):
    """A task of one row that waits for a worker, until one takes it: then it is deleted.

    Without foreign keys: what is enqueued locks no workspace, and a row that is gone has nothing left to do.
    """

    pk = models.CompositePrimaryKey("row_id", "task")
    task = models.TextField()
    """Name of a Celery task that takes the id of a row."""
    row_id = models.UUIDField()
    queue = models.TextField()
    workspace_id = models.UUIDField()
    person = models.TextField(default="")
    """Who asked for it: kind and id (``member:…``, ``api_key:…``, ``trigger:…``), or "" for the workspace itself."""
    since = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["queue", "workspace_id", "person", "since", "row_id"], name="queued_task_in_line")
        ]


class LastTaken(models.Model):
    """When a worker last took a task of one person from a queue; forgotten after an hour."""

    pk = models.CompositePrimaryKey("queue", "workspace_id", "person")
    queue = models.TextField()
    workspace_id = models.UUIDField()
    person = models.TextField()
    at = models.DateTimeField()


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
