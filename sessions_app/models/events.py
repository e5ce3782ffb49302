"""The log. ``Event`` is append-only (a trigger refuses UPDATE and DELETE); the other tables are projections of it."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from .agents import Agent
from .fields import Tokens
from .sessions import Session
from .workspaces import Workspace

PLACEHOLDER = "placeholder"


class Event(Tokens):
    """One thing that happened in a session, numbered by ``seq`` from 1 without gaps."""

    pk = models.CompositePrimaryKey("session_id", "seq")
    session = models.ForeignKey(Session, models.CASCADE, related_name="events", db_index=False, db_constraint=False)
    """The table lies in parts by the month of this id (docs/partitions.md). A trigger of sessions keeps those that
    have events: a foreign key would be looked up for each event that is written."""
    seq = models.IntegerField()
    id = models.UUIDField()
    key = models.UUIDField()
    """First 16 bytes of BLAKE2b of the natural key: what makes a repeated append a no-op."""
    kind = models.TextField()
    at = models.DateTimeField(null=True)
    turn = models.IntegerField()
    depth = models.SmallIntegerField(default=0)
    parent_seq = models.IntegerField(null=True)
    actor_kind = models.TextField(default="unknown")
    actor_name = models.TextField(default="")
    text = models.TextField(default="")
    call_id = models.TextField(null=True)
    tool_name = models.TextField(null=True)
    tool_server = models.TextField(null=True)
    tool_status = models.TextField(null=True)
    arguments = models.JSONField(null=True)
    result = models.JSONField(null=True)
    model = models.TextField(null=True)
    request = models.TextField(null=True)
    """The model response that this event's tokens belong to; several events may repeat one."""
    cache_write_1h_tokens = models.BigIntegerField(null=True)
    quality = models.TextField(null=True)
    cost = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    """US dollars as the recorder stated them for ``request``."""
    data = models.JSONField(default=dict)
    client_key = models.TextField(default="")
    """The natural key itself, for the formats and clients that need it back."""
    document = models.TextField(null=True)
    """SHA-256 of the source document."""
    pointer = models.TextField(default="")
    offset = models.BigIntegerField(null=True)
    length = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "key"], name="event_once")]
        indexes = [
            models.Index(fields=["session", "turn", "seq"], name="event_by_turn"),
            # What a sub-agent did is read below its call; sessions without sub-agents have no rows in here.
            models.Index(fields=["session", "parent_seq", "seq"], condition=models.Q(depth__gt=0), name="event_nested"),
            models.Index(
                fields=["session", "seq"],
                condition=models.Q(kind="user_message", parent_seq__isnull=False),
                name="event_rewinds",
            ),
            models.Index(
                fields=["session"], condition=models.Q(data__has_key="child_session"), name="event_names_child"
            ),
        ]


class ToolCall(models.Model):
    """A tool call joined with its result."""

    pk = models.CompositePrimaryKey("session_id", "seq")
    session = models.ForeignKey(Session, models.CASCADE, related_name="tool_calls", db_index=False, db_constraint=False)
    seq = models.IntegerField()
    result_seq = models.IntegerField(null=True)
    call_id = models.TextField(null=True)
    name = models.TextField(default="")
    server = models.TextField(null=True)
    status = models.TextField(null=True)
    """ok, error, cancelled, denied; NULL while there is no result, or the result states no outcome."""
    turn = models.IntegerField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    tool_cost: Decimal | None = None
    """US dollars that it cost. Not a column: ``queries.money.paid_calls`` sets it."""

    class Meta:
        indexes = [
            models.Index(fields=["session", "call_id"], name="tool_call_by_id"),
            models.Index(fields=["session", "turn"], name="tool_call_by_turn"),
        ]


