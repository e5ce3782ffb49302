"""Facts told with a session, and those that the writer needs beside its events to rebuild the vCon."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from ....drafts import Json, SessionDraft
from ...common.times import moment_of
from ...common.values import dict_of, text_of, text_or_none
from ..file import LONG_STRING, Container, Content, Elided, OpenedVcon, canonical, dumps
from ..rules import Attachments
from ..trace import NATIVE, Parties, Party, Step, Trace, extension, is_thought, member_of

TOP = ("uuid", "created_at", "updated_at", "extensions", "critical", "redacted", "amended", "group")
RENAMED_SESSION = {
    "session_id": "session-id",
    "started-at": "session-start",
    "started_at": "session-start",
    "ended-at": "session-end",
    "ended_at": "session-end",
    "agent_meta": "agent-meta",
}
PARENTS = ("parent-session-id", "parent-session", "forked-from", "branched-from")
CANCELLED = frozenset({"cancelled", "canceled", "aborted", "interrupted", "user_cancelled"})
_PLACES = frozenset(
    form
    for name in ("vcs", "working-dir", "cwd", "vcs-branch", "branch", "vcs-commit", "commit", "vcs-commit-before")
    for form in (name, name.replace("-", "_"))
)
"""Members that tell where a run took place, see ``environment``."""
SHOWN_BYTES = 64 * 1024
"""Of one part of the metadata."""
TOTALS = ("turns", "turn-count", "error-count", "total-tokens", "token-usage", "usage", "total-cost", "total-cost-usd",
          "cost", "stats", "totals")  # fmt: skip
"""Members of a session-trace or of its record that speak of the whole run."""
_ANY_TOTAL = frozenset(form for name in TOTALS for form in (name, name.replace("-", "_")))
NOT_KEPT = ("entries", "messages", "tool_calls", "recording-agent", "recording_agent")


@dataclass(slots=True)
class FileFacts:
    """Facts of a vCon beside its dialogs and traces."""

    vcon: Container
    opened: OpenedVcon
    people: Parties
    extras: Attachments
    grants: dict[str, list[dict[str, Json]]]
    contents: list[Content]
    """Of the analyses, by index."""
    read: frozenset[int]
    """Indices of the analyses that were read as traces."""
    sealed: list[str] = field(default_factory=list)
    """Places of the first bodies that are encrypted by themselves."""


def session_draft(
    name: str, dialect: str, traces: list[Trace], number: int, facts: FileFacts, steps: list[Step], models: list[str]
) -> SessionDraft:
    """The draft of one session. ``number`` counts the sessions of the vCon; ``name`` is its own id."""
    vcon, people = facts.vcon, facts.people
    trace = traces[0] if traces else None
    agent, human = people.agent, people.human
    start, end = _times(trace, steps)
    client = trace.client.get("name", "") if trace else ""
    draft = SessionDraft(
        external_id=name or _fallback_id(vcon, number),
        title=text_or_none(vcon.top.get("subject")) or "",
        agent_name=(agent.name if agent else "") or client,
        started_at=start,
        ended_at=end,
        phase=_phase(steps, agent is not None, told=bool(traces)),
        model=_model(trace, models, agent),
        parent_external_id=_parent(trace),
        user_id=_user(human),
        summary=_summary(facts),
        metadata=_metadata(dialect, trace, models, facts),
        record={NATIVE: _record(dialect, traces, number, facts)},
    )
    return extension.restore_session(draft, member_of(trace.session, extension.SESSION)) if trace else draft


def _user(human: Party | None) -> str:
    """The address of whom the agent served, else the name; a schedule or a webhook is nobody's user id."""
    if human is None or dict_of(human.raw.get("meta")).get("party_type") == "trigger":
        return ""
    return text_or_none(human.raw.get("mailto")) or human.name


def _model(trace: Trace | None, models: list[str], agent: Party | None) -> str | None:
    """The model that the trace states, else the first of an entry, else that of the agent's party."""
    stated = (trace.model if trace else None) or (models[0] if models else None) or (agent.model if agent else None)
    return None if stated == "unknown" else stated


def _parent(trace: Trace | None) -> str | None:
    """The session that this one branched off from, or was started by, as its trace says."""
    found = member_of(trace.session, *PARENTS) if trace else None
    return text_or_none(found) if found != (trace and trace.session_id) else None


def _fallback_id(vcon: Container, number: int) -> str:
    """Without a session id: the vCon's uuid, else a hash of what it holds."""
    base = vcon.uuid
    if not base:
        content = [vcon.parties, vcon.dialog, vcon.analysis, vcon.attachments]
        base = "sha256:" + sha256(canonical(content)).hexdigest()[:32]
    return f"{base}#{number}" if number else base


