"""The gateway in front of a server at an address: a real one over Streamable HTTP, and some that are broken."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import anyio
import pytest
from countersign.doctor.loopback import serving
from countersign.mcp.remote_server import RemoteServer
from mcp import Client, StdioServerParameters

from config.database.postgres import wait_until
from tests.fakes.mcp_server import Shop
from tests.sdk.bad_desks import LIES, answering, lying, nobody
from tests.sdk.conftest import SOURCE

from .driven import META

COMMAND = ["-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from countersign.cli import main; main()"]
MODERN = "2026-07-28"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund", "arguments": {}}}


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop().serving() as shop:
        yield shop


def behind(desk: str, shop: Shop, mode: str, work, key: str = "cs_test", hold: str = "20"):
    """What a real client comes to that does ``work`` through the gateway."""
    environment = {
        "PATH": os.environ["PATH"],
        "COUNTERSIGN_URL": desk,
        "COUNTERSIGN_API_KEY": key,
        "TOKEN": "Bearer t-1",
    }
    words = ["mcp-gateway", "--server", "shop", "--hold", hold, "--header", "Authorization=TOKEN", "--", shop.url]
    server = StdioServerParameters(command=sys.executable, args=[*COMMAND, *words], env=environment)

    async def use():
        async with Client(server, mode=mode) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(use(), 60))


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
def test_a_call_that_is_allowed_runs_there_and_others_do_not(shop, mode):
    async def work(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        paid = await client.call_tool("refund", {"order": 7})
        return names, paid.is_error, [part.text for part in (await client.call_tool("whoami", {})).content]

    with answering(lying(lambda said: None)) as yes, answering(lying(LIES["denied"])) as no:
        names, failed, whoami = behind(yes, shop, mode, work)
        assert ("refund" in names, failed, whoami) == (True, False, ["you sent Bearer t-1"])
        assert shop.calls == [("refund", {"order": 7, "reason": ""})]
        assert behind(no, shop, mode, work)[1] is True
    with nobody() as gone:
        assert behind(gone, shop, mode, work, hold="0.5")[1] is True
    assert len(shop.calls) == 1


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_people_edit_a_call_of_a_server_at_an_address(shop, desk_server, agent_key, asked, decide, mode):
    async def work(client):
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, decides)
            return await client.call_tool("refund", {"order": 7})

    def decides():
        decide(asked(), "approve", arguments={"order": 8})

    assert behind(desk_server, shop, mode, work, agent_key).is_error is False
    assert shop.calls == [("refund", {"order": 8, "reason": ""})]


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_a_call_that_runs_is_taken_back_there(shop, mode):
    """In 2026-07-28 by closing its stream, before by a notification; the server goes on answering others."""

    async def work(client):
        with anyio.move_on_after(2):
            await client.call_tool("slow", {"seconds": 30})
        return (await client.call_tool("refund", {"order": 7})).is_error

    with answering(lying(lambda said: None)) as yes:
        assert behind(yes, shop, mode, work) is False
    assert [name for name, _ in shop.calls] == ["slow", "refund"]


def told(url: str, *sent: dict, answers: int = 1) -> list[dict]:
    """What comes back of these messages, without a gateway."""
    server, came = RemoteServer(url, {}), queue.SimpleQueue()
    server.attach(lambda line: came.put(json.loads(line)))
    for message in sent:
        server.send(message)
    found = [came.get(timeout=60) for _ in range(answers)]
    server.close()
    return found


@contextlib.contextmanager
def broken(status: int, media_type: str, body: bytes, **more: str) -> Iterator[tuple[str, list]]:
    """A server that answers everything with the same; and what it was asked."""
    heard: list = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            heard.append((self.command, dict(self.headers)))
            self.send_response(status)
            for name, value in {"Content-Type": media_type, "Content-Length": str(len(body)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_DELETE = do_POST

        def log_message(self, *args: object) -> None:
            """Nobody reads it."""

    with serving(Handler) as url:
        yield url, heard


ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}).encode()
BROKEN = {
    "a page": (200, "text/html", b"<html>"),
    "no message": (200, "application/json", b"[]"),
    "no JSON": (200, "application/json", b"{"),
    "taken, and no answer": (202, "application/json", b""),
    "a failure": (503, "text/plain", b"oops"),
    "an answer that breaks off": (200, "text/event-stream", b"data: " + ANSWER[:-5]),
    "no events": (200, "text/event-stream", b""),
    "a notification in place of an answer": (200, "application/json", b'{"jsonrpc": "2.0", "method": "x"}'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_answers_wrongly_is_an_error_of_that_call_and_is_asked_once(what):
    with broken(*BROKEN[what]) as (url, heard):
        (said,) = told(url, CALL)
    assert (said["id"], said["error"]["code"]) == (1, -32603)
    assert [method for method, _ in heard] == ["POST"]


def test_nobody_there_and_a_redirect_are_errors_too():
    with nobody() as url:
        assert "did not answer" in told(url, CALL)[0]["error"]["message"]
    with nobody() as elsewhere, broken(307, "text/plain", b"", Location=elsewhere) as (url, heard):
        assert "not followed" in told(url, CALL)[0]["error"]["message"]


def test_an_error_of_the_server_keeps_its_code_and_gets_the_id_of_the_call():
    refused = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "no"}}).encode()
    with broken(400, "application/json", refused) as (url, _):
        assert told(url, CALL) == [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32020, "message": "no"}}]


def test_what_is_said_before_the_answer_is_passed_on_and_the_headers_name_the_call():
    note = b'data: {"jsonrpc": "2.0",\r\ndata:  "method": "notifications/message"}\r\n\r\n'
    events = b": hello\r\n\r\n" + note + b"event: message\r\ndata: " + ANSWER + b"\r\n\r\n"
    call = CALL | {"params": {"name": "Erstattung ü", "arguments": {}, "_meta": META}}
    with broken(200, "text/event-stream; charset=utf-8", events) as (url, heard):
        first, second = told(url, call, answers=2)
    assert (first["method"], second["result"]) == ("notifications/message", {"content": []})
    sent = {name.lower(): value for name, value in heard[0][1].items()}
    assert (sent["mcp-method"], sent["mcp-protocol-version"]) == ("tools/call", MODERN)
    assert sent["mcp-name"].startswith("=?base64?")


def test_a_stream_that_broke_off_is_asked_for_its_rest_and_the_call_is_not_made_again():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self._say(b"id: e1\r\nretry: 10\r\ndata:\r\n\r\n")

        def do_GET(self) -> None:
            asked.append(self.headers["last-event-id"])
            self._say(b"id: e2\r\ndata: " + ANSWER + b"\r\n\r\n")

        def _say(self, events: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(events)

        def log_message(self, *args: object) -> None:
            """Nobody reads it."""

    with serving(Handler) as url:
        assert told(url, CALL)[0]["result"] == {"content": []}
    assert asked == ["e1"]


def test_closing_ends_what_waits():
    never = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            never.wait(20)

    with serving(Handler) as url:
        server, came = RemoteServer(url, {}), []
        server.attach(came.append)
        server.send(CALL)
        running = threading.Thread(target=server.run)
        running.start()
        server.close()
        running.join(60)
        assert not running.is_alive() and came == []
        never.set()


@pytest.mark.parametrize(
    "line",
    ["-- https://", "-- https://u:p@h/", "-- http://h/ more", "--header A=NOT_SET -- http://h/",
     "--header A -- http://h/", "--header A=BROKEN -- http://h/", "--header A=SET -- python"],
)  # fmt: skip
def test_a_command_line_that_is_not_understood_starts_nothing(line):
    environment = {"COUNTERSIGN_URL": "http://127.0.0.1:1", "COUNTERSIGN_API_KEY": "cs_1", "SET": "x", "BROKEN": "a\nb"}
    command = [sys.executable, *COMMAND, "mcp-gateway", *line.split()]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("countersign: ") and "Traceback" not in done.stderr


def test_the_session_of_an_older_version_is_opened_used_and_closed():
    opened = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}).encode()
    with broken(200, "application/json", opened, **{"Mcp-Session-Id": "s-1"}) as (url, heard):
        server, came = RemoteServer(url, {}), queue.SimpleQueue()
        server.attach(came.put)
        server.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        came.get(timeout=60)
        server.send(CALL)
        came.get(timeout=60)
        server.close()
    assert wait_until(lambda: len(heard) == 3, 60)
    assert [method for method, _ in heard] == ["POST", "POST", "DELETE"]
    assert "Mcp-Session-Id" not in heard[0][1]
    for _, headers in heard[1:]:
        assert (headers["Mcp-Session-Id"], headers["MCP-Protocol-Version"]) == ("s-1", "2025-11-25")
