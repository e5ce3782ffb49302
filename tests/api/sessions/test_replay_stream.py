"""A session played again for a program: every event once, paced by its own times, and it ends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.test import AsyncClient

from sessions_app.live import readers, replay
from sessions_app.live.replay import Pace
from sessions_app.models import Role
from sessions_app.services import audit
from sessions_app.services.log import events, links
from tests.services.build import event
from vcon_app.services.erasure import erasing

from ..client import pointers
from .live import elsewhere, forgotten, stream

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENDLESS = 3_000


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_pause_is_as_long_as_it_was_divided_by_the_speed_and_never_longer_than_allowed():
    assert Pace().between(at(0), at(4)) == (4, 4)
    assert Pace(10).between(at(0), at(4)) == (4, 0.4)
    assert Pace(10, 2).between(at(0), at(300)) == (300, 0.2)
    assert Pace(1, 0).between(at(0), at(300)) == (300, 0)
    for before, now in ((None, at(1)), (at(1), None), (at(5), at(1))):
        assert Pace().between(before, now) == (0, 0)


def test_what_happened_together_is_read_together():
    times = [(seq, at(0)) for seq in range(1, 31)] + [(31, at(9))]
    assert replay._due(times, 0, Pace()) == replay.AT_ONCE
    assert replay._due(times, 25, Pace()) == 5
    assert replay._due([*times, (32, at(900))], 30, Pace(1000)) == 1, "a pause that is cut short is told"


@pytest.fixture
def played(session):
    """Events that happened together, then one after ten minutes."""
    together = [event(text=str(number), at=at(0)) for number in range(1, 31)]
    events.append(session.pk, [*together, event(text="late", at=at(600))], origin=links.RUNTIME)
    session.refresh_from_db()
    return session


@pytest.mark.django_db(transaction=True)
def test_every_event_comes_once_in_order_with_the_pause_that_was_cut_and_then_the_end(api, played):
    async def run():
        query = {"from": 4, "speed": 1000, "max_pause": 1}
        async with stream(api, f"/api/v1/sessions/{played.pk}/replay", query) as opened:
            found = [await opened.next() for _ in range(30)]
            with pytest.raises(StopAsyncIteration):
                await opened.next()
            return found

    found = asyncio.run(run())
    assert [frame.id for frame in found if frame.event == "event"] == [str(seq) for seq in range(4, 32)]
    assert [(frame.event, frame.data) for frame in found[-3:] if frame.event != "event"] == [
        ("pause", {"seconds": 600.0, "played": 0.001}), ("end", {"last_seq": 31}),
    ]  # fmt: skip
    assert found[-2].data["text"] == "late"
    assert readers.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_comes_back_goes_on_and_is_told_when_nothing_is_left(api, played):
    path = f"/api/v1/sessions/{played.pk}/replay"

    async def run():
        query = {"max_pause": 0}
        async with stream(api, path, query, **{"Last-Event-ID": "30"}) as opened:
            shown = await opened.next("event")
        await forgotten()
        return shown, await AsyncClient().get(path, query, headers=api.headers | {"Last-Event-ID": "31"})

    shown, nothing = asyncio.run(run())
    assert shown.id == "31"
    assert nothing.status_code == 204


@pytest.mark.django_db(transaction=True)
def test_a_reader_in_a_pause_counts_and_makes_room_when_it_leaves(api, played, settings):
    settings.MAX_READERS = 1
    path, slow = f"/api/v1/sessions/{played.pk}/replay", {"from": 30, "max_pause": ENDLESS, "speed": 0.1}

    async def run():
        async with stream(api, path, slow) as waiting:
            await waiting.next("event")
            refused = await AsyncClient().get(path, slow, headers=api.headers)
        await forgotten()
        async with stream(api, path, slow) as again:
            await again.next("event")
        await forgotten()
        return refused.status_code

    assert asyncio.run(run()) == 429
    assert readers.count() == 0


@pytest.mark.django_db(transaction=True)
def test_it_ends_when_the_session_is_deleted_meanwhile(api, played, document_storage):
    async def run():
        async with stream(api, f"/api/v1/sessions/{played.pk}/replay", {"max_pause": 0}) as opened:
            await opened.next("event")
            await elsewhere(erasing.erase_session, played, by=audit.SYSTEM)
            return (await opened.next("deleted")).data

    assert asyncio.run(run()) == {"detail": "this session was deleted"}


@pytest.mark.django_db
def test_nobody_else_plays_it_and_what_is_no_pace_is_named(api, stranger, key_for, workspace, session):
    path = f"/api/v1/sessions/{session.pk}/replay"
    for query, place in (({"speed": 0}, "/speed"), ({"from": 0}, "/from"), ({"max_pause": -1}, "/max_pause")):
        answer = api.get(path, query)
        assert (answer.status_code, pointers(answer.json())) == (422, {place})
    assert stranger.get(path).status_code == 404
    assert key_for(workspace, Role.AGENT).get(path).status_code == 404
