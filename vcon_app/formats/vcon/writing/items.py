"""Dialogs, analyses and attachments of a written vCon: as they came, mended where core-04 demands it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from ....drafts import EventDraft, Events, Json, Losses
from ...common import origins
from ...common.times import rfc3339_short
from ...common.values import dict_of, text_or_none
from ..file import (
    ANALYSIS_MEMBERS,
    ATTACHMENT_MEMBERS,
    DIALOG_MEMBERS,
    in_member_order,
    indented_json,
)
from ..rules import DIALOG_REFS, EVENT, FILE_CHANGE_MEMBERS, shell_of, shell_of_new
from ..trace import NATIVE, extension, indices, kept_by_reader
from .fitting import Fitting, moved
from .plan import MESSAGE_KINDS, REMOVED_PARTS, Plan
from .trace import trace_bytes


def dialogs(plan: Plan, events: Events, losses: Losses) -> Iterator[bytes]:
    """Every dialog, laid out as an item of the array ``dialog``."""
    # the walk is worth it only where dialogs of a file without a trace stand beside a new one
    behind = Before(plan, events) if plan.old_dialogs and plan.traced and not plan.had_trace else None
    for number, event in plan.dialog_events(events, losses) if plan.dialogs else ():
        stored, gone = kept_by_reader(event).get("dialog"), kept_by_reader(event).get(REMOVED_PARTS)
        item = _dialog_of_file(stored, event, plan, losses) if stored else _dialog_of_event(event, plan)
        if gone and not stored:
            item = shell_of(item, EVENT in gone)
        if behind and (entry := behind.untimed(number)):
            item["meta"] = {**dict_of(item.get("meta")), extension.AFTER: entry}
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
    item = _with_text(stored, event, plan)
    if plan.options.get("faithful"):
        return {name: moved(value, plan) if name in DIALOG_REFS else value for name, value in item.items()}
    fitting = Fitting(item, "dialog", plan, losses)
    fitting.mend_time()
    fitting.repair_dialog_references()
    fitting.mend_content()
    return fitting.finished()


def _with_text(stored: dict[str, Any], event: EventDraft, plan: Plan) -> dict[str, Json]:
    """The object with its body back."""
    return {**stored["item"], "body": event.text} if stored.get("text") else plan.whole(dict(stored["item"]))


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
    item = plan.whole(item)
    fitting = Fitting(item, "analysis", plan, losses)
    if plan.options.get("faithful"):
        return {name: moved(value, plan) if name == "dialog" else value for name, value in item.items()}
    fitting.repair("dialog", plan.record.get("dialogs", 0))
    if "dialog" in fitting.item:
        fitting.item["dialog"] = moved(fitting.item["dialog"], plan)
    for name in ("type", "vendor"):
        if not text_or_none(item.get(name)):
            if item:
                losses.lose(f"analysis without {name}", "core-04 requires it; written as unknown")
            fitting.replace(name, "unknown")
    fitting.mend_content()
    return fitting.finished()


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
            item = _attachment_of_file(stored, event, plan) if stored else _attachment_of_event(event)
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
    return _complete(plan.whole(dict(kept["item"])), None, 0, plan, losses)


def _attachment_of_file(stored: dict[str, Any], event: EventDraft, plan: Plan) -> dict[str, Json]:
    item = _with_text(stored, event, plan)
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
    """Where the event stood in the log, and what of it an attachment has no member for."""
    place: dict[str, Json] = {extension.AFTER: before.entry(number)}
    party = plan.party(event)
    if party is None or plan.people[party].actor != (event.actor_kind, event.actor_name):
        place[extension.ACTOR] = [event.actor_kind, event.actor_name]
    if event.depth:
        place[extension.DEPTH] = event.depth
    if not kept_by_reader(event) and not dict_of(kept_by_reader(event)).get(REMOVED_PARTS):
        data = {name: value for name, value in origins.data_without(event).items() if name != NATIVE}
        if data.keys() - FILE_CHANGE_MEMBERS if event.kind == "file_change" else data.keys() != {"purpose"}:
            place[extension.DATA] = data
    return {**item, "meta": {**dict_of(item.get("meta")), **place}}


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
    old = next(iter(indices(item.get("dialog"), plan.record.get("dialogs", 0))), None)
    if plan.options.get("faithful") and from_file:
        return {**item, **({"dialog": plan.new_index(old)} if old is not None else {})}
    fitting = Fitting(item, "attachments", plan, losses)
    fitting.repair("party", len(plan.parties))
    fitting.repair("dialog", max(plan.record.get("dialogs", 0), plan.dialogs))
    for name, length in (("party", len(plan.parties)), ("dialog", plan.record.get("dialogs", 0))):
        if from_file and not indices(item.get(name), length):
            if item:
                losses.lose(f"attachment without {name}", "core-04 requires one; the nearest was written")
            fitting.replace(name, None)
    if not plan.dialogs and item:
        losses.lose("dialog of an attachment", "it is required (core s4.4) and there is none; an empty one was added")
    fitting.mend_time()
    if from_file and "start" not in fitting.item:
        fitting.replace("start", None)
    first = {
        **_start(fitting.item, event, plan),
        "party": _party(fitting.item, event, plan),
        "dialog": plan.new_index(old) if old is not None and (event is None or plan.is_kept(old)) else near,
    }
    meta = {"meta": {**dict_of(item.get("meta")), **first.pop("meta")}} if "meta" in first else {}
    rest = {key: value for key, value in fitting.item.items() if key not in (*first, "start")}
    fitting.item = first | rest | meta
    fitting.mend_content()
    return fitting.finished()


def _start(item: dict[str, Json], event: EventDraft | None, plan: Plan) -> dict[str, Json]:
    """A time that is not known is marked, not made up (rule R45)."""
    if "start" in item:
        return {"start": item["start"]}
    if event is not None and event.at is not None:
        return {"start": rfc3339_short(event.at)}
    start = {"start": rfc3339_short(plan.options["created_at"])}
    return {**start, "meta": {"start_source": "created_at"}} if item else start


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
        self._untimed: dict[int, str] = {}
        new = len(plan.old_dialogs)
        last, is_timed = "", True
        for number, event in enumerate(events, 1):
            if plan.is_dialog(event):
                stored = kept_by_reader(event).get("dialog")
                self._dialogs.append((number, plan.new_index(stored["i"]) if stored else new))
                new += stored is None
            if plan.is_attachment(event):
                self._entries[number] = last
            elif plan.is_entry(event):
                last, is_timed = plan.entry_id(event, number), event.at is not None
            elif last and not is_timed and event.at is not None:
                self._untimed[number] = last

    def dialog(self, number: int) -> int:
        """0 when there is none before it."""
        place = bisect_left(self._dialogs, (number, 0))
        return self._dialogs[place - 1][1] if place else 0

    def untimed(self, number: int) -> str:
        """The entry before a dialog that is none itself, where that entry has no time to be sorted by; else ``""``."""
        return self._untimed.get(number, "")

    def entry(self, number: int) -> str:
        """``""`` when there is none before it."""
        return self._entries.get(number, "")
