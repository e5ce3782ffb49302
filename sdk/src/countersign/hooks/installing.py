"""Install and uninstall hooks: the change is shown first, and nothing else in the settings changes."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

from ..claude_code import install as claude_code
from ..codex import install as codex
from .settings_file import Settings, SettingsFile, Unusable, with_hooks, without_hooks

CLIENTS: dict[str, ModuleType] = {claude_code.CLIENT: claude_code, codex.CLIENT: codex}
LONGEST = 7 * 24 * 3600


def install(options: Namespace) -> int:
    """Exit status: 0 installed (or was so before), 1 not wanted. Raises ``Unusable``."""
    client = CLIENTS[options.client]
    if not 1 <= options.hold <= LONGEST:
        raise Unusable(f"--hold {options.hold} is not between 1 and {LONGEST} seconds")
    file = SettingsFile(_path(options))
    version = client.check_version(options.program)
    wanted = with_hooks(file.settings, client.hooks(options.hold, defers=options.defer))
    done = _change(file, wanted, options.yes, f"{options.client} {version} asks the desk before each call")
    if done == 0:
        for warning in [*client.warnings(wanted), *_missing(client.environment(wanted))]:
            print(f"warning: {warning}")
        print("prove that it fails closed: countersign doctor hooks")
    return done


def uninstall(options: Namespace) -> int:
    """Exit status: 0 gone (or was never there), 1 not wanted. Raises ``Unusable``."""
    file = SettingsFile(_path(options))
    return _change(file, without_hooks(file.settings), options.yes, f"{options.client} asks no desk any more")


def _path(options: Namespace) -> Path:
    path = Path(options.settings) if options.settings else CLIENTS[options.client].settings_path(options.scope)
    assert isinstance(path, Path)
    return path


def _change(file: SettingsFile, wanted: Settings, yes: bool, outcome: str) -> int:
    diff = file.diff(wanted)
    if not diff:
        print(f"{file.path}: nothing to change, {outcome}")
        return 0
    print(diff, end="")
    if not yes:
        if not sys.stdin.isatty():
            raise Unusable("nobody is here to say yes to this change: look at it, then run this again with --yes")
        if input("Change it so? [y/N] ").strip().lower() not in ("y", "yes"):
            print("nothing was changed")
            return 1
    file.replace(wanted)
    print(f"{file.path}: {outcome}")
    return 0


def _missing(settings: dict[str, object]) -> list[str]:
    return [
        f"{name} is not set: where the agent runs it has to be, and until then every call is denied"
        for name in ("COUNTERSIGN_URL", "COUNTERSIGN_API_KEY")
        if not os.environ.get(name) and not settings.get(name)
    ]
