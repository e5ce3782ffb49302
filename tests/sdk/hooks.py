"""Run a hook's command as a coding agent does: through the shell, with the call on its standard input."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from countersign.hooks import commands

STATE = tempfile.TemporaryDirectory(prefix="countersign-state-")
CALL = {
    "session_id": "5a0e2f8c-6f0e-4a43-9a71-0b9a5d4d0001", "transcript_path": "/nowhere/transcript.jsonl",
    "cwd": "/home/kim/shop", "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
    "tool_input": {"command": "touch made", "description": "Make a file"}, "tool_use_id": "toolu_1",
}  # fmt: skip


@dataclass
class Ran:
    status: int
    printed: bytes
    complained: str

    @property
    def said(self) -> dict[str, Any]:
        """What the client reads."""
        return json.loads(self.printed)["hookSpecificOutput"]

    @property
    def refuses(self) -> bool:
        """Whether the call cannot run: status 2, or one valid decision that is no yes. Anything else would be open."""
        if self.status == 2:
            return True
        assert self.status == 0, self
        decision = json.loads(self.printed)["hookSpecificOutput"]["permissionDecision"]
        assert decision in ("allow", "deny", "defer"), self
        return decision != "allow"


def run(
    url: str | None, given: bytes | dict[str, Any] = CALL, *, command: str = "", hold: float = 1, key: str = "cs_test",
    **more: str,
) -> Ran:  # fmt: skip
    """What became of a call. ``command``: in place of the one that is installed."""
    environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_API_KEY": key, "XDG_STATE_HOME": STATE.name} | more
    if url is not None:
        environment["COUNTERSIGN_URL"] = url
    command = command or commands.gate("claude-code", "pre-tool-use", "--hold", str(hold))
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    done = subprocess.run(["/bin/sh", "-c", command], input=data, capture_output=True, env=environment, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr.decode())
