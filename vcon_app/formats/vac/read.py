"""A bare VAC record as drafts: read like the agent trace of a vCon that holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError, SessionDraft
from ..vcon.file.content import Content
from ..vcon.file.forms import Opened as OpenedVcon
from ..vcon.file.normalise import Container
from ..vcon.file.notes import Notes, shown
from ..vcon.file.values import text
from ..vcon.reading.read import Run, session_of
from ..vcon.reading.sessions import Facts
from ..vcon.rules.attachments import Attached
from ..vcon.trace.parties import cast
from ..vcon.trace.traces import Trace, shape_of
from .forms import Opened, open_record


def read(source: BinaryIO) -> Iterator[Draft]:
    """The drafts of a record: signature and findings, then the session with its events.

    Raises ``FormatError`` for what is no VAC record, or a signature without one.
    """
    notes = Notes()
    opened = open_record(source, notes)
    trace = shape_of(opened.record, 0, "")
    if trace is None:
        keys = ", ".join(sorted(opened.record)[:8]) or "none"
        raise FormatError(f"This is no VAC record: it has no session with entries (VAC s3.3). Its keys: {shown(keys)}.")
    if opened.signature is not None:
        yield opened.signature
        notes.info("R97", "", f"The signature does not cover {opened.signature.uncovered[0]}: it is a claim.")
    yield from notes.drain()
    for draft in session_of(_run(trace), 0, [], _facts(opened, trace), notes):
        yield _named(draft, opened) if isinstance(draft, SessionDraft) else draft
    yield from notes.drain()


def _run(trace: Trace) -> Run:
    return Run(trace.session_id or text(trace.record.get("id")) or "", trace.dialect, [trace])


def _facts(opened: Opened, trace: Trace) -> Facts:
    """What a vCon would tell around the trace: nothing."""
    item = {"type": "agent_trace", "body": opened.record}
    vcon = Container({}, [], [], [item], [])
    around = OpenedVcon({}, forms=opened.forms, elided=opened.elided)
    people = cast([], [], True, trace.agents)
    return Facts(vcon, around, people, Attached(), {}, [Content("json", opened.record)], frozenset({0}))


def _named(draft: SessionDraft, opened: Opened) -> SessionDraft:
    """The metadata speaks of the record, not of a vCon that is not there."""
    metadata = {key: value for key, value in draft.metadata.items() if key != "vcon"}
    told: dict[str, Any] = {name: text(opened.record.get(name)) for name in ("version", "id", "created")}
    told |= {"dialect": draft.metadata["vcon"]["dialect"], "forms": opened.forms[1:], "claims": opened.claims}
    return replace(draft, metadata={"vac": {key: value for key, value in told.items() if value}, **metadata})
