"""A session as a whole without what a reviewer removes of it; and, on one walk, what has to be known beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ....drafts import EventDraft, Events, Json, SessionDraft
from ...common.values import dict_of, text_or_none
from ..file import UNREAD_ARRAYS
from ..rules import EVENT
from ..trace import IDENTIFIERS, NATIVE, SESSIONS, kept_by_reader
from ..writing import RECORD_MEMBERS, SESSION_MEMBERS, TOP_MEMBERS
from .check import NAME, Removed
from .redact import ATTACHMENTS, ENVIRONMENT, METADATA, PEOPLE, RESULT, SUMMARY, TEXT, TITLE, Redacted, Selection

PERSONS = ("person", "unknown", "organization")
"""Kinds of parties that may be somebody."""
SHOWN_OF_PERSON = ("type", "role")
OF_RECORDER = ("recorder", "client", "provider", "models", "parent_external_id")
"""Metadata that says which programs took part; without it nobody can read the rest."""
PLACES = ("vcs", "file-attribution")
"""Members of a trace's record that tell of somebody's files."""


@dataclass(frozen=True)
class Prepared:
    """Input of a writer in place of the session and its log, and the words to look for in what it wrote."""

    session: SessionDraft
    events: Redacted
    removed: Removed
    counts: dict[str, int]
    """What was removed how often: kinds and numbers, never words."""


def prepare(session: SessionDraft, events: Events, selection: Selection) -> Prepared:
    """Take a selection out of a session; walks over the events once."""
    survey = _Survey(selection)
    for number, event in enumerate(events, 1):
        survey.note_event(number, event)
    people = survey.people(session) if PEOPLE in selection.whole else {}
    survey.note_session(session, people)
    cleaned = session_without(session, survey.selection, people)
    return Prepared(cleaned, Redacted(events, selection, people), survey.removed, dict(survey.counts))


def pseudonyms(session: SessionDraft, names: Iterable[str]) -> dict[str, str]:
    """Pseudonym of each name of its file, and of ``names``: persons stay apart, and nobody takes it for a name."""
    record = dict_of(session.record.get(NATIVE))
    named = [
        name_of(raw)
        for raw, kind in zip(record.get("parties") or [], record.get("kinds") or [], strict=False)
        if kind in PERSONS
    ]
    return {name: f"Person {number}" for number, name in enumerate(dict.fromkeys([*named, *names]), 1)}


class _Survey:
    """First walk over a session: counts and collects the parts to be removed."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.removed = Removed()
        self.counts: Counter[str] = Counter()
        self._names: dict[str, None] = {}
        for words in selection.words:
            self.removed.add_words(words)

    def note_event(self, number: int, event: EventDraft) -> None:
        if event.actor_kind in ("person", "trigger") and event.actor_name:
            self._names[event.actor_name] = None
        gone = self.selection.parts_of(number, event)
        if not gone:
            return
        self.counts.update(gone)
        tool = event.tool
        whole = EVENT in gone
        if whole or gone & {TEXT, RESULT}:
            self.removed.add(number, event.text)
            self.removed.add(number, tool.result if tool else None)
        if tool and gone - {TEXT, RESULT}:
            self.removed.add(number, tool.arguments)
        if kept_by_reader(event).get("source") == "analysis":
            index = event.pointer.rpartition("/")[2]
            self._select_also(analyses={int(index)} if index.isdecimal() else set())

    def _select_also(self, **indices: set[int]) -> None:
        more = {name: getattr(self.selection, name) | found for name, found in indices.items()}
        self.selection = replace(self.selection, **more)

    def people(self, session: SessionDraft) -> dict[str, str]:
        """Pseudonym of each name in the file and the log."""
        return pseudonyms(session, self._names)

    def note_session(self, session: SessionDraft, people: dict[str, str]) -> None:
        """Count and collect parts to be removed from the session itself and from the file beside its events."""
        record, whole = dict_of(session.record.get(NATIVE)), self.selection.whole
        self._choose_items(record)
        for name, chosen in (("analysis", self.selection.analyses), ("attachments", self.selection.attachments)):
            for one in record.get(name) or []:
                if one["i"] in chosen:
                    self.removed.add(f"/{name}/{one['i']}", one["item"].get("body"))
                    self.counts[name] += 1
        self.counts.update(whole)
        words = {TITLE: session.title, SUMMARY: session.summary, ENVIRONMENT: session.metadata.get("environment")}
        for part, value in words.items():
            if part in whole:
                self.removed.add(part, value)
        self._note_people(session, record, people)

    def _choose_items(self, record: dict[str, Any]) -> None:
        """Add to the selection the analyses and attachments of the file that go with a part of the whole."""
        analyses, attachments = record.get("analysis") or [], record.get("attachments") or []
        if SUMMARY in self.selection.whole:
            self._select_also(analyses={one["i"] for one in analyses if one["item"].get("type") == "summary"})
        if ENVIRONMENT in self.selection.whole:
            found = {one["i"] for one in attachments if one["item"].get("purpose") == "agent_environment"}
            self._select_also(attachments=found)
        if ATTACHMENTS in self.selection.every:
            self._select_also(attachments={one["i"] for one in attachments})

    def _note_people(self, session: SessionDraft, record: dict[str, Any], people: dict[str, str]) -> None:
        if PEOPLE not in self.selection.whole:
            return
        for name in (*people, session.user_id):
            self.removed.add(PEOPLE, name, NAME)
        for raw, kind in zip(record.get("parties") or [], record.get("kinds") or [], strict=False):
            if kind in PERSONS:
                told = {key: value for key, value in raw.items() if key not in (*SHOWN_OF_PERSON, "validation")}
                self.removed.add(PEOPLE, told, NAME)


