"""What has to hold of files once they are stored. Needs a database; every check works in workspaces of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sessions_app.models import Session, Workspace
from sessions_app.services import audit, workspaces
from vcon_app import registry
from vcon_app.drafts import EventDraft
from vcon_app.models import Export, Import
from vcon_app.queries.log_reader import LogEvents
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.services.imports import import_jobs

from .checks import NOT_BY_VCON
from .corpus import File

TOLD = ("kind", "text", "tool", "usage", "cost", "model", "at", "depth", "actor_kind", "actor_name")
"""Of an event: what survives the way through a vCon."""
COUNTED = ("tool_call_count", "cost_amount", "cost_basis", "unpriced_tokens", "input_tokens", "cache_read_tokens",
           "cache_write_tokens", "output_tokens", "reasoning_tokens")  # fmt: skip
TOTALS = (*COUNTED, "turn_count", "event_count", "error_count")
ABOUT = (*TOTALS, "title", "phase", "started_at", "ended_at", "user_id", "tags", "model_names", "summary")

Snapshot = dict[str, Any]
"""What a session says and holds, without the ids of this installation."""


def check(file: File) -> dict[str, str]:
    """The faults of one file by the name of the check; "" when there is none."""
    workspace = _workspace()
    done = drop(workspace, file.data, file)
    if done.status != Import.Status.DONE:
        ours = "fault of ours" in (done.error or "")
        return {"stored": done.error if ours or file.entry.get("bytes") else ""}
    found = sessions_of(done)
    before = {session.pk: snapshot(session) for session in found}
    faults = {
        "stored": "",
        "original": "" if all(_original(one) == file.data for one in found) else "other bytes",
        "twice": _twice(workspace, file, before),
    }
    if not any(file.name.endswith(name) for name in NOT_BY_VCON):
        faults["by vCon"] = "; ".join(filter(None, map(through_vcon, found)))
    if registry.get(file.format).SPEC.grows == "lines" and (half := first_half(file.data)):
        faults["by halves"] = _halves(file, half, list(before.values()))
    return faults


def in_any_order(files: Sequence[File]) -> str:
    """Whether the files of one format give the same sessions in order and backwards.

    Where documents can be signed, each of several with one id is a version of its own (core s4.1.2), and which is the
    first depends on the order: those ids are left out.
    """
    first, other = _together(files), _together(files[::-1])
    versions = hasattr(registry.get(files[0].format), "verify")
    names = [n for n in sorted({*first, *other}) if not (versions and len(first.get(n, ())) > 1)]
    different = [name for name in names if first.get(name) != other.get(name)]
    return f"{len(different)} sessions differ: {', '.join(different[:3])}" if different else ""


def drop(workspace: Workspace, data: bytes, file: File) -> Import:
    """Take a file in and do what a worker does."""
    name = file.name.rpartition("/")[2]
    started = import_jobs.start_import(workspace, name, [data], by=audit.COMMAND, format=file.format)
    import_jobs.run(started.pk)
    started.refresh_from_db()
    return started


def sessions_of(done: Import) -> list[Session]:
    links = done.session_links.select_related("session").order_by("session__created_at", "session_id")
    return [link.session for link in links]


def snapshot(session: Session) -> Snapshot:
    session.refresh_from_db()
    return {"events": list(LogEvents(session)), "external_id": session.external_id,
            "parent": session.parent.external_id if session.parent else None,
            **{name: getattr(session, name) for name in ABOUT}}  # fmt: skip


def first_half(data: bytes) -> bytes:
    """The first half of the lines; b"" of what nobody appends lines to: packed, or a document over many lines."""
    lines = data.splitlines(keepends=True)
    spread = lines[0].strip() in (b"{", b"[") if lines else True
    return b"" if spread or data[:2] == b"\x1f\x8b" or len(lines) < 2 else b"".join(lines[: len(lines) // 2])


def through_vcon(session: Session) -> str:
    """What is lost on the way out as a vCon and in again.

    Events may differ where the export itself tells of it: core-04 demands what a file lacks, as the party of an
    attachment. Tokens and cost may not.
    """
    export = export_jobs.start_export(session, "vcon", by=audit.COMMAND)
    again = drop(_workspace(), _bytes(export), File("again.vcon", "vcon"))
    if again.status != Import.Status.DONE:
        return again.error or again.status
    (other,) = sessions_of(again)
    session.refresh_from_db()
    other.refresh_from_db()
    totals = COUNTED if export.losses else TOTALS
    wrong = [name for name in totals if getattr(session, name) != getattr(other, name)]
    return ", ".join(wrong) or ("" if export.losses else _events_differ(session, other))


def _events_differ(session: Session, other: Session) -> str:
    for one, two in zip(LogEvents(session), LogEvents(other), strict=True):
        if differing := [name for name in TOLD if getattr(one, name) != getattr(two, name)]:
            return f"{one.kind} {one.pointer}: {', '.join(differing)}"
    return ""


def _workspace() -> Workspace:
    return workspaces.create_workspace(f"w{uuid4().hex[:12]}")


def _bytes(export: Export) -> bytes:
    """Of an export, done now if it waits for a worker."""
    export_jobs.run(export.pk)
    export.refresh_from_db()
    return export_jobs.open_file(export).read()


def _original(session: Session) -> bytes:
    return _bytes(export_jobs.start_export(session, export_options.ORIGINAL, by=audit.COMMAND))


def _twice(workspace: Workspace, file: File, before: dict[Any, Snapshot]) -> str:
    """The same bytes, which are not read again, and the same with another end, which are.

    Not of formats that can be signed: there other bytes are another version of the document (core s4.1.2).
    """
    reread = [] if hasattr(registry.get(file.format), "verify") else [file.data + b"\n"]
    for data in (file.data, *reread):
        again = drop(workspace, data, file)
        if again.status != Import.Status.DONE:
            return again.error or again.status
        after = {session.pk: snapshot(session) for session in sessions_of(again)}
        if after != before:
            return _different(list(before.values()), list(after.values()))
    return ""


def _halves(file: File, half: bytes, once: list[Snapshot]) -> str:
    workspace = _workspace()
    drop(workspace, half, file)
    after = [snapshot(session) for session in sessions_of(drop(workspace, file.data, file))]
    return "" if after == once else _different(once, after)


def _different(before: list[Snapshot], after: list[Snapshot]) -> str:
    if len(before) != len(after):
        return f"{len(after)} sessions for {len(before)}"
    for one, two in zip(before, after, strict=True):
        for name in one:
            if one[name] != two[name]:
                return f"{name}: {_first_difference(one[name], two[name])}"
    return "other sessions"


def _first_difference(one: Any, two: Any) -> str:
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        a, b = next((a, b) for a, b in zip(one, two, strict=True) if a != b)
        if isinstance(a, EventDraft):
            names = [name for name in EventDraft.__dataclass_fields__ if getattr(a, name) != getattr(b, name)]
            return f"{a.kind} {a.pointer} differs in {', '.join(names)}"
    return f"{two!r:.80} for {one!r:.80}"


def _together(files: Sequence[File]) -> dict[str, Any]:
    """The sessions of a workspace into which all of them came, by external id."""
    workspace = _workspace()
    for file in files:
        drop(workspace, file.data, file)
    found: dict[str, list[Any]] = {}
    for session in Session.objects.filter(workspace=workspace):
        told = snapshot(session)
        told["events"] = sorted(event.key for event in told["events"])
        found.setdefault(session.external_id, []).append(sorted(told.items()))
    return {name: sorted(map(repr, sessions)) for name, sessions in found.items()}
