"""The proxy of ``countersign acp``: what editor and agent say passes as it is, but for requests for permission.

These are answered by the desk, and by nobody else: an answer that the proxy did not expect does not reach the agent,
and whatever goes wrong is a refusal.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import traceback
import uuid
from collections.abc import Callable
from typing import IO, Any

from ..answers import Decision
from ..client import Client, NotConfigured
from .messages import ASKS, CANCELS, CANCELS_REQUEST, UPDATES, Json, id_of_ambiguous, key, line_of, read
from .permissions import CANCELLED, Call, Calls, Question, outcome, refused_by

TAKEN_BACK = "the request for permission was taken back, or refused in the editor, before it was allowed"
GONE = "the editor or the agent is gone"
LAST_REPORTS = 5.0
"""Seconds that the end of the agent waits for what is being reported of its calls."""


def run(options: Any) -> int:
    """Serve until the agent goes; its status."""
    command = options.agent_command[1:] if options.agent_command[:1] == ["--"] else options.agent_command
    if not command:
        print("countersign: say which program is the agent: acp -- COMMAND ARGUMENT...", file=sys.stderr)
        return 2
    try:
        client = Client(agent=options.agent)
    except NotConfigured as error:
        print(f"countersign: {error}; the agent was not started", file=sys.stderr)
        return 2
    try:
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        print(f"countersign: {command[0]} cannot be started: {error}", file=sys.stderr)
        return 2
    proxy = Proxy(client, options.hold, agent, sys.stdout.buffer, asks_editor=options.ask_editor)
    speaking = threading.Thread(target=proxy.from_agent, daemon=True)
    speaking.start()
    # not sys.stdin: the interpreter aborts at its end while somebody reads that
    editor = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - until the process ends
    threading.Thread(target=proxy.from_editor, args=(editor,), daemon=True).start()
    threading.Thread(target=proxy.to_agent, daemon=True).start()
    speaking.join()
    proxy.close()
    proxy.finish_reports()
    return agent.wait()


class Ask:
    """A request for permission that waits. ``id`` and ``options`` are the agent's."""

    def __init__(self, id_: Any, call: Call, options: Any) -> None:
        self.id, self.call, self.options = id_, call, options
        self.editor_id = f"countersign:{uuid.uuid4()}"
        """Under which the editor is asked, too: no id of the agent's can be taken for it."""
        self.question: Decision | None = None
        """At the desk, as soon as it has taken it."""
        self.is_withdrawn = False
        """Whether the request had been answered by then."""