def _times(trace: Trace | None, steps: list[Step]) -> tuple[datetime | None, datetime | None]:
    """As stated, else of the first and the last event that has a time."""
    start = moment_of(member_of(trace.session, "session-start", "started-at")).at if trace else None
    end = moment_of(member_of(trace.session, "session-end", "ended-at")).at if trace else None
    if start and end:
        return start, end
    known = [step.at for step in steps if step.at is not None and step.for_writer.get("source") != "attachment"]
    return start or min(known, default=None), end or max(known, default=None)


def _phase(steps: list[Step], is_agent: bool, *, told: bool) -> Literal["completed", "cancelled", "crashed"] | None:
    """Only for runs of an agent: a call that nobody answered is incomplete, too, and did not crash.

    ``told`` is whether a trace tells the run: then its end is what the trace says, and a missed call beside it is none.
    """
    status_steps = [step for step in steps if step.kind in ("system", "status")]
    if not status_steps:
        return None
    types = {text_of(step.data.get("event_type")) for step in status_steps if step.kind == "system"}
    failed = any(step.kind == "status" and step.for_writer.get("source") == "dialog" for step in status_steps)
    if is_agent and ("run-incomplete" in types or (failed and not told)):
        return "crashed"
    if types & {"run-cancelled", "session-cancelled"} or any(map(_is_cancelled_end, status_steps)):
        return "cancelled"
    return "completed" if types & {"session-end", "session_end"} else None


def _is_cancelled_end(step: Step) -> bool:
    """``session-end`` with the word of somebody who stopped it, in one of the members that recorders use for it."""
    told = step.data | dict_of(step.data.get("details"))
    words = {text_of(told.get(name)).lower() for name in ("reason", "status", "outcome", "stop_reason")}
    return text_of(step.data.get("event_type")) in ("session-end", "session_end") and bool(words & CANCELLED)


def _summary(facts: FileFacts) -> str:
    for item, content in zip(facts.vcon.analysis, facts.contents, strict=True):
        if item.get("type") == "summary" and content.text:
            return content.text
    return ""


def _metadata(dialect: str, trace: Trace | None, models: list[str], facts: FileFacts) -> dict[str, Json]:
    """Small JSON for the session page; empty parts are left out."""
    vcon, people = facts.vcon, facts.people
    agent = people.agent
    shown_parties = [*people.all, people.agent_of_trace] if people.agent_of_trace else people.all
    parts: dict[str, Json] = {
        "vcon": _container_facts(dialect, facts),
        "recorder": (trace.recorder if trace else {}) or _recorder_of(agent),
        "client": trace.client if trace else {},
        "provider": _provider(trace, agent),
        "models": models,
        "environment": environment(trace, facts),
        "parties": [party.summary() for party in shown_parties],
        **facts.grants,
        "evidence": facts.extras.evidence,
        "stated": _stated(trace) if trace else None,
        "tools_offered": facts.extras.tools,
        "file_attribution": dict_of(member_of(trace.record, "file-attribution")).get("files") if trace else None,
        "analyses": [_analysis_facts(item) for item in vcon.analysis if item and item.get("type") != "agent_trace"],
    }
    metadata = {key: value for key, value in parts.items() if value}
    if len(dumps(metadata)) <= SHOWN_BYTES:  # one writing instead of one for each part: 2 µs of 200 for a small vCon
        return metadata
    return {key: _small(value) for key, value in metadata.items()}


def _stated(trace: Trace) -> dict[str, Json]:
    """Totals of the whole session as its trace states them; what is counted from the entries may be another number."""
    places = [place for place in (trace.session, trace.record) if not _ANY_TOTAL.isdisjoint(place)]
    found: dict[str, Json] = {}
    for name in TOTALS if places else ():
        for place in places:
            if (value := member_of(place, name)) is not None and not isinstance(value, (str, list)):
                found.setdefault(name, value)
    return found


def _container_facts(dialect: str, facts: FileFacts) -> dict[str, Json]:
    """Version, dialect and forms of the vCon, and those of its members at the top that have other names today."""
    top = facts.vcon.top
    stated = {"version": top.get("vcon"), "dialect": dialect, "forms": facts.opened.forms, "sealed": facts.sealed}
    stated |= {name: top[name] for name in TOP if name in top}
    return {key: value for key, value in stated.items() if value}


def _provider(trace: Trace | None, agent: Party | None) -> str | None:
    return (trace.provider if trace else None) or (agent.provider if agent else None)


def _analysis_facts(item: dict[str, Any]) -> dict[str, Json]:
    return {name: item[name] for name in ("type", "vendor", "product", "schema") if text_or_none(item.get(name))}


def _small(value: Json) -> Json:
    """What is too large to be shown is counted; the writer and the original file have it."""
    size = len(dumps(value))
    return value if size <= SHOWN_BYTES else {"bytes": size, "items": len(value)}


