"""The JSON settings of a coding agent: read, compared, and replaced in one step or not at all."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

Settings = dict[str, Any]


class Unusable(Exception):
    """The settings cannot be read or changed safely; the message says which file, what is wrong, and what now."""


class SettingsFile:
    """``text`` is what the file holds; empty where there is none. Raises ``Unusable``."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # a link stays a link
        try:
            self.text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            self.text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise Unusable(f"{self.path} cannot be read: {error}") from None
        self.settings = self._parsed()

    def _parsed(self) -> Settings:
        if not self.text.strip():
            return {}
        try:
            found = json.loads(self.text)
        except ValueError as error:
            raise Unusable(f"{self.path} is no valid JSON ({error}); it was not touched: mend it first") from None
        except RecursionError:
            raise Unusable(f"{self.path} is nested too deeply; it was not touched") from None
        hooks = found.get("hooks", {}) if isinstance(found, dict) else None
        if not isinstance(hooks, dict):
            what = 'its "hooks" are no object' if isinstance(found, dict) else "it holds no object"
            raise Unusable(f"{self.path} is no settings file: {what}; it was not touched")
        for event, groups in hooks.items():
            if not isinstance(groups, list) or not all(_is_group(group) for group in groups):
                raise Unusable(f'{self.path}: "hooks" of {event} are not as the client reads them; it was not touched')
        settings: Settings = found
        return settings

    def written(self, settings: Settings) -> str:
        """The settings as the file would hold them, indented as they are now; unchanged ones stay as they were."""
        if settings == self.settings:
            return self.text
        return json.dumps(settings, indent=_indent(self.text), ensure_ascii=False) + "\n"

    def diff(self, settings: Settings) -> str:
        """Unified diff; empty where nothing would change."""
        before, after = self.text.splitlines(keepends=True), self.written(settings).splitlines(keepends=True)
        lines = difflib.unified_diff(before, after, str(self.path), f"{self.path} (new)")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def replace(self, settings: Settings) -> None:
        """Write the settings. Raises ``Unusable``, also where somebody wrote the file meanwhile."""
        if self.path.exists() and self.path.read_text(encoding="utf-8") != self.text:
            raise Unusable(f"{self.path} was changed by somebody else just now; it was not touched: run this again")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(self.written(settings))
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).chmod(self.path.stat().st_mode & 0o7777 if self.path.exists() else 0o600)
                Path(name).replace(self.path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise Unusable(f"{self.path} cannot be written: {error}") from None


def with_hooks(settings: Settings, ours: dict[str, Settings]) -> Settings:
    """The settings with these hooks (event -> group) in place of those of ours that were there."""
    cleaned = without_hooks(settings)
    hooks = dict(cleaned.get("hooks", {}))
    for event, group in ours.items():
        hooks[event] = [*hooks.get(event, []), group]
    return cleaned | {"hooks": hooks}


def without_hooks(settings: Settings) -> Settings:
    """The settings without any hook of ours; other people's stay, in their order."""
    if "hooks" not in settings:
        return dict(settings)
    kept: dict[str, Any] = {}
    for event, groups in settings["hooks"].items():
        left = [_without(group) for group in groups]
        remaining = [group for group, before in zip(left, groups, strict=True) if group["hooks"] or not before["hooks"]]
        if remaining or not groups:
            kept[event] = remaining
    changed = {name: value for name, value in settings.items() if name != "hooks"}
    return changed | {"hooks": kept} if kept or not settings["hooks"] else changed


def others(settings: Settings, event: str) -> list[str]:
    """What else is run at an event: commands, addresses or types of other people's hooks."""
    return [
        str(hook.get("command") or hook.get("url") or hook.get("type"))
        for group in settings.get("hooks", {}).get(event, [])
        for hook in group["hooks"]
        if not is_ours(hook)
    ]


def is_ours(hook: Settings) -> bool:
    command = str(hook.get("command", ""))
    return any(name in command for name in ("countersign/hook.py", "countersign/report.py", "countersign hook "))


def _without(group: Settings) -> Settings:
    return group | {"hooks": [hook for hook in group["hooks"] if not is_ours(hook)]}


def _is_group(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and all(isinstance(hook, dict) for hook in hooks)


def _indent(text: str) -> int | str:
    for line in text.splitlines()[1:]:
        if blank := line[: len(line) - len(line.lstrip())]:
            return "\t" if blank[0] == "\t" else len(blank)
    return 2
