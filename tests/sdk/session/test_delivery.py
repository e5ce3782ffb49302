"""Events reach the desk, each once, whatever happens on the way: faults, refusals, a full spool, a fork."""

from __future__ import annotations

import os

import pytest
from countersign import NotSent, SpoolFull
from countersign import session as sessions
from countersign.recording import spool

from .fake_desk import problem

SENT = 60


def texts(number, start=0):
    return [f"message {n}" for n in range(start, start + number)]


def say(run, words):
    for text in words:
        run.message(text)


FAULTS = {
    "nothing": (0, b""),
    "unavailable": (503, b"<h1>Bad gateway</h1>"),
    "too many": problem(429, "later"),
    "an error": problem(500, "oops"),
    "a full disk": problem(507, "the disk is full"),
    "an unknown key": problem(401, "this API key is unknown"),
    "a proxy that forbids": (403, b"<html>no</html>"),
    "another server": (404, b"not found"),
    "a portal": (200, b"<html>sign in</html>"),
    "a desk that counts wrong": (200, b'{"id": 3, "accepted": 0, "duplicates": 0}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_may_pass_is_tried_again_until_it_has(session, desk, fault):
    failed = []

    def fails(path, body):
        failed.append(path)
        return FAULTS[fault] if len(failed) % 3 else None

    desk.fault = fails
    run = session()
    say(run, texts(20))
    assert run.flush(SENT) and run.flush(SENT)
    assert desk.texts("run-1") == texts(20)
    assert len(failed) > 3 and run.progress().refused == 0


def test_an_answer_that_is_lost_doubles_nothing(session, desk):
    lost = []

    def loses(path, body):
        lost.append(path)
        return (0, b"") if len(lost) % 2 else None

    desk.after = loses
    run = session()
    say(run, texts(30))
    assert run.flush(SENT)
    assert desk.texts("run-1") == texts(30)
    assert run.progress().repeated > 0


def test_one_event_that_is_refused_takes_no_other_with_it(session, desk, caplog):
    def refuses(path, body):
        wrong = [event for event in body.get("events", []) if event["text"] == "message 13"]
        return problem(422, "that is no kind") if wrong else None

    desk.fault = refuses
    run = session()
    say(run, texts(30))
    assert run.flush(SENT)
    assert desk.texts("run-1") == [text for text in texts(30) if text != "message 13"]
    assert run.progress().refused == 1 and "that is no kind" in caplog.text


def test_a_session_that_the_desk_does_not_open_holds_up_no_other(session, desk):
    desk.fault = lambda path, body: problem(403, "for Clerk only") if body.get("external_id") == "run-1" else None
    say(session(), texts(3))
    other = session("run-2")
    say(other, texts(3))
    assert other.flush(SENT)
    assert desk.texts("run-2") == texts(3) and other.progress().refused == 3


def test_a_session_that_was_deleted_is_opened_again(session, desk):
    run = session()
    say(run, texts(2))
    assert run.flush(SENT)
    desk.sessions.clear()
    desk.sessions["other"] = "id-other"
    say(run, texts(2, 2))
    assert run.flush(SENT)
    assert desk.texts("run-1") == texts(4)


READS = {
    "history": lambda run: run.history(),
    "events": lambda run: run.events(),
    "export": lambda run: run.export(),
    "prune": lambda run: run.prune("sliding_window", 1),
}


@pytest.mark.parametrize("read", READS)
def test_what_is_read_is_never_older_than_what_was_recorded(session, desk, monkeypatch, read):
    monkeypatch.setattr(sessions, "SETTLE", 0.3)
    busy = problem(429, "later")
    desk.fault = lambda path, body: busy if "events" in body else None
    run = session(metadata={"shop": "Porto"})
    say(run, texts(3))
    say(session(), texts(2, 3))  # the same session, as another part of the program has it
    say(session("run-2"), texts(7))
    with pytest.raises(NotSent, match=r"5 event\(s\).*429: later") as raised:
        READS[read](run)
    assert raised.value.waiting == 5 and raised.value.status == 0
    desk.fault = lambda path, body: None
    assert run.flush(SENT)
    assert desk.texts("run-1") == texts(5)


def test_other_sessions_that_wait_hold_up_no_reading(session, desk, monkeypatch):
    monkeypatch.setattr(sessions, "SETTLE", 0.3)
    run = session()
    say(run, texts(3))
    assert run.flush(SENT)
    desk.fault = lambda path, body: problem(503, "later") if "events" in body else None
    say(session("run-2"), texts(7))
    run._settle()
    with pytest.raises(NotSent, match="7 event"):
        session("run-2")._settle()


def test_what_is_recorded_while_it_waits_holds_up_no_flush(session, desk):
    run, other = session(), session("run-2")
    say(run, texts(3))

    def goes_on(path, body):
        other.message("and on")
        return None

    desk.after = goes_on
    assert run.flush(SENT)
    assert desk.texts("run-1") == texts(3)
    desk.after = lambda path, body: None


def test_many_events_go_in_few_requests(session, desk):
    run = session()
    say(run, texts(5000))
    assert run.flush(SENT)
    assert desk.texts("run-1") == texts(5000)
    assert max(len(body.get("events", ())) for _, body in desk.requests) <= 1000
    assert len(desk.requests) < 500


def test_files_that_were_sent_are_deleted(session, desk, monkeypatch, tmp_path):
    monkeypatch.setattr(spool, "SEGMENT", 2000)
    monkeypatch.setattr(spool, "CHUNK", 1500)
    run, other = session(), session("run-2")
    for text in texts(200):
        run.message(text)
        other.message(text)
    assert run.flush(SENT)
    assert desk.texts("run-1") == desk.texts("run-2") == texts(200)
    left = list(tmp_path.glob("*/*/*.jsonl"))
    assert len(left) == 1 and left[0].stat().st_size == 0


def test_a_full_spool_drops_and_the_log_says_what_is_missing(session, desk, caplog):
    desk.fault = lambda path, body: problem(503, "later")
    run = session(limit=4000)
    say(run, texts(100))
    missing = run.missing
    assert 0 < missing < 100 and caplog.text.count("an event was not recorded") == 1
    desk.fault = lambda path, body: None
    assert run.flush(SENT)
    say(run, ["after"])
    assert run.flush(SENT) and run.missing == 0
    kept = 100 - missing
    assert desk.texts("run-1")[:kept] == texts(kept)
    note, after = desk.events("run-1")[kept:]
    assert note["data"] == {"missing": missing} and str(missing) in note["text"] and after["text"] == "after"


def test_a_full_spool_raises_where_strict_and_waits_where_asked(session, desk):
    desk.fault = lambda path, body: problem(503, "later")
    with pytest.raises(SpoolFull):
        say(session(limit=4000, strict=True), texts(100))
    desk.fault = lambda path, body: None
    waiting = session("run-2", limit=4000, when_full="wait")
    say(waiting, texts(300))
    assert waiting.flush(SENT)
    assert desk.texts("run-2") == texts(300) and waiting.missing == 0


def test_a_client_id_of_the_program_is_one_event(session, desk):
    run = session()
    for _ in range(3):
        run.record("note", text="once", client_id="mine")
    assert run.flush(SENT)
    assert desk.texts("run-1") == ["once"]


def test_a_forked_child_has_a_spool_and_ids_of_its_own(session, desk):
    run = session()
    say(run, ["before"])
    assert run.flush(SENT)
    child = os.fork()
    if not child:
        try:
            run.message("of the child")
            os._exit(0 if run.flush(SENT) else 1)
        finally:
            os._exit(2)
    say(run, ["of the parent"])
    assert os.waitpid(child, 0)[1] == 0 and run.flush(SENT)
    assert sorted(desk.texts("run-1")) == ["before", "of the child", "of the parent"]
