"""Dialogs, analyses and attachments of a written vCon: as they came, mended where core-04 demands it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from ....drafts import EventDraft, Events, Json, Losses
from ...common import origins
from ...common.times import moment_of, rfc3339_short
from ...common.values import dict_of, text_or_none
from ..file import (
    ANALYSIS_MEMBERS,
    ATTACHMENT_MEMBERS,
    DIALOG_MEMBERS,
    EMPTY,
    ENCODINGS,
    LONG_STRING,
    Notes,
    decode_base64,
    dumps,
    in_member_order,
    indented_json,
    resolve,
)
from ..rules import DIALOG_REFS, EVENT, FILE_CHANGE_MEMBERS, FORBIDDEN, PARTY_REFS, shell_of, shell_of_new
from ..trace import NATIVE, extension, indices, kept_by_reader
from .plan import MESSAGE_KINDS, REMOVED_PARTS, Plan
from .trace import trace_bytes

SINGLE = ("transfer_target", "original", "consultation", "target_dialog")
"""References of a transfer that were arrays until core-03 (s4.3.13)."""


def dialogs(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    """Every dialog, laid out as an item of the array ``dialog``."""
    for number, event in plan.dialog_events(events, losses) if plan.dialogs else ():
        stored, gone = kept_by_reader(event).get("dialog"), kept_by_reader(event).get(REMOVED_PARTS)
        item = _dialog_of_file(stored, event, plan, losses) if stored else _dialog_of_event(event, plan)
        if gone and not stored:
            item = shell_of(item, EVENT in gone)
        if plan.is_entry(event) and event.kind in MESSAGE_KINDS and (gone or not (stored and plan.had_trace)):
            item.setdefault("message_id", plan.entry_id(event, number))
        yield indented_json(in_member_order(item, DIALOG_MEMBERS), 2)


def _dialog_of_event(event: EventDraft, plan: Plan) -> dict[str, Json]:
    """A message as a dialog: speaker first; no time is written where none is known (rule R45)."""
    item: dict[str, Json] = {"type": "text"}
    if event.at is not None:
        item["start"] = rfc3339_short(event.at)
    speaker = plan.party(event)
    other = plan.people.agent if event.kind == "user_message" else plan.people.human
    item["parties"] = [index for index in (speaker, other.index if other else None) if index is not None]
    item["mediatype"] = "text/markdown" if event.kind == "agent_message" else "text/plain"
    item |= {"encoding": "none", "body": event.text}
    client = dict_of(plan.session.metadata.get("client")) or dict_of(plan.session.metadata.get("recorder"))
    return {**item, **({"application": client["name"]} if text_or_none(client.get("name")) else {})}


def _dialog_of_file(stored: dict[str, Any], event: EventDraft, plan: Plan, losses: Losses) -> dict[str, Json]:
    item = _with_text(stored, event)
    item = _mended_time(item, losses)
    for name in sorted(FORBIDDEN.get(text_or_none(item.get("type")) or "", ())):
        if item.get(name) not in EMPTY:
            losses.lose(f"{name} on a dialog of type {item['type']}", "core-04 forbids it (s4.3.1.6)")
        item.pop(name, None)
    for name in PARTY_REFS:
        _repair_references(item, name, len(plan.parties), losses)
    for name in DIALOG_REFS:
        _repair_references(item, name, plan.record.get("dialogs", 0), losses)
        if name in item:
            item[name] = _moved(item[name], plan)
    for name in SINGLE:
        if isinstance(item.get(name), list) and len(item[name]) == 1:
            item[name] = item[name][0]
    return _mended_content(item, "dialog", plan, losses)


def _with_text(stored: dict[str, Any], event: EventDraft) -> dict[str, Json]:
    """The object with its body back."""
    return {**stored["item"], "body": event.text} if stored.get("text") else dict(stored["item"])


def _mended_time(item: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A start without zone is written as it was read; one that is no time is left out."""
    fault = moment_of(item.get("start")).fault
    if fault is None:
        return item
    losses.lose(
        f"start {'without zone' if fault == 'zone' else 'that is no RFC 3339 time'}",
        "written in UTC" if fault != "unreadable" else "left out",
    )
    found = moment_of(item["start"]).at
    return {
        key: rfc3339_short(found) if key == "start" and found else value
        for key, value in item.items()
        if key != "start" or found
    }


