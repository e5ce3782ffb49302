"""How a person looks at the list of sessions: saved views, and the columns they chose."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.ids import uuid7

from ..workspaces import Member, Workspace


class SavedView(models.Model):
    """A name for a query string of the session list. A shared one stays when its maker leaves."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="saved_views")
    member = models.ForeignKey(Member, models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=60)
    query = models.TextField()
    """As it stood in the address. It is never rewritten: a filter that a later version does not know is named."""
    is_shared = models.BooleanField(default=False)
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "name"], name="saved_view_name_once")]

    def __str__(self) -> str:
        return self.name


class ListColumns(models.Model):
    """The columns of the session list that a member chose, and how wide they made them; without a row: as is usual."""

    member = models.OneToOneField(Member, models.CASCADE, primary_key=True, related_name="list_columns")
    names = ArrayField(models.TextField(), null=True)
    """In order; NULL: the usual ones."""
    widths = models.JSONField(default=dict, db_default={})
    """CSS pixels by name; the title has what is left."""
