"""Links: what each append added to a session's log, how it came in, and the hash that chains it to the one before."""

from __future__ import annotations

from django.db import models

from .sessions import Session


class EventLink(models.Model):
    """One append (of a long one, a part): its events, who sent them, and a hash over their rows and the link before.

    Append-only (a trigger refuses UPDATE and DELETE). ``sessions_app.event_chain`` says what is hashed.
    """

    class Origin(models.TextChoices):
        FILE = "file"
        """Read from a file."""
        RUNTIME = "runtime"
        """Made by an agent that runs here."""
        API = "api"
        """Sent from outside, by a member, a program, a webhook or Slack."""
        DESK = "desk"
        """Made by the desk itself: approvals, decisions, interruptions."""

    pk = models.CompositePrimaryKey("session_id", "last_seq")
    session = models.ForeignKey(Session, models.CASCADE, related_name="links", db_index=False)
    last_seq = models.IntegerField()
    first_seq = models.IntegerField()
    origin = models.CharField(max_length=8, choices=Origin.choices)
    reporter_kind = models.CharField(max_length=10, default="")
    """member, api_key, slack, trigger, agent, command or system; empty where nobody is known."""
    reporter_id = models.TextField(default="")
    reported_by = models.TextField(default="")
    """The name at the time: it stays when the member or the key goes."""
    received_at = models.DateTimeField(null=True)
    """NULL for events of before links were kept."""
    hash = models.BinaryField(max_length=32)
    row_digests = models.BinaryField()
    """Eight bytes for each event, to say which one was changed; the hash is what proves it."""


class UnsealedHead(models.Model):
    """A chain that has grown since the last checkpoint. The row goes when a checkpoint takes its head in."""

    class Kind(models.TextChoices):
        SESSION = "session"
        WALLET = "wallet"

    pk = models.CompositePrimaryKey("kind", "chain_id")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    chain_id = models.UUIDField()
