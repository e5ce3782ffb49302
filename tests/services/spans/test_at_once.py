"""Exporters that send in pieces, out of order and twice, and workers at the same trace, one of which is killed midway:
each span is told once.
"""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.models import Event, Session
from sessions_app.services import audit
from sessions_app.services.log import events
from vcon_app.formats.otel_genai import wire
from vcon_app.models import SpanPiece, SpanStream
from vcon_app.services.spans import receiving, telling

from .build import agent, chat, request, tool

pytestmark = pytest.mark.django_db(transaction=True)
REQUESTS = 30
AWAY = 7_200
"""Seconds by which the clock of the host is wrong that runs the tools."""


def pieces() -> list[list[Any]]:
    named = {"gen_ai__conversation__id": "ebb-1"}
    spans = [agent(1, **named)]
    for number in range(REQUESTS):
        spans.append(chat(100 + number, 1, [], f"said {number}", **named))
        spans.append(tool(300 + number, 1, "gauge", f"found {number}", at=AWAY + number, **named))
    rest = [*spans, *random.Random(7).sample(spans, 20)]
    random.Random(11).shuffle(rest)
    return [rest[at : at + 3] for at in range(0, len(rest), 3)]


def test_each_span_is_told_once_by_workers_at_once(workspace, monkeypatch):
    sender = receiving.Sender(workspace, audit.Actor("api_key", "0199aaaa-0000-7000-8000-000000000001", "x"), False)
    done, died = threading.Event(), threading.Event()
    append = events.append

    def killed_once(*given: Any, **more: Any) -> Any:
        appended = append(*given, **more)
        if not died.is_set():
            died.set()
            raise SystemExit  # within the transaction, of which nothing is left then
        return appended

    monkeypatch.setattr(telling.events, "append", killed_once)

    def export(mine: list[list[Any]]) -> None:
        for piece in mine:
            receiving.receive(sender, wire.from_protobuf(request(*piece)))
        connection.close()

    def work() -> None:
        while not (done.is_set() and died.is_set()):
            for stream in SpanStream.objects.all():
                try:
                    telling.tell(stream.pk)
                except SystemExit:
                    telling.REMEMBERED = telling.Remembered()  # the next process knows nothing
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        working = [threads.submit(work) for _ in range(2)]
        for exporting in [threads.submit(export, pieces()[half::2]) for half in range(2)]:
            exporting.result()
        done.set()
        for worker in working:
            worker.result()
    SpanPiece.objects.filter(round=None).update(received_at=timezone.now() - receiving.HELD)
    telling.tell(SpanStream.objects.get().pk)
    session = Session.objects.get()
    found = Event.objects.filter(session=session, kind__in=["agent_message", "tool_result"])
    wanted = [f"{word} {number}" for word in ("found", "said") for number in range(REQUESTS)]
    assert sorted(found.values_list("text", flat=True)) == sorted(wanted)
    assert (session.tool_call_count, session.status) == (REQUESTS, "idle")
    assert (session.input_tokens, session.output_tokens) == (100 * REQUESTS, 10 * REQUESTS)
    assert not SpanPiece.objects.filter(round=None).exists()
