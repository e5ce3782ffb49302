"""Readers whose access ends are found, also after a moment in which nobody could look."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError

from sessions_app.live import readers


@pytest.mark.parametrize("fault", [OperationalError("no connection is free"), RuntimeError("can't start new thread")])
def test_a_revoked_key_is_found_after_a_moment_without_threads_or_connections(fault, monkeypatch):
    outcomes = iter([fault, {"key 1"}])

    async def in_thread(_function, _asked):
        outcome = next(outcomes, {"key 1"})
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def read():
        with readers.reading("key 1", "203.0.113.7"):
            async with asyncio.timeout(5):
                while not readers.is_gone("key 1"):
                    await asyncio.sleep(0.01)

    monkeypatch.setattr(readers, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(readers, "in_thread", in_thread)
    asyncio.run(read())
