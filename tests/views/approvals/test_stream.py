"""Inboxes that stay open: each is told of what changes, and all of them by one read."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from django.test import AsyncClient

from sessions_app.live import inbox
from tests.api.sessions.live import Stream, elsewhere

from ..build import asks, session_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_open_inboxes_share_what_is_read(viewer, agent, monkeypatch):
    session, reads, read = session_of(agent), [], inbox._frames
    monkeypatch.setattr(inbox, "_frames", lambda *asked: reads.append(asked[1]) or read(*asked))
    signed_in = AsyncClient()
    signed_in.cookies = viewer.cookies

    async def run():
        async with AsyncExitStack() as stack:
            opened = [Stream(await signed_in.get("/approvals/stream")) for _ in range(12)]
            for one in opened:
                stack.push_async_callback(one.close)
            readers = [asyncio.create_task(one.next("approval")) for one in opened]
            await opened_and_listening(reads)
            before = len(reads)
            asked = await elsewhere(asks, session, tool="refund")
            told = await asyncio.gather(*readers)
            waiting = await asyncio.gather(*(one.next("waiting") for one in opened))
            return asked, told, waiting, len(reads) - before

    asked, told, waiting, read_again = asyncio.run(run())
    assert [frame.data for frame in told] == [{"id": str(asked.pk), "status": "pending", "version": 1}] * 12
    assert {frame.data["count"] for frame in waiting} == {1}
    assert read_again <= 3  # and not 12: who is late by a change reads for itself


async def opened_and_listening(reads: list) -> None:
    """All are woken once the hub listens."""
    for _ in range(200):
        if reads:
            return await asyncio.sleep(0.05)
        await asyncio.sleep(0.01)
    raise AssertionError("the hub does not listen")