def _recorder_of(agent: Party | None) -> dict[str, str]:
    """Who recorded, as the party of the agent says: ``name/version``, or a map."""
    recorder = agent.facts.get("recording-agent") if agent else None
    name, _, version = text_of(recorder).partition("/")
    if isinstance(recorder, dict):
        name, version = text_of(recorder.get("name")), text_of(recorder.get("version"))
    return {key: value for key, value in (("name", name), ("version", version)) if value}


def environment(trace: Trace | None, facts: FileFacts) -> dict[str, Json]:
    """``cwd``, ``branch``, ``commit``, ``repository`` from the trace, else the agent's party, and the snapshot."""
    agent = facts.people.agent
    inner = agent.facts.get("environment") if agent else None
    found: dict[str, Json] = {"name": inner} if isinstance(inner, str) and inner else {}
    places = [member_of(trace.session, "environment"), trace.record] if trace else []
    for place in filter(None, (*places, inner, *facts.extras.environments)):
        if not isinstance(place, dict) or _PLACES.isdisjoint(place):
            continue
        vcs = dict_of(member_of(place, "vcs"))
        for name, value in (
            ("cwd", member_of(place, "working-dir", "cwd")),
            ("branch", member_of(vcs, "branch") or member_of(place, "vcs-branch", "branch")),
            ("commit", member_of(vcs, "revision") or member_of(place, "vcs-commit", "commit", "vcs-commit-before")),
            ("repository", member_of(vcs, "repository")),
        ):
            if text_or_none(value):
                found.setdefault(name, value)
    if facts.extras.environments:
        found["snapshot"] = facts.extras.environments[0]
    return found


def _record(dialect: str, traces: list[Trace], number: int, facts: FileFacts) -> dict[str, Json]:
    """The record for the writer. Of several sessions in one vCon only the first carries that of the whole file."""
    vcon = facts.vcon
    whole = (
        {
            "analysis": [
                {"i": index, "item": _limited(item, vcon.at("analysis", index))}
                for index, item in enumerate(vcon.analysis)
                if _is_kept(index, item, dialect, facts)
            ],
            "attachments": [
                {"i": kept["i"], "item": _limited(kept["item"], vcon.at("attachments", kept["i"]))}
                for kept in facts.extras.kept
            ],
        }
        if number == 0
        else {}
    )
    record: dict[str, Json] = {
        "top": vcon.top,
        "parties": vcon.parties,
        "kinds": [party.kind for party in facts.people.all],
        "dialect": dialect,
        "dialogs": len(vcon.dialog),
        "renamed": dict(vcon.renamed),
        "forms": facts.opened.forms,
        "elided": facts.opened.elided,
        **whole,
    }
    if traces:
        record["trace"] = skeleton(traces[0], vcon.analysis[traces[0].index])
        record["traces"] = len(traces)
    return {key: value for key, value in record.items() if value}


def _is_kept(index: int, item: dict[str, Any], dialect: str, facts: FileFacts) -> bool:
    """Analyses that are no events: all but traces that were read, and reasoning where it became events."""
    became_events = dialect in ("D6", "D9", "D10") and is_thought(item, len(facts.vcon.dialog))
    return index not in facts.read and not became_events


def _limited(item: dict[str, Any], pointer: str) -> dict[str, Any]:
    """The object; a body of more than LONG bytes stays in the original file."""
    body = item.get("body")
    size = len(body) if isinstance(body, str) else len(dumps(body)) if isinstance(body, (dict, list)) else 0
    return {**item, "body": Elided(f"{pointer}/body", size)} if size > LONG_STRING else item


def skeleton(trace: Trace, item: dict[str, Any]) -> dict[str, Json]:
    """A trace without its entries, under VAC's names: all that a D1 record holds, what is known of the others."""
    if trace.dialect == "D1":
        record = {key: value for key, value in trace.record.items() if key not in ("session",)}
        session = {key: value for key, value in trace.session.items() if key != "entries"}
    else:
        record = {
            key: value
            for key, value in trace.record.items()
            if key not in ("session", "session-trace", "session_trace", "recording-agent", "recording_agent", "agents")
        }
        session = {RENAMED_SESSION.get(key, key): value for key, value in trace.session.items() if key not in NOT_KEPT}
        session["agent-meta"] = {
            **trace.agent_meta,
            "model-id": trace.model or "unknown",
            "model-provider": trace.provider or "unknown",
        }
        session["agent-meta"].pop("provider", None)
        if trace.recorder.get("name"):
            record["recording-agent"] = trace.recorder
        session.pop("environment", None)
    return {
        "i": trace.index,
        "item": {key: value for key, value in item.items() if key != "body"},
        "record": record,
        "session": session,
        "from_text": trace.from_text,
        "cbor": trace.cbor,
    }
