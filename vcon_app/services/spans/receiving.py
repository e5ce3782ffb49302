"""Spans in: a request is kept before it is answered, by stream, and a worker tells it (``telling``)."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from sessions_app.models import Workspace
from sessions_app.services import audit, fair_queue, task_queue
from sessions_app.services.log.sanitise import identifier
from vcon_app.formats.common.jsonio import dumps
from vcon_app.formats.otel_genai import wire
from vcon_app.formats.otel_genai.span import Place
from vcon_app.models import SpanPiece, SpanStream, Trace

from .. import task_names

MOST_WAITING = 50_000
"""Spans of a workspace that wait to be told before more are refused: about 20 s of work for one worker."""
HELD = timedelta(seconds=5)
"""How long spans wait for what stands above them: as long as an exporter that batches waits before it sends."""
MOST_WOKEN, MOST_SWEPT = 100, 1_000
"""Streams that workers are told of by one request, and by one look of the sweep, which finds the others: 2 ms each."""
PACKED = 1
"""zlib's level; 6 takes three times as long for a tenth less."""
WAITING = """
SELECT coalesce(sum(spans), 0) FROM (
    SELECT spans FROM vcon_app_spanpiece WHERE workspace_id = %s AND round IS NULL LIMIT 10000
) AS waiting
"""


class Busy(Exception):
    """More spans wait than are told in a short time: nothing was kept, and the exporter sends it again."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends spans: into sessions of the workspace, or, where it is ``narrowed``, into its own only."""

    workspace: Workspace
    actor: audit.Actor
    narrowed: bool

    @property
    def owner(self) -> str:
        """What the names of its streams are its own by."""
        return self.actor.id if self.narrowed else ""


@transaction.atomic
def receive(sender: Sender, records: list[wire.Record]) -> int:
    """Keep the spans of a request and enqueue their telling; how many there were. Raises ``Busy``."""
    places = wire.places_in(records)
    if not places:
        return 0
    _refuse_where_many_wait(sender.workspace.pk, len(places))
    traces = _traces(sender, places)
    pieces = _pieces(sender, records, places, traces)
    SpanPiece.objects.bulk_create(pieces)
    for stream_id in sorted({piece.stream_id for piece in pieces if piece.stream_id})[:MOST_WOKEN]:
        enqueue(stream_id, sender)
    return len(places)


def enqueue(stream_id: UUID, sender: Sender) -> None:
    """Have a worker tell what waits of a stream, in the line of who sent it."""
    line = fair_queue.Line(sender.workspace.pk, fair_queue.person(sender.actor))
    task_queue.enqueue(task_names.TELL_SPANS, stream_id, line)


def pack(records: list[wire.Record]) -> bytes:
    """The body of a piece."""
    return zlib.compress(dumps(records), PACKED)


def unpack(piece: SpanPiece) -> list[wire.Record]:
    """The records of a piece."""
    found: list[wire.Record] = orjson.loads(zlib.decompress(piece.body))
    return found


