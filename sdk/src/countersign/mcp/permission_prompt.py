"""``countersign mcp-permission``: an MCP server with one tool, which Claude Code asks in place of its user.

``claude --permission-prompt-tool mcp__countersign__decide`` calls it with ``tool_name``, ``input`` and ``tool_use_id``
for each call that its own rules neither allow nor deny, and reads the text of the result as JSON: ``behavior`` allow
with ``updatedInput``, or deny with ``message``. Measured with 2.1.330: it takes anything else as a no.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import traceback
import uuid
from pathlib import Path
from typing import IO

from .. import runs
from ..answers import Decision, Question
from ..call_events import server_of
from ..claude_code.gate import CLIENT
from ..holding import asked
from ..hooks.commands import REPORT
from ..sentences import why
from . import messages, progress
from .messages import Json, params_of

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
TOOL: Json = {
    "name": "decide",
    "description": "Asks the people at the Countersign desk whether a call of a tool may be made.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string"}, "input": {"type": "object"}, "tool_use_id": {"type": "string"},
        },
        "required": ["tool_name", "input"],
    },
}  # fmt: skip


class PermissionPrompt:
    """``hold``: seconds that a call waits for a decision; then it is denied. The desk is that of the environment."""

    def __init__(self, agent: str, out: IO[bytes], hold: float) -> None:
        self._agent, self._out, self._hold = agent, out, hold
        self._session = os.environ.get("CLAUDE_CODE_SESSION_ID") or str(uuid.uuid4())
        self._writing = threading.Lock()

    def serve(self, given: IO[bytes]) -> None:
        """Until the client closes its end; calls are answered as they are decided."""
        try:
            for line in given:
                if line.strip():
                    self._receive(line)
        finally:
            self._send_rest()

    def _receive(self, line: bytes) -> None:
        try:
            message = messages.read(line)
        except messages.Unreadable as fault:
            self._say(messages.fault(None, fault.code, str(fault)))
            return
        id_ = message.get("id")
        if "method" not in message or not messages.is_id(id_):
            return  # a notification, or an answer to what was never asked
        if message["method"] == "tools/call":
            threading.Thread(target=self._call, args=(message,), daemon=True).start()
        elif (result := _known(message)) is not None:
            self._say(messages.answer(id_, result))
        else:
            self._say(
                messages.fault(id_, messages.METHOD_NOT_FOUND, f"there is no {str(message['method'])[:100]} here")
            )

    def _call(self, message: Json) -> None:
        try:
            with progress.notes(messages.meta_of(message).get("progressToken"), self._say):
                decision = self._decide(params_of(message))
        except Exception as error:  # whatever it is: the answer is no
            traceback.print_exc()
            decision = Decision("failed", f"it could not be asked about ({type(error).__name__})")
        said: Json = {"behavior": "deny", "message": why(decision)}
        if decision.allowed:
            said = {"behavior": "allow", "updatedInput": decision.arguments}
        content = [{"type": "text", "text": json.dumps(said)}]
        self._say(messages.answer(message["id"], {"content": content, "isError": False, "resultType": "complete"}))

    def _decide(self, params: Json) -> Decision:
        given = params.get("arguments")
        given = given if isinstance(given, dict) else {}
        tool, arguments, call = given.get("tool_name"), given.get("input"), given.get("tool_use_id")
        if params.get("name") != TOOL["name"] or not isinstance(tool, str) or not isinstance(arguments, dict):
            return Decision("failed", "this is no question about a call of a tool")
        said, id_ = arguments.get("description"), call if isinstance(call, str) else uuid.uuid4()
        question = Question(
            tool, arguments, server_of(tool), agent=self._agent, external_id=self._session,
            expires_in=max(int(self._hold), 1), client_id=f"permission:{id_}",
            title=f"{self._agent} in {Path.cwd().name}", context=said if isinstance(said, str) and said else None,
        )  # fmt: skip
        event = {"session_id": self._session, "tool_use_id": call, "transcript_path": self._transcript()}
        decision = asked(question, self._hold, runs.teller(event, CLIENT))
        runs.note_decision(event, decision)
        return decision

    def _transcript(self) -> str | None:
        """Where the client writes what happens; None where it is not there."""
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        found = home.glob(f"projects/*/{self._session}.jsonl") if runs.is_name(self._session) else iter(())
        return next((str(path) for path in found), None)

    def _send_rest(self) -> None:
        """What came of the calls, once the run is over: in a process of its own, because the client ends this one."""
        path = self._transcript()
        if path and runs.recall(self._session):
            command = [sys.executable, "-I", "-S", str(REPORT), CLIENT, "transcript"]
            report = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
            report.communicate(json.dumps({"session_id": self._session, "transcript_path": path}).encode())

    def _say(self, message: Json) -> None:
        with self._writing:
            try:
                self._out.write(messages.line_of(message))
                self._out.flush()
            except (BrokenPipeError, ValueError):
                return  # nobody reads: the end of the input comes next


def _known(message: Json) -> Json | None:
    """The result of a request that asks nobody; None for one that is not known."""
    about = {"name": "countersign", "version": "1"}
    capabilities: Json = {"tools": {}}
    if message["method"] == "initialize":
        wanted = params_of(message).get("protocolVersion")
        version = wanted if wanted in LEGACY else LEGACY[0]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
    found: dict[str, Json] = {
        "ping": {},
        "tools/list": {"tools": [TOOL], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
        "server/discover": {
            "supportedVersions": [messages.MODERN, *LEGACY], "capabilities": capabilities, "serverInfo": about,
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        },
    }  # fmt: skip
    return found.get(str(message["method"]))
