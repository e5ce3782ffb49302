"""A session as a vCon: core-04, the agent_session extension, a VAC trace. Written while walking over the events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from ....drafts import Events, Json, Losses, SessionDraft
from ...common.times import moment_of, rfc3339_short
from ...common.values import dict_of, text_or_none
from ..file import ADDED, EMPTY, PARTY_MEMBERS, in_large_pieces, in_member_order, indented_json, json_array
from ..trace import NATIVE, extension
from .findings import findings
from .fitting import fitted_party
from .items import analyses, attachments, dialogs
from .plan import Plan, TrustedLog, make_plan
from .schema import is_date, is_hash, is_uri, is_uuid
from .trace import stated_schema
from .verdicts import verdicts

VERSION = "0.4.0"
TOP_MEMBERS = ("vcon", "uuid", "created_at", "updated_at", "subject", "extensions", "critical", "redacted", "amended")
NOT_RESIGNED = "a rebuilt vCon is a new one: at most we sign it, never who signed what it is made of"
NOT_RESEALED = "a rebuilt vCon is a new one: everybody can read it unless it is encrypted, too"


def same_record(session: SessionDraft) -> str:
    """The uuid that a vCon of this session has again: of one from a vCon that is written without loss; else empty."""
    record = dict_of(session.record.get(NATIVE))
    top = dict_of(record.get("top"))
    lost = {"jws", "cose", "vac"} & set(record.get("forms") or ()) or record.get("sealed") or record.get("elided")
    changed = record.get("renamed") or record.get("traces", 1) > 1 or dict_of(record.get("trace")).get("cbor")
    if lost or changed or top.get("critical") or record.get("dialect") not in ("D1", "D10"):
        return ""
    return str(top["uuid"]) if is_uuid(top.get("uuid")) else ""


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of one vCon, the same for the same session and options.

    ``options``: ``uuid`` of this vCon and ``created_at`` (aware), both kept by the caller from the first export on;
    ``product_version``; ``bodies`` "string" for readers that expect JSON bodies as text (core-02 and before);
    ``verdicts`` with ``review``: what reviewers said; ``findings``: what rules mark in the run; ``redaction`` with its
    ``type``, where the session and the events are those of ``redacting.prepare``; ``long_values``: see ``Spec.needs``.
    ``events`` is walked several times and never held. ``losses`` tells afterwards what was not carried over.
    """
    _check(options)
    events = TrustedLog(events)
    plan = make_plan(session, events, options)
    _report_losses(plan, losses)
    yield from in_large_pieces(_pieces(plan, events, losses))
    if (left := plan.record.get("elided", 0) - plan.put_back) > 0:
        losses.lose("long strings", "they are in the original file only", left)


def _check(options: dict[str, Any]) -> None:
    UUID(options["uuid"])
    created = options["created_at"]
    if not isinstance(created, datetime) or created.tzinfo is None:
        raise ValueError(f"created_at must be a datetime with a zone, not {created!r}")