def _refuse_where_many_wait(workspace_id: UUID, more: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(WAITING, [workspace_id])
        (waiting,) = cursor.fetchone()
    if waiting and waiting + more > MOST_WAITING:
        raise Busy(
            f"{waiting:,} spans of this workspace wait to be read, and {more:,} came; at most {MOST_WAITING:,} may"
            " wait: send these again in a few seconds"
        )


def _traces(sender: Sender, places: list[Place]) -> dict[str, Trace]:
    """The traces of spans by name, each bound to a stream as soon as its conversation, or its root, is known."""
    names = sorted({place.trace for place in places})
    here = {"workspace": sender.workspace, "owner": sender.owner}
    streams = _streams(sender.workspace.pk, sender.owner, _named(places))
    # One order for all: of two requests at once neither waits for the other's rows while it holds some of them.
    made = [Trace(**here, name=name, stream_id=streams.get(name)) for name in names]
    Trace.objects.bulk_create(made, ignore_conflicts=True)
    traces = list(Trace.objects.filter(**here, name__in=names))
    bind({trace: streams[trace.name] for trace in traces if trace.stream_id is None and trace.name in streams})
    return {trace.name: trace for trace in traces}


def _named(places: list[Place]) -> dict[str, str]:
    """Trace -> the stream that its spans say it belongs to."""
    named: dict[str, str] = {}
    for place in places:
        if place.conversation and (told := identifier(place.conversation)):
            named.setdefault(place.trace, told)
    for place in places:
        if place.is_root:
            named.setdefault(place.trace, place.trace)
    return named


def _streams(workspace_id: UUID, owner: str, named: dict[str, str]) -> dict[str, UUID]:
    """The same with the ids of the streams, which are made where they are not there."""
    names = sorted(set(named.values()))
    here = {"workspace_id": workspace_id, "owner": owner}
    known = dict(SpanStream.objects.filter(**here, name__in=names).values_list("name", "pk"))
    if len(known) < len(names):
        made = [SpanStream(**here, name=name) for name in names if name not in known]
        SpanStream.objects.bulk_create(made, ignore_conflicts=True)
        known = dict(SpanStream.objects.filter(**here, name__in=names).values_list("name", "pk"))
    return {trace: known[stream] for trace, stream in named.items()}


def bind(streams: dict[Trace, UUID]) -> None:
    """Say which streams these traces belong to; one that was bound meanwhile stays where it is. Their pieces that
    waited for it join the stream.
    """
    for trace in sorted(streams, key=lambda trace: trace.name):
        bound = Trace.objects.filter(pk=trace.pk, stream=None).update(stream=streams[trace])
        trace.stream_id = streams[trace] if bound else Trace.objects.get(pk=trace.pk).stream_id
        SpanPiece.objects.filter(trace=trace, stream=None).update(stream=trace.stream_id)


def _pieces(
    sender: Sender, records: list[wire.Record], places: list[Place], traces: dict[str, Trace]
) -> list[SpanPiece]:
    """One piece a stream, and one a trace that has none yet."""
    groups = {trace.name: (trace.stream_id, None if trace.stream_id else trace.pk) for trace in traces.values()}
    spans = Counter(groups[place.trace] for place in places)
    parts = wire.divided(records, groups) if len(spans) > 1 else dict.fromkeys(spans, records)
    now, actor = timezone.now(), sender.actor
    return [
        SpanPiece(
            workspace=sender.workspace,
            stream_id=stream_id,
            trace_id=trace_id,
            sender_kind=actor.kind,
            sender_id=actor.id,
            sender_name=actor.name,
            received_at=now,
            spans=spans[stream_id, trace_id],
            body=pack(part),
        )
        for (stream_id, trace_id), part in parts.items()
    ]


def sweep() -> int:
    """Bind what has waited for its root long enough, and enqueue what was not told; how many streams."""
    _bind_late()
    waits = SpanPiece.objects.filter(round=None, stream__isnull=False, received_at__lt=timezone.now() - HELD)
    rows = waits.order_by("stream", "received_at").distinct("stream")
    lost, lines = {}, {}
    for row in rows.only("stream", "workspace", "received_at", "sender_kind", "sender_id")[:MOST_SWEPT]:
        assert row.stream_id is not None
        lost[row.stream_id] = row.received_at
        actor = audit.Actor(row.sender_kind, row.sender_id)
        lines[row.stream_id] = fair_queue.Line(row.workspace_id, fair_queue.person(actor))
    return task_queue.requeue(task_names.TELL_SPANS, lost, lines)


def _bind_late() -> None:
    unbound = SpanPiece.objects.filter(trace=OuterRef("pk"), stream=None)
    old = unbound.filter(received_at__lt=timezone.now() - HELD)
    for trace in Trace.objects.filter(Exists(old), stream=None).order_by("pk")[:1_000]:
        with transaction.atomic():  # each by itself: requests bind in the order of names
            bind({trace: _streams(trace.workspace_id, trace.owner, {trace.name: trace.name})[trace.name]})
    _join_bound()


def _join_bound() -> None:
    """Pieces whose trace was bound by a request at the same moment."""
    for piece in SpanPiece.objects.filter(stream=None, trace__stream__isnull=False).select_related("trace")[:1_000]:
        assert piece.trace is not None
        SpanPiece.objects.filter(pk=piece.pk).update(stream=piece.trace.stream_id)
