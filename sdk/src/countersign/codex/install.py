"""The hooks of Codex in its ``hooks.json``: a gate only as far as Codex waits for them, and this says how far."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..call_events import PERMISSION_REQUEST, PRE_TOOL_USE
from ..hooks import commands
from ..hooks.client_version import version_of
from ..hooks.settings_file import Settings, Unusable, is_ours, others

CLIENT = "codex"
OLDEST = (0, 169, 0)
WHY = "what earlier versions do with a hook that refuses was not measured; upgrade it (npm install -g @openai/codex)"
GRACE = 60
"""Seconds that Codex gives a hook beyond the time that it holds on: it has denied by then."""
WAITS = "Waiting for a decision at the desk"


def settings_path(scope: str) -> Path:
    if scope == "project":
        return Path.cwd() / ".codex" / "hooks.json"
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "hooks.json"


def check_version(program: str | None) -> str:
    """The version of the client. Raises ``Unusable``."""
    found, version = version_of(program or "codex")
    if version < OLDEST:
        raise Unusable(f"{found} is version {'.'.join(map(str, version))}: {WHY}")
    return ".".join(map(str, version))


def hooks(hold: int, *, defers: bool) -> dict[str, Settings]:
    """Event -> group: the gate, and what brings the transcript. Raises ``Unusable`` for ``--defer``."""
    if defers:
        raise Unusable("Codex cannot defer a call: leave --defer out")
    gate = {"type": "command", "timeout": hold + GRACE, "statusMessage": WAITS}
    told = {"type": "command", "timeout": GRACE, "command": commands.report(CLIENT, "transcript")}
    return {"Stop": {"hooks": [told]}} | {
        name: {"matcher": ".*", "hooks": [gate | {"command": commands.gate(CLIENT, event, "--hold", str(hold))}]}
        for name, event in (("PreToolUse", PRE_TOOL_USE), ("PermissionRequest", PERMISSION_REQUEST))
    }


def warnings(settings: Settings) -> list[str]:
    """What weakens the gate, and what Codex itself leaves open."""
    return [
        "Codex runs calls without a hook that nobody has reviewed: start codex, enter /hooks, and trust all of ours",
        "this is NO GATE where the hook itself cannot run: Codex lets a call run when its hook is killed, is not found "
        "or exceeds its time. The command refuses in every other case (docs/gate/codex.md)",
        *(
            f"another PreToolUse hook may change what a call does after it was decided: {command[:100]}"
            for command in others(settings, "PreToolUse")
        ),
    ]


def faults(settings: Settings) -> list[str]:
    """What of the installed hooks leaves a call open, beside what Codex itself does."""
    return [
        f"{event}: the matcher {group['matcher']} leaves other tools without a gate"
        for event in ("PreToolUse", "PermissionRequest")
        for group in settings.get("hooks", {}).get(event, [])
        if any(map(is_ours, group["hooks"])) and group.get("matcher") not in ("*", ".*", "", None)
    ]


def environment(settings: Settings) -> dict[str, Any]:
    """Variables that the settings set for the hooks: those of Codex set none."""
    return {}
