"""Tombstones: what remains of a session or an import that somebody had deleted."""

from __future__ import annotations

from typing import Any

from django.db import models

from sessions_app.ids import uuid7

from .workspaces import Workspace

VERSION = "countersign/tombstone/1"


class Tombstone(models.Model):
    """Statement of what was erased, how much, by whom and why, signed with the key of this installation.

    Append-only. It holds no content: no title, no text, no file name, for the name of a file may be the very thing that
    had to go.
    """

    class Kind(models.TextChoices):
        SESSION = "session"
        IMPORT = "import"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="tombstones")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    subject_id = models.UUIDField(unique=True)
    """Of the session or import that is gone."""
    counts = models.JSONField(default=dict)
    """How many of each went with it: events, turns, tool_calls, approvals, votes, exports, redactions, files."""
    documents = models.JSONField(default=list)
    """``[{"sha256", "bytes"}]`` of the source documents that were removed from the storage."""
    last_seq = models.IntegerField(null=True)
    """Of a session: its last event. With ``last_link`` a checkpoint that names its head still fits."""
    last_link = models.CharField(max_length=64, default="")
    """Of a session: the hash of its last event link, in hex; empty where it had no events."""
    reason = models.TextField(default="")
    by_kind = models.CharField(max_length=10)
    """member, api_key or command, as in the audit log."""
    by_id = models.TextField(default="")
    by = models.TextField(default="")
    """The name at the time: it stays when the member or the key goes."""
    at = models.DateTimeField()
    signature = models.TextField()
    """JWS in compact form with detached content (RFC 7515 appendix F) over the canonical JSON of ``statement``."""
    transaction = models.BigIntegerField(default=0)
    """Set by a trigger: which transaction wrote it. ``countersign_erase_session`` erases in that one alone."""

    class Meta:
        indexes = [models.Index(fields=["workspace", "-id"], name="tombstone_recent")]

    def statement(self) -> dict[str, Any]:
        """What is signed."""
        return {
            "format": VERSION, "id": str(self.id), "workspace": str(self.workspace_id), "kind": str(self.kind),
            "subject": str(self.subject_id), "counts": self.counts, "documents": self.documents,
            "last_seq": self.last_seq, "last_link": self.last_link, "reason": self.reason,
            "by": [self.by_kind, self.by_id, self.by], "at": self.at.isoformat(),
        }  # fmt: skip
