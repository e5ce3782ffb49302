"""Whether everything is what was written: logs, wallets, decisions, audit, and the checkpoints that bind them.

A set of statements for people, in order; the first that is not ``ok`` names what is wrong. Reads only, and streams:
whatever the size, one row, one page of links or one checkpoint is held at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app.models import AuditEntry, Checkpoint, CheckpointHead, LedgerEntry, Session, Tombstone, Workspace
from sessions_app.queries import chains, checkpoints
from sessions_app.queries.log import links
from sessions_app.services import audit
from vcon_app.signing import checkpoint as statements
from vcon_app.signing import detached
from vcon_app.signing.checkpoint import Head
from vcon_app.signing.keys import Anchor

from ..documents import storage
from ..trust import own_keys, tombstones
from . import publishing, timestamps

PAGE = 1_000
TRUSTED = ("valid", "valid_expired")
ERASED = tuple(f"{kind}.erased" for kind in Tombstone.Kind.values)
"""Actions of the audit log that a tombstone goes with."""
NOT_OURS = "is not signed by this installation: {} (an earlier key of ours: name it with --key)"


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was looked at: ``what`` it is, and in ``detail`` how much of it is whole, or what is wrong."""

    ok: bool
    what: str
    detail: str


@dataclass(frozen=True, slots=True)
class Outside:
    """What is kept outside of the database, as it was at a moment: names of files by number, witnesses by size."""

    files: dict[int, str]
    witnesses: dict[Path, int]

    @classmethod
    def seen_now(cls, witness: Path | None = None) -> Outside:
        """Look at it. Before the database is looked at: what comes later is not lost there."""
        names = {publishing.number_of(name): name for name in storage.of_checkpoints().names()}
        paths = filter(None, {witness, publishing.witness_file()})
        return cls(
            {number: name for number, name in names.items() if number is not None},
            {path: path.stat().st_size if path.exists() else 0 for path in paths},
        )


