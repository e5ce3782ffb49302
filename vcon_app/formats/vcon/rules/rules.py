"""Rules of core that a vCon may break: findings only, and one reason not to read it at all (rules R4 to R59)."""

from __future__ import annotations

import re
from typing import Any

from ....drafts import FormatError
from ...common.times import plain_time
from ...common.values import dict_of, text_of
from ..file import CRITICAL, EMPTY, TOP, UNREAD_ARRAYS, Container, Notes, check_types, point, shown
from ..trace import MACHINE_PARTY_TYPES, Clock, check_reference
from .lineage import check_hash_form, check_lineage, check_link

SUPPORTED = ("agent_session", "lawful_basis", "mcp_session", "wtf_transcription", "CC")
"""Extensions this reader knows; names are case sensitive (core s2.5)."""
EARLIER = frozenset({"WTF", "wtf", "wtf-transcription", "agent-session", "mcp-session", "lawful-basis", "consent"})
"""Names of these from before: files of the 0.0.x years demand ``WTF``, and drafts were named with hyphens."""
DIALOG_TYPES = ("recording", "recording-set", "text", "transfer", "incomplete")
DISPOSITIONS = ("no-answer", "congestion", "failed", "busy", "hung-up", "voicemail-no-message")
_CONTENT = ("body", "url", "encoding", "content_hash", "mediatype", "filename")
_TALK = ("parties", "originator", "session_id", "party_history")
_MOVES = ("transferee", "transferor", "original", "target_dialog", "transfer_target", "consultation")
FORBIDDEN = {
    "recording": frozenset({"recordings", *_MOVES}),
    "recording-set": frozenset({"recording_set", "message_id", *_CONTENT, *_MOVES}),
    "text": frozenset({"recordings", "recording_set", *_MOVES}),
    "transfer": frozenset({"recordings", "recording_set", "message_id", *_TALK, *_CONTENT}),
    "incomplete": frozenset({"originator", "recordings", "recording_set", "message_id", *_CONTENT, *_MOVES}),
}
"""Members that must not stand on a dialog of a type (core-04 table of s4.3.1.6)."""
_NONE: frozenset[str] = frozenset()
PARTY_REFS = {"parties": True, "originator": False, "transferee": False, "transferor": False, "transfer_target": False}
DIALOG_REFS = {
    "original": True,
    "consultation": True,
    "target_dialog": True,
    "recordings": True,
    "recording_set": False,
}
"""Members that are indices, and whether there may be several: of a transfer's dialogs there could before core-04."""
_SILENT = {"attachment type → purpose"}
"""Renamings that a finding of their own tells."""
KNOWN_TOP = {
    "vcon",
    "uuid",
    "created_at",
    "updated_at",
    "subject",
    "extensions",
    "critical",
    "redacted",
    "amended",
    "group",
    "meta",
}
_UUID = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-([0-9A-Fa-f])[0-9A-Fa-f]{3}-([0-9A-Fa-f])[0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
)
"""With the digit of the version, and the one whose first bits are the variant (RFC 9562 s4)."""


def refuse_critical(vcon: Container) -> None:
    """Raise ``FormatError`` when an unsupported extension is critical: such a vCon MUST NOT be read (core s2.5)."""
    if vcon.top.keys().isdisjoint(CRITICAL):
        return
    unknown = [name for member in CRITICAL for name in vcon.names(member) if not _is_supported(name)]
    if unknown:
        raise FormatError(
            f"This vCon says that it must not be processed without the extension {', '.join(map(shown, unknown))}, "
            "which this reader does not support (critical, core s2.5). Nothing of it was read."
        )


def _is_supported(name: str) -> bool:
    return name in SUPPORTED or name in EARLIER


def check_vcon(vcon: Container, notes: Notes) -> None:
    """All findings about the container and its items."""
    _check_identity(vcon, notes)
    check_lineage(vcon, notes)
    _check_extensions(vcon, notes)
    check_types(vcon, notes)
    _check_names(vcon, notes)
    for index, party in enumerate(vcon.parties):
        if "meta" in party:
            _check_party(party, f"{vcon.pointer}/parties/{index}", notes)
    for index, item in enumerate(vcon.dialog):
        _check_dialog(item, f"{vcon.pointer}/dialog/{index}", vcon, notes)
    for index, item in enumerate(vcon.analysis):
        _check_analysis(item, f"{vcon.pointer}/analysis/{index}", vcon, notes)
    for index, item in enumerate(vcon.attachments):
        _check_attachment(item, f"{vcon.pointer}/attachments/{index}", vcon, notes)


