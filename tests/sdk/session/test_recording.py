"""What a session records: turns, messages, calls with their results, tokens; and what never breaks the program."""

from __future__ import annotations

import asyncio
import math

import pytest
from countersign import AsyncSession, DeskError, NotConfigured, Session

SENT = 60


def test_a_turn_with_a_call_is_told_in_order(session, desk):
    run = session(user_id="ines", metadata={"shop": "Porto"}, title="Refund 4711")
    with run.turn("Refund order 4711", name="Ines") as turn:
        with run.tool_call("find_order", {"order": 4711}, server="shop") as call:
            call.result = {"paid": "40.00"}
        run.usage(model="m-1", input_tokens=10, output_tokens=3, cost="0.01")
        turn.reply("It was paid.")
    assert run.flush(SENT)
    asked, made, came, tokens, said = desk.events("run-1")
    assert (asked["kind"], asked["text"], asked["actor"]) == (
        "user_message", "Refund order 4711", {"kind": "person", "name": "Ines"})  # fmt: skip
    assert made["tool"] == {
        "call_id": call.call_id, "name": "find_order", "server": "shop", "arguments": {"order": 4711}}  # fmt: skip
    assert came["tool"] == {"call_id": call.call_id, "result": {"paid": "40.00"}, "status": "ok"}
    assert came["parent_client_id"] == made["client_id"] and came["data"]["duration_ms"] >= 0
    assert tokens["usage"] == {"input_tokens": 10, "output_tokens": 3} and tokens["cost"] == "0.01"
    assert (said["kind"], said["text"]) == ("agent_message", "It was paid.")
    assert desk.requests[0] == ("/api/v1/sessions", {
        "agent": "Refund agent", "external_id": "run-1", "title": "Refund 4711", "user_id": "ines",
        "metadata": {"shop": "Porto"}})  # fmt: skip


def test_an_error_ends_the_call_and_the_turn_and_goes_on_to_the_program(session, desk):
    run = session()
    with pytest.raises(ZeroDivisionError), run.turn("Divide"), run.tool_call("divide", {"by": 0}):
        1 / 0  # noqa: B018
    with run.tool_call("refund", {}) as call:
        call.denied("Too much.")
    with pytest.raises(KeyboardInterrupt), run.tool_call("wait"):
        raise KeyboardInterrupt
    assert run.flush(SENT)
    events = desk.events("run-1")
    results = [event for event in events if event["kind"] == "tool_result"]
    assert [event["tool"]["status"] for event in results] == ["error", "denied", "cancelled"]
    assert "ZeroDivisionError" in results[0]["text"] and results[1]["tool"]["result"] == "Too much."
    assert [event["text"] for event in events if event["kind"] == "error"] == ["ZeroDivisionError: division by zero"]


def test_the_same_in_an_event_loop(url, tmp_path, desk):
    async def work():
        async with AsyncSession("run-1", "Clerk", url=url, api_key="cs_test", spool=tmp_path) as run:
            async with run.turn("Look") as turn, run.tool_call("look") as call:
                call.result = "seen"
            turn.reply("Done.")
            assert await run.flush(SENT)

    asyncio.run(work())
    assert [event["kind"] for event in desk.events("run-1")] == [
        "user_message", "tool_call", "tool_result", "agent_message"]  # fmt: skip


ODD = {"nan": math.nan, "object": object(), 3: {1, 2}, "half": "\ud800", "bytes": b"\xff", "line": "a\nb\r\u2028"}


def test_what_is_no_json_is_recorded_as_python_writes_it(session, desk):
    run, loop = session(), []
    loop.append(loop)
    run.record("note", text="odd", data={"odd": ODD, "loop": loop})
    run.message("after")
    assert run.flush(SENT)
    odd, after = desk.events("run-1")
    assert odd["data"]["odd"]["nan"] == "nan" and odd["data"]["odd"]["line"] == ODD["line"]
    assert odd["data"]["odd"]["3"] == [1, 2] and "\ud800" not in odd["data"]["odd"]["half"]
    assert after["text"] == "after"


@pytest.mark.parametrize("wrong", [
    lambda run: run.record("note", data={"x": object()}),
    lambda run: run.message("x", role="boss"),
    lambda run: run.usage(model="m", input_tokens=-1),
    lambda run: run.usage(model="m", input_tokens=1.5),
    lambda run: run.message("x" * (1 << 21)),
])  # fmt: skip
def test_only_a_strict_session_raises_what_is_wrong(session, wrong):
    with pytest.raises((ValueError, TypeError)):
        wrong(session(strict=True))
    wrong(session())


def test_without_a_desk_the_program_goes_on(monkeypatch, tmp_path, caplog):
    for name in ("COUNTERSIGN_URL", "COUNTERSIGN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    run = Session("run-1", "Clerk", spool=tmp_path)
    with run.turn("Look"), run.tool_call("look"):
        pass
    assert not run.flush(0.1) and not run.approve("look", {}).allowed
    assert "COUNTERSIGN_URL is not set" in caplog.text
    with pytest.raises(DeskError):
        run.history()
    with pytest.raises(NotConfigured):
        Session("run-1", "Clerk", spool=tmp_path, strict=True)


def test_without_a_place_for_the_spool_the_program_goes_on(session, tmp_path):
    (tmp_path / "file").write_text("")
    run = session(spool=tmp_path / "file")
    assert run.message("x") == ""
    with pytest.raises(OSError):
        session(spool=tmp_path / "file", strict=True)
