"""A bare VAC record as drafts: read like the agent trace of a vCon that holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError, SessionDraft
from ..common.values import text_or_none
from ..vcon.file import Container, Content, Notes, OpenedVcon, shown
from ..vcon.reading import FileFacts, SessionMaterial, session_of
from ..vcon.rules import Attachments
from ..vcon.trace import Trace, identify_parties, trace_of_record
from .forms import OpenedRecord, open_record


def read(source: BinaryIO) -> Iterator[Draft]:
    """The drafts of a record: signature and findings, then the session with its events.

    Raises ``FormatError`` for what is no VAC record, or a signature without one.
    """
    notes = Notes()
    opened = open_record(source, notes)
    trace = trace_of_record(opened.record, 0, "")
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


def _run(trace: Trace) -> SessionMaterial:
    return SessionMaterial(trace.session_id or text_or_none(trace.record.get("id")) or "", trace.dialect, [trace])


def _facts(opened: OpenedRecord, trace: Trace) -> FileFacts:
    """Facts of a file around the trace: none, as there is no vCon."""
    item = {"type": "agent_trace", "body": opened.record}
    vcon = Container({}, [], [], [item], [])
    around = OpenedVcon({}, forms=opened.forms, elided=opened.elided)
    people = identify_parties([], [], True, trace.agents)
    return FileFacts(vcon, around, people, Attachments(), {}, [Content("json", opened.record)], frozenset({0}))


def _named(draft: SessionDraft, opened: OpenedRecord) -> SessionDraft:
    """The metadata speaks of the record, not of a vCon that is not there."""
    metadata = {key: value for key, value in draft.metadata.items() if key != "vcon"}
    told: dict[str, Any] = {name: text_or_none(opened.record.get(name)) for name in ("version", "id", "created")}
    told |= {"dialect": draft.metadata["vcon"]["dialect"], "forms": opened.forms[1:], "claims": opened.claims}
    return replace(draft, metadata={"vac": {key: value for key, value in told.items() if value}, **metadata})
