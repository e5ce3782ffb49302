"""Are kept totals the sum of the sessions' own? ``python -m bench.formats.kept_totals [--part K/N]``

Over every file of ../shared/corpus that a format reads, in one workspace of an installation of its own: first halves of
files that grow by lines; then each whole file beside a copy of itself under another session id, imported at once by two
threads, so that who owns the responses of both is decided later; then every third session deleted; then all. After each
step, before and after changes are taken into the totals, four ways to the total are compared to the last digit: kept
totals, turns added up, groups of a grouping, and what the sessions say of themselves. The exit status is 1 when two
differ. ``--part 1/20`` takes every 20th file.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..measure import table
from ..places import installation
from .corpus import File

if TYPE_CHECKING:
    from sessions_app.models import Workspace

GROWS = (".jsonl", ".ndjson")
LONG_ENOUGH = 8
"""Letters of a session id that no other text of a file has by chance."""


def main() -> int:
    """Run all steps; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.formats.kept_totals", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", default="1/1", help="K/N: every Nth file, from the Kth on")
    first, every = map(int, parser.parse_args().part.split("/"))
    with installation() as environment:
        os.environ.update(environment)
        import django

        django.setup()
        rows, faults = [], 0
        for name, found, seconds in steps(all_files()[first - 1 :: every]):
            faults += len(found)
            rows.append((name, f"{seconds:.0f} s", "; ".join(found) or "equal"))
            print("  ".join(rows[-1]), flush=True)
        print(table(("step", "took", "totals"), rows))
        return 1 if faults else 0


def all_files() -> list[File]:
    """Every file of the corpus that a format reads, once."""
    from vcon_app import registry

    from . import corpus

    files = {file.name: file for file in (*corpus.transcripts(), *corpus.further())}.values()
    return sorted((file for file in files if file.format in registry.readers()), key=lambda file: file.name)


def steps(files: Sequence[File]) -> Iterator[tuple[str, list[str], float]]:
    """Name of each step, where totals differ after it, and how long it took."""
    from sessions_app.models import Session
    from sessions_app.services import audit, workspaces
    from sessions_app.services.log import shared_responses
    from sessions_app.services.money import totals
    from vcon_app.services.erasure import erasing

    from . import stored

    workspace = workspaces.create_workspace("corpus")
    by = audit.Actor("member", "somebody", "Somebody")

    def looked_at(name: str, began: float) -> Iterator[tuple[str, list[str], float]]:
        took = time.monotonic() - began
        yield f"{name}, not taken in yet", differing(workspace), took
        began = time.monotonic()
        totals.fold()
        yield f"{name}, taken in", differing(workspace), time.monotonic() - began

    began = time.monotonic()
    for file in files:
        if file.name.endswith(GROWS) and (half := stored.first_half(file.data)):
            stored.drop(workspace, half, file)
    yield from looked_at(f"halves of {sum(file.name.endswith(GROWS) for file in files)} files", began)
    began, copies = time.monotonic(), 0
    with ThreadPoolExecutor(2) as threads:
        for file in files:
            pair = [file.data, *_copy(workspace, file)]
            copies += len(pair) - 1
            list(threads.map(lambda data, file=file: _dropped(workspace, data, file), pair))
    settled = shared_responses.settle()
    sessions = Session.objects.filter(workspace=workspace).order_by("pk")
    name = f"{len(files)} files and {copies} copies, {sessions.count()} sessions, {settled} settled later"
    yield from looked_at(name, began)
    for name, going in (("a third deleted", list(sessions)[::3]), ("all deleted", list(sessions))):
        began = time.monotonic()
        for session in going:
            if Session.objects.filter(pk=session.pk).exists():
                erasing.erase_session(session, by=by)
        yield from looked_at(name, began)


def differing(workspace: Workspace) -> list[str]:
    """Ways to the total of a workspace that are not one."""
    from sessions_app.queries.money import usage, usage_of_turns, usage_totals
    from sessions_app.queries.money.usage_totals import TOKENS

    names = (*TOKENS, "cost_recorded", "cost_priced")
    everything = {"workspace": workspace.pk, "from": None, "to": None, "agent": "", "origin": "", "tag": ""}
    period = usage.Period(workspace.pk)
    own = _sum(_sessions_with_turns(workspace), names)
    ways = {
        "kept": _sum([period.total()], names),
        "by session": _sum(period.groups("session", limit=100_000), names),
        "by model": _sum(period.groups("model", limit=100_000), names),
    }
    found = [
        f"{way}: {name} is {sums[name]}, of the sessions {own[name]}"
        for way, sums in ways.items()
        for name in names
        if sums[name] != own[name]
    ]
    kept, of_turns = usage_totals.total(everything), usage_of_turns.total(everything)
    return found + ([] if kept == of_turns else [f"kept {kept} and of turns {of_turns}"])


def _sessions_with_turns(workspace: Workspace) -> Iterable[Any]:
    from sessions_app.models import Session

    return Session.objects.filter(workspace=workspace, turns__isnull=False).distinct()


def _sum(rows: Iterable[Any], names: Sequence[str]) -> dict[str, Decimal]:
    sums = dict.fromkeys(names, Decimal(0))
    for row in rows:
        for name in names:
            sums[name] += Decimal(getattr(row, name) or 0)
    return sums


def _copy(workspace: Workspace, file: File) -> list[bytes]:
    """The file under the id of another session, where its id stands in it as it is; as a resumed session repeats it."""
    from sessions_app.models import Session

    known = Session.objects.filter(workspace=workspace, source_format=file.format).values_list("external_id", flat=True)
    for external_id in sorted({one.rpartition("/")[2] for one in known}, key=len, reverse=True):
        old = external_id.encode()
        if len(old) >= LONG_ENOUGH and old in file.data and file.name.endswith(GROWS):
            return [file.data.replace(old, old[:-1] + (b"0" if old[-1:] != b"0" else b"1"))]
    return []


def _dropped(workspace: Workspace, data: bytes, file: File) -> None:
    from django.db import connection

    from . import stored

    try:
        stored.drop(workspace, data, file)
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