class Proxy:
    """``hold``: seconds that a request waits for a decision. ``asks_editor``: the editor is asked as well, and its
    no counts; its yes does not.
    """

    def __init__(
        self, client: Client, hold: float, agent: subprocess.Popen[bytes], editor: IO[bytes], *,
        asks_editor: bool = False,
    ) -> None:  # fmt: skip
        self._client, self._hold, self._agent, self._editor = client, hold, agent, editor
        self._asks_editor = asks_editor
        self._calls = Calls()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        """For the agent, until None. It need not read while it speaks: whoever reads it must not wait for that."""
        self._to_editor, self._table = threading.Lock(), threading.Lock()
        """The second guards what stands below, and is never held while anything is written."""
        self._waiting: dict[str, Ask] = {}
        self._passed: set[str] = set()
        """Requests of the agent that the editor has been given: it may answer these, and nothing else."""
        self._allowed: dict[Call, Decision] = {}
        self._reports: list[threading.Thread] = []

    def from_agent(self) -> None:
        """What the agent says, to the editor."""
        assert self._agent.stdout
        for line in self._agent.stdout:
            if not self._is_taken(line):
                self._show(line)

    def from_editor(self, given: IO[bytes]) -> None:
        """What the editor says, to the agent."""
        try:
            for line in given:
                self._hear(line)
        finally:
            self.close()

    def to_agent(self) -> None:
        """Write what is for the agent, in its order."""
        assert self._agent.stdin
        try:
            for line in iter(self._lines.get, None):
                self._agent.stdin.write(line)
                self._agent.stdin.flush()
            self._agent.stdin.close()
        except BrokenPipeError:
            return  # the agent went; ``from_agent`` ends, and with it the proxy

    def close(self) -> None:
        """The editor or the agent is gone: nothing that waits is allowed any more."""
        with self._table:
            questions = [ask.question for ask in self._waiting.values() if ask.question is not None]
            self._waiting.clear()
            self._lines.put(None)
        for question in questions:
            self._later(self._client.cancel, question, GONE)

    def _later(self, tell: Callable[..., object], *about: object) -> None:
        """Tell the desk something while the proxy goes on."""
        report = threading.Thread(target=tell, args=about, daemon=True)
        with self._table:
            self._reports = [one for one in self._reports if one.is_alive()] + [report]
            report.start()

    def finish_reports(self) -> None:
        for report in self._reports:
            report.join(LAST_REPORTS)

    def _is_taken(self, line: bytes) -> bool:
        """Look at a line of the agent; whether the editor must not be given it."""
        message = read(line)
        if message is None:
            if is_ask := bool(key(ambiguous := id_of_ambiguous(line))):
                self._tell(_answer(ambiguous, CANCELLED))
            return is_ask
        method, id_ = message.get("method"), key(message.get("id"))
        if method == ASKS:
            self._ask(message)
            return True
        if method == CANCELS_REQUEST:
            return self._withdraw(message.get("params"))
        if method == UPDATES:
            self._note(message.get("params"))
        elif isinstance(method, str) and id_:
            with self._table:
                self._passed.add(id_)
        return False

    def _ask(self, message: Json) -> None:
        id_, params = message.get("id"), message.get("params")
        if not key(id_):
            print("countersign: a request for permission without an id was dropped", file=sys.stderr)
            return
        given = params if isinstance(params, dict) else {}
        said, session = given.get("toolCall"), given.get("sessionId")
        call = (str(session), str(said.get("toolCallId")) if isinstance(said, dict) else "")
        ask = Ask(id_, call, given.get("options"))
        question: Question | str
        try:
            if not isinstance(said, dict) or not isinstance(session, str) or not session:
                raise ValueError("the request names no call or no session")
            question = Question(session, self._calls.whole(call, said))
        except ValueError as error:
            question = str(error)
        with self._table:
            is_twice = key(id_) in self._waiting
            self._waiting[key(id_)] = ask
        if is_twice:  # which of the two an answer is about cannot be told
            self._settle(ask, CANCELLED)
            return
        if self._asks_editor:
            self._show(line_of({"id": ask.editor_id, "method": ASKS, "params": given}))
        threading.Thread(target=self._decide, args=(ask, question), daemon=True).start()

    def _decide(self, ask: Ask, question: Question | str) -> None:
        decision = self._decision(ask, question)
        allowed, result = outcome(decision, ask.options)
        with self._table:
            if allowed and self._waiting.get(key(ask.id)) is ask:
                self._allowed[ask.call] = decision
        if not self._settle(ask, result["outcome"], result["_meta"]):
            if allowed:
                self._report(decision, "errored", TAKEN_BACK)
        elif self._asks_editor:
            self._show(line_of({"method": CANCELS_REQUEST, "params": {"requestId": ask.editor_id}}))

    def _decision(self, ask: Ask, question: Question | str) -> Decision:
        if isinstance(question, str):
            return Decision("failed", question)
        try:
            return self._client.ask(
                question.tool, question.arguments, server=question.server, context=question.context,
                external_id=question.session, wait=self._hold, expires_in=max(int(self._hold), 1),
                announce=lambda taken: self._note_question(ask, taken),
            )  # fmt: skip
        except Exception as error:  # whatever it is: the call does not run
            traceback.print_exc()
            return Decision("failed", f"it could not be asked about ({type(error).__name__})")

    def _note_question(self, ask: Ask, taken: Decision) -> None:
        """Keep what the desk has taken; of a request that was answered meanwhile it need not be decided."""
        with self._table:
            ask.question = taken
            ask.is_withdrawn = self._waiting.get(key(ask.id)) is not ask
        if ask.is_withdrawn:
            self._client.cancel(taken, TAKEN_BACK)

    def _take_back(self, ask: Ask, chosen: Json) -> bool:
        """Answer a request without the desk, which is told; False where it was answered already."""
        is_first = self._settle(ask, chosen)
        with self._table:
            question = None if ask.is_withdrawn else ask.question
        if is_first and question is not None:  # one that is pending is no yes, and False
            self._later(self._client.cancel, question, TAKEN_BACK)
        return is_first

    def _settle(self, ask: Ask, chosen: Json, meta: Json | None = None) -> bool:
        """Answer a request, unless it was answered already; the first one counts."""
        with self._table:
            if self._waiting.get(key(ask.id)) is not ask:
                return False
            del self._waiting[key(ask.id)]
            self._tell(_answer(ask.id, chosen, meta))  # before a ``close`` that comes now, or not at all
        return True

    def _withdraw(self, params: Any) -> bool:
        """The agent takes back a request; whether it is one that waits here."""
        id_ = key(params.get("requestId")) if isinstance(params, dict) else ""
        with self._table:
            ask = self._waiting.get(id_)
        if ask and self._take_back(ask, CANCELLED) and self._asks_editor:
            self._show(line_of({"method": CANCELS_REQUEST, "params": {"requestId": ask.editor_id}}))
        return ask is not None

    def _note(self, params: Any) -> None:
        """Keep what is said of a call, and report what came of one that was allowed."""
        ended = self._calls.note(params)
        with self._table:
            decision = self._allowed.pop(ended[0], None) if ended else None
        if ended and decision:
            self._later(self._report, decision, ended[1])

    def _report(self, decision: Decision, status: str, detail: str = "") -> None:
        if not self._client.report(decision, status, detail):
            print(f"countersign: the desk did not take that {decision.approval_id} {status}", file=sys.stderr)

    def _hear(self, line: bytes) -> None:
        """Look at a line of the editor, and pass it on unless it may be an answer that is not the editor's to give."""
        message = read(line)
        if message is None:
            if line.strip():
                print("countersign: a line of the editor that is no message was dropped", file=sys.stderr)
            return
        if "method" not in message or "result" in message:
            if "method" not in message and self._is_expected(message):
                self._tell(line)
            return
        self._tell(line)
        if message["method"] == CANCELS:
            self._cancel(message.get("params"))

    def _is_expected(self, answer: Json) -> bool:
        """Whether an answer of the editor is to a request that it was given as it was."""
        id_ = key(answer.get("id"))
        with self._table:
            if id_ in self._passed:
                self._passed.discard(id_)
                return True
            ask = next((one for one in self._waiting.values() if key(one.editor_id) == id_), None)
        refused = refused_by(answer.get("result"), ask.options) if ask else None
        if ask and refused:
            self._take_back(ask, refused)
        return False

    def _cancel(self, params: Any) -> None:
        """The turn was cancelled: all that its session asks for is (Prompt Turn, Cancellation)."""
        session = params.get("sessionId") if isinstance(params, dict) else None
        with self._table:
            asks = [ask for ask in self._waiting.values() if ask.call[0] == session]
        for ask in asks:
            self._take_back(ask, CANCELLED)

    def _tell(self, line: bytes) -> None:
        self._lines.put(line)

    def _show(self, line: bytes) -> None:
        with self._to_editor:
            try:
                self._editor.write(line)
                self._editor.flush()
                return
            except (BrokenPipeError, ValueError):
                pass
        self.close()  # nobody reads what the agent says: it is let go


def _answer(id_: Any, chosen: Json, meta: Json | None = None) -> bytes:
    return line_of({"id": id_, "result": {"outcome": chosen} | ({"_meta": meta} if meta else {})})
