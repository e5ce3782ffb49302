"""Streams and long polls have a number per caller and per address, and those that end make room."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from django.test import AsyncClient

from sessions_app.live import readers
from sessions_app.models import Role
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.people import api_keys

from .live import elsewhere, forgotten, stream

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two_readers(settings):
    settings.MAX_READERS = 2


def other_key(workspace) -> dict[str, str]:
    _, secret = api_keys.create_api_key(workspace, "another", Role.VIEWER, by=audit.COMMAND)
    return {"Authorization": f"Bearer {secret}"}


def test_one_stream_too_many_is_429_and_others_are_served(api, session, two_readers):
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        theirs = await elsewhere(other_key, session.workspace)
        async with stream(api, path) as one, stream(api, path) as two:
            await asyncio.gather(one.next("session"), two.next("session"))
            refused = await AsyncClient().get(path, headers=api.headers)
            async with stream(api, path, **theirs) as other:
                await other.next("session")
            await forgotten()
        await forgotten()
        async with stream(api, path) as again:
            await again.next("session")
        await forgotten()
        return refused

    refused = asyncio.run(run())
    assert (refused.status_code, refused.headers["Content-Type"]) == (429, "application/problem+json")
    assert refused.headers["Retry-After"] == "15"
    assert refused.json()["detail"].startswith("you have 2 streams and long polls open")
    assert readers.count() == 0


def test_long_polls_count_as_well(api, session, two_readers):
    async def run():
        asked = await elsewhere(requests.request, session, requests.Question("refund", {}), by=audit.COMMAND)
        path = f"/api/v1/approvals/{asked.id}"
        polls = [asyncio.create_task(AsyncClient().get(path, {"wait": 2}, headers=api.headers)) for _ in range(4)]
        answers = await asyncio.gather(*polls)
        at_once = await AsyncClient().get(path, headers=api.headers)
        return sorted(answer.status_code for answer in answers), at_once.status_code

    assert asyncio.run(run()) == ([200, 200, 429, 429], 200)
    assert readers.count() == 0


def test_an_address_has_a_limit_of_its_own(settings):
    settings.MAX_READERS = 1

    async def run():
        with ExitStack() as stack:
            for number in range(readers.TIMES_EACH_ADDRESS):
                stack.enter_context(readers.reading(f"api_key:{number}", "192.0.2.1"))
            with pytest.raises(readers.Full, match="your address"):
                readers.check("api_key:new", "192.0.2.1")
            readers.check("api_key:new", "192.0.2.2")

    asyncio.run(run())
