from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Agent, Workspace
from sessions_app.rendering import numbers
from sessions_app.services import agents, audit
from vcon_app import registry
from vcon_app.api.imports import Import as Shape
from vcon_app.formats.common.sqlite.wal import is_beside
from vcon_app.management.progress import Progress, result_line
from vcon_app.models import Import
from vcon_app.queries.imports import complete
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs, watch
from vcon_app.services.imports.folder_files import NotPlain, files_in, open_whole, place_of
from vcon_app.services.imports.usual_places import PLACES, recordings_below

POLL_SECONDS = 0.2
TAKE_OVER_AFTER = timedelta(seconds=5)
"""A worker takes 0.1 s to begin. An import that waits for longer is read here: no worker runs, or it is busy."""
Found = tuple[Path, Path | None]
"""A file, and the folder among the arguments that it was found in."""


class Command(BaseCommand):
    help = (
        "Imports files, and folders with everything in them, as the upload page does; exit status 1 when a file failed."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths",
            nargs="*",
            metavar="PATH",
            type=Path,
            help="a file or a folder; hidden files in folders are left out",
        )
        parser.add_argument(
            "--from", action="append", default=[], dest="sources", metavar="AGENT", choices=sorted(PLACES),
            help="shows what this agent keeps in your home, and imports it if you say yes; one of %(choices)s",
        )  # fmt: skip
        parser.add_argument("--all", action="store_true", help="the same for every agent that is found")
        parser.add_argument("--yes", action="store_true", help="with --from or --all: do not ask")
        parser.add_argument("--agent", metavar="NAME", help="whose sessions these are; default: what the file says")
        parser.add_argument(
            "--format", metavar="FORMAT",
            default=import_jobs.AUTO, choices=[import_jobs.AUTO, *sorted(registry.readers())],
            help="default: %(default)s, which recognises the content; else one of %(choices)s",
        )  # fmt: skip
        add_workspace(parser)
        parser.add_argument("--json", action="store_true", help="a line of JSON per file: the import, with its path")
        parser.add_argument("--no-wait", action="store_true", help="leave the reading to a worker and end at once")

    def handle(self, *args: Any, paths: list[Path], agent: str | None, workspace: str, **options: Any) -> None:
        self.as_json = options["json"]
        self.failed = False
        place = workspace_named(workspace)
        owner = agents.get_or_create_agent(place.id, agent) if agent and agent.strip() else None
        sources = sorted(PLACES) if options["all"] else options["sources"]
        if bool(paths) == bool(sources):
            raise CommandError("name files or folders, or agents with --from AGENT or --all")
        files = self._found(sources, yes=options["yes"]) if sources else list(_files(paths))
        names = {str(path) for path, _ in files}
        files = [(path, folder) for path, folder in files if not is_beside(str(path), names)]
        if not files:
            if sources:
                return
            raise CommandError(f"there are no files in {', '.join(str(path) for path in paths)}")
        with Progress(sys.stderr, len(files)) as self.progress:
            waiting = dict(self._start_all(files, place, owner, options["format"]))
            if options["no_wait"]:
                self._report_all(waiting)
            else:
                self._wait(waiting)
        if self.failed:
            raise SystemExit(1)

    def _found(self, sources: list[str], *, yes: bool) -> list[Found]:
        """Files of these agents in the home of whoever runs this, shown first; none unless that person says yes."""
        home = Path.home()
        found = list(recordings_below(home, sources))
        for one in found:
            count = f"{len(one.files):,} file" + ("" if len(one.files) == 1 else "s")
            self.stderr.write(f"{one.agent:<12} {count}, {numbers.size(one.size)}, newest of {one.newest:%Y-%m-%d}")
        if not found:
            self.stderr.write(f"nothing of {', '.join(sources)} lies in the usual places of {printable(home)}")
            return []
        files = [(path, home) for one in found for path in one.files]
        if not yes:
            self.stderr.write(f"Import {len(files):,} files? What was imported before is left out. [y/N] ", ending="")
            self.stderr.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                self.stderr.write("nothing was imported")
                return []
        return files  # type: ignore[return-value]

    def _start_all(
        self, files: Iterable[Found], workspace: Workspace, agent: Agent | None, format: str
    ) -> Iterator[tuple[UUID, Path]]:
        for path, folder in files:
            try:
                with open_whole(path, folder) as file:
                    if format == import_jobs.AUTO:
                        watch.detect(file, path.name)  # what is none of ours is not kept for others to read
                    chunks = documents.chunks_of(file)
                    started = import_jobs.start_import(
                        workspace, _name(path.name), chunks, by=audit.COMMAND, agent=agent, format=format,
                        folder=place_of(path, folder),
                    )  # fmt: skip
            except NotPlain as error:
                self._report_fault(path, error.strerror, "ignored" if folder else "failed")
            except OSError as error:
                self._report_fault(path, error.strerror or str(error))
            except (documents.TooLarge, registry.Unrecognised) as error:
                self._report_fault(path, str(error))
            else:
                yield started.id, path

    def _wait(self, waiting: dict[UUID, Path]) -> None:
        while waiting:
            rows = list(complete(Import.objects.filter(pk__in=waiting)).order_by("pk"))
            for row in rows:
                if row.status in (Import.Status.DONE, Import.Status.FAILED):
                    self._report(row, waiting.pop(row.pk))
            self.progress.show(sum(row.progress for row in rows if row.pk in waiting))
            left_alone = [row for row in rows if _is_left_alone(row)]
            if left_alone:
                import_jobs.run(left_alone[0].pk)
            elif waiting:
                time.sleep(POLL_SECONDS)

    def _report_all(self, started: dict[UUID, Path]) -> None:
        for row in complete(Import.objects.filter(pk__in=started)).order_by("pk"):
            self._report(row, started[row.pk])

    def _report(self, row: Import, path: Path) -> None:
        self.failed |= row.status == Import.Status.FAILED
        if self.as_json:
            self._line(orjson.dumps({"path": _name(path), **Shape.from_row(row).model_dump(mode="json")}).decode())
        else:
            self._line(result_line(row, path))

    def _report_fault(self, path: Path, reason: str, status: str = "failed") -> None:
        self.failed |= status == "failed"
        if self.as_json:
            self._line(orjson.dumps({"path": _name(path), "status": status, "error": reason}).decode())
        else:
            self._line(f"{status:<7} {printable(path)}: {reason}")

    def _line(self, text: str) -> None:
        self.progress.clear()
        self.stdout.write(text)
        self.progress.advance()


def _name(path: str | Path) -> str:
    """A path as text; bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


def _is_left_alone(row: Import) -> bool:
    return row.status == Import.Status.QUEUED and timezone.now() - row.created_at > TAKE_OVER_AFTER


def _files(paths: Iterable[Path]) -> Iterator[Found]:
    """Each file once, in order of name; a path that does not exist, or is a link, is kept, so that it is reported.

    A link to a folder as well: the shell makes arguments of what is in a folder that somebody else writes into.
    """
    seen: set[Path] = set()
    for path in paths:
        folder = path if path.is_dir() and not path.is_symlink() else None
        for file in files_in(folder) if folder else [path]:
            if file not in seen:
                seen.add(file)
                yield file, folder
