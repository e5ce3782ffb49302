"""Source documents (bytes by hash), imports and exports as rows that a person can read, and who is trusted."""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.ids import uuid7
from sessions_app.models import Agent, Session, Workspace


class SourceDocument(models.Model):
    """The bytes of an imported file, kept as they came under their SHA-256."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="documents")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "sha256"], name="document_once")]


class Job(models.Model):
    """What an import and an export share: the row is the truth, a Celery message only asks a worker to look at it."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    workspace_id: UUID
    id = models.UUIDField(primary_key=True, default=uuid7)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True)
    progress = models.FloatField(default=0)
    """0 to 1."""
    error = models.TextField(null=True)
    waiting_for = models.TextField(blank=True, default="")
    """Why a queued job was put back and waits, in a sentence for people; it goes on by itself."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    requested_by = models.TextField(default="")
    requester = models.TextField(default="", db_default="")
    """Kind and id of who asked for it: jobs that wait are taken in turns between those who asked."""
    big = models.BooleanField(default=False, db_default=False)
    """It waits in the lane of what takes minutes, of which one worker of each host is kept free."""

    class Meta:
        abstract = True


class Import(Job):
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="imports", db_index=False)
    document = models.ForeignKey(SourceDocument, models.PROTECT, related_name="imports")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True)
    filename = models.TextField()
    format_asked = models.CharField(max_length=40, default="auto")
    format = models.CharField(max_length=40, blank=True, default="")
    duplicate_of = models.ForeignKey("self", models.SET_NULL, null=True)
    events = models.IntegerField(default=0)
    """Events added to sessions by this import."""
    findings = models.JSONField(default=list)
    signature = models.JSONField(default=dict)
    checked_against = models.CharField(max_length=64, blank=True, default="")
    """Which trust anchors the signature was checked with; empty where there is nothing to check."""
    batch_id = models.UUIDField(null=True)
    """Shared by the files that were dropped or chosen at once."""
    folder = models.TextField(blank=True, default="", db_default="")
    """Where the file lay in the folder that was dropped, as the browser says."""

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-id"], name="import_newest"),
            models.Index(
                fields=["workspace", "batch_id", "-id"], condition=models.Q(batch_id__isnull=False), name="import_batch"
            ),
            models.Index(fields=["workspace", "-id"], condition=models.Q(status="failed"), name="import_failed"),
            models.Index(fields=["status"], condition=models.Q(status__in=["queued", "running"]), name="import_open"),
            models.Index(
                fields=["workspace", "checked_against"], condition=~models.Q(checked_against=""), name="import_signed"
            ),
        ]


class TrustAnchor(models.Model):
    """A certificate or public key that a workspace checks signatures against. Private keys are never here."""

    class Kind(models.TextChoices):
        CERTIFICATE = "certificate"
        PUBLIC_KEY = "public_key", "public key"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="trust_anchors")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=11, choices=Kind.choices)
    pem = models.TextField()
    fingerprint = models.CharField(max_length=64)
    """SHA-256 of the SubjectPublicKeyInfo."""
    origin = models.CharField(max_length=200, blank=True, default="")
    """Whose llmfeed files the key counts for; empty: anybody's."""
    added_at = models.DateTimeField(auto_now_add=True)
    added_by = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "fingerprint", "origin"], name="trust_anchor_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ImportedSession(models.Model):
    """A session that an import made or added to; of an archive one for each member that tells the session."""

    imported = models.ForeignKey(Import, models.CASCADE, related_name="session_links")
    session = models.ForeignKey(Session, models.CASCADE, related_name="import_links")
    document = models.ForeignKey(SourceDocument, models.PROTECT)
    member = models.TextField(default="")
    """The file in an archive, by its name there; empty where the document itself is the file."""
    events = models.IntegerField(default=0)
    first_seq = models.IntegerField(null=True)
    last_seq = models.IntegerField(null=True)
    """The events that the file added; NULL where it added none, and where others stand between them."""
    signature = models.JSONField(default=dict)
    """That of the very file: of an archive each member has its own. ``covers`` in it: the events that it covers."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["imported", "session", "member"], name="session_once_per_member"),
        ]


class Companion(models.Model):
    """What a file that holds no session says of one: kept until that session's own file comes, and after."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="companions")
    document = models.ForeignKey(SourceDocument, models.PROTECT)
    source_format = models.CharField(max_length=40)
    kind = models.CharField(max_length=20)
    tail = models.TextField()
    """The last part of the session's external id, behind the last slash."""
    parent = models.TextField(blank=True, default="")
    """The part of the external id before the last slash, if the file's path names it; empty: any session's."""
    title = models.TextField(blank=True, default="")
    metadata = models.JSONField(default=dict)
    requester = models.TextField(null=True)
    """As ``Import.requester``: it says something of what they brought, too. NULL: from before this was kept."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "source_format", "tail", "parent", "kind", "requester"],
                name="companion_of_sender",
            ),
        ]


class FamilyCheck(models.Model):
    """An import whose sub-agents are linked with their parents after it; see ``services.imports.families``.

    A row lives from the commit of the import until the look right after it. No foreign keys: what is deleted has
    nothing to look at.
    """

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace_id = models.UUIDField()
    source_format = models.CharField(max_length=40)
    sessions = ArrayField(models.UUIDField())
    """Sessions of the import."""
    agents = ArrayField(models.TextField())
    """Names of agents that its companions speak of."""
    due_at = models.DateTimeField()


class Export(Job):
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="exports")
    session = models.ForeignKey(Session, models.CASCADE, related_name="exports")
    format = models.CharField(max_length=40)
    options = models.JSONField(default=dict)
    identity = models.JSONField(default=dict)
    """``uuid`` and ``created_at`` of this content, and what they were given for; later exports of it carry the same."""
    filename = models.TextField(default="")
    size = models.BigIntegerField(null=True)
    losses = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["session", "format", "created_at"], name="export_of_session")]


class Redaction(models.Model):
    """A redaction of a session: rules while it is a draft, then also the redacted vCon that was made of them."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="redactions")
    session = models.ForeignKey(Session, models.CASCADE, related_name="redactions")
    export = models.OneToOneField(Export, models.CASCADE, null=True, related_name="redaction")
    """None while it is a draft."""
    type = models.CharField(max_length=200, default="")
    """What kind of redaction it is, in the words of who made it; it stands in the file."""
    rules = models.JSONField(default=list)
    actor_kind = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=64, blank=True, default="")
    actor_name = models.TextField(blank=True, default="")
    counts = models.JSONField(default=dict)
    """What was removed how often; no words."""
    leaks = models.JSONField(default=list)
    """The first places where removed words still stand in the file."""
    leak_count = models.IntegerField(default=0)
    unchecked = models.IntegerField(default=0)
    """Removed lines that were not looked for, because there were too many."""
    accepted_by = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "actor_kind", "actor_id"],
                condition=models.Q(export=None),
                name="redaction_draft_once",
            ),
        ]
        indexes = [models.Index(fields=["session", "-id"], name="redaction_of_session")]


