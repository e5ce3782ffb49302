"""Spans out: what waits of a stream becomes events at the end of its session's log.

What was told stays as it was, so spans wait for what stands above them, but not for long: a trace that is still open is
a session that is running. A worker remembers what it needs of the streams that it told last. One that does not know a
stream reads again what was told of it, round by round, which gives the same.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate, groupby, takewhile
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Length
from django.utils import timezone

from sessions_app.models import ApiKey, Session
from sessions_app.services import agents, audit, notify, sessions, task_queue
from sessions_app.services.fair_queue import Line, person
from sessions_app.services.log import events, heads, links, search_index
from sessions_app.services.log.sanitise import identifier, storable, text
from vcon_app.drafts import Draft, EventDraft, SessionDraft
from vcon_app.formats import otel_genai
from vcon_app.formats.common.reading import Findings
from vcon_app.formats.common.spans.forest import MOST_LEVELS
from vcon_app.formats.otel_genai import wire
from vcon_app.formats.otel_genai.reading import Conversation, once_each
from vcon_app.formats.otel_genai.span import Believed, Span
from vcon_app.models import SpanPiece, SpanStream

from ..documents.jobs import is_transient, what_to_wait_for
from ..rare_collections import rare_collections
from .receiving import HELD, unpack

log = logging.getLogger(__name__)

MOST_PIECES, MOST_BYTES, READ_AT_ONCE = 100, 8_000_000, 10
"""Told at once: pieces, and their packed bytes, which take about twenty times that in memory; one piece in any case."""
MOST_REMEMBERED = 100_000
"""Spans of the streams that a worker remembers; a span takes about 1 kB."""
ASIDE = 0
"""Round of a piece that could not be told; the first of those that were is 1."""
EARLIEST, AHEAD = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1)
"""Spans are believed to have run since then, and until so long after they came: clocks of exporters may be ahead."""
SILENT_AFTER = timedelta(minutes=5)
"""Without a span for so long, a session whose trace is still open is not running any more."""


class Remembered:
    """What a process knows of the streams that it told last, up to some round of each."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, tuple[int, Conversation]] = OrderedDict()

    def conversation(self, stream: SpanStream) -> Conversation:
        """What was told of a stream. It is the caller's until it is kept: one that fails midway leaves nothing."""
        rounds, conversation = self._known.pop(stream.pk, (0, Conversation(stream.name, Findings(otel_genai.NAME))))
        if rounds > stream.rounds:  # told in a transaction that came to nothing
            rounds, conversation = 0, Conversation(stream.name, Findings(otel_genai.NAME))
        told = SpanPiece.objects.filter(stream=stream, round__gt=rounds).order_by("round", "id")
        for number, pieces in groupby(told.iterator(READ_AT_ONCE), key=lambda piece: piece.round):
            again = once_each(span for piece in pieces for span in _spans_of(piece, number or 0))
            try:
                for _ in conversation.drafts(again):
                    pass  # the log has it
            except Exception:  # of a reader that is newer than the round: what is told already holds nothing up
                log.exception("round %s of stream %s cannot be read again", number, stream.pk)
            conversation.forget_contents()
        return conversation

    def keep(self, stream: SpanStream, conversation: Conversation) -> None:
        """Remember a stream as it is after its round."""
        conversation.forget_contents()
        self._known[stream.pk] = (stream.rounds, conversation)
        while len(self._known) > 1 and sum(len(known) for _, known in self._known.values()) > MOST_REMEMBERED:
            self._known.popitem(last=False)


REMEMBERED = Remembered()


def tell(stream_id: UUID) -> None:
    """Tell what waits of a stream, if nobody else is at it. May be called any number of times.

    A piece that cannot be told is set aside, kept as it came, and the session says so.
    """
    most = MOST_PIECES
    while True:
        try:
            # What came while this was told woke a worker that found the stream taken: it is looked for once more.
            if not _tell_some(stream_id, most):
                return
            most = MOST_PIECES
        except (Session.DoesNotExist, SpanStream.DoesNotExist):
            return  # erased meanwhile, and the spans with it
        except Exception as error:  # of hostile spans
            if is_transient(error) or what_to_wait_for(error):
                raise
            log.exception("spans of stream %s could not be told", stream_id)
            if most == 1:
                _set_aside(stream_id, type(error).__name__)
            most = 1