def _repair_references(item: dict[str, Json], name: str, length: int, losses: Losses) -> None:
    """References must be in range (core s2.2); what points nowhere cannot be written."""
    value = item.get(name)
    if name not in item or value is None:
        return
    wrong = [part for part in _flattened(value) if part is not None and not (type(part) is int and 0 <= part < length)]
    if not wrong:
        return
    losses.lose(f"{name} index {wrong[0]!r}", "it is no valid index", len(wrong))
    valid = indices(value, length)
    if isinstance(value, list):
        item[name] = valid
    elif valid:
        item[name] = valid[0]
    else:
        del item[name]


def _flattened(value: Json) -> Iterator[Json]:
    for part in value if isinstance(value, list) else [value]:
        yield from part if isinstance(part, list) else [part]


def _moved(value: Json, plan: Plan) -> Json:
    """Dialog indices as they are in the new file."""
    if isinstance(value, list):
        return [_moved(part, plan) for part in value]
    return plan.new_index(value) if type(value) is int and plan.dialogs else value


def _mended_content(item: dict[str, Json], what: str, plan: Plan, losses: Losses) -> dict[str, Json]:
    """Encoding and media type on everything inline (core s2.3.2, s4.3.8); placeholders stay as they are."""
    body = item.get("body")
    if isinstance(body, dict) and "x-elided" in body:
        losses.lose(f"body of a {what}", f"larger than {LONG_STRING:,} bytes: it is in the original file only")
        return {key: value for key, value in item.items() if key not in ("body", "encoding")}
    if body is None:
        return item
    made = dict(item)
    if not isinstance(body, str):
        made["encoding"] = "json"
    elif made.get("encoding") != "jwe" or what != "analysis":  # agent_session s10 allows jwe there
        made = _mended_text(made, body, losses)
    if not made.get("mediatype"):
        made["mediatype"] = _mediatype(made)
    if made.keys() != item.keys() or made["encoding"] != item.get("encoding"):
        losses.lose(
            f"encoding or media type of a {what}", "was missing or not as core-04 has it; written as it was read"
        )
    if not isinstance(body, str) and plan.options.get("bodies") == "string":
        made["body"] = dumps(body).decode()
    return made


def _mended_text(item: dict[str, Json], body: str, losses: Losses) -> dict[str, Json]:
    """A string body under the encoding it was read with."""
    kind = resolve(item, "", Notes()).kind
    if kind == "bytes" or item.get("encoding") in ("base64url", "base64"):
        return _mended_base64({"encoding": "base64url", **item}, body, losses)
    return {**item, "encoding": item["encoding"] if item.get("encoding") in ENCODINGS else "none"}


def _mediatype(item: dict[str, Json]) -> str:
    if item["encoding"] == "base64url":
        return "application/octet-stream"
    return "application/json" if item["encoding"] == "json" and not isinstance(item["body"], str) else "text/plain"


def _mended_base64(item: dict[str, Json], body: str, losses: Losses) -> dict[str, Json]:
    try:
        data, canonical = decode_base64(body)
    except ValueError:
        return {**item, "encoding": "none"}
    if canonical and item["encoding"] == "base64url":
        return item
    losses.lose("standard or padded base64", "written as base64url (RFC 7515 s2)")
    return {**item, "encoding": "base64url", "body": encode_base64(data)}