class Sharing(models.Model):
    """Whether sessions of a workspace may be shown by links to people without an account. No row: they may not."""

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True, related_name="sharing")
    is_on = models.BooleanField(default=False)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.TextField(blank=True, default="")


class ShareLink(models.Model):
    """A link that shows one session, as it was when the link was made, to whoever has it, until it expires.

    Its page is the file of ``export``, written once. Of the secret in the link only the SHA-256 is kept: it has 256
    random bits, so no salt is needed.
    """

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="share_links", db_index=False)
    session = models.ForeignKey(Session, models.CASCADE, related_name="share_links", db_index=False)
    export = models.OneToOneField(Export, models.CASCADE, null=True, related_name="share_link")
    """None only while the link is being made."""
    sha256 = models.CharField(max_length=64, unique=True)
    last_seq = models.IntegerField()
    """The last event that is shown."""
    as_of = models.DateTimeField()
    """When it was the last one."""
    redaction = models.TextField(blank=True, default="")
    """What kind of redaction it is, in words; empty where nothing is left out."""
    rules = models.JSONField(default=list)
    """Of the redaction, as ``Redaction`` has them."""
    without_cost = models.BooleanField(default=False)
    """Neither money nor tokens are shown: with the price of its model one tells the other."""
    actor_kind = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=64, blank=True, default="")
    actor_name = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    counts = models.JSONField(default=dict)
    """What was left out how often; no words."""
    leaks = models.JSONField(default=list)
    """The first places where words that were left out still stand on the page."""
    leak_count = models.IntegerField(default=0)
    unchecked = models.IntegerField(default=0)
    """Lines that were left out and not looked for, because there were too many."""
    accepted_by = models.TextField(blank=True, default="")
    opened = models.PositiveIntegerField(default=0)
    last_opened_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)
    """When the audit log was told of openings last."""
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.TextField(blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["session", "-id"], name="share_link_of_session"),
            models.Index(fields=["workspace", "-id"], name="share_link_newest"),
            models.Index(
                fields=["expires_at"], condition=models.Q(withdrawn_at__isnull=True), name="share_link_in_force"
            ),
        ]


