"""What happened in a run is brought to the desk by hooks that stop nothing, whatever stands in the transcript."""

from __future__ import annotations

import json
import os

import pytest
from countersign import commands
from countersign.claude_code import runs, transcript
from countersign.holding import Desk

from sessions_app.models import Event, Session

from .bad_desks import GARBAGE, answering, nobody
from .hooks import CALL, run

STAMP = "2026-11-22T22:51:16.646Z"
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0, "output_tokens": 7}


def line(kind, content, number=1, **more):
    message = {"role": kind, "content": content} | more.pop("message", {})
    return json.dumps({"type": kind, "uuid": f"u{number}", "timestamp": STAMP, "message": message} | more) + "\n"


def said(block, number, id_="msg_1"):
    return line("assistant", [block], number, message={"id": id_, "model": "claude-opus-5-5", "usage": USAGE})


RUN = [
    line("user", "Clean up"),
    line("user", "<reminder>", 2, isMeta=True),
    said({"type": "thinking", "thinking": "Hm."}, 3),
    said({"type": "text", "text": "I will."}, 4),
    said({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}, 5),
    line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image"}], "is_error": True}], 6),
    '{"type": "cost-state"}\n',
    "{broken\n",
    "[]\n",
    '{"type": "user", "message": 7, "uuid": "x"}\n',
    '{"type": "user", "message": {"content": [7, {"type": "text"}]}, "uuid": "y"}\n',
]


@pytest.fixture
def desk(monkeypatch, tmp_path, desk_server, agent_key):
    monkeypatch.setenv("COUNTERSIGN_URL", desk_server)
    monkeypatch.setenv("COUNTERSIGN_API_KEY", agent_key)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Desk()


@pytest.fixture
def session(desk, workspace):
    """A session that the key opened by asking."""
    from countersign import Client

    decision = Client(agent="Claude Code").ask("Bash", {"command": "ls"}, wait=0)
    return Session.objects.get(pk=decision.session_id)


def events(session):
    kept = Event.objects.filter(session=session).exclude(kind="approval").order_by("seq")
    return [(event.kind, event.text or event.tool_name or event.call_id) for event in kept]


def test_lines_become_events_once_each(desk, session, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(RUN[:4]) + RUN[4][:20])  # the last line is being written
    transcript.send(desk, str(session.pk), str(path), "run-1", whole=False)
    first = [("user_message", "Clean up"), ("injected_context", "<reminder>"), ("reasoning", "Hm."),
             ("agent_message", "I will.")]  # fmt: skip
    assert events(session) == first
    path.write_text("".join(RUN))
    for _ in range(2):
        transcript.send(desk, str(session.pk), str(path), "run-1", whole=True)
    assert events(session)[:4] == first
    assert sorted(kind for kind, _ in events(session)[4:]) == ["model_request", "tool_call", "tool_result"]
    session.refresh_from_db()
    assert (session.input_tokens, session.output_tokens) == (10, 7)


def test_a_run_that_nothing_is_remembered_of_is_sent_again_and_is_there_once(desk, session, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(RUN))
    transcript.send(desk, str(session.pk), str(path), "run-1", whole=True)
    before = events(session)
    runs.remember("run-1", str(session.pk))
    transcript.send(desk, str(session.pk), str(path), "run-1", whole=True)
    assert events(session) == before


@pytest.mark.parametrize("desk_of", [nobody, lambda: answering(GARBAGE["a page"])], ids=["stopped", "garbage"])
def test_a_report_that_cannot_be_sent_stops_nothing(tmp_path, desk_of):
    with desk_of() as url:
        for given in (CALL | {"hook_event_name": "Stop"}, b"", b"[]"):
            ran = run(url, given, command=commands.report("claude-code", "transcript"))
            assert (ran.status, ran.printed) == (0, b"")


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", "x" * 300, "a b", "\0"])
def test_a_run_whose_name_is_no_name_is_not_remembered(monkeypatch, tmp_path, name):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    runs.remember(name, "s")
    assert runs.recall(name) is None
    assert os.listdir(tmp_path) == []  # noqa: PTH208
