"""``countersign doctor hooks`` finds the hooks that are installed here and proves that they fail closed."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..hooks.installing import CLIENTS
from ..hooks.settings_file import Settings, SettingsFile, Unusable
from ..wire import Address, Garbled, Unreachable, exchange
from . import proofs
from .proofs import Finding

REAL = {"claude-code": proofs.prove_claude_code, "codex": proofs.prove_codex}
OPEN = {
    "claude-code": "whoever starts Claude Code with --bare, --safe-mode or disableAllHooks has no gate",
    "codex": "Codex runs a call whose hook was not reviewed, exceeds its time or has its shell killed: NO GATE then",
}


def hooks(options: Namespace) -> int:
    """Exit status: 0 all proved, 1 something is open, 2 there is nothing to prove."""
    found = list(_installed(options))
    if not found:
        raise Unusable("no hooks of ours are installed here: countersign hooks install claude-code")
    failed = 0
    for name, file in found:
        print(f"{name}, {file.path}")
        for finding in _findings(name, file.settings, options):
            print(f"  {finding}", flush=True)
            failed += not finding.ok
        print(f"  note  {OPEN[name]}")
    print(_desk())
    print("it fails closed" if not failed else f"{failed} of these let a call run, or could not be proved")
    return 1 if failed else 0


def _installed(options: Namespace) -> Iterator[tuple[str, SettingsFile]]:
    names = [options.client] if options.client else sorted(CLIENTS)
    for name in names:
        paths = [CLIENTS[name].settings_path(scope) for scope in ("user", "project")]
        for path in dict.fromkeys([Path(options.settings)] if options.settings else paths):
            file = SettingsFile(path)
            if any(proofs.commands_of(file.settings, event) for event in ("PreToolUse", "PermissionRequest")):
                yield name, file


def _findings(name: str, settings: Settings, options: Namespace) -> Iterator[Finding]:
    client = CLIENTS[name]
    try:
        yield Finding(True, f"version {client.check_version(options.program)}")
    except Unusable as refused:
        yield Finding(False, str(refused))
    for wanted in client.faults(settings):
        yield Finding(False, wanted)
    yield from proofs.prove_commands(settings)
    program = _program(name, options)
    if program:
        yield REAL[name](program, settings)


def _program(name: str, options: Namespace) -> str | None:
    import shutil

    return shutil.which(options.program or {"claude-code": "claude"}.get(name, name))


def _desk() -> str:
    """Whether the desk itself can be asked, from here and now: no part of the proof."""
    url, key = os.environ.get("COUNTERSIGN_URL", ""), os.environ.get("COUNTERSIGN_API_KEY", "")
    if not url or not key:
        return f"note  {'COUNTERSIGN_API_KEY' if url else 'COUNTERSIGN_URL'} is not set here: every call is denied"
    headers: dict[str, Any] = {"Authorization": f"Bearer {key}"}
    try:
        status, _ = exchange(Address(url), "GET", "/api/v1/approvals?limit=1", None, headers, 10)
    except (ValueError, Unreachable, Garbled) as error:
        return f"note  the desk at {url} does not answer ({error}): every call is denied"
    said = {200: "answers, and takes the key", 401: "does not take the key: every call is denied"}
    return f"note  the desk at {url} {said.get(status, f'answers {status}: every call is denied')}"
