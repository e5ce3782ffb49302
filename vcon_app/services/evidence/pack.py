"""The evidence pack: what was recorded of oversight in a period, signed, with what is needed to check it elsewhere.

It is written in one pass over the audit log; what does not fit into memory waits in temporary files.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings
from django.utils import timezone

from sessions_app.models import Workspace
from sessions_app.services import audit
from vcon_app.formats.bundle.packing import Packing
from vcon_app.formats.common.jsonio import dumps
from vcon_app.formats.evidence import layout
from vcon_app.signing import detached
from vcon_app.signing.signers import Signer

from ..checkpoints import making
from ..trust import own_keys
from . import audit_export, surroundings
from .decisions import COLUMNS, Figures, is_of_person, of_entries
from .period import Period, bounds, pages

CHUNK = 1024 * 1024
NDJSON = "application/x-ndjson"
Files = dict[str, IO[bytes]]


@dataclass(slots=True)
class _Work:
    """What is gathered on the way, and how many of each there are."""

    workspace: Workspace
    period: Period
    agent: str
    by: str
    signer: Signer
    at: datetime
    between: tuple[int, int] | None
    all: Figures = field(default_factory=Figures)
    people: dict[tuple[str, str, str], Figures] = field(default_factory=lambda: defaultdict(Figures))
    teams: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def file_name(workspace: Workspace, period: Period) -> str:
    return f"evidence-{workspace.slug}-{period.start:%Y%m%d}-{period.end:%Y%m%d}.zip"


def write(workspace: Workspace, period: Period, *, agent: str = "", by: audit.Actor) -> Iterator[bytes]:
    """The bytes of the pack. ``agent`` (slug or name) narrows decisions and incidents; the audit log stays whole.

    Raises ``BadKey``, ``OSError``. That it was made stands in the audit log, after the part that it holds.
    """
    signer = own_keys.signer()
    making.make_all()  # so that the newest entries are known to a checkpoint, too
    work = _Work(workspace, period, agent, by.name, signer, timezone.now(), bounds(workspace.pk, period))
    audit.record(
        workspace.pk, by, "evidence.exported", subject=("workspace", workspace.pk), agent=agent or None,
        **{"from": period.start.isoformat(), "to": period.end.isoformat()},
    )  # fmt: skip
    with ExitStack() as stack:
        names = (
            layout.DECISIONS,
            layout.DECISIONS_CSV,
            layout.RECEIPTS,
            layout.PLANTED,
            layout.INCIDENTS,
            layout.AUDIT,
            layout.CHECKPOINTS,
        )
        files: Files = {name: stack.enter_context(TemporaryFile()) for name in names}
        _gather(work, files)
        yield from _packed(work, files)


def _gather(work: _Work, files: Files) -> None:
    """One pass over the decisions, one over the entries; and the checkpoints, of which a month has 40,000."""
    files[layout.DECISIONS_CSV].write(audit_export.csv_lines([COLUMNS]))
    for one in of_entries(work.workspace.pk, work.between, work.signer, work.agent):
        issued = {"approval": one.row["id"], "receipt": one.receipt}
        if one.approval.planted:
            files[layout.PLANTED].write(dumps(issued | {"decision": one.row}) + b"\n")
            work.counts["planted"] += 1
            continue
        files[layout.DECISIONS].write(dumps(one.row) + b"\n")
        files[layout.DECISIONS_CSV].write(audit_export.csv_lines([tuple(map(_cell, one.row.values()))]))
        work.counts["decisions"] += 1
        if one.receipt:
            files[layout.RECEIPTS].write(dumps(issued) + b"\n")
            work.counts["receipts"] += 1
        work.all.add(one.approval)
        work.people[one.row["by_kind"] or "", one.row["by"] or "", one.row["by_role"] or ""].add(one.approval)
        if is_of_person(one.approval):
            work.teams[_team_of(one.row)].add(one.approval)
        if incident := surroundings.incident_of(one.approval, one.row["audit"]):
            _incident(work, files, incident)
    for incident in surroundings.other_incidents(work.workspace.pk, work.period, work.agent):
        _incident(work, files, incident)
    for page in pages(work.workspace.pk, work.between):
        files[layout.AUDIT].write(b"".join(map(audit_export.line, page)))
        work.counts["entries"] += len(page)
    for checkpoint in surroundings.checkpoints(work.workspace.pk, work.between):
        files[layout.CHECKPOINTS].write(dumps(checkpoint) + b"\n")
        work.counts["checkpoints"] += 1


def _team_of(row: dict[str, Any]) -> str:
    """Role of the person who decided, or "keys"."""
    return "keys" if row["by_kind"] == "api_key" else row["by_role"] or "role not kept"


def _incident(work: _Work, files: Files, incident: dict[str, Any]) -> None:
    files[layout.INCIDENTS].write(dumps(incident) + b"\n")
    work.counts["incidents"] += 1


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _packed(work: _Work, files: Files) -> Iterator[bytes]:
    packing, workspace = Packing(work.at), work.workspace
    yield from packing.add(layout.README, "text/markdown; charset=utf-8", [_readme(work)])
    for name in (layout.DECISIONS, layout.DECISIONS_CSV, layout.RECEIPTS, layout.PLANTED):
        yield from _file(packing, name, files[name])
    yield from packing.add(layout.OVERSIGHT, "application/json", [_pretty(_oversight(work))])
    policies = surroundings.policies(workspace.pk, work.period)
    yield from packing.add(layout.POLICIES, NDJSON, _lines(policies))
    rules = surroundings.agent_rules(workspace.pk, work.period, work.agent)
    yield from packing.add(layout.AGENT_RULES, NDJSON, _lines(rules))
    grants = surroundings.grants(workspace.pk, work.period, work.agent)
    yield from packing.add(layout.GRANTS, NDJSON, _lines(grants))
    stops = surroundings.stops(workspace.pk, work.period, work.agent)
    yield from packing.add(layout.STOPS, NDJSON, _lines(stops))
    for name in (layout.INCIDENTS, layout.AUDIT, layout.CHECKPOINTS):
        yield from _file(packing, name, files[name])
    yield from packing.add(layout.SIGNER, "application/x-pem-file", [work.signer.public_pem])
    manifest = _pretty(_manifest(work, packing))
    yield from packing.add(layout.MANIFEST, "application/json", [manifest])
    signature = detached.sign(manifest, work.signer).encode()
    yield from packing.add(layout.SIGNATURE, "application/jose", [signature])
    yield from packing.finish()


def _file(packing: Packing, name: str, file: IO[bytes]) -> Iterator[bytes]:
    size = file.tell()
    file.seek(0)
    media_type = "text/csv; charset=utf-8" if name.endswith(".csv") else NDJSON
    yield from packing.add(name, media_type, iter(lambda: file.read(CHUNK), b""), size)


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    return (dumps(row) + b"\n" for row in rows)


def _readme(work: _Work) -> bytes:
    counts = {name: work.counts[name] for name in ("decisions", "receipts", "planted", "entries", "checkpoints")}
    said = {
        "workspace": work.workspace.slug, "start": _utc(work.period.start), "end": _utc(work.period.end),
        "agent": f", decisions of the agent {work.agent} alone" if work.agent else "", "version": settings.VERSION,
        "at": _utc(work.at), "missing": counts["decisions"] - counts["receipts"],
    }  # fmt: skip
    return layout.readme(said | counts)


def _oversight(work: _Work) -> dict[str, Any]:
    """Who could oversee, what changed in the period, and what was decided by whom, how fast."""
    changes = (
        surroundings.change(entry)
        for page in pages(work.workspace.pk, work.between)
        for entry in page
        if surroundings.is_change_of_oversight(entry)
    )
    people = sorted(work.people.items(), key=lambda item: item[0])
    return {
        "members": surroundings.members(work.workspace.pk, work.period),
        "changes": list(changes),
        "all": work.all.row(),
        "by": [
            {"kind": kind, "name": name, "role": role or None} | figures.row()
            for (kind, name, role), figures in people
        ],
        "teams": [{"team": team} | figures.row() for team, figures in sorted(work.teams.items())],
    }  # fmt: skip


def _manifest(work: _Work, packing: Packing) -> dict[str, Any]:
    names = ("decisions", "receipts", "planted", "incidents", "entries", "checkpoints")
    return {
        "format": layout.FORMAT, "version": layout.VERSION,
        "product": {"name": "Countersign", "version": settings.VERSION},
        "made": {"at": _utc(work.at), "by": work.by},
        "workspace": {"id": str(work.workspace.pk), "name": work.workspace.slug},
        "period": {"from": _utc(work.period.start), "to": _utc(work.period.end)},
        "agent": work.agent or None,
        "counts": {name: work.counts[name] for name in names},
        "members": [member.row() for member in packing.members],
    }  # fmt: skip


def _pretty(value: dict[str, Any]) -> bytes:
    return json.dumps(json.loads(dumps(value)), indent=2, ensure_ascii=False).encode() + b"\n"


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