class ModelRequest(Tokens):
    """One request to a model with the usage of its response. Of repeats the one with the greatest output is counted."""

    pk = models.CompositePrimaryKey("session_id", "key")
    session = models.ForeignKey(Session, models.CASCADE, related_name="requests", db_index=False, db_constraint=False)
    key = models.TextField()
    seq = models.IntegerField()
    """The last event of this response: where its tokens are shown."""
    turn = models.IntegerField()
    at = models.DateTimeField(null=True)
    model = models.TextField(null=True)
    cache_write_1h_tokens = models.BigIntegerField(null=True)
    quality = models.TextField(default="final")
    cost_recorded = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    cost_priced = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    price_source = models.TextField(default="")
    """The table a priced cost came from, ``genai-prices/0.2.3``; "unpriced" when it knows no such model."""
    cost_within = models.IntegerField(null=True)
    """The event that states a total which this response's cost is a part of: it is in no sum besides."""
    identity = models.UUIDField(null=True)
    """By which other sessions of the same ``response_scope`` know this response: its id and how it begins."""
    is_copy = models.BooleanField(default=False)
    """Whether the file says itself that it repeats another session here."""
    counted_in = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="+", db_index=False)
    """The session that this response is counted in, when it is not this one: see ``services.copies``."""

    class Meta:
        indexes = [
            models.Index(
                fields=["identity", "at"], condition=models.Q(identity__isnull=False), name="request_known_as"
            ),
            models.Index(
                fields=["counted_in"], condition=models.Q(counted_in__isnull=False), name="request_counted_in"
            ),
            models.Index(fields=["session", "turn"], name="request_by_turn"),
            models.Index(fields=["session", "seq"], name="request_by_seq"),
        ]

    @property
    def under_reported(self) -> bool:
        """Whether the recorder wrote down a count before the response was complete, and never the last one."""
        return self.quality == PLACEHOLDER


class OwnerCheck(models.Model):
    """A session whose shared responses are to be looked at once more; see ``services.log.shared_responses``.

    A row lives from the commit of an import until the look right after it.
    """

    session_id = models.UUIDField(primary_key=True)
    """No foreign key: what is deleted has nothing to look at."""
    workspace_id = models.UUIDField()
    since = models.IntegerField()
    """Responses whose last event is behind this ``seq`` are new."""
    waits_for = ArrayField(models.TextField())
    """Virtual transactions that wrote at the same time: what they write is seen when they are over."""
    due_at = models.DateTimeField()


class EventText(models.Model):
    """The search row of an event, as they were before ``SearchBlock``: of sessions that are not moved to it yet."""

    pk = models.CompositePrimaryKey("session_id", "seq")
    session = models.ForeignKey(Session, models.CASCADE, related_name="texts", db_index=False)
    seq = models.IntegerField()
    words = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="event_words")]


class SearchBlock(models.Model):
    """The words of events that stand together, each once and without its place; with ``first_seq`` 0 of the title, with
    -1 of what the file says beside its events (``FileText``).

    Why it is not one row per event, and what else was measured: docs/search.md.
    """

    pk = models.CompositePrimaryKey("session_id", "first_seq")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    words = SearchVectorField()
    """Words of ``search.words``; ``@s`` with the session's id and ``@w`` with the workspace's in hexadecimal, so that
    one walk of the index answers for one of them."""
    spans = ArrayField(models.IntegerField(), null=True)
    """Pieces of time in which its session began (``migrations/_search_in_order_0047``), kept by triggers; NULL in rows
    from before there were any, until ``search_index.place`` has come to them."""

    class Meta:
        indexes = [
            # The pending list makes a bulk index of 50,000 events cost a half; each search reads it whole: it is short.
            GinIndex(
                fields=["words", "spans"], name="search_block_in_order", fastupdate=True, gin_pending_list_limit=1024
            ),
            models.Index(fields=["session"], condition=models.Q(spans=None), name="search_block_unplaced"),
        ]


class SearchBacklog(models.Model):
    """A session with events that are not in the index yet: after a large import, or an upgrade.

    A table of its own: an index on ``indexed_seq < last_seq`` would make each event write to all indexes of a session.
    """

    session = models.OneToOneField(Session, models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False)
    since = models.DateTimeField()