@contextmanager
def snapshot() -> Iterator[None]:
    """One state of the database for a whole verification: what is written meanwhile is not taken for a fault."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def verify_all(outside: Outside, anchors: Sequence[Anchor] = ()) -> Iterator[Statement]:
    """Everything in the installation. Run it in a ``snapshot`` that began after ``outside`` was looked at."""
    for workspace in Workspace.objects.order_by("slug"):
        yield from verify_workspace(workspace, anchors)
    yield from verify_checkpoints(outside, anchors)


def verify_workspace(workspace: Workspace, anchors: Sequence[Anchor] = ()) -> Iterator[Statement]:
    """The audit log, the wallets, the decisions and every session of a workspace."""
    yield _audit(workspace)
    yield _counted(
        f"{workspace.slug}: ledger",
        chains.broken_ledger(workspace.pk),
        f"{LedgerEntry.objects.filter(wallet__workspace=workspace).count()} entries",
    )
    judged = list(_judged_tombstones(workspace.pk, anchors))
    forged = (chains.Broken(f"{row.kind} {row.subject_id}", fault) for row, fault in judged if fault)
    yield _counted(
        f"{workspace.slug}: tombstones", forged, f"{len(judged)}, each signed here and as the audit log says"
    )
    erased = set(_erased(judged))
    broken = chain(chains.broken_decisions(workspace.pk), chains.missing_approvals(workspace.pk, erased))
    yield _counted(f"{workspace.slug}: decisions", broken, "each as the audit log says")
    yield from _sessions(workspace)


def verify_session(session: Session) -> Statement:
    """The log of one session."""
    found = links.verify(session.pk)
    what = f"session {session.pk}"
    if found.fault is None:
        return Statement(True, what, f"{found.events} events")
    place = f"event {found.fault.seq}: " if found.fault.seq is not None else ""
    return Statement(False, what, f"{place}{found.fault.reason}")


def _erased(judged: Iterable[tuple[Tombstone, str]]) -> dict[str, Tombstone]:
    """Tombstones of erased sessions by session.

    A row of the audit log that only says so, or a tombstone that somebody wrote, erases nothing.
    """
    return {str(row.subject_id): row for row, fault in judged if row.kind == Tombstone.Kind.SESSION and not fault}


def _judged_tombstones(workspace_id: UUID, anchors: Sequence[Anchor]) -> Iterator[tuple[Tombstone, str]]:
    """Each tombstone of a workspace, and what is wrong with it; empty where nothing is.

    Whoever has the desk's password to the database can erase a session with a tombstone of their own making: it is not
    signed by this installation, or no audit entry means it.
    """
    trusted = _with_own(anchors)
    entries = AuditEntry.objects.filter(workspace_id=workspace_id, action__in=ERASED)
    told = set(entries.values_list("action", "subject_id", "details__digest"))
    for row in Tombstone.objects.filter(workspace_id=workspace_id).order_by("pk").iterator():
        if (f"{row.kind}.erased", str(row.subject_id), tombstones.digest_of(row)) not in told:
            yield row, "its tombstone is not the one that the audit log tells of"
        elif (signature := tombstones.check(row, trusted)).state not in TRUSTED:
            yield row, f"its tombstone {NOT_OURS.format(signature.detail)}"
        else:
            yield row, ""


def _with_own(anchors: Sequence[Anchor]) -> list[Anchor]:
    own = own_keys.own_anchor()
    return [*anchors, *([own] if own else [])]


def _audit(workspace: Workspace) -> Statement:
    broken = next(audit.broken_rows(workspace.pk), None)
    if broken:
        return Statement(False, workspace.slug, f"entry {broken[0]}: {broken[1]}")
    return Statement(True, workspace.slug, f"{AuditEntry.objects.filter(workspace=workspace).count()} entries")


def _counted(what: str, broken: Iterator[chains.Broken], whole: str) -> Statement:
    first = next(broken, None)
    return Statement(False, what, f"{first.what}: {first.reason}") if first else Statement(True, what, whole)


def _sessions(workspace: Workspace) -> Iterator[Statement]:
    """One statement for all sessions that are whole, and one for each that is not."""
    sessions = events = 0
    found = Session.objects.filter(workspace=workspace).order_by("pk").only("pk")
    after: UUID | None = None
    while page := list((found.filter(pk__gt=after) if after else found)[:PAGE]):
        for session in page:
            verified = links.verify(session.pk)
            sessions, events = sessions + 1, events + verified.events
            if verified.fault:
                yield verify_session(session)
        after = page[-1].pk
    yield Statement(True, f"{workspace.slug}: sessions", f"{sessions} looked at, {events} events as they were written")


# --- checkpoints --------------------------------------------------------------------------------------------------


def verify_checkpoints(outside: Outside, anchors: Sequence[Anchor] = ()) -> Iterator[Statement]:
    """The checkpoints: whole, in order, signed by us, the same outside of the database, and true of every chain."""
    yield from _chain_of_checkpoints(anchors)
    yield from _files(outside.files)
    for path, size in outside.witnesses.items():
        yield from _witnessed(path, size)
    yield from _heads_that_are_gone(anchors)


def _chain_of_checkpoints(anchors: Sequence[Anchor]) -> Iterator[Statement]:
    trusted = _with_own(anchors)
    previous, expected, installation, unstamped = statements.GENESIS, 1, "", 0
    for row in Checkpoint.objects.select_related("publication").order_by("number").iterator(PAGE):
        fault = _fault_of(row, expected, previous, installation, trusted)
        if fault:
            yield Statement(False, f"checkpoint {row.number}", fault)
            return
        token = row.publication.timestamp_token
        if token is not None:
            try:
                if timestamps.has_roots():
                    timestamps.check(bytes(token), row.header.encode())
                else:
                    unstamped += 1
            except timestamps.BadStamp as bad:
                yield Statement(False, f"checkpoint {row.number}", f"its time stamp is not one of the authority: {bad}")
        previous, expected = row.hash, row.number + 1
        installation = installation or statements.parse(row.header).installation
    detail = f"{expected - 1}, each signed and bound to the one before"
    if unstamped:
        detail += f"; {unstamped} time stamps were not checked: COUNTERSIGN_TIMESTAMP_CERTIFICATES is not set"
    yield Statement(True, "checkpoints", detail)


def _fault_of(row: Checkpoint, expected: int, previous: str, installation: str, trusted: Sequence[Anchor]) -> str:
    """Why a checkpoint does not stand; empty when it does."""
    try:
        header = statements.parse(row.header)
    except statements.NotAHeader as fault:
        return str(fault)
    if row.number != expected or header.number != expected:
        return f"checkpoint {expected} is missing before it"
    if header.previous != previous:
        return "it does not follow from the one before"
    if installation and header.installation != installation:
        return "it is of another installation"
    if statements.hash_of(row.header) != row.hash:
        return "its hash is not that of what it says"
    heads = [
        Head(kind, str(chain_id), seq, hash_)
        for kind, chain_id, seq, hash_ in CheckpointHead.objects.filter(checkpoint=row)
        .order_by("position")
        .values_list("kind", "chain_id", "seq", "hash")
    ]
    if statements.root_of(heads) != header.root or len(heads) != header.heads:
        return "its heads are not those that were signed"
    signature, _ = detached.check(row.signature.encode(), row.header.encode(), trusted, timezone.now())
    if signature.state not in TRUSTED:
        return f"it {NOT_OURS.format(signature.detail)}"
    return ""


def _files(named: dict[int, str]) -> Iterator[Statement]:
    """The files beside the documents: each says what the database says, and none is of a checkpoint that is gone."""
    kept = storage.of_checkpoints()
    numbers = sorted(named)
    known = dict(Checkpoint.objects.filter(number__in=numbers).values_list("number", "header"))
    for number in numbers:
        with kept.open(named[number]) as file:
            try:
                header = json.load(file)["header"]
            except (ValueError, KeyError, TypeError):
                header = None
        if number not in known:
            lost = "its file is there, and the database has lost it: the end was cut off"
            yield Statement(False, f"checkpoint {number}", lost)
            return
        if header != known[number]:
            yield Statement(False, f"checkpoint {number}", "its file says something else than the database")
            return
    stored = Checkpoint.objects.filter(publication__stored_at__isnull=False)
    missing = stored.exclude(number__in=numbers).order_by("number").first()
    if missing:
        yield Statement(False, f"checkpoint {missing.number}", f"its file is gone from {kept}")
        return
    yield Statement(True, "files of checkpoints", f"{len(numbers)} in {kept}")


def _witnessed(path: Path, size: int) -> Iterator[Statement]:
    """A file that somebody else keeps: every line of it has to be a checkpoint that is still there."""
    count = 0
    try:
        with path.open(encoding="utf-8") as file:
            for count, line in enumerate(file.read(size).splitlines(), start=1):
                hash_ = json.loads(line)["hash"]
                if not Checkpoint.objects.filter(hash=hash_).exists():
                    yield Statement(
                        False, f"witness {path}", f"line {count} is a checkpoint that the database has lost"
                    )
                    return
    except (OSError, ValueError, KeyError, TypeError) as fault:
        yield Statement(False, f"witness {path}", f"it cannot be read at line {count + 1} ({type(fault).__name__})")
        return
    yield Statement(True, f"witness {path}", f"{count} checkpoints, all of them there")


def _heads_that_are_gone(anchors: Sequence[Anchor]) -> Iterator[Statement]:
    erased: dict[str, Tombstone] = {}
    for workspace in Workspace.objects.all():
        erased |= _erased(_judged_tombstones(workspace.pk, anchors))
    for kind in checkpoints.ROWS:
        heads = checkpoints.gone_heads(kind)
        gone = next((head for head in heads if not _was_erased(erased.get(str(head.chain_id)), head)), None)
        if gone:
            what, _, detail = str(gone).partition(": ")
            yield Statement(False, what, detail)
        else:
            yield Statement(True, f"heads ({kind})", "every one that a checkpoint knew is still there")


def _was_erased(tombstone: Tombstone | None, head: checkpoints.GoneHead) -> bool:
    """Whether the head of a chain went by erasure: the tombstone knows the same chain, up to there or further."""
    if tombstone is None or tombstone.last_seq is None:
        return False
    return head.seq < tombstone.last_seq or (head.seq, head.hash) == (tombstone.last_seq, tombstone.last_link)
