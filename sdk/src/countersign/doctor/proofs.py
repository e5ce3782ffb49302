"""Proofs that the installed hooks fail closed: one call each, with the way to the desk stopped."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..hooks.settings_file import Settings, is_ours
from . import wrong_desks
from .model_apis import ModelApis

PATIENCE = 120
"""Seconds for one call; a slow desk is given up after 20."""
CALL = {
    "session_id": "00000000-0000-7000-8000-000000000000", "transcript_path": "", "cwd": "/", "turn_id": "doctor",
    "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
    "tool_input": {"command": "true"}, "tool_use_id": "doctor",
}  # fmt: skip


@dataclass
class Finding:
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.text}"


def commands_of(settings: Settings, event: str) -> list[Settings]:
    """Hooks of ours at an event."""
    groups = settings.get("hooks", {}).get(event, [])
    return [hook for group in groups for hook in group["hooks"] if is_ours(hook)]


def prove_commands(settings: Settings) -> Iterator[Finding]:
    """Each installed command, run as the client would, with each wrong desk; and with a right one, as a check on us."""
    for event in ("PreToolUse", "PermissionRequest"):
        hooks = commands_of(settings, event)
        if not hooks:
            yield Finding(False, f"{event}: no hook of ours is installed")
        for hook in hooks:
            with ThreadPoolExecutor(5) as pool:
                trials = [("approving", True, wrong_desks.approving)]
                trials += [(name, False, desk) for name, desk in wrong_desks.WRONG.items()]
                yield from pool.map(lambda trial: _one_call(str(hook["command"]), event, *trial), trials)  # noqa: B023


def _one_call(command: str, event: str, name: str, runs: bool, desk: Any) -> Finding:
    with desk() as url, tempfile.TemporaryDirectory(prefix="countersign-doctor-") as state:
        environment = os.environ | {"COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": "cs_doctor", "XDG_STATE_HOME": state}
        given = json.dumps(CALL | {"hook_event_name": event}).encode()
        try:
            done = subprocess.run(["/bin/sh", "-c", command], input=given, capture_output=True, env=environment,
                                  timeout=PATIENCE)  # fmt: skip
        except subprocess.TimeoutExpired:
            return Finding(False, f"{event}, the desk {name}: no decision within {PATIENCE} s")
    said = "refused" if done.returncode == 2 else _decision(done)
    ok = said == ("allowed" if runs else "refused")
    return Finding(ok, f"{event}, the desk {name}: {said}")


def _decision(done: subprocess.CompletedProcess[bytes]) -> str:
    """allowed, refused, or why it is no decision (and the client would let the call run)."""
    if done.returncode:
        return f"the command ends with status {done.returncode}"
    try:
        output = json.loads(done.stdout)["hookSpecificOutput"]
        word = output.get("permissionDecision") or output["decision"]["behavior"]
    except (ValueError, KeyError, TypeError):
        return "it prints no decision"
    return {"allow": "allowed", "deny": "refused"}.get(word, f"it says {word}")


def prove_claude_code(program: str, settings: Settings) -> Finding:
    """The real client with these hooks and a model that asks for one ``touch``, in a home of its own."""
    ours = {event: [{"matcher": "*", "hooks": commands_of(settings, event)}] for event in settings.get("hooks", {})}
    kept = {"hooks": ours} | {name: settings[name] for name in ("disableAllHooks",) if name in settings}
    with tempfile.TemporaryDirectory(prefix="countersign-doctor-") as home:
        (Path(home) / "settings.json").write_text(json.dumps(kept))
        command = [program, "-p", "go", "--output-format", "json", "--allowedTools", "Bash"]
        more = {"CLAUDE_CONFIG_DIR": home, "ANTHROPIC_API_KEY": "doctor", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
        return _one_touch("Claude Code", command, "ANTHROPIC_BASE_URL", more, ("Bash", {"command": "touch made"}))


def prove_codex(program: str, settings: Settings) -> Finding:
    """The same for Codex, as if its hooks had been reviewed."""
    with tempfile.TemporaryDirectory(prefix="countersign-doctor-") as home:
        (Path(home) / "hooks.json").write_text(json.dumps(settings))
        provider = 'model_providers.doctor={name="doctor",base_url="%s/v1",wire_api="responses",env_key="DOCTOR"}'
        settings_of_run = ('model_provider="doctor"', provider, 'sandbox_mode="danger-full-access"')
        command = [program, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        command += [word for setting in settings_of_run for word in ("-c", setting)] + ["go"]
        more = {"CODEX_HOME": home, "DOCTOR": "x"}
        return _one_touch("Codex", command, "", more, ("exec_command", {"cmd": "touch made"}))


def _one_touch(client: str, command: list[str], base: str, more: dict[str, str], call: Any) -> Finding:
    with (
        ModelApis([call]).serving() as apis,
        wrong_desks.stopped() as url,
        tempfile.TemporaryDirectory(prefix="countersign-doctor-") as work,
    ):
        elsewhere = ("ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDECODE")  # would lead to a real model, and its bill
        environment = {name: value for name, value in os.environ.items() if not name.startswith(elsewhere)}
        environment |= more | {"COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": "cs_doctor", "XDG_STATE_HOME": work}
        environment |= {base: apis.url} if base else {}
        command = [word.replace("%s", apis.url) for word in command]
        try:
            done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL)  # fmt: skip
        except subprocess.TimeoutExpired:
            return Finding(False, f"{client} itself, the desk stopped: it did not end within {PATIENCE} s")
        if (Path(work) / "made").exists():
            return Finding(False, f"{client} itself, the desk stopped: THE CALL RAN")
        if not apis.results():
            said = (done.stdout + done.stderr).strip()[-200:]
            return Finding(False, f"{client} itself could not be tried: it made no call ({said})")
    return Finding(True, f"{client} itself, the desk stopped: the call did not run")