def _check_names(vcon: Container, notes: Notes) -> None:
    for renaming, count in vcon.renamed.items():
        old, _, new = renaming.partition(" → ")
        if renaming not in _SILENT:
            places = "one place" if count == 1 else f"{count} places"
            notes.info("R11", vcon.pointer, f"{old}: the form in another version of core, read as {new} ({places}).")
    for old, new in () if TOP.keys().isdisjoint(vcon.top) else TOP.items():
        if old in vcon.top:
            notes.warn("R11", vcon.at(old), f"{old} and {new} are two names of one member; only {new} is read.")


def _check_party(party: dict[str, Any], pointer: str, notes: Notes) -> None:
    """A kind of party that the mcp_session draft does not know is kept (s7.4)."""
    kind = dict_of(party.get("meta")).get("party_type")
    if kind not in EMPTY and text_of(kind) not in (*MACHINE_PARTY_TYPES, "human"):
        notes.info(
            "R107",
            point(pointer, "meta", "party_type"),
            f"party_type {shown(kind)} is not known; whether this party is a person or a machine stays open.",
        )


def _check_identity(vcon: Container, notes: Notes) -> None:
    value = vcon.top.get("uuid")
    if value in EMPTY:
        notes.error(
            "R7", vcon.pointer, "uuid is missing (core s4.1.2 requires it): copies of this vCon cannot be told apart."
        )
    else:
        found = _UUID.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            notes.error("R7", vcon.at("uuid"), f"uuid is {shown(value)}, which is no UUID (core s4.1.2).")
        elif (version := found[1] if found[2] in "89ABab" else "0") != "8":
            told = f"of version {int(version, 16)}" if version != "0" else "of no version that RFC 9562 knows"
            notes.info("R7", vcon.at("uuid"), f"uuid is {told}; version 8 is recommended (core s4.1.2).")
    if vcon.top.get("created_at") in EMPTY:
        notes.warn("R8", vcon.pointer, "created_at is missing (core s4.1.5 requires it).")
    clock = Clock(notes)
    for name in ("created_at", "updated_at"):
        if not plain_time(vcon.top.get(name)):
            clock.date(vcon.top.get(name), vcon.at(name))


def _check_extensions(vcon: Container, notes: Notes) -> None:
    for name in vcon.names("extensions"):
        if not _is_supported(name):
            notes.info(
                "R6",
                vcon.at("extensions"),
                f"Extension {shown(name)} is not known here; its members are kept and not read.",
            )
    if "critical" in vcon.top and "mcp_session" in vcon.names("critical"):
        notes.info("R18", vcon.at("critical"), "mcp_session is listed as critical, which its draft forbids (s5.1).")
    for name in UNREAD_ARRAYS:
        if isinstance(vcon.top.get(name), list):
            notes.warn(
                "R6",
                vcon.at(name),
                f"This vCon contains parts of an extension that is not read here: {name} "
                f"({len(vcon.top[name])} elements). They are kept.",
            )
    for name in vcon.top:
        if name in KNOWN_TOP or name in TOP or (name in UNREAD_ARRAYS and isinstance(vcon.top[name], list)):
            continue
        notes.info("R6", vcon.at(name), f"The member {shown(name)} is not known; it is kept and not read.", name)


