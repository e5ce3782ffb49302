"""The installation: what all of its hosts have to have in common, in one row."""

from __future__ import annotations

from django.db import models


class Installation(models.Model):
    """Marks of the ``SECRET_KEY`` and of the storage that the first host had; every other host compares its own."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    secret_key_mark = models.TextField(default="")
    """Derived from ``SECRET_KEY`` and of no use to anybody who wants the key."""
    storage_mark = models.TextField(default="")
    """A random id, which is also in the storage under a name of its own."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_installation")]
