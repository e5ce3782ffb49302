"""``countersign mcp-gateway``: stands in front of an MCP server, and asks the desk before each ``tools/call``.

A call is held until it is decided, and everything else passes. What passes is written anew, so that the server cannot
read another message than the one that was looked at (two keys of the same name). A call that may not run is a result
with ``isError``; it never looks like a success.

While it is held, a client of 2026-07-28 is given a task, where it takes one, or else ``input_required`` without a
question, so that it comes back before its own time is up; any other waits.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from typing import IO, Any

from ..answers import Decision
from ..client import Client
from ..sentences import why
from . import messages, progress, tasks
from .messages import INVALID_PARAMS, INVALID_REQUEST, Json, key_of, params_of, result_of
from .own_requests import OwnRequests
from .questions import ComingBack, Decided, Waiting
from .server import Server
from .tasks import Task, Tasks
from .tool_list import ToolList, headers_of

PROMPT = 2.0
"""Seconds for a policy to answer, before a call becomes a task."""
LISTING = 20.0
"""Seconds for a server to list its tools, which may have to start first."""
REPORTING = 5.0
"""Seconds, at the end, to tell the desk what came of calls."""
STATE_ONLY = 1.0
"""Seconds until a server that answers ``input_required`` without a question is asked again, for a task."""
CONTEXT = 20_000
NOT_BEGUN = "Not run: it was allowed, but the desk did not take that it begins: it was stopped meanwhile, or is away."
UNFINISHED = "The server ended, or was told to stop, before it answered: nobody here knows what it did."


class _Held:
    """A call that waits."""

    waiting: Waiting | Decided | None = None


class Gateway:
    """``hold``: seconds that a call waits for a decision; ``patience``: seconds of one round, 0 for no rounds.

    ``name``: of the server, on cards and in policies.
    """

    def __init__(
        self, client: Client, server: Server, out: IO[bytes], *, name: str, hold: float, patience: float
    ) -> None:
        self._client, self._server, self._out = client, server, out
        self._name, self._hold, self._patience = name, hold, patience
        self._session = str(uuid.uuid4())
        self._tools = ToolList(server.place, self._list_tools)
        self._writing, self._sending, self._knowing = threading.Lock(), threading.Lock(), threading.Lock()
        """In this order. What reads the server waits for the last one alone: the server may wait for being read."""
        self._held: dict[str, _Held] = {}
        """A token for each call that waits; whoever takes it out decides what becomes of the call."""
        self._running: dict[str, tuple[Json, Decision]] = {}
        """Calls that the server executes."""
        self._own = OwnRequests(self._send)
        self._discovering: set[str] = set()
        self._tasks, self._coming_back = Tasks(), ComingBack()
        self._reports: list[threading.Thread] = []
        self._is_closed = False
        server.attach(self.deliver)

    def requests(self, given: IO[bytes]) -> None:
        """What the client says, to the server, but for calls: these are held."""
        try:
            for line in given:
                if line.strip():
                    self.receive(line)
        finally:
            self.close()

    def close(self) -> None:
        """No call that waits runs any more."""
        with self._knowing:
            self._is_closed = True
            left = self.waiting()
            self._held.clear()
            unfinished = list(self._running.values())
            self._running.clear()
        for waiting in left:
            self._withdraw(waiting)
        self._tasks.end_all()
        self._own.close()
        for _, decision in unfinished:
            self._report(decision, "errored", UNFINISHED)
        for decision in self._coming_back.never_made():
            self._report(decision, "errored", "it was not made: its client did not come back for it")
        self._server.close()
        until = time.monotonic() + REPORTING
        for report in self._reports:
            report.join(max(until - time.monotonic(), 0))

    def waiting(self) -> list[Waiting | Decided | None]:
        """What is asked, or was, of calls that were not made yet."""
        held = [held.waiting for held in self._held.values()]
        return [*held, *self._coming_back.left(), *self._tasks.waiting()]

    def deliver(self, line: bytes) -> None:
        """What the server says, to the client: but for answers to the gateway, and to calls that never reached it."""
        try:
            message = messages.read(line)
        except messages.Unreadable:
            self._write(line)
            return
        if self._own.take(message):
            return
        if messages.is_answer(message):
            self._deliver_answer(message, line)
        else:
            if message.get("method") == "notifications/tools/list_changed":
                self._tools.has_changed()
            self._write(line)

    def _deliver_answer(self, message: Json, line: bytes) -> None:
        key = key_of(message.get("id"))
        with self._knowing:
            if key in self._held:
                return  # it was not asked yet
            ran = self._running.pop(key, None)
            discovered = key in self._discovering
            self._discovering.discard(key)
        if ran:
            self._note_end(*ran, message)
        capabilities = result_of(message).get("capabilities")
        if discovered and isinstance(capabilities, dict):
            extensions = capabilities.get("extensions")
            known = extensions if isinstance(extensions, dict) else {}
            more = capabilities | {"extensions": known | {messages.TASKS: {}}}
            line = messages.line_of(message | {"result": result_of(message) | {"capabilities": more}})
        self._write(line)

    def receive(self, line: bytes) -> None:
        """One message of the client."""
        try:
            message = messages.read(line)
        except messages.Unreadable as fault:
            self._say(messages.fault(None, fault.code, str(fault)))
            return
        method = message.get("method")
        if method == "tools/call":
            self._hold_call(message)
        elif task := self._tasks.find(message):
            self._say(tasks.reply(message, task))
            if method == "tasks/cancel" and messages.takes_tasks(message):
                self._withdraw(task.waiting)
                if own := task.cancel():
                    self._own.stop(own)
        else:
            if method == "server/discover":
                self._discovering.add(key_of(message.get("id")))
            self._send(message, None)

    def _send(self, message: Json, headers: dict[str, str] | None) -> bool:
        """False where nothing is passed on any more."""
        with self._sending:
            if message.get("method") == "notifications/cancelled":
                with self._knowing:
                    held = self._held.pop(key_of(params_of(message).get("requestId")), None)
                self._withdraw(held.waiting if held else None)
            if not self._is_closed:
                self._server.send(message, headers)
            return not self._is_closed

    def _hold_call(self, message: Json) -> None:
        params, id_ = message.get("params"), message.get("id")
        if not messages.is_id(id_):
            self._fault(None, INVALID_REQUEST, "a call without an id is not passed on")
        elif not isinstance(params, dict) or not isinstance(params.get("name"), str):
            self._fault(id_, INVALID_REQUEST, "a call without the name of a tool is not passed on")
        elif key_of(id_) in self._held:
            self._fault(id_, INVALID_REQUEST, "another call with this id waits for a decision")
        else:
            try:
                waiting = self._coming_back.take(params)
            except LookupError as refused:
                self._fault(id_, INVALID_PARAMS, str(refused))
                return
            token = self._held[key_of(id_)] = _Held()
            threading.Thread(target=self._decide, args=(message, waiting, token), daemon=True).start()

    def _decide(self, message: Json, waiting: Waiting | Decided | None, token: _Held) -> None:
        try:
            self._settle(message, waiting or self._question(message), token)
        except Exception as error:  # whatever it is: the call does not run, and the client is told
            traceback.print_exc()
            if self._let_go(message, token):
                self._answer(message, messages.refusal(f"Not run: the gateway failed ({type(error).__name__})."))

    def _settle(self, message: Json, waiting: Waiting | Decided, token: _Held) -> None:
        token.waiting = waiting
        decision = self._wait(message, waiting)
        if decision is None and messages.takes_tasks(message):
            task = self._tasks.add(self._hold)
            task.waiting = waiting
            if self._let_go(message, token):
                self._answer(message, {"resultType": "task"} | task.told())
                self._work(task, message, waiting)
        elif decision is None:
            if self._let_go(message, token):
                state = self._coming_back.add(waiting)
                self._answer(message, {"resultType": "input_required", "requestState": state})
        elif not decision.allowed:
            if self._let_go(message, token):
                self._answer(message, messages.refusal(why(decision)))
        elif not self._begin(decision):
            if self._let_go(message, token):
                self._answer(message, messages.refusal(NOT_BEGUN))
        elif not self._run(message, waiting.params, decision, token):
            self._report(decision, "errored", "its client took it back before it was made")

    def _wait(self, message: Json, waiting: Waiting | Decided) -> Decision | None:
        """The decision; None where the client has to be answered something before there is one."""
        token = messages.meta_of(message).get("progressToken")
        if messages.takes_tasks(message):
            return waiting.wait(PROMPT)
        if messages.is_modern(message) and token is None and self._patience:
            return waiting.wait(self._patience)
        with progress.notes(token, self._say):
            return waiting.wait(None)

    def _let_go(self, message: Json, token: _Held) -> bool:
        """Whether the call is still to be answered; from now on it is not held."""
        with self._knowing:
            if self._is_closed or self._held.get(key_of(message["id"])) is not token:
                return False  # the client took it back
            del self._held[key_of(message["id"])]
            return True

    def _run(self, message: Json, params: Json, decision: Decision, token: _Held) -> bool:
        """Hand the call over to the server, with what was decided on. False where the client took it back."""
        made = _made(message, params, decision)
        headers = headers_of(self._tools.known(params_of(made)["name"]), decision.arguments)
        with self._sending:
            if not self._let_go(message, token):
                return False
            with self._knowing:
                self._running[key_of(message["id"])] = (params, decision)
            self._server.send(made, headers)
            return True

    def _question(self, message: Json) -> Waiting:
        params = params_of(message)
        return Waiting(params, lambda announce: self._ask(params, messages.meta_of(message), announce))

    def _ask(self, params: Json, meta: Json, announce: Callable[[Decision], None]) -> Decision:
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            return Decision("failed", "the arguments of the call are no object")
        given = params.get("inputResponses")
        context = f"It answers what the server asked back: {json.dumps(given)}"[:CONTEXT] if given else None
        try:
            fingerprint = self._tools.fingerprint(self._tools.find(params["name"], meta))
            return self._client.ask(
                params["name"], arguments, server=self._name, external_id=self._session, wait=self._hold,
                expires_in=max(int(self._hold), 1), fingerprint=fingerprint, context=context, announce=announce,
            )  # fmt: skip
        except Exception as error:  # whatever it is: the call does not run, and the client is told
            traceback.print_exc()
            return Decision("failed", f"it could not be asked about ({type(error).__name__})")

    def _work(self, task: Task, message: Json, waiting: Waiting | Decided) -> None:
        try:
            self._work_through(task, message, waiting)
        except Exception as error:  # whatever it is: the task ends
            traceback.print_exc()
            text = f"the gateway failed ({type(error).__name__})"
            task.end("failed", error={"code": messages.INTERNAL_ERROR, "message": text})

    def _work_through(self, task: Task, message: Json, waiting: Waiting | Decided) -> None:
        """A call that is a task, from the decision to its end; again where the server asks back."""
        while not task.is_over:
            decision = waiting.wait(None)
            assert decision is not None
            if not decision.allowed:
                task.end("completed", result=messages.refusal(why(decision)))
            elif task.is_over or not self._begin(decision):
                task.end("completed", result=messages.refusal(NOT_BEGUN))
            elif next_ := self._work_once(task, message, waiting.params, decision):
                waiting = task.waiting = next_

    def _work_once(self, task: Task, message: Json, params: Json, decision: Decision) -> Waiting | Decided | None:
        """Make the call of a task; what it waits for next, where the server asks back."""
        own = self._own.new_id()
        if not task.begin(own):
            self._report(decision, "errored", "its client took it back before it was made")
            return None
        made = messages.without_tasks(_made(message, params, decision))
        headers = headers_of(self._tools.known(params_of(made)["name"]), decision.arguments)
        came = self._own.ask(made | {"id": own}, None, headers)
        self._note_end(params, decision, came or {"error": {"message": UNFINISHED}})
        result = result_of(came or {})
        if came is None or "error" in came:
            error = (came or {}).get("error") or {"code": messages.INTERNAL_ERROR, "message": UNFINISHED}
            task.end("failed", error=error)
        elif result.get("resultType") != "input_required":
            task.end("completed", result=result)
        else:
            return self._asked_back(task, message, params, decision, result)
        return None

    def _asked_back(
        self, task: Task, message: Json, params: Json, decision: Decision, result: Json
    ) -> Waiting | Decided | None:
        requests, state = result.get("inputRequests"), result.get("requestState")
        again = {name: value for name, value in params.items() if name not in ("inputResponses", "requestState")}
        again |= {"requestState": state} if state is not None else {}
        if not isinstance(requests, dict) or not requests:
            time.sleep(STATE_ONLY)
            return Decided(again, decision)
        responses = task.ask_back(requests, self._hold)
        if responses is None:
            task.end("completed", result=messages.refusal("Not finished: nobody answered what the server asked back."))
            return None
        return self._question(message | {"params": again | {"inputResponses": responses}})

    def _begin(self, decision: Decision) -> bool:
        """Whether the desk takes that the call is made now: it was not stopped, nor made before."""
        try:
            return self._client.report(decision, "running")
        except Exception:  # whatever it is: the call does not run
            traceback.print_exc()
            return False

    def _note_end(self, params: Json, decision: Decision, message: Json) -> None:
        """Tell the desk what came of a call. One that goes on by itself keeps its decision, for the same call."""
        result = result_of(message)
        if result.get("resultType") == "input_required" and not result.get("inputRequests"):
            state = result.get("requestState")
            if isinstance(state, str):
                self._coming_back.add(Decided(params | {"requestState": state}, decision), state)
            return
        failed = "error" in message or result.get("isError") is True
        error = message.get("error")
        said = error.get("message") if isinstance(error, dict) else ""
        self._report(decision, "errored" if failed else "succeeded", str(said or ""))

    def _withdraw(self, waiting: Waiting | Decided | None) -> None:
        """Nobody need look at the card any more: the client took its call back, or is gone."""
        if waiting and waiting.pending:
            self._later(self._client.cancel, waiting.pending, "its client does not want the call any more")

    def _report(self, decision: Decision, status: str, detail: str) -> None:
        self._later(self._client.report, decision, status, detail)

    def _later(self, tell: Callable[..., bool], *what: Any) -> None:
        report = threading.Thread(target=tell, args=what, daemon=True)
        self._reports = [one for one in self._reports if one.is_alive()] + [report]
        report.start()

    def _list_tools(self, params: Json) -> Json | None:
        asked = {"jsonrpc": "2.0", "id": self._own.new_id(), "method": "tools/list", "params": params}
        return self._own.ask(asked, LISTING)

    def _answer(self, message: Json, result: Json) -> None:
        self._say(messages.answer(message["id"], result))

    def _fault(self, id_: Any, code: int, text: str) -> None:
        self._say(messages.fault(id_, code, text))

    def _say(self, message: Json) -> None:
        self._write(messages.line_of(message))

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except (BrokenPipeError, ValueError):
                self._is_closed = True  # nobody reads: nothing more is passed on


def _made(message: Json, params: Json, decision: Decision) -> Json:
    """The call as the server gets it: as it came first, with what was decided, under the id that it has now."""
    meta = params_of(message).get("_meta")
    more = {"arguments": decision.arguments} | ({"_meta": meta} if meta is not None else {})
    return message | {"params": params | more}
