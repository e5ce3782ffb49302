"""A vCon, in any form and dialect, as drafts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, BinaryIO

from ....drafts import Draft, Signature
from ...common.values import text_of, text_or_none
from ..file import (
    LONG_STRING,
    UNREAD_ARRAYS,
    Container,
    Content,
    Elided,
    Notes,
    OpenedVcon,
    check_hash,
    dumps,
    normalise,
    open_vcon,
    resolve,
    shown,
)
from ..rules import check_vcon, grants_of, insert_attachments, read_attachments, refuse_critical, report_removed_text
from ..trace import (
    Dialog,
    Parties,
    Step,
    Trace,
    TraceWalk,
    dialogs_of,
    fill_gaps,
    find_traces,
    identify_parties,
    indices,
    join_dialogs,
    mcp_session_id,
    steps_of_core_only,
    steps_of_mcp,
    visible_text,
)
from .sessions import FileFacts, session_draft

MOST_SEALED = 5
"""Encrypted parts that are named."""
TRANSCRIPTS = ("transcript", "wtf_transcription")


@dataclass(slots=True)
class SessionMaterial:
    """The material of one session: its traces or its mcp_session dialogs, and the dialogs that belong to it."""

    id: str
    dialect: str
    traces: list[Trace] = field(default_factory=list)
    protocol: list[Dialog] = field(default_factory=list)
    dialogs: list[Dialog] = field(default_factory=list)
    """Dialogs that its traces name, and in the first run those that none does."""


def read(source: BinaryIO) -> Iterator[Draft]:
    """The drafts of a vCon: signature and findings, then each session with its events.

    Raises ``FormatError`` for what is no vCon, is encrypted, or must not be read (``critical``).
    """
    notes = Notes()
    opened = open_vcon(source, notes)
    vcon = normalise(opened.tree, opened.pointer, notes)
    refuse_critical(vcon)
    if opened.signature is not None:
        yield opened.signature
    sealed = _sealed_parts(vcon)
    if sealed and opened.signature is None:
        yield Signature(detail=f"what stands encrypted in {', '.join(sealed)} is not known here; the rest is unsigned")
    _check_header(opened, vcon, notes)
    check_vcon(vcon, notes)
    contents = [
        resolve(item, f"{vcon.pointer}/analysis/{index}", notes, text_of(item.get("type")))
        for index, item in enumerate(vcon.analysis)
    ]
    for index, (item, content) in enumerate(zip(vcon.analysis, contents, strict=True)):
        check_hash(item, content, f"{vcon.pointer}/analysis/{index}", notes)
    traces = find_traces(vcon, contents, notes)
    people = _people(vcon, traces)
    for trace in traces:
        fill_gaps(trace, vcon.analysis[trace.index], people)
    dialogs = dialogs_of(vcon, people, notes)
    extras = read_attachments(vcon, people, notes)
    facts = FileFacts(
        vcon,
        opened,
        people,
        extras,
        grants_of(vcon, extras, notes),
        contents,
        frozenset(trace.index for trace in traces),
        sealed,
    )
    runs = _runs(vcon, traces, dialogs, notes)
    for number, run in enumerate(runs):
        yield from session_of(run, number, _attachments_of(number, runs, facts), facts, notes)
    yield from notes.drain()


def _sealed_parts(vcon: Container) -> list[str]:
    """Places of the first bodies that are encrypted by themselves (``encoding`` jwe, which core-04 does not know)."""
    lists = {"dialog": vcon.dialog, "analysis": vcon.analysis, "attachments": vcon.attachments}
    sealed = (
        vcon.at(name, index)
        for name, items in lists.items()
        for index, item in enumerate(items)
        if text_of(item.get("encoding")).lower() == "jwe"
    )
    return list(islice(sealed, MOST_SEALED))


def _check_header(opened: OpenedVcon, vcon: Container, notes: Notes) -> None:
    for claimed in opened.header_uuids:
        if claimed != vcon.uuid:
            notes.warn(
                "R88",
                "/signatures",
                f"The signature's header speaks of vCon {shown(claimed)}, the signed content is "
                f"{shown(vcon.uuid)} (core s5.2.2).",
            )


def _people(vcon: Container, traces: list[Trace]) -> Parties:
    has_trace = bool(traces) or any(item.get("type") == "agent_trace" for item in vcon.analysis)
    return identify_parties(
        vcon.parties, vcon.names("extensions"), has_trace, [agent for trace in traces for agent in trace.agents]
    )


def _runs(vcon: Container, traces: list[Trace], dialogs: list[Dialog], notes: Notes) -> list[SessionMaterial]:
    """One run per session id; traces without one belong together when vendor and product are the same."""
    runs: dict[Any, SessionMaterial] = {}
    for trace in traces:
        item = vcon.analysis[trace.index]
        key = trace.session_id or (text_of(item.get("vendor")), text_of(item.get("product")))
        runs.setdefault(key, SessionMaterial(trace.session_id, trace.dialect)).traces.append(trace)
    plain = [dialog for dialog in dialogs if not dialog.is_mcp]
    for dialog in dialogs if len(plain) < len(dialogs) else ():
        if dialog.is_mcp:
            name = mcp_session_id(dialog)
            runs.setdefault(name or dialog.pointer, SessionMaterial(name, "D7")).protocol.append(dialog)
    if len(traces) > len(runs):
        notes.info("R69", vcon.at("analysis"), f"{len(traces)} agent traces are told as {len(runs)} session(s).")
    found = list(runs.values()) or [SessionMaterial("", "D6")]
    owners = _owners_of_dialogs(found, len(dialogs)) if len(found) > 1 else {}
    for dialog in plain:
        owners.get(dialog.index, found[0]).dialogs.append(dialog)
    return found


def _owners_of_dialogs(runs: list[SessionMaterial], dialogs: int) -> dict[int, SessionMaterial]:
    """Index of a dialog -> the first run that has a trace which names it."""
    owners: dict[int, SessionMaterial] = {}
    for run in runs:
        for trace in run.traces:
            for index in indices(trace.dialogs, dialogs):
                owners.setdefault(index, run)
    return owners


def _attachments_of(number: int, runs: list[SessionMaterial], facts: FileFacts) -> list[tuple[int, Step]]:
    """The attachments to a run's dialogs; the first run takes those of no dialog, too."""
    if not facts.extras.steps:
        return []
    owner = {dialog.index: place for place, run in enumerate(runs) for dialog in (*run.dialogs, *run.protocol)}
    return [(dialog, step) for dialog, step in facts.extras.steps if owner.get(dialog, 0) == number]


