"""Checkpoints: signed statements of how far every chain had grown, each bound to the one before."""

from __future__ import annotations

from django.db import models


class Checkpoint(models.Model):
    """Append-only (a trigger refuses UPDATE and DELETE). Its heads are the leaves of a Merkle tree (RFC 6962 s2.1)."""

    number = models.BigIntegerField(primary_key=True)
    """From 1 without gaps."""
    at = models.DateTimeField()
    header = models.TextField()
    """The very text that is signed; ``vcon_app.signing.checkpoint`` says what stands in it."""
    hash = models.CharField(max_length=64)
    """SHA-256 of ``header``."""
    signature = models.TextField()
    """JWS over ``header``, which it does not contain (RFC 7515 appendix F)."""
    heads_count = models.IntegerField()


class CheckpointHead(models.Model):
    """The last row of one chain when a checkpoint was made: a session's log, a wallet, a workspace's audit log."""

    pk = models.CompositePrimaryKey("checkpoint_id", "position")
    checkpoint = models.ForeignKey(Checkpoint, models.PROTECT, related_name="heads", db_index=False)
    position = models.IntegerField()
    kind = models.CharField(max_length=8)
    """session, wallet or audit."""
    chain_id = models.UUIDField()
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)

    class Meta:
        indexes = [models.Index(fields=["kind", "chain_id", "checkpoint"], name="heads_of_chain")]


class CheckpointPublication(models.Model):
    """Where a checkpoint was taken to outside of the database, and what of that is still to be done."""

    checkpoint = models.OneToOneField(Checkpoint, models.PROTECT, primary_key=True, related_name="publication")
    stored_at = models.DateTimeField(null=True)
    """When its file was written beside the documents."""
    timestamp_token = models.BinaryField(null=True)
    """RFC 3161 token of the time-stamping authority over ``hash``; NULL where none is set, or not yet."""
    timestamped_at = models.DateTimeField(null=True)
    """The authority's own time."""
    witnessed_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    """NULL when nothing is left to do."""
    failures = models.IntegerField(default=0)
    fault = models.TextField(default="")
    """Why the last try failed."""

    class Meta:
        indexes = [
            models.Index(fields=["next_try_at"], condition=models.Q(next_try_at__isnull=False), name="unpublished")
        ]
