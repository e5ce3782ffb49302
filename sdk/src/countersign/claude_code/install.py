"""The hooks of Claude Code in its settings: which, from which version on, and what else there weakens them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..call_events import PERMISSION_REQUEST, PRE_TOOL_USE
from ..hooks import commands
from ..hooks.client_version import version_of
from ..hooks.settings_file import Settings, Unusable, is_ours, others

CLIENT = "claude-code"
OLDEST = (2, 1, 295)
WHY = (
    "before 2.1.295 Claude Code knows no onFailure: a hook that crashes, is killed or takes too long would let the "
    "call run. Upgrade it (npm install -g @anthropic-ai/claude-code), then run this again"
)
GRACE = 60
"""Seconds that Claude Code gives a hook beyond the time that it holds on: it has denied by then."""
WAITS = "Waiting for a decision at the desk"


def settings_path(scope: str) -> Path:
    return (Path.cwd() if scope == "project" else Path.home()) / ".claude" / "settings.json"


def check_version(program: str | None) -> str:
    """The version of the client. Raises ``Unusable`` where it would fail open, or nobody can tell."""
    found, version = version_of(program or "claude")
    if version < OLDEST:
        raise Unusable(f"{found} is version {'.'.join(map(str, version))}: {WHY}")
    return ".".join(map(str, version))


def hooks(hold: int, *, defers: bool) -> dict[str, Settings]:
    """Event -> group: the gate, and what brings the transcript.

    ``onFailure`` is for the day when even the command's shell cannot be started.
    """
    options = ["--hold", str(hold), *(["--defer"] if defers else [])]
    gate = {"type": "command", "timeout": hold + GRACE, "onFailure": "block", "statusMessage": WAITS}
    told = {"type": "command", "timeout": GRACE, "command": commands.report(CLIENT, "transcript")}
    return {"Stop": {"hooks": [told]}, "SessionEnd": {"hooks": [told]}} | {
        name: {"matcher": "*", "hooks": [gate | {"command": commands.gate(CLIENT, event, *options)}]}
        for name, event in (("PreToolUse", PRE_TOOL_USE), ("PermissionRequest", PERMISSION_REQUEST))
    }


def warnings(settings: Settings) -> list[str]:
    """What in the settings weakens the gate."""
    found = []
    if settings.get("disableAllHooks"):
        found.append('"disableAllHooks" is set: no hook runs, so there is no gate until it is taken out')
    found += [
        f"another PreToolUse hook may change what a call does after it was decided: {command[:100]}"
        for command in others(settings, "PreToolUse")
    ]
    return found


def faults(settings: Settings) -> list[str]:
    """What of the installed hooks leaves a call open."""
    found = [] if not settings.get("disableAllHooks") else ['"disableAllHooks" is set: no hook runs']
    for event in ("PreToolUse", "PermissionRequest"):
        for group in settings.get("hooks", {}).get(event, []):
            for hook in filter(is_ours, group["hooks"]):
                if hook.get("onFailure") != "block":
                    found.append(f'{event}: without "onFailure": "block" a hook that fails lets the call run')
                if group.get("matcher") not in ("*", ".*", "", None):
                    found.append(f"{event}: the matcher {group['matcher']} leaves other tools without a gate")
    return found


def environment(settings: Settings) -> dict[str, Any]:
    """Variables that the settings set for the client and so for its hooks."""
    found = settings.get("env")
    return found if isinstance(found, dict) else {}