def _check_dialog(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    for name, many in PARTY_REFS.items():
        if name in item:
            check_reference(item, name, len(vcon.parties), "party", pointer, notes, many)
    if not DIALOG_REFS.keys().isdisjoint(item):  # transfers and recording sets, which are few
        for name, many in DIALOG_REFS.items():
            if name in item:
                check_reference(item, name, len(vcon.dialog), "dialog", pointer, notes, many)
    if not item:
        return _note_placeholder(pointer, notes)
    if "party_history" in item:
        _check_history(item, pointer, vcon, notes)
    _check_type_of_dialog(item, pointer, notes)
    if item.get("type") == "incomplete" or "disposition" in item:
        _check_disposition(item, pointer, notes)
    _check_presence_of_content(item, pointer, notes)
    _check_content(item, pointer, notes)


def _check_type_of_dialog(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    """A type of core (s4.3.1), and no member that core forbids on a dialog of this type (s4.3.1.6)."""
    kind = item.get("type")
    if kind in EMPTY:
        notes.warn("R37", pointer, "The dialog does not say its type (core s4.3.1).")
    elif kind not in DIALOG_TYPES and kind != "mcp_session":
        notes.info("R37", pointer, f"Dialog type {shown(kind)} is not one of core's.", shown(kind))
    forbidden = FORBIDDEN.get(text_of(kind), _NONE)
    for name in () if forbidden.isdisjoint(item) else item:
        if name in forbidden and item[name] not in EMPTY:
            notes.error(
                "R35", point(pointer, name), f"{name} must not stand on a dialog of type {kind} (core s4.3.1.6)."
            )


def _check_presence_of_content(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    kind = item.get("type")
    if kind == "recording-set" and item.get("recordings") in EMPTY:
        notes.error("R35", pointer, "A recording-set without recordings is a set of nothing (core s4.3.1.6).")
    if kind in ("text", "recording") and item.get("body") is None and not item.get("url"):
        left = ", but for its content_hash" if item.get("content_hash") else ""
        notes.info("R38", pointer, f"The content of this dialog is removed or absent{left}.", "shell")


def _note_placeholder(pointer: str, notes: Notes) -> None:
    """An element that was removed leaves an empty object, so that indices hold (core s4.1.8)."""
    notes.info("R109", pointer, "An empty placeholder: what stood here was removed, or never written.", "placeholder")


def _check_history(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    """Who came and went (core s4.3.9)."""
    history = item.get("party_history")
    for index, event in enumerate(history if isinstance(history, list) else ()):
        where = point(pointer, "party_history", index)
        entry = dict_of(event)
        Clock(notes).date(entry.get("time"), point(where, "time"))
        if entry.get("party") is None:
            notes.error("R25", where, f"{shown(event)} tells of no party (core s4.3.9).", "history")
        check_reference(entry, "party", len(vcon.parties), "party", where, notes)


def _check_content(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    if "url" not in item and "content_hash" not in item:
        return
    check_link(item, pointer, notes)
    if item.get("content_hash"):
        check_hash_form(item, "R59" if item.get("url") else "R63", pointer, notes)


def _check_disposition(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    stated = item.get("disposition")
    if item.get("type") == "incomplete" and stated not in DISPOSITIONS:
        notes.warn(
            "R36",
            pointer,
            f"An incomplete dialog needs a disposition of {', '.join(DISPOSITIONS)}; it has "
            f"{shown(stated)} (core s4.3.11).",
        )
    elif item.get("type") != "incomplete" and stated:
        notes.info(
            "R36", pointer, f"disposition {shown(stated)} belongs to incomplete dialogs only (core s4.3.11).", "other"
        )


def _check_analysis(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    if not item:
        return _note_placeholder(pointer, notes)
    check_reference(item, "dialog", len(vcon.dialog), "dialog", pointer, notes, True)
    check_reference(item, "attachment", len(vcon.attachments), "attachment", pointer, notes, True)
    missing = [name for name in ("type", "vendor") if item.get(name) in EMPTY]
    if missing:
        notes.warn("R40", pointer, f"The analysis has no {' and no '.join(missing)} (core s4.5).", str(missing))
    _check_content(item, pointer, notes)


def _check_attachment(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    if not item:
        return _note_placeholder(pointer, notes)
    check_reference(item, "party", len(vcon.parties), "party", pointer, notes)
    stated = item.get("dialog")
    if vcon.dialog or type(stated) is not int or stated:  # 0 where there is none: not applicable (lawful_basis s6)
        check_reference(item, "dialog", len(vcon.dialog), "dialog", pointer, notes)
    missing = [name for name in ("start", "party", "dialog") if item.get(name) in EMPTY]
    if missing:
        notes.warn(
            "R39", pointer, f"The attachment has no {', no '.join(missing)} (core s4.4 requires them).", str(missing)
        )
    _check_content(item, pointer, notes)