def session_of(
    run: SessionMaterial, number: int, attachments: list[tuple[int, Step]], facts: FileFacts, notes: Notes
) -> Iterator[Draft]:
    """One session with its events; ``number`` counts the sessions of the file."""
    steps, models = _steps(run, facts, notes)
    if run.protocol:
        steps = _merge_artifacts(steps, [step for _, step in attachments])
    steps = insert_attachments(steps, attachments)
    if number == 0:
        steps = insert_attachments(steps, _transcripts(facts)) + _unread(facts.vcon)
    _name(steps)
    report_removed_text(steps, notes)
    session = session_draft(run.id, run.dialect, run.traces, number, facts, steps, models)
    steps.reverse()
    released = map(steps.pop, repeat(-1, len(steps)))  # each step goes when it has become an event
    return chain((session,), notes.drain(), map(Step.freeze, released))  # a generator would be asked for every event


def _name(steps: list[Step]) -> None:
    """Only the first of several steps with one id has it as its key."""
    seen: set[str] = set()
    if len({step.id for step in steps}) == len(steps):
        return
    for step in steps:
        step.unique = step.id not in seen
        seen.add(step.id)


def _steps(run: SessionMaterial, facts: FileFacts, notes: Notes) -> tuple[list[Step], list[str]]:
    people = facts.people
    if run.traces:
        first = run.traces[0]
        people.ensure_agent(first.model, first.provider, first.agent_name, notes, first.pointer)
        walk = TraceWalk(first, people, notes)
        steps = walk.run(run.traces)
        return join_dialogs(steps, walk.ids, run.dialogs, notes), list(walk.tally.models)
    if run.protocol:
        steps = [step for dialog in run.protocol for step in steps_of_mcp(dialog, people, notes)]
        return join_dialogs(steps, {}, run.dialogs, notes), []
    steps = steps_of_core_only(run.dialogs, facts.vcon, people, notes)
    run.dialect = "D6" if any(step.tool for step in steps) else "D9" if people.agent else "D10"
    return steps, []


def _merge_artifacts(steps: list[Step], attachments: list[Step]) -> list[Step]:
    """An mcp_session names its artifacts, an attachment of the same name holds them: one event."""
    named = {step.data["name"]: step for step in attachments if "name" in step.data}
    kept = []
    for step in steps:
        held = named.get(text_of(step.data.get("name"))) if step.kind == "artifact" else None
        if held is None:
            kept.append(step)
        else:
            held.data = step.data | held.data
    return kept


def _transcripts(facts: FileFacts) -> list[tuple[int, Step]]:
    """Transcripts of recordings, out of analyses; the analyses themselves stay with the writer."""
    found = []
    for index, (item, content) in enumerate(zip(facts.vcon.analysis, facts.contents, strict=True)):
        words = _transcript_text(content) if item.get("type") in TRANSCRIPTS else ""
        if words:
            step = Step(
                "note",
                facts.vcon.at("analysis", index),
                actor=("system", text_or_none(item.get("vendor")) or ""),
                text=words,
                data={"type": item["type"]},
                for_writer={"source": "analysis"},
            )
            found.append((next(iter(indices(item.get("dialog"), len(facts.vcon.dialog))), -1), step))
    return found


def _unread(vcon: Container) -> list[Step]:
    """Events of the parts of an unpublished extension, kept raw: their meaning is known once its text is."""
    found = []
    for name in UNREAD_ARRAYS:
        for index, part in enumerate(parts if isinstance(parts := vcon.top.get(name), list) else ()):
            pointer, size = vcon.at(name, index), len(dumps(part))
            data = {"type": name, "raw": part if size <= LONG_STRING else Elided(pointer, size)}
            found.append(Step("unknown", pointer, data=data, for_writer={"source": "top"}))
    return found


def _transcript_text(content: Content) -> str:
    """The text inside a transcript (wtf_transcription s4.1, and what vendors write)."""
    value = content.value
    if not isinstance(value, dict):
        return content.text
    inner = value.get("transcript")
    return inner if isinstance(inner, str) else visible_text(inner if isinstance(inner, dict) else value.get("text"))
