"""``countersign mcp-gateway``: stands in front of an MCP server, and asks the desk before each ``tools/call``.

A proxy of the stdio transport (one JSON-RPC message a line) for every version of the specification: a call is held
until it is decided, and everything else passes. What passes is written anew, so that the server cannot read another
message than the one that was looked at (two keys of the same name). A call that may not run is a result with
``isError``; it never looks like a success.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import traceback
import uuid
from typing import IO, Any

from .answers import Decision
from .client import Client, NotConfigured
from .sentences import why

Json = dict[str, Any]
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
PROGRESS = 5.0
"""Seconds between notes to a client that gave a progress token: many give up after 60 s without one."""


def run(options: Any) -> int:
    """Serve until the client or the server goes; the status of the server."""
    command = options.server_command[1:] if options.server_command[:1] == ["--"] else options.server_command
    if not command or command[0].startswith(("http://", "https://")):
        print("countersign: say which program is the MCP server: mcp-gateway -- COMMAND ARGUMENT...", file=sys.stderr)
        return 2
    try:
        client = Client(agent=options.agent)
    except NotConfigured as error:
        print(f"countersign: {error}; the server was not started", file=sys.stderr)
        return 2
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        print(f"countersign: {command[0]} cannot be started: {error}", file=sys.stderr)
        return 2
    name = options.server or command[0].replace("\\", "/").rpartition("/")[2]
    gateway = Gateway(client, name, options.hold, server, sys.stdout.buffer)
    answers = threading.Thread(target=gateway.answers, daemon=True)
    answers.start()
    threading.Thread(target=gateway.requests, args=(sys.stdin.buffer,), daemon=True).start()
    answers.join()
    gateway.close()
    return server.wait()


class Gateway:
    """``server``: the process that executes calls; ``hold``: seconds that a call waits for a decision."""

    def __init__(self, client: Client, name: str, hold: float, server: subprocess.Popen[bytes], out: IO[bytes]) -> None:
        self._client, self._name, self._hold, self._server, self._out = client, name, hold, server, out
        self._session = str(uuid.uuid4())
        self._writing, self._passing = threading.Lock(), threading.Lock()
        self._held: dict[str, object] = {}
        """A token for each call that waits; whoever takes it out decides what becomes of the call."""
        self._is_closed = False

    def answers(self) -> None:
        """What the server says, to the client, as it is."""
        assert self._server.stdout
        for line in self._server.stdout:
            self._write(line)

    def requests(self, given: IO[bytes]) -> None:
        """What the client says, to the server, but for calls: these are held."""
        try:
            for line in given:
                if line.strip():
                    self._receive(line)
        finally:
            self.close()

    def close(self) -> None:
        """No call that waits runs any more."""
        with self._passing:
            self._is_closed = True
            self._held.clear()
            assert self._server.stdin
            try:
                self._server.stdin.close()
            except BrokenPipeError:
                return  # the server went first

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            self._fault(None, PARSE_ERROR, "the message is no JSON")
            return
        if not isinstance(message, dict):
            self._fault(None, INVALID_REQUEST, "one message a line: lists of messages are not passed on")
        elif message.get("method") == "tools/call":
            self._hold_call(message)
        else:
            if message.get("method") == "notifications/cancelled":
                self._cancel(message.get("params"))
            self._pass(message)

    def _hold_call(self, message: Json) -> None:
        params, id_ = message.get("params"), message.get("id")
        if isinstance(id_, bool) or not isinstance(id_, (str, int)):
            self._fault(None, INVALID_REQUEST, "a call without an id is not passed on")
        elif not isinstance(params, dict) or not isinstance(params.get("name"), str):
            self._fault(id_, INVALID_REQUEST, "a call without the name of a tool is not passed on")
        elif _key(id_) in self._held:
            self._fault(id_, INVALID_REQUEST, "another call with this id waits for a decision")
        else:
            token = self._held[_key(id_)] = object()
            threading.Thread(target=self._decide, args=(message, params, token), daemon=True).start()

    def _decide(self, message: Json, params: Json, token: object) -> None:
        id_, over = message["id"], threading.Event()
        threading.Thread(target=self._show_progress, args=(params, over), daemon=True).start()
        try:
            decision = self._ask(params)
        finally:
            over.set()
        with self._passing:
            if self._is_closed or self._held.get(_key(id_)) is not token:
                return  # the client took it back
            del self._held[_key(id_)]
            if decision.allowed:
                self._send(message | {"params": params | {"arguments": decision.arguments}})
                return
        refused = {"content": [{"type": "text", "text": why(decision)}], "isError": True, "resultType": "complete"}
        self._say({"jsonrpc": "2.0", "id": id_, "result": refused})

    def _ask(self, params: Json) -> Decision:
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            return Decision("failed", "the arguments of the call are no object")
        try:
            return self._client.ask(
                params["name"], arguments, server=self._name, external_id=self._session, wait=self._hold
            )
        except Exception as error:  # whatever it is: the call does not run, and the client is told
            traceback.print_exc()
            return Decision("failed", f"it could not be asked about ({type(error).__name__})")

    def _show_progress(self, params: Json, over: threading.Event) -> None:
        """Notes that the call waits, so that a client that counts them does not give up."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        started = time.monotonic()
        while token is not None and not over.wait(PROGRESS):
            passed = (time.monotonic() - started) / 1e9  # it has to rise, and the server begins at 0 or 1
            told = {"progressToken": token, "progress": passed, "message": "Waits for a decision."}
            self._say({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

    def _cancel(self, params: Any) -> None:
        id_ = params.get("requestId") if isinstance(params, dict) else None
        with self._passing:
            self._held.pop(_key(id_), None)

    def _pass(self, message: Json) -> None:
        with self._passing:
            if not self._is_closed:
                self._send(message)

    def _send(self, message: Json) -> None:
        assert self._server.stdin
        try:
            self._server.stdin.write(_line(message))
            self._server.stdin.flush()
        except (BrokenPipeError, ValueError):
            self._is_closed = True  # the server went; ``answers`` ends, and with it the gateway

    def _fault(self, id_: Any, code: int, text: str) -> None:
        self._say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}})

    def _say(self, message: Json) -> None:
        self._write(_line(message))

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except (BrokenPipeError, ValueError):
                self._is_closed = True  # nobody reads: nothing more is passed on


def _key(id_: Any) -> str:
    """1 and "1" are different ids."""
    return json.dumps(id_)


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
