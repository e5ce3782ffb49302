"""Server-sent events: what is there already, then what comes, each once."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from uuid import UUID

import pytest
from django.test import AsyncClient

from sessions_app.live import follow, readers, steps
from sessions_app.live.hub import hub
from sessions_app.models import Approval, Role
from sessions_app.runtimes.run import TurnRun
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import events, links
from sessions_app.services.people import api_keys, members
from sessions_app.services.reviews import assignments, comments, verdicts
from sessions_app.services.turns import in_flight, messages
from tests.database_roles import as_owner
from tests.services.build import event, user
from vcon_app.services.erasure import erasing

from ..client import ok
from .live import PATIENCE, connections_open, elsewhere, forgotten, stream

pytestmark = pytest.mark.django_db(transaction=True)


def seqs(frames):
    return [int(frame.id) for frame in frames]


def test_a_stream_replays_the_log_and_then_follows_it(api, session):
    events.append(session.id, [user(), event(text="one"), event(text="two")], origin=links.RUNTIME)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            assert opened.response.headers["Content-Type"] == "text/event-stream"
            assert opened.response.headers["Cache-Control"] == "no-cache"
            assert opened.response.headers["X-Accel-Buffering"] == "no"
            replayed = await opened.take(3)
            shown = await opened.next("session")
            assert shown.data["event_count"] == 3
            await elsewhere(events.append, session.id, [event(text="three")], origin=links.RUNTIME)
            live = await opened.next()
            return replayed, live, await opened.next()

    replayed, live, after = asyncio.run(run())
    assert seqs(replayed) == [1, 2, 3]
    assert (live.event, live.id, live.data["text"]) == ("event", "4", "three")
    assert (after.event, after.id, after.data["event_count"]) == ("session", None, 4)


def test_a_stream_ends_when_its_session_is_deleted(api, session, document_storage):
    events.append(session.id, [event()], origin=links.RUNTIME)
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        async with stream(api, path) as opened, stream(api, path, {"after": 1}) as other:
            await opened.next("session")
            await other.next("session")
            await elsewhere(erasing.erase_session, session, by=audit.SYSTEM)
            told = [await one.next("deleted") for one in (opened, other)]
            for one in (opened, other):
                with pytest.raises(StopAsyncIteration):
                    await one.next()
            return told

    assert {frame.data["detail"] for frame in asyncio.run(run())} == {"this session was deleted"}


def test_the_dashboards_address_streams_the_same(api, session):
    events.append(session.id, [event(), event()], origin=links.RUNTIME)

    async def run():
        async with stream(
            api, f"/dashboard/agents/{session.agent_id}/sessions/{session.id}/stream", {"after": 1}
        ) as opened:
            return await opened.next()

    assert asyncio.run(run()).id == "2"


def test_a_reader_that_comes_back_misses_nothing_and_sees_nothing_twice(api, session):
    events.append(session.id, [event() for _ in range(3)], origin=links.RUNTIME)
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        async with stream(api, path, {"after": 0}) as opened:
            seen = await opened.take(2)
        await elsewhere(events.append, session.id, [event() for _ in range(250)], origin=links.RUNTIME)
        async with stream(api, path, {"after": 0}, **{"Last-Event-ID": seen[-1].id}) as opened:
            seen += await opened.take(251)
            await elsewhere(events.append, session.id, [event()], origin=links.RUNTIME)
            seen.append(await opened.next("event"))
            return seen

    assert seqs(asyncio.run(run())) == list(range(1, 255))


def test_events_that_are_appended_while_the_log_is_replayed_come_in_order(api, session):
    events.append(session.id, [event() for _ in range(steps.BATCH * 2)], origin=links.RUNTIME)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            seen = await opened.take(5)
            for _ in range(5):
                await elsewhere(events.append, session.id, [event(), event()], origin=links.RUNTIME)
            return seen + await opened.take(steps.BATCH * 2 + 5)

    assert seqs(asyncio.run(run())) == list(range(1, steps.BATCH * 2 + 11))


def test_many_readers_share_one_connection_that_ends_with_the_last(api, session):
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        async with stream(api, path) as one, stream(api, path) as two, stream(api, path) as three:
            await asyncio.gather(*(opened.next("session") for opened in (one, two, three)))
            listening = hub()._task
            await elsewhere(events.append, session.id, [event(text="to all")], origin=links.RUNTIME)
            heard = await asyncio.gather(*(opened.next("event") for opened in (one, two, three)))
            assert hub()._task is listening
        await forgotten()
        return heard, hub()._task, dict(hub()._readers)

    heard, task, readers = asyncio.run(run())
    assert [frame.data["text"] for frame in heard] == ["to all"] * 3
    assert task is None
    assert readers == {}


def test_an_approval_is_told_when_it_is_asked_and_when_it_is_decided(api, session):
    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            first = await opened.next("session")
            asked = await elsewhere(
                requests.request, session, requests.Question("refund", {"amount": 4}), by=audit.COMMAND
            )
            pending = await opened.next("approval")
            waiting = await opened.next("session")
            by = decisions.Decider(audit.COMMAND, Role.REVIEWER, "api")
            denial = decisions.Decision("deny", version=1, digest=asked.digest, reason="too much")
            await elsewhere(decisions.decide, asked, by, denial)
            return first, pending, waiting, await opened.next("approval"), await opened.next("session")

    first, pending, waiting, denied, after = asyncio.run(run())
    assert first.data["pending_approvals"] == 0
    assert (pending.data["status"], pending.id) == ("pending", None)
    assert waiting.data["pending_approvals"] == 1
    assert (denied.data["status"], denied.data["decision"]["reason"]) == ("denied", "too much")
    assert after.data["pending_approvals"] == 0


def test_a_decision_that_its_asker_reads_in_a_stream_is_delivered(api, session):
    async def run():
        asked = await elsewhere(
            lambda: api.post(
                "approvals", {"session_id": str(session.pk), "tool": {"name": "t", "arguments": {}}}
            ).json()
        )
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            approval = await elsewhere(Approval.objects.get, pk=asked["id"])
            by = decisions.Decider(audit.COMMAND, Role.REVIEWER, "api")
            await elsewhere(decisions.decide, approval, by, decisions.Decision("approve", 1, asked["digest"]))
            while (told := await opened.next("approval")).data["status"] == "pending":
                pass
        return told.data["status"], await elsewhere(Approval.objects.get, pk=asked["id"])

    status, approval = asyncio.run(run())
    assert (status, approval.delivery) == ("approved", "delivered")


def test_archiving_is_told_though_it_adds_no_event(api, session):
    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            before = await opened.next("session")
            await elsewhere(sessions.archive, session, by=audit.COMMAND)
            return before.data["status"], (await opened.next("session")).data["status"]

    assert asyncio.run(run()) == ("idle", "archived")


def test_a_silent_stream_says_that_it_is_there(api, session, monkeypatch):
    monkeypatch.setattr(follow, "PING_SECONDS", 0.05)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            reading = asyncio.create_task(opened.next("event"))
            await asyncio.sleep(0.2)
            await elsewhere(events.append, session.id, [event()], origin=links.RUNTIME)
            await reading
            return opened.comments

    comments = asyncio.run(run())
    assert any(line.startswith(":") for line in comments)


def test_a_stream_ends_when_its_key_is_revoked(workspace, session, key_for, monkeypatch):
    """It went on for as long as the connection did."""
    monkeypatch.setattr(follow, "PING_SECONDS", 0.05)
    monkeypatch.setattr(readers, "CHECK_SECONDS", 0.05)
    revoked, other = key_for(workspace, "viewer"), key_for(workspace, "viewer")
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        async with stream(revoked, path) as opened, stream(other, path) as stays:
            await opened.next("session")
            await stays.next("session")
            key = await elsewhere(api_keys.find_api_key, revoked.headers["Authorization"].split()[1])
            await elsewhere(api_keys.revoke_api_key, key, by=audit.SYSTEM)
            with pytest.raises(StopAsyncIteration):
                await opened.next("event")
            await elsewhere(events.append, session.id, [event()], origin=links.RUNTIME)
            return await stays.next()

    assert asyncio.run(run()).id == "1"


def test_an_event_that_claims_to_be_of_an_approval_does_not_break_the_stream(api, session):
    events.append(
        session.id,
        [event("approval", data={"approval": "none of ours"}), event("approval", data={}), event()],
        origin=links.RUNTIME,
    )

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            return await opened.take(3)

    assert seqs(asyncio.run(run())) == [1, 2, 3]


@pytest.mark.parametrize("headers", [{"Last-Event-ID": "soon"}, {"Last-Event-ID": "-1"}])
def test_a_last_event_id_that_is_no_seq_is_refused(api, session, headers):
    async def run():
        return await AsyncClient().get(f"/api/v1/sessions/{session.id}/stream", headers=api.headers | headers)

    assert asyncio.run(run()).status_code == 422


def test_a_stranger_is_told_nothing(stranger, session):
    async def run():
        return await AsyncClient().get(f"/api/v1/sessions/{session.id}/stream", headers=stranger.headers)

    assert asyncio.run(run()).status_code == 404


def test_the_hub_comes_back_after_its_connection_is_cut(api, session, monkeypatch):
    monkeypatch.setattr("sessions_app.live.hub.RECONNECT_SECONDS", 0.05)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            await elsewhere(_cut_listeners)
            await elsewhere(events.append, session.id, [event(text="while nobody listened")], origin=links.RUNTIME)
            return await opened.next("event")

    assert asyncio.run(run()).data["text"] == "while nobody listened"


def _cut_listeners() -> None:
    with as_owner() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN countersign%'"
        )
        assert cursor.fetchone()[0] >= 1


def test_a_notice_that_is_none_of_ours_silences_no_stream(api, session, monkeypatch):
    """Whoever may connect to the database may send one; the task that reads them ended, and nobody knew."""
    monkeypatch.setattr("sessions_app.live.hub.RECONNECT_SECONDS", 0.05)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            [backend] = await elsewhere(_listeners)
            for payload in ("no JSON", "1", '{"said": 1}'):
                await elsewhere(_notify, payload)
                backend = await _other_listener(backend)
            await elsewhere(events.append, session.id, [event(text="said afterwards")], origin=links.RUNTIME)
            return await opened.next("event")

    assert asyncio.run(run()).data["text"] == "said afterwards"


async def _other_listener(before: int) -> int:
    for _ in range(PATIENCE * 20):
        found = await elsewhere(_listeners)
        if found not in ([], [before]):
            return found[0]
        await asyncio.sleep(0.05)
    raise AssertionError("nobody listens any more")


def _notify(payload: str) -> None:
    with as_owner() as cursor:
        cursor.execute("SELECT pg_notify('countersign', %s)", [payload])


def test_the_hub_comes_back_when_the_backend_that_it_listens_to_hangs(api, session, monkeypatch):
    monkeypatch.setattr("sessions_app.live.hub.QUIET_SECONDS", 0.2)
    monkeypatch.setattr("sessions_app.live.hub.ANSWER_SECONDS", 0.3)
    monkeypatch.setattr("sessions_app.live.hub.RECONNECT_SECONDS", 0.05)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            [backend] = await elsewhere(_listeners)
            os.kill(backend, signal.SIGSTOP)
            try:
                await elsewhere(events.append, session.id, [event(text="nobody was told")], origin=links.RUNTIME)
                return await opened.next("event")
            finally:
                os.kill(backend, signal.SIGCONT)

    assert asyncio.run(run()).data["text"] == "nobody was told"


def test_a_hub_that_nothing_comes_to_keeps_its_connection(api, session, monkeypatch):
    monkeypatch.setattr("sessions_app.live.hub.QUIET_SECONDS", 0.05)

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            before = await elsewhere(_listeners)
            await asyncio.sleep(0.5)
            for said in ("one", "two", "three"):
                await elsewhere(events.append, session.id, [event(text=said)], origin=links.RUNTIME)
                assert (await opened.next("event")).data["text"] == said
            assert await elsewhere(_listeners) == before

    asyncio.run(run())


def _listeners() -> list[int]:
    with as_owner() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN countersign%'")
        return [pid for (pid,) in cursor.fetchall()]


def test_open_streams_hold_no_database_connection_of_their_own(api, session):
    path = f"/api/v1/sessions/{session.id}/stream"

    async def run():
        before = await elsewhere(connections_open)
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(stream(api, path)) for _ in range(8)]
            await asyncio.gather(*(each.next("session") for each in opened))
            reading = [asyncio.create_task(each.next("event")) for each in opened]
            async with asyncio.timeout(PATIENCE):
                while await elsewhere(connections_open) - before > 1:  # the one that listens, for all
                    await asyncio.sleep(0.1)
            await elsewhere(events.append, session.id, [event()], origin=links.RUNTIME)
            await asyncio.gather(*reading)

    asyncio.run(run())


def test_text_is_streamed_as_it_is_written_and_whoever_comes_later_gets_all_of_it(api, workspace):
    agent = agents.create(workspace.id, "Parrot", by=audit.COMMAND, runtime="scripted")
    made = sessions.create(agent, by=audit.COMMAND)
    messages.submit(made.pk, "Hello", by=audit.Actor("member", "i", "Ines"))
    turn = TurnRun(in_flight.claim(made.pk))

    async def run():
        path = f"/api/v1/sessions/{made.id}/stream"
        async with stream(api, path) as early:
            await early.next("session")
            await elsewhere(turn.stream_text, "You said: ", "r1")
            first = await early.next("said")
            async with stream(api, path) as late:
                begun = await late.next("said")
                await elsewhere(turn.stream_text, "Hello", "r1")
                return first.data, begun.data, (await early.next("said")).data, (await late.next("said")).data

    first, begun, rest, same = asyncio.run(run())
    assert first == begun == {"request": "r1", "offset": 0, "text": "You said: "}
    assert rest == same == {"request": "r1", "offset": 10, "text": "Hello"}


def test_readers_are_told_that_people_said_something_of_the_session(api, session):
    rosa = members.add_member(session.workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]

    async def run():
        async with stream(api, f"/api/v1/sessions/{session.id}/stream") as opened:
            await opened.next("session")
            await elsewhere(comments.add, session.pk, rosa, "Odd", by=audit.COMMAND)
            first = await opened.next("review")
            await elsewhere(verdicts.give, session.pk, rosa, verdicts.Said("fail"), by=audit.COMMAND)
            second = await opened.next("review")
            await elsewhere(assignments.assign, [session.pk], rosa, rosa, by=audit.COMMAND)
            return first.data, second.data, (await opened.next("review")).data

    assert [set(data) for data in asyncio.run(run())] == [{"detail"}] * 3


def test_an_agent_is_not_told_that_people_look_at_it(workspace, key_for):
    key = key_for(workspace, Role.AGENT)
    opened = ok(key.post("/api/v1/sessions", {"agent": "Robot", "external_id": "r"}), 201)
    rosa = members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]

    async def run():
        async with stream(key, f"/api/v1/sessions/{opened['id']}/stream") as own:
            kinds = [(await own.next("session")).event]
            await elsewhere(comments.add, UUID(opened["id"]), rosa, "Odd", by=audit.COMMAND)
            for count in (1, 2):  # what is told in one step stands behind its events
                await elsewhere(events.append, UUID(opened["id"]), [event()], origin=links.RUNTIME)
                while kinds.count("event") < count:
                    kinds.append((await own.next()).event)
            return kinds

    assert set(asyncio.run(run())) == {"session", "event"}


def test_readers_at_the_same_place_share_what_is_read(api, session, monkeypatch):
    events.append(session.id, [event() for _ in range(3)], origin=links.RUNTIME)
    path, reads = f"/api/v1/sessions/{session.id}/stream", []
    read = steps.read
    monkeypatch.setattr(steps, "read", lambda *asked: reads.append(asked[1]) or read(*asked))

    async def run():
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(stream(api, path)) for _ in range(20)]
            await asyncio.gather(*(each.take(3) for each in opened))
            before = len(reads)
            await elsewhere(events.append, session.id, [event(text="four")], origin=links.RUNTIME)
            shown = await asyncio.gather(*(each.next("event") for each in opened))
            return [frame.data["text"] for frame in shown], len(reads) - before

    texts, read_again = asyncio.run(run())
    assert texts == ["four"] * 20
    assert read_again <= 6  # and not 20 or 40: the event, and how the session stands behind it