def encode_base64(data: bytes) -> str:
    """base64url without padding (RFC 7515 s2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def analyses(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes | Iterator[bytes]]:
    """The analyses of the file with the trace in its old place, which is the first for a new vCon."""
    stored = plan.record.get("analysis") or []
    place = dict_of(plan.record.get("trace")).get("i", -1)
    waiting = plan.traced
    for kept in stored:
        if waiting and kept["i"] > place:
            yield trace_bytes(plan, events, losses)
            waiting = False
        yield indented_json(in_member_order(_analysis(dict(kept["item"]), plan, losses), ANALYSIS_MEMBERS), 2)
    if waiting:
        yield trace_bytes(plan, events, losses)


def _analysis(item: dict[str, Json], plan: Plan, losses: Losses) -> dict[str, Json]:
    if not item:
        return item
    _repair_references(item, "dialog", plan.record.get("dialogs", 0), losses)
    if "dialog" in item:
        item["dialog"] = _moved(item["dialog"], plan)
    for name in ("type", "vendor"):
        if not item.get(name):
            losses.lose(f"analysis without {name}", "core-04 requires it; written as unknown")
            item[name] = "unknown"
    return _mended_content(item, "analysis", plan, losses)


def attachments(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    """Attachments of the file in its order, those that are no events among them; then the new ones."""
    kept = list(plan.record.get("attachments") or [])
    nearest = Before(plan, events if plan.attachments else ())
    for number, event in plan.attachment_events(events, losses) if plan.attachments else ():
        stored = kept_by_reader(event).get("attachment")
        while kept and (stored is None or kept[0]["i"] < stored["i"]):
            yield indented_json(in_member_order(_kept_attachment(kept.pop(0), plan, losses), ATTACHMENT_MEMBERS), 2)
        gone = kept_by_reader(event).get(REMOVED_PARTS)
        if gone and not stored:
            item = shell_of_new(event)
        else:
            item = _attachment_of_file(stored, event) if stored else _attachment_of_event(event)
        if not stored or not _keeps_dialog(item, plan):
            item = _with_place(item, event, number, plan, nearest)
        item = _with_origin(item, event)
        yield indented_json(
            in_member_order(_complete(item, event, nearest.dialog(number), plan, losses), ATTACHMENT_MEMBERS), 2
        )
    for left in kept:
        yield indented_json(in_member_order(_kept_attachment(left, plan, losses), ATTACHMENT_MEMBERS), 2)


def _keeps_dialog(item: dict[str, Json], plan: Plan) -> bool:
    """Is the dialog that an attachment of the file names still a dialog?"""
    named = indices(item.get("dialog"), plan.record.get("dialogs", 0))
    return not named or plan.is_kept(named[0])


def _kept_attachment(kept: dict[str, Any], plan: Plan, losses: Losses) -> dict[str, Json]:
    return _complete(dict(kept["item"]), None, 0, plan, losses) if kept["item"] else {}


def _attachment_of_file(stored: dict[str, Any], event: EventDraft) -> dict[str, Json]:
    item = _with_text(stored, event)
    if "change" in stored:
        told = {name: event.data.get(name) for name in stored["change"] if name in event.data}
        told |= {"diff_text": event.text} if "diff_text" in stored["change"] else {}
        item["body"] = told | item["body"]
    return item


def _attachment_of_event(event: EventDraft) -> dict[str, Json]:
    """A changed file or an artifact that comes from elsewhere."""
    data = {key: value for key, value in origins.data_without(event).items() if key != NATIVE}
    if event.kind == "file_change":
        body = {name: data.pop(name) for name in FILE_CHANGE_MEMBERS if name in data} | (
            {"diff_text": event.text} if event.text else {}
        )
        return {
            "purpose": "agent_file_change",
            "mediatype": "application/json",
            "encoding": "json",
            "body": body | data,
        }
    item: dict[str, Json] = {"purpose": "agent_artifact"}
    item |= {"mediatype": data.pop("mediatype")} if text_or_none(data.get("mediatype")) else {}
    item |= {"filename": data.pop("name")} if text_or_none(data.get("name")) else {}
    if event.text:
        return {
            "mediatype": "text/plain",
            **item,
            "encoding": "none",
            "body": event.text,
            **({"meta": data} if data else {}),
        }
    if text_or_none(data.get("url")) and data.get("content_hash"):
        return {
            **item,
            **{name: data.pop(name) for name in ("url", "content_hash")},
            **({"meta": data} if data else {}),
        }
    return {**item, "mediatype": "application/json", "encoding": "json", "body": data}


def _with_place(item: dict[str, Json], event: EventDraft, number: int, plan: Plan, before: Before) -> dict[str, Json]:
    """Where the event stood in the log, and who acted when that is no party."""
    place: dict[str, Json] = {extension.AFTER: entry} if (entry := before.entry(number)) else {}
    if plan.party(event) is None:
        place[extension.ACTOR] = [event.actor_kind, event.actor_name]
    return {**item, "meta": {**dict_of(item.get("meta")), **place}} if place else item


def _with_origin(item: dict[str, Json], event: EventDraft) -> dict[str, Json]:
    """Who said it, as this desk knows it: what the file said of it stands in that as its word."""
    meta = {name: value for name, value in dict_of(item.get("meta")).items() if name != extension.ORIGIN}
    if told := origins.to_write(event):
        meta[extension.ORIGIN] = told
    elif meta == dict_of(item.get("meta")):
        return item
    return {**item, "meta": meta}


def _complete(
    item: dict[str, Json], event: EventDraft | None, near: int, plan: Plan, losses: Losses
) -> dict[str, Json]:
    """start, party and dialog are required (core s4.4). ``near`` is the dialog before it."""
    from_file = event is None or "attachment" in kept_by_reader(event)
    _repair_references(item, "party", len(plan.parties), losses)
    _repair_references(item, "dialog", max(plan.record.get("dialogs", 0), plan.dialogs), losses)
    for name, length in (("party", len(plan.parties)), ("dialog", plan.record.get("dialogs", 0))):
        if from_file and not indices(item.get(name), length):
            losses.lose(f"attachment without {name}", "core-04 requires one; the nearest was written")
    if not plan.dialogs:
        losses.lose("dialog of an attachment", "it is required (core s4.4) and there is none; written as 0")
    old = next(iter(indices(item.get("dialog"), plan.record.get("dialogs", 0))), None)
    first = {
        **_start(item, event, plan),
        "party": _party(item, event, plan),
        "dialog": plan.new_index(old) if old is not None and (event is None or plan.is_kept(old)) else near,
    }
    meta = {"meta": {**dict_of(item.get("meta")), **first.pop("meta")}} if "meta" in first else {}
    rest = {key: value for key, value in item.items() if key not in (*first, "start")}
    return _mended_content(first | rest | meta, "attachment", plan, losses)


def _start(item: dict[str, Json], event: EventDraft | None, plan: Plan) -> dict[str, Json]:
    """A time that is not known is marked, not made up (rule R45)."""
    stated = moment_of(item.get("start"))
    if stated.at is not None:
        return {"start": rfc3339_short(stated.at) if stated.fault else item["start"]}
    if event is not None and event.at is not None:
        return {"start": rfc3339_short(event.at)}
    return {"start": rfc3339_short(plan.options["created_at"]), "meta": {"start_source": "created_at"}}


def _party(item: dict[str, Json], event: EventDraft | None, plan: Plan) -> int:
    """As stated, else who acted, else the agent (agent_session s7), else the first."""
    if item.get("party") is not None:
        return (indices(item["party"], len(plan.parties)) or [0])[0]
    place = plan.party(event) if event is not None else None
    return place if place is not None else plan.people.agent.index if plan.people.agent else 0


class Before:
    """The dialog (by its new index) and the trace entry (by its id) before an attachment."""

    def __init__(self, plan: Plan, events: Iterable[EventDraft]) -> None:
        self._dialogs: list[tuple[int, int]] = []
        self._entries: dict[int, str] = {}
        new = len(plan.old_dialogs)
        last = ""
        for number, event in enumerate(events, 1):
            if plan.is_dialog(event):
                stored = kept_by_reader(event).get("dialog")
                self._dialogs.append((number, plan.new_index(stored["i"]) if stored else new))
                new += stored is None
            if plan.is_attachment(event):
                self._entries[number] = last
            elif plan.is_entry(event):
                last = plan.entry_id(event, number)

    def dialog(self, number: int) -> int:
        """0 when there is none before it."""
        place = bisect_left(self._dialogs, (number, 0))
        return self._dialogs[place - 1][1] if place else 0

    def entry(self, number: int) -> str:
        """``""`` when there is none before it."""
        return self._entries.get(number, "")