class Registration(models.Model):
    """A signed file that left here, registered at a transparency service by its SHA-256, and the service's receipt."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        """Not sent yet, or sent without an answer that counts."""
        PENDING = "pending"
        """The service took it, and its receipt is not ready."""
        REGISTERED = "registered"
        REFUSED = "refused"
        """The service said why it does not take it; it is not asked again."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    session = models.ForeignKey(Session, models.CASCADE, related_name="registrations", db_index=False)
    sha256 = models.CharField(max_length=64)
    """Of the file."""
    filename = models.TextField()
    statement = models.BinaryField()
    """What is registered: a COSE_Sign1 over the hash."""
    service = models.TextField()
    """Its address when the file was written."""
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    location = models.TextField(blank=True, default="")
    """Where the service said that the receipt will be."""
    receipt = models.BinaryField(null=True)
    """Only one that was checked."""
    signer = models.TextField(blank=True, default="")
    """Whose key the receipt was checked with."""
    fault = models.TextField(blank=True, default="")
    failures = models.IntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    registered_at = models.DateTimeField(null=True)
    """When the receipt was checked here."""
    next_try_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "sha256"], name="registration_once")]
        indexes = [
            models.Index(fields=["session", "-id"], name="registration_of_session"),
            models.Index(
                fields=["next_try_at"], condition=models.Q(next_try_at__isnull=False), name="registration_due"
            ),
        ]

    @property
    def receipt_filename(self) -> str:
        """Of the statement with its receipt, which is handed over beside the file."""
        return f"{self.filename}.receipt.cose"


class SpanStream(models.Model):
    """Spans that exporters send of one conversation, or of a trace that names none: they become a session."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="span_streams", db_index=False)
    owner = models.TextField(blank=True, default="")
    """Id of the key that sends it, where that key adds to no sessions but its own; empty: all others together."""
    name = models.TextField()
    """Id of the conversation, or of the trace."""
    session = models.ForeignKey(Session, models.CASCADE, null=True, related_name="span_streams")
    """None until the first spans are told."""
    rounds = models.PositiveIntegerField(default=0)
    """How many times spans were told."""
    is_open = models.BooleanField(default=False)
    """Of a trace the span in which all others run has not come."""
    told_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "owner", "name"], name="span_stream_once")]
        indexes = [models.Index(fields=["told_at"], condition=models.Q(is_open=True), name="span_stream_open")]


class Trace(models.Model):
    """Which stream the spans of a trace belong to: of those that name no conversation another span says it."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="traces", db_index=False)
    owner = models.TextField(blank=True, default="")
    name = models.TextField()
    stream = models.ForeignKey(SpanStream, models.CASCADE, null=True, related_name="traces")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "owner", "name"], name="trace_once")]


class SpanPiece(models.Model):
    """Spans of one request and one stream as they were sent: what is told is read from here, and read again by a
    worker that has not seen the stream before."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="span_pieces", db_index=False)
    stream = models.ForeignKey(SpanStream, models.CASCADE, null=True, related_name="pieces", db_index=False)
    trace = models.ForeignKey(Trace, models.CASCADE, null=True, related_name="pieces", db_index=False)
    """Whose spans they are, while no stream is known."""
    sender_kind = models.CharField(max_length=20)
    sender_id = models.CharField(max_length=64)
    sender_name = models.TextField()
    received_at = models.DateTimeField()
    spans = models.PositiveIntegerField()
    body = models.BinaryField()
    """``resourceSpans`` of OTLP's JSON, packed by zlib."""
    round = models.PositiveIntegerField(null=True)
    """In which round of its stream they were told."""

    class Meta:
        indexes = [
            models.Index(fields=["stream", "round", "id"], name="span_piece_of_stream"),
            models.Index(
                fields=["workspace", "received_at"], condition=models.Q(round=None), name="span_piece_waiting"
            ),
            models.Index(fields=["trace", "id"], condition=models.Q(stream=None), name="span_piece_unbound"),
        ]


class FileRemoval(models.Model):
    """A stored file that nothing uses any more, until it is gone: its worker may be killed before it gets to that."""

    class Storage(models.TextChoices):
        DOCUMENTS = "documents"
        EXPORTS = "exports"

    id = models.UUIDField(primary_key=True, default=uuid7)
    storage = models.CharField(max_length=9, choices=Storage.choices)
    name = models.TextField()
    """SHA-256 of a document, id of an export."""
    created_at = models.DateTimeField(auto_now_add=True)
