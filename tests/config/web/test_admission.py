"""Whose request it is decides which queue it stands in; a place is held for as long as a request works."""

from __future__ import annotations

import asyncio
import json

import pytest

from config.web import admission, gate
from config.web.admission import Admission
from sessions_app.live import readers, visits

from .asgi import acall

OF_PERSON = {"cookie": "sessionid=abc; other=1"}
OF_KEY = {"authorization": "Bearer cs_x"}


class Application:
    """Reads the body and answers; a path that ends with ``/slow`` first waits until it is let go."""

    def __init__(self, caller: str = "") -> None:
        self.caller, self.at_work, self.most = caller, 0, 0
        self.let_go = asyncio.Event()

    async def __call__(self, scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        if self.caller:
            visits.note_caller(self.caller)
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        if scope["path"].endswith("/slow"):
            await self.let_go.wait()
        self.at_work -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def ask(door, count: int, path="/slow", **options):
    return [asyncio.create_task(acall(door, path=path, method="GET", **options)) for _ in range(count)]


async def statuses(tasks) -> list[int]:
    return [status for status, _, _ in await asyncio.gather(*tasks)]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_strangers_of_one_address_share_its_places():
    async def run():
        inner = Application()
        door = Admission(inner)
        slow = await ask(door, 20)
        await settle()
        most = inner.most
        other = await acall(door, path="/", method="GET", client=("198.51.100.7", 1))
        inner.let_go.set()
        return most, other[0], await statuses(slow)

    most, other, slow = asyncio.run(run())
    assert (most, other, slow) == (gate.AT_ONCE_EACH, 200, [200] * 20)


def test_a_person_who_is_known_does_not_stand_behind_strangers_of_the_same_address():
    """Behind one proxy everybody has the same address."""

    async def run():
        inner = Application("member:1")
        door = Admission(inner)
        await acall(door, path="/", method="GET", **OF_PERSON)
        inner.caller = ""
        slow = await ask(door, 20)
        unknown = await ask(door, 20, authorization="Bearer made-up")
        await settle()
        mine = await asyncio.wait_for(acall(door, path="/", method="GET", **OF_PERSON), 5)
        inner.let_go.set()
        await statuses(slow + unknown)
        return mine[0]

    assert asyncio.run(run()) == 200


def test_a_queue_that_is_full_is_429_and_says_when_to_come_back(monkeypatch):
    monkeypatch.setattr(gate.Gate.__init__, "__defaults__", (1, 1, 2))

    async def run():
        inner = Application()
        door = Admission(inner)
        slow = await ask(door, 3, "/api/v1/slow")
        await settle()
        refused = await acall(door, path="/api/v1/approvals", method="GET")
        page = await acall(door, path="/sessions/", method="GET")
        inner.let_go.set()
        return refused, page, await statuses(slow)

    refused, page, slow = asyncio.run(run())
    status, headers, body = refused
    assert (status, headers[b"content-type"], headers[b"retry-after"]) == (429, b"application/problem+json", b"5")
    assert json.loads(body)["status"] == 429
    assert (page[0], page[1][b"content-type"], slow) == (429, b"text/html; charset=utf-8", [200] * 3)


def test_who_sends_a_body_slowly_keeps_nobody_waiting():
    async def run():
        inner = Application()
        door = Admission(inner)
        begun = asyncio.Event()

        async def never():
            if begun.is_set():
                await asyncio.sleep(60)
            begun.set()
            return {"type": "http.request", "body": b"a", "more_body": True}

        scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "client": ("192.0.2.1", 1)}
        sending = [asyncio.create_task(door(scope, never, None)) for _ in range(20)]
        await begun.wait()
        status, _, _ = await asyncio.wait_for(acall(door, path="/", method="GET"), 5)
        for task in sending:
            task.cancel()
        return status

    assert asyncio.run(run()) == 200


def test_who_only_waits_leaves_the_place():
    """A long poll, a stream, a password in the queue of hashes; from a thread as well."""

    async def run():
        let_go = asyncio.Event()

        async def waits(scope, receive, send):
            await receive()
            if scope["path"] == "/wait":
                await asyncio.to_thread(visits.leave)
                await let_go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        door = Admission(waits)
        waiting = await ask(door, 30, "/wait")
        status, _, _ = await asyncio.wait_for(acall(door, path="/", method="GET"), 5)
        let_go.set()
        return status, await statuses(waiting)

    assert asyncio.run(run()) == (200, [200] * 30)


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/api/v1/sessions/0198/stream", b"", 429),
        ("/dashboard/agents/0198/sessions/0199/stream", b"after=3", 429),
        ("/api/v1/approvals/0198", b"wait=30", 429),
        ("/api/v1/approvals/0198", b"", 200),
        ("/api/v1/sessions", b"", 200),
    ],
)
def test_a_reader_too_many_is_refused_before_django(settings, path, query, expected):
    settings.MAX_READERS = 2

    async def run():
        inner = Application("api_key:1")
        door = Admission(inner)
        await acall(door, path="/", method="GET", **OF_KEY)
        with readers.reading("api_key:1", "192.0.2.1"), readers.reading("api_key:1", "192.0.2.1"):
            return await acall(door, path=path, method="GET", query=query, **OF_KEY)

    status, headers, _ = asyncio.run(run())
    assert status == expected
    assert expected == 200 or headers[b"retry-after"]


def test_what_watches_the_process_stands_in_no_queue():
    async def run():
        door = Admission(Application())
        slow = await ask(door, 5)
        await settle()
        status, _, _ = await asyncio.wait_for(acall(door, path="/healthz", method="GET"), 5)
        for task in slow:
            task.cancel()
        return status

    assert asyncio.run(run()) == 200


def test_what_is_remembered_of_callers_has_an_end(monkeypatch):
    monkeypatch.setattr(admission, "KNOWN", 3)

    async def run():
        door = Admission(Application("member:1"))
        for number in range(10):
            await acall(door, path="/", method="GET", authorization=f"Bearer {number}")
        return len(door._known)

    assert asyncio.run(run()) == 3
