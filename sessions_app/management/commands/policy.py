from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Workspace
from sessions_app.policy.faults import Invalid
from sessions_app.policy.reading import read_rules
from sessions_app.policy.writing import written
from sessions_app.queries import deciders
from sessions_app.queries import policies as queries
from sessions_app.services import audit
from sessions_app.services.policies import versions


class Command(BaseCommand):
    help = (
        "Policies in files: `policy export FILE` writes the rules in force as JSON, `policy import FILE --note WHY` "
        "saves those of a file as a new version (`--publish` puts it in force, `--shadow` in shadow), `policy diff "
        "FILE` shows how they differ from those in force (exit status 1 where they do)."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("export", "import", "diff"))
        parser.add_argument("file", metavar="FILE", help="- for standard input or output")
        parser.add_argument("--note", default="", help="what changes and why; needed to publish")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--publish", action="store_true", help="with import: put the version in force")
        where.add_argument("--shadow", action="store_true", help="with import: have it judge calls without effect")
        add_workspace(parser)

    def handle(self, *args: Any, action: str, workspace: str, file: str, **options: Any) -> None:
        getattr(self, f"_{action}")(workspace_named(workspace), file, **options)

    def _export(self, workspace: Workspace, file: str, **options: Any) -> None:
        text = _in_force(workspace) + "\n"
        if file == "-":
            self.stdout.write(text, ending="")
            return
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}") from None

    def _import(self, workspace: Workspace, file: str, note: str, publish: bool, shadow: bool, **options: Any) -> None:
        rules = _read(file)
        if publish and not note.strip():
            raise CommandError("--publish needs --note: what changes, and why")
        version = versions.save_draft(workspace.id, rules, by=audit.COMMAND, note=note)
        if publish:
            versions.publish(version, by=audit.COMMAND, reason=note)
        if shadow:
            versions.put_in_shadow(workspace.id, version, by=audit.COMMAND)
        what = "is in force" if publish else "runs in shadow" if shadow else "is kept, without effect"
        self.stdout.write(f"version {version.number} {what}: {len(rules)} rules")
        for warning in deciders.warnings(workspace.id, rules):
            self.stderr.write(printable(f"warning: {warning}"))

    def _diff(self, workspace: Workspace, file: str, **options: Any) -> None:
        before, after = _in_force(workspace), written(_read(file))
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "in force", file, lineterm="")
        found = list(lines)
        for line in found:
            self.stdout.write(printable(line))
        if found:
            sys.exit(1)


def _in_force(workspace: Workspace) -> str:
    live = queries.state_of(workspace.id).live
    return written(live.rules if live else [])


def _read(file: str) -> Any:
    """The rules of a file. Every fault is a line."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        rules = json.loads(text)
        read_rules(rules)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{file} is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise CommandError(f"{file} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise CommandError(f"{file} is nested too deeply") from None
    except Invalid as invalid:
        faults = (f"{fault.pointer or '(all)'}: {fault.message}" for fault in invalid.faults)
        raise CommandError("\n".join(faults)) from None
    return rules
