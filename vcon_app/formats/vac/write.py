"""A session as a VAC record: the agent trace of a vCon without the vCon, which satisfies the CDDL of VAC-00."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, Events, Json, Losses, SessionDraft
from ..common.values import dict_of, text_of
from ..vcon.file import Notes, in_large_pieces
from ..vcon.trace import NATIVE, REQUIRED_MEMBERS, Parties, Trace, extension, kept_by_reader
from ..vcon.writing import Plan, TrustedLog, make_plan, record_bytes, trace_frame

AROUND = ("parties", "dialogs", "analysis", "attachments")


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of one record, the same for the same session and options.

    ``options``: ``uuid``, the id of a record that is new; ``created_at`` (aware); ``product_version``.
    ``events`` is walked twice and never held. ``losses`` tells afterwards what was not carried over.
    """
    entries = Entries(events)
    plan = make_plan(session, entries, options, alone=True)
    plan = _titled(plan)
    _report_losses(plan, losses)
    yield from in_large_pieces(record_bytes(plan, entries, losses, 0))
    yield b"\n"


class Entries:
    """The log without what the reader kept of objects that stand beside a trace: those become entries of ours."""

    def __init__(self, events: Events) -> None:
        self._events = TrustedLog(events)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[EventDraft]:
        for event in self._events:
            if NATIVE in event.data and not _is_vac_entry(event):
                data = {key: value for key, value in event.data.items() if key != NATIVE}
                yield replace(event, data=data)
            else:
                yield event


def _is_vac_entry(event: EventDraft) -> bool:
    """Whether an event was an entry of one of the six types that VAC knows (s3.8)."""
    kept = kept_by_reader(event)
    raw = event.data.get("raw") if event.kind == "unknown" and extension.KIND not in kept.get("own", ()) else None
    return "id" in kept and (raw is None or text_of(dict_of(raw).get("type")) in REQUIRED_MEMBERS)


def _titled(plan: Plan) -> Plan:
    """A session with the members that a vCon around it would have carried: title, agent's name and the like."""
    record, session = trace_frame(plan)
    members: dict[str, Json] = {name: value for name in extension.NAMES if (value := getattr(plan.session, name))}
    plan.people = _people(record, session)
    if plan.people.agent and plan.people.agent.name == members.get("agent_name"):
        del members["agent_name"]
    if members:
        session = {**session, extension.SESSION: {**dict_of(session.get(extension.SESSION)), **members}}
        plan.record = {
            **plan.record,
            "trace": {**dict_of(plan.record.get("trace")), "record": record, "session": session},
        }
        plan.people = _people(record, session)
    return plan


def _people(record: dict[str, Json], session: dict[str, Json]) -> Parties:
    people = Parties([])
    trace = Trace("D1", 0, "", [], session, record)
    people.ensure_agent(trace.model, trace.provider, trace.agent_name, Notes(), "")
    return people


def _report_losses(plan: Plan, losses: Losses) -> None:
    record = plan.record
    for name in AROUND:
        held = record.get(name)
        if count := held if isinstance(held, int) else len(held or ()):
            losses.lose(f"{name} of the vCon", "a VAC record has a trace only", count)
    forms = record.get("forms") or ()
    if {"jws", "cose"} & set(forms):
        losses.lose("signature", "a rebuilt record is a new one and unsigned")
    if "cbor" in forms or dict_of(record.get("trace")).get("cbor"):
        losses.lose("CBOR", "written as JSON")
    if record.get("traces", 1) > 1:
        losses.lose("separate agent traces", "written as one", record["traces"])
    if elided := record.get("elided"):
        losses.lose("long strings", "they are in the original file only", elided)
    for name in sorted(plan.session.record.keys() - {NATIVE}):
        losses.lose(f"what {name} keeps beside its events", "a VAC record has no place for it")