def session_without(session: SessionDraft, selection: Selection, people: dict[str, str]) -> SessionDraft:
    """The session itself without what goes of it; ``people``: the name of each person -> what stands for it."""
    whole = selection.whole
    metadata = {name: value for name, value in session.metadata.items() if METADATA not in whole or name in OF_RECORDER}
    if ENVIRONMENT in whole:
        metadata.pop("environment", None)
    if PEOPLE in whole:
        metadata.pop("parties", None)
    record = dict_of(session.record.get(NATIVE))
    return replace(
        session,
        title="" if TITLE in whole else session.title,
        summary="" if SUMMARY in whole else session.summary,
        user_id="" if PEOPLE in whole else session.user_id,
        tags=() if METADATA in whole else session.tags,
        metadata=metadata,
        record={NATIVE: _record(record, selection, people)} if record else {},
    )


def _record(record: dict[str, Any], selection: Selection, people: dict[str, str]) -> dict[str, Any]:
    """What the reader kept for the writer; what other formats kept is of no use to it."""
    whole = selection.whole
    made = dict(record)
    made["top"] = _kept_top_members(dict_of(record.get("top")), whole)
    made["parties"] = [
        _party(raw, kind, whole, people)
        for raw, kind in zip(record.get("parties") or [], record.get("kinds") or [], strict=False)
    ]
    for name, chosen in (("analysis", selection.analyses), ("attachments", selection.attachments)):
        stay = ("type", "vendor", "dialog") if name == "analysis" else ("purpose", "party", "dialog")
        made[name] = [
            {**one, "item": _picked_members(one["item"], stay)} if one["i"] in chosen else one
            for one in record.get(name) or []
        ]
    if trace := dict_of(record.get("trace")):
        made["trace"] = {**trace, **_trace(trace, whole)}
    return made


def _kept_top_members(top: dict[str, Json], whole: frozenset[str]) -> dict[str, Json]:
    """Top members to keep. Never those of an unknown extension: they may repeat what was removed (core s2.5)."""
    return {
        name: value
        for name, value in top.items()
        if name not in UNREAD_ARRAYS
        and not (name == "subject" and TITLE in whole)
        and (name in TOP_MEMBERS or METADATA not in whole)
    }


def _party(raw: dict[str, Json], kind: str, whole: frozenset[str], people: dict[str, str]) -> dict[str, Json]:
    if kind in PERSONS:
        if PEOPLE not in whole or not raw:
            return raw
        return {"name": people[name_of(raw)], **_picked_members(raw, SHOWN_OF_PERSON)}
    return _without_environment(raw) if ENVIRONMENT in whole else raw


def _without_environment(raw: dict[str, Json]) -> dict[str, Json]:
    """Without where it ran, wherever the agent's party says so (``trace.agent_facts``)."""
    kept = {name: value for name, value in raw.items() if name != "environment"}
    for name in ("meta", *SESSIONS):
        if isinstance(inner := kept.get(name), dict):
            kept[name] = _without_environment(inner)
    return kept


def _trace(trace: dict[str, Any], whole: frozenset[str]) -> dict[str, Any]:
    """The trace around the entries, without members that go."""
    session, record = dict_of(trace.get("session")), dict_of(trace.get("record"))
    if METADATA in whole:
        session, record = _picked_members(session, SESSION_MEMBERS), _picked_members(record, RECORD_MEMBERS)
    if ENVIRONMENT in whole:
        session = {name: value for name, value in session.items() if name != "environment"}
        record = {name: value for name, value in record.items() if name not in PLACES}
    return {"session": session, "record": record}


def name_of(raw: dict[str, Json]) -> str:
    """Name of a party in events."""
    return next((value for key in ("name", *IDENTIFIERS) if (value := text_or_none(raw.get(key)))), "")


def _picked_members(item: dict[str, Json], names: Iterable[str]) -> dict[str, Json]:
    return {name: item[name] for name in names if name in item}
