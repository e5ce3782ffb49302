"""A worker whose database fails it gives its turn back, and one thread beats for all turns of a process."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError, connection, connections

from sessions_app.models import TurnInFlight
from sessions_app.runtimes import run, scripted, turn_heartbeats, worker
from sessions_app.services import audit
from sessions_app.services.turns import in_flight, messages

BY = audit.Actor("member", "m", "Ines")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def start(scripted_agent):
    return lambda text="Hello": messages.start_session(scripted_agent, text, by=BY, origin="chat")


def test_a_turn_whose_worker_got_no_connection_is_free_at_once(start, monkeypatch):
    """It was lost for the 20 s of its lease, and with 32 threads and 8 connections that happened all the time."""
    session = start()

    def no_connection(turn: run.TurnRun) -> None:
        raise OperationalError("couldn't get a connection after 5.00 sec")

    monkeypatch.setattr(scripted, "advance", no_connection)
    with pytest.raises(OperationalError):
        worker.run(session.pk)
    assert TurnInFlight.objects.get().worker is None
    monkeypatch.undo()
    worker.run(session.pk)
    session.refresh_from_db()
    assert session.status == "idle"


def test_a_turn_that_fails_so_again_and_again_waits_for_its_lease(start, monkeypatch):
    session = start()
    monkeypatch.setattr(scripted, "advance", lambda turn: (_ for _ in ()).throw(OperationalError("for ever")))
    for _ in range(worker.RELEASED_TIMES + 1):
        with pytest.raises(OperationalError):
            worker.run(session.pk)
    assert TurnInFlight.objects.get().worker is not None


def test_one_thread_and_one_connection_beat_for_all_turns(start, monkeypatch):
    monkeypatch.setattr(turn_heartbeats, "BEAT_SECONDS", 0.05)
    turns = [run.TurnRun(in_flight.claim(start().pk)) for _ in range(3)]
    # Of the third, another worker has taken over.
    TurnInFlight.objects.filter(pk=turns[2].session_id).update(worker="00000000-0000-0000-0000-000000000001")
    before = dict(TurnInFlight.objects.values_list("pk", "heartbeat_at"))
    own, beating = turn_heartbeats.TurnHeartbeats(), threading.Event()
    beat = in_flight.beat

    def counted(flights):
        found = beat(list(flights))
        beating.set()
        return found

    monkeypatch.setattr(in_flight, "beat", counted)
    with own.during(turns[0]), own.during(turns[1]), own.during(turns[2]):
        assert [thread.name for thread in threading.enumerate()].count("turn-heartbeats") == 1
        messages.interrupt(turns[1].session_id, by=BY)
        beating.clear()
        assert beating.wait(60) and turns[1]._stopped.wait(60) and turns[2]._lost.wait(60)
        assert not turns[0].interrupted and turns[1].interrupted
        with pytest.raises(in_flight.LeaseLost):
            assert turns[2].interrupted
    after = dict(TurnInFlight.objects.values_list("pk", "heartbeat_at"))
    assert [after[turn.session_id] > before[turn.session_id] for turn in turns] == [True, True, False]
    assert "turn-heartbeats" not in [thread.name for thread in threading.enumerate()]


def test_turns_have_heartbeats_after_a_moment_in_which_no_thread_could_be_started(start, monkeypatch):
    first, second = (run.TurnRun(in_flight.claim(start().pk)) for _ in range(2))
    own, begun = turn_heartbeats.TurnHeartbeats(), []

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError), own.during(first):
            begun.append(first)
    with own.during(second):
        assert [thread.name for thread in threading.enumerate()].count("turn-heartbeats") == 1
        assert (begun, own._turns) == ([], [second])


@pytest.fixture(autouse=True)
def close_connections():
    yield
    connections.close_all()
    connection.ensure_connection()