class FileText(models.Model):
    """What the file of a session says and none of its events does, for the search; no row where the file is too large.

    Found by reading the file again, which costs as much as reading it did: not by the import, but a while after it.
    """

    session = models.OneToOneField(Session, models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    text = models.TextField(default="")
    """Values in the order of the file, one a line."""
    due_at = models.DateTimeField(null=True)
    """From when on the file is to be looked through; NULL: it was, since its last import, or was given up."""
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Begun since its last import and not ended, as by a file that takes its worker down with it."""

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="file_text_due"),
            models.Index(fields=["session"], condition=models.Q(due_at=None, tries__gt=0), name="file_text_given_up"),
        ]


class FileScan(models.Model):
    """How far the events of a session have been read for changes of files, and what they came to so far.

    Not made with the other projections: an import would pay for it, and most sessions are never asked for their files.
    """

    session = models.OneToOneField(Session, models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    seq = models.IntegerField(default=0)
    files = models.IntegerField(default=0)
    edits = models.IntegerField(default=0)
    added = models.BigIntegerField(default=0)
    removed = models.BigIntegerField(default=0)
    shell = models.IntegerField(default=0)
    """Files of which all that is known is that a command writes them."""


class ChangedFile(models.Model):
    """One file of a session with everything that happened to it: sums over its ``FileChange`` rows."""

    pk = models.CompositePrimaryKey("session_id", "path")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    path = models.TextField()
    """Relative to the working directory where it lies in it; of more than 300 characters shortened to those."""
    was = models.TextField(default="")
    """The path before it was renamed."""
    kind = models.TextField()
    """created, written, edited, deleted, renamed, shell, stated, or ``failed`` where no call for it succeeded."""
    edits = models.IntegerField()
    failed = models.IntegerField()
    shell = models.IntegerField()
    """Commands that write it, whatever they wrote."""
    added = models.BigIntegerField()
    removed = models.BigIntegerField()
    last_seq = models.IntegerField()
    shell_last = models.BooleanField()
    """Whether the last to write it was a command, so that what is known of its text may have changed since."""


class FileChange(models.Model):
    """What one event does to one file."""

    pk = models.CompositePrimaryKey("session_id", "seq", "number")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    seq = models.IntegerField()
    number = models.SmallIntegerField()
    """Which of the changes of one event it is."""
    path = models.TextField()
    was = models.TextField(default="")
    kind = models.TextField()
    """As of ``changes.change``; ``seen``: a call that may have read the file whole."""
    how = models.TextField()
    outcome = models.TextField()
    """done, unknown (no result is recorded) or failed."""
    added = models.IntegerField()
    removed = models.IntegerField()

    class Meta:
        indexes = [models.Index(fields=["session", "path", "seq", "number"], name="file_change_by_path")]


class RunSummary(models.Model):
    """The run summary of a session: a projection of its log, written in the transaction of each append."""

    session = models.OneToOneField(
        Session, models.DO_NOTHING, primary_key=True, related_name="run_summary", db_constraint=False
    )
    """The database deletes it with its session."""
    seq = models.IntegerField()
    """The last event that it tells of."""
    told = models.JSONField()
    """``summary.state.Summary.stored``: at most 16 KB."""


class RunFinding(models.Model):
    """A rule that found something in a session (``summary.findings``): a projection, written with its ``RunSummary``,
    which has the events."""

    pk = models.CompositePrimaryKey("session_id", "rule")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    rule = models.TextField()
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    agent = models.ForeignKey(Agent, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "rule", "session"], name="run_finding_by_rule"),
            models.Index(fields=["agent", "rule"], name="run_finding_of_agent"),
        ]


class RunSummaryFillIn(models.Model):
    """A row as long as sessions from before there were run summaries have none; see ``services.log.run_summaries``."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    before = models.UUIDField(null=True)
    """The last session that has one: the newest get theirs first."""


class SessionOverview(models.Model):
    """The run of a session in one band: its buckets (``rendering.overview.buckets``), and what is drawn of them.

    Made when somebody asks, like ``FileScan``, and kept until the session is another.
    """

    session = models.OneToOneField(Session, models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    seq = models.IntegerField(default=0)
    version = models.SmallIntegerField(default=0)
    """Of what draws it: an older one is made anew."""
    totals = models.TextField(default="")
    """Errors and cost of the session when it was drawn: both may change without an event."""
    buckets = models.JSONField(default=dict)
    pictures = models.JSONField(default=dict)