@transaction.atomic
def _tell_some(stream_id: UUID, most: int) -> bool:
    """Tell one round of at most so many pieces; whether there was anything to tell."""
    if not _is_mine(stream_id):
        return False
    stream = SpanStream.objects.select_related("session").get(pk=stream_id)
    with rare_collections():
        return _tell_round(stream, most)


def _tell_round(stream: SpanStream, most: int) -> bool:
    waiting = _waiting(stream, most)
    if not waiting:
        return False
    conversation = REMEMBERED.conversation(stream)
    ready = _ready(conversation, waiting)
    if not ready:
        REMEMBERED.keep(stream, conversation)
        return False
    stream.rounds += 1
    _append(stream, conversation, [piece for piece, _ in ready], once_each(span for _, each in ready for span in each))
    stream.told_at = timezone.now()
    stream.is_open = conversation.is_open
    stream.save(update_fields=["rounds", "session", "is_open", "told_at"])
    SpanPiece.objects.filter(pk__in=[piece.pk for piece, _ in ready]).update(round=stream.rounds)
    transaction.on_commit(lambda: REMEMBERED.keep(stream, conversation))
    return True


def _is_mine(stream_id: UUID) -> bool:
    """Whether nobody else tells this stream; nobody begins until the transaction ends.

    No lock of its row, which is written after the session was locked, as by whoever erases the session.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext('spans'), hashtext(%s))", [str(stream_id)])
        return bool(cursor.fetchone()[0])


def _waiting(stream: SpanStream, most: int) -> list[tuple[SpanPiece, list[Span]]]:
    """The first pieces that wait, all of one sender, and their spans."""
    found = SpanPiece.objects.filter(stream=stream, round=None).order_by("id")
    sizes = list(found.annotate(size=Length("body")).values_list("pk", "size")[:most])
    sums = accumulate(size for _, size in sizes)
    chosen = [pk for (pk, _), so_far in zip(sizes, sums, strict=True) if so_far <= MOST_BYTES]
    pieces = list(found.filter(pk__in=chosen or [pk for pk, _ in sizes[:1]]))
    same = takewhile(lambda piece: piece.sender_id == pieces[0].sender_id, pieces)
    return [(piece, _spans_of(piece, stream.rounds + 1)) for piece in same]


def _ready(
    conversation: Conversation, waiting: list[tuple[SpanPiece, list[Span]]]
) -> list[tuple[SpanPiece, list[Span]]]:
    """The first pieces of which every span has all that it runs in, or has waited for it long enough."""
    coming = {span.key: span for _, spans in waiting for span in spans}
    until = timezone.now() - HELD

    def is_ready(waits: tuple[SpanPiece, list[Span]]) -> bool:
        return waits[0].received_at <= until or all(_is_rooted(conversation, coming, span) for span in waits[1])

    return list(takewhile(is_ready, waiting))


def _is_rooted(conversation: Conversation, coming: dict[str, Span], span: Span) -> bool:
    """Whether all that a span runs in was told, or comes with it."""
    for _ in range(MOST_LEVELS):
        if span.parent is None:
            return True
        above = f"{span.trace}:{span.parent}"
        if above not in coming:
            return conversation.is_rooted(above)
        span = coming[above]
    return True


def _spans_of(piece: SpanPiece, order: int) -> list[Span]:
    believed = Believed(EARLIEST, piece.received_at + AHEAD)
    return wire.spans_in(unpack(piece), order, str(piece.pk), believed)


def _append(stream: SpanStream, conversation: Conversation, pieces: list[SpanPiece], spans: list[Span]) -> None:
    drafts = conversation.drafts(spans)
    facts = next(drafts)
    assert isinstance(facts, SessionDraft)
    sender = audit.Actor(pieces[0].sender_kind, pieces[0].sender_id, pieces[0].sender_name)
    head = heads.lock(stream.session.pk) if stream.session else None
    if stream.session is None or (head and head.status == Session.Status.ARCHIVED):
        stream.session, head = _create(stream, facts, sender), None
    appended = events.append(stream.session.pk, _events(drafts), origin=links.sent_by(sender), head=head)
    _complete(stream.session, facts, pieces[0].received_at, is_open=conversation.is_open)
    if appended.accepted:
        for session_id in search_index.behind({stream.session.pk}):
            task_queue.enqueue(task_queue.INDEX_SESSION, session_id, Line(stream.workspace_id, person(sender)))


@transaction.atomic
def _set_aside(stream_id: UUID, fault: str) -> None:
    if not _is_mine(stream_id):
        return
    stream = SpanStream.objects.select_related("session").get(pk=stream_id)
    piece = SpanPiece.objects.filter(stream=stream, round=None).order_by("id").first()
    if piece is None:
        return
    if stream.session:
        words = f"{piece.spans} spans could not be read: a fault of ours ({fault}). They are kept as they were sent."
        note = EventDraft(kind="unknown", key=f"piece:{piece.pk}", at=piece.received_at, text=words)
        events.append(stream.session.pk, [note], origin=links.DESK)
    SpanPiece.objects.filter(pk=piece.pk).update(round=ASIDE)


def _events(drafts: Iterator[Draft]) -> Iterator[EventDraft]:
    return (draft for draft in drafts if isinstance(draft, EventDraft))


def _create(stream: SpanStream, facts: SessionDraft, sender: audit.Actor) -> Session:
    """A session for a stream. What comes to one that was archived meanwhile is another version of it."""
    key = ApiKey.objects.select_related("agent").filter(pk=sender.id).first() if sender.kind == "api_key" else None
    agent = key.agent if key and key.agent else agents.get_or_create_agent(stream.workspace_id, facts.agent_name)
    session = Session.objects.create(
        workspace_id=stream.workspace_id,
        agent=agent,
        origin=Session.Origin.OTLP,
        external_id=identifier(stream.name),
        source_format=otel_genai.NAME,
        opened_by_key=key,
        metadata={"version_of": str(stream.session.pk)} if stream.session else {},
    )
    audit.record(stream.workspace_id, sender, "session.created", subject=("session", session.pk), agent=agent.name)
    return session


def _complete(session: Session, facts: SessionDraft, received_at: datetime, *, is_open: bool) -> None:
    """Write what the spans say of the session as a whole, and whether it goes on. One whose spans say no time that can
    be believed began when they came: else nobody would find it among the others.
    """
    session.refresh_from_db()  # append has written counts and times to the row meanwhile
    session.started_at = min(filter(None, (session.started_at, facts.started_at)), default=received_at)
    session.ended_at = max(filter(None, (session.ended_at, facts.ended_at)), default=None)
    session.user_id = session.user_id or text(facts.user_id)
    session.metadata = storable({**facts.metadata, **session.metadata})
    session.source_record = storable({**facts.record, **session.source_record})
    session.status = Session.Status.RUNNING if is_open else Session.Status.IDLE
    session.phase = Session.Phase.ACTIVE if is_open else Session.Phase.COMPLETED
    session.save(update_fields=[
        "started_at", "ended_at", "user_id", "metadata", "source_record", "status", "phase", "updated_at",
    ])  # fmt: skip
    notify.session_changed(session.pk, session.last_seq)


def sweep() -> int:
    """Say of sessions whose trace was left open that nothing runs in them any more; of how many."""
    silent = SpanStream.objects.filter(is_open=True, told_at__lt=timezone.now() - SILENT_AFTER)
    streams = list(silent.order_by("pk")[:1_000])
    for stream in streams:
        with transaction.atomic():
            assert stream.session_id is not None
            sessions.lock_row(stream.session_id)  # before the row of the stream, as whoever tells does
            if SpanStream.objects.filter(pk=stream.pk, is_open=True, told_at=stream.told_at).update(is_open=False):
                running = Session.objects.filter(pk=stream.session_id, status=Session.Status.RUNNING)
                running.update(status=Session.Status.IDLE, updated_at=timezone.now())
                notify.session_changed(stream.session_id, 0)
    return len(streams)
