"""Reads that readers share: one for all who want the same, until the topic changes or the read fails."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError

from sessions_app.live.hub import Hub, Topic, hub
from sessions_app.live.shared_reads import SharedReads

TOPIC: Topic = ("session", "s")


def read_with(monkeypatch, answers: list[object], times: int) -> list[object]:
    """What so many readers were told, one after the other, while another one of the topic waits for its change."""

    def read() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def listen(self) -> None:
        """Nobody has a database here."""

    async def run() -> list[object]:
        shared, told = SharedReads(), []
        with hub().reader(*TOPIC):
            for _ in range(times):
                told += await asyncio.gather(shared.read(TOPIC, "all", read), return_exceptions=True)
        return told

    monkeypatch.setattr(Hub, "_listen", listen)
    return asyncio.run(run())


def test_what_was_read_is_told_again_until_the_topic_changes(monkeypatch):
    assert read_with(monkeypatch, ["first", "second"], times=2) == ["first", "first"]


@pytest.mark.django_db(transaction=True)
def test_a_read_that_failed_is_tried_again_by_the_next_reader(monkeypatch):
    """Else who comes back after a moment without a connection is refused for as long as nothing happens there."""
    failed = OperationalError("no connection in time")
    assert read_with(monkeypatch, [failed, "read"], times=2) == [failed, "read"]