def _pieces(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    separator = b"{\n  "
    for name, value in _top_members(plan, losses).items():
        yield separator + indented_json(name, 0) + b": " + indented_json(value, 1)
        separator = b",\n  "
    for name, items in (
        ("parties", _parties(plan, losses)),
        ("dialog", chain(dialogs(plan, events, losses), _added(plan, plan.dialogs, {"type": "text"}))),
        ("analysis", chain(analyses(plan, events, losses), verdicts(plan, events), findings(plan, events))),
        ("attachments", attachments(plan, events, losses)),
    ):
        yield separator + indented_json(name, 0) + b": "
        yield from json_array(items, 1)
    for name, value in dict_of(plan.record.get("top")).items():
        if name not in TOP_MEMBERS and value not in EMPTY:
            yield separator + indented_json(name, 0) + b": " + indented_json(value, 1)
    yield b"\n}\n"


def _parties(plan: Plan, losses: Losses) -> Iterator[bytes]:
    for party in plan.parties:
        yield indented_json(in_member_order(fitted_party(party, plan, losses), PARTY_MEMBERS), 2)
    yield from _added(plan, len(plan.parties), {})


def _added(plan: Plan, there: int, item: dict[str, Json]) -> Iterator[bytes]:
    """An empty element for attachments, each of which must name a party and a dialog (core s4.4), where none is."""
    if not there and (plan.attachments or plan.record.get("attachments")) and not plan.options.get("faithful"):
        yield indented_json({**item, "meta": {ADDED: True}}, 2)


def _top_members(plan: Plan, losses: Losses) -> dict[str, Json]:
    """The members before the arrays, in the order of core s4.1."""
    old = dict_of(plan.record.get("top"))
    same = old.get("uuid") == plan.options["uuid"]
    made_at = plan.options["created_at"]
    top: dict[str, Json] = {"vcon": VERSION, "uuid": plan.options["uuid"]}
    top["created_at"] = _date(old.get("created_at")) or rfc3339_short(made_at) if same else rfc3339_short(made_at)
    if same and (updated := _date(old.get("updated_at"))):
        top["updated_at"] = updated
    if subject := plan.session.title or text_or_none(old.get("subject")):
        top["subject"] = subject
    if extensions := _extensions(plan, old):
        top["extensions"] = extensions
    return top | _lineage(plan, old, same, losses)


def _date(value: Json) -> str | None:
    """A time of the file, as it came where core allows that."""
    at = moment_of(value).at
    return str(value) if is_date(value) else rfc3339_short(at) if at else None


def _extensions(plan: Plan, old: dict[str, Json]) -> list[str]:
    """Every extension whose members are used (core s4.1.3); critical is not written."""
    stated = old.get("extensions")
    names = [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
    roles = any(text_or_none(party.get("role")) not in (None, "agent") for party in plan.parties)
    basis = any(kept["item"].get("purpose") == "lawful_basis" for kept in plan.record.get("attachments") or [])
    for name, used in (("agent_session", plan.traced), ("lawful_basis", basis), ("CC", roles)):
        if used and name not in names:
            names.append(name)
    return [name for name in names if name != "mcp_session" or plan.record.get("dialect") != "D7"]


def _lineage(plan: Plan, old: dict[str, Json], same: bool, losses: Losses) -> dict[str, Json]:
    """A rebuilt vCon says which one it amends; a redacted one stays redacted (core s4.1.8, s4.1.9)."""
    redacted, amended = old.get("redacted"), old.get("amended")
    if redaction := dict_of(plan.options.get("redaction")):
        return {"redacted": _redacted(str(redaction["type"]), old, losses)}
    if isinstance(redacted, dict):
        if not same:
            losses.lose(
                "link to the vCon this was made from",
                "redacted is kept, and amended must not stand beside it (core s4.1.8)",
            )
        return {"redacted": _link({**redacted, "type": text_or_none(redacted.get("type")) or "unknown"}, losses)}
    if same:
        link = _link(amended, losses) if isinstance(amended, dict) else {}
        return {"amended": link} if "uuid" in link or "url" in link else {}
    if not is_uuid(old.get("uuid")):
        if plan.record.get("dialect") and not plan.was_alone:
            losses.lose("link to the vCon this was made from", "it has no uuid that amended could name (core s4.1.9)")
        return {}
    if isinstance(amended, dict):
        losses.lose("older amended link", "a vCon names only the version before it")
    return {"amended": {"uuid": old["uuid"]}}


def _redacted(kind: str, old: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """The vCon it was made from is the less redacted one; that it was redacted itself is said, too."""
    before = dict_of(old.get("redacted"))
    if before or isinstance(old.get("amended"), dict):
        losses.lose("older link to a prior vCon", "a vCon names only the version before it")
    stated = f"{kind}; before that: {text_or_none(before.get('type')) or 'unknown'}" if before else kind
    return {**({"uuid": old["uuid"]} if is_uuid(old.get("uuid")) else {}), "type": stated}


def _link(stated: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A link to a prior vCon whose members are those of core; what else stands in it stays (s4.1.8, s4.1.9)."""
    checks = {"uuid": is_uuid, "url": is_uri, "content_hash": is_hash}
    wrong = {name for name, check in checks.items() if name in stated and not check(stated[name])}
    if "url" in stated and (wrong & {"content_hash"} or "content_hash" not in stated):
        wrong.add("url")
    for name in sorted(wrong):
        losses.lose(f"{name} of the link to a prior vCon", "core-04 does not allow it so")
    return {name: value for name, value in stated.items() if name not in wrong}


def _report_losses(plan: Plan, losses: Losses) -> None:
    """What is already known not to survive, before anything is written."""
    record, session = plan.record, plan.session
    dialect = record.get("dialect")
    if dialect not in (None, "D1", "D9", "D10") or (dialect == "D9" and plan.traced):
        schema = f"; its schema {stated[:200]} is kept beside it" if (stated := stated_schema(plan)) else ""
        losses.lose(f"the shape of the session ({dialect})", f"written as an agent trace after VAC-00{schema}")
    for renaming, count in dict_of(record.get("renamed")).items():
        losses.lose(f"name: {renaming}", "written under today's name", count)
    if record.get("traces", 1) > 1:
        losses.lose("separate agent traces", "written as one", record["traces"])
    is_lost = {
        ("CBOR trace", "written as JSON"): dict_of(record.get("trace")).get("cbor"),
        ("signature", NOT_RESIGNED): {"jws", "cose"} & set(record.get("forms") or ()),
        ("encryption", NOT_RESEALED): record.get("sealed"),
        ("critical", "nothing that is written has to be understood"): dict_of(record.get("top")).get("critical"),
    }
    for (what, why), is_there in is_lost.items():
        if is_there:
            losses.lose(what, why)
    for name in sorted(session.record.keys() - {NATIVE}):
        losses.lose(f"what {name} keeps beside its events", "a vCon has no place for it")
    if not record and not plan.traced and (members := extension.session_member(session)):
        losses.lose("what is known of a session without events", "a vCon has no place for it", len(members))
