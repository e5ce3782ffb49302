from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.services import agents
from sessions_app.stop_signal import StopSignal
from vcon_app.management.progress import result_line
from vcon_app.models import Import
from vcon_app.services.imports.watch import Outcome, Watch


class Command(BaseCommand):
    help = "Follows a folder: imports what is in it, and then what is added to its files, until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder",
            metavar="DIR",
            type=Path,
            help="hidden and temporary files in it are left out, but for those of agents (.crush, .opencode)",
        )
        parser.add_argument("--agent", metavar="NAME", help="whose sessions these are; default: what the file says")
        add_workspace(parser)
        parser.add_argument("--once", action="store_true", help="import what is there now, then end")
        parser.add_argument(
            "--interval",
            type=float,
            default=2.0,
            metavar="SECONDS",
            help="time between two looks; default: %(default)s",
        )

    def handle(
        self, *args: Any, folder: Path, agent: str | None, workspace: str, once: bool, interval: float, **options: Any
    ) -> None:
        if not folder.is_dir():
            raise CommandError(f"{printable(folder)} is no folder; to import a file use ingest")
        if interval <= 0:
            raise CommandError(f"--interval must be more than 0 seconds, not {interval:g}")
        place = workspace_named(workspace)
        owner = agents.get_or_create_agent(place.id, agent) if agent and agent.strip() else None
        watch = Watch(folder, place, agent=owner)
        try:
            if once:
                self._look_once(watch)
            else:
                self._follow(watch, interval)
        except KeyboardInterrupt:
            self.stdout.write("ended")
        except OSError as error:
            raise CommandError(f"{printable(folder)} cannot be read any more: {error.strerror or error}") from None

    def _look_once(self, watch: Watch) -> None:
        failed = [self._report(outcome) for outcome in watch.look(once=True)]
        if any(failed):
            raise SystemExit(1)

    def _follow(self, watch: Watch, interval: float) -> None:
        stop = StopSignal()

        def wait() -> bool:
            close_old_connections()  # a server that was restarted meanwhile is connected to again
            return stop.wait(interval)

        # Not left to KeyboardInterrupt: raised inside of a library's clean-up it is swallowed, and nobody stops.
        # A second one does not wait for the import that is under way.
        def enough(*_: Any) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            stop.set()

        before = signal.signal(signal.SIGINT, enough)
        try:
            self.stdout.write(f"following {printable(watch.folder)}; Ctrl-C ends it")
            for outcome in watch.follow(wait):
                self._report(outcome)
        finally:
            signal.signal(signal.SIGINT, before)
        self.stdout.write("ended")

    def _report(self, outcome: Outcome) -> bool:
        """Write a line about a file; whether its import failed."""
        row = outcome.imported
        line = result_line(row, outcome.path) if row else f"ignored {printable(outcome.path)}: {outcome.reason}"
        self.stdout.write(line)
        return row is not None and row.status == Import.Status.FAILED
