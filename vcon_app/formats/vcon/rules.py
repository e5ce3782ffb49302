"""What breaks the rules of core in a vCon: findings only, nothing here stops an import (rules R6 to R59)."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from ...drafts import FormatError, Json
from .clock import Clock
from .elide import Elided
from .normalise import EMPTY, Container
from .notes import Notes, point, shown

SUPPORTED = ("agent_session", "lawful_basis", "mcp_session", "wtf_transcription", "CC")
"""Extensions this reader knows; names are case sensitive (core s2.5)."""
DIALOG_TYPES = ("recording", "recording-set", "text", "transfer", "incomplete")
DISPOSITIONS = ("no-answer", "congestion", "failed", "busy", "hung-up", "voicemail-no-message")
_CONTENT = ("body", "url", "encoding", "content_hash", "mediatype", "filename")
_TALK = ("parties", "originator", "session_id", "party_history")
_MOVES = ("transferee", "transferor", "original", "target_dialog", "transfer_target", "consultation")
FORBIDDEN = {
    "recording": ("recordings", *_MOVES),
    "recording-set": ("recording_set", "message_id", *_CONTENT, *_MOVES),
    "text": ("recordings", "recording_set", *_MOVES),
    "transfer": ("recordings", "recording_set", "message_id", *_TALK, *_CONTENT),
    "incomplete": ("originator", "recordings", "recording_set", "message_id", *_CONTENT, *_MOVES),
}
"""Members that must not stand on a dialog of a type (core-04 table of s4.3.1.6)."""
PARTY_REFS = ("parties", "originator", "transferee", "transferor", "transfer_target")
DIALOG_REFS = ("original", "consultation", "target_dialog", "recordings", "recording_set")
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
_UNREAD = ("sessions", "events")
_MARK = re.compile(r"__REDACTED_REF_\d+")


def refuse_critical(vcon: Container) -> None:
    """Raise ``FormatError`` when an unsupported extension is critical: such a vCon MUST NOT be read (core s2.5)."""
    unknown = [name for name in vcon.names("critical") if name not in SUPPORTED]
    if unknown:
        raise FormatError(
            f"This vCon says that it must not be processed without the extension {', '.join(map(shown, unknown))}, "
            "which this reader does not support (critical, core s2.5). Nothing of it was read."
        )


def check(vcon: Container, notes: Notes) -> None:
    """All findings about the container and its items."""
    _check_identity(vcon, notes)
    _check_lineage(vcon, notes)
    _check_extensions(vcon, notes)
    for renaming, count in vcon.renamed.items():
        notes.info("R11", vcon.pointer, f"Older or newer name: {renaming} ({count} times).")
    for index, item in enumerate(vcon.dialog):
        _check_dialog(item, vcon.at("dialog", index), vcon, notes)
    for index, item in enumerate(vcon.analysis):
        _check_analysis(item, vcon.at("analysis", index), vcon, notes)
    for index, item in enumerate(vcon.attachments):
        _check_attachment(item, vcon.at("attachments", index), vcon, notes)


def _check_identity(vcon: Container, notes: Notes) -> None:
    value = vcon.top.get("uuid")
    if value in (None, ""):
        notes.error(
            "R7", vcon.pointer, "uuid is missing (core s4.1.2 requires it): copies of this vCon cannot be told apart."
        )
    else:
        parsed = _uuid(value)
        if parsed is None:
            notes.error("R7", vcon.at("uuid"), f"uuid is {shown(value)}, which is no UUID (core s4.1.2).")
        elif parsed.version != 8:
            notes.info(
                "R7", vcon.at("uuid"), f"uuid is of version {parsed.version}; version 8 is recommended (core s4.1.2)."
            )
    if vcon.top.get("created_at") in (None, ""):
        notes.warn("R8", vcon.pointer, "created_at is missing (core s4.1.5 requires it).")
    clock = Clock(notes)
    for name in ("created_at", "updated_at"):
        clock.read(vcon.top.get(name), vcon.at(name))


def _uuid(value: Json) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _check_lineage(vcon: Container, notes: Notes) -> None:
    redacted, amended = vcon.top.get("redacted"), vcon.top.get("amended")
    if redacted and amended:
        notes.error(
            "R9",
            vcon.at("redacted"),
            "redacted and amended are both present; one vCon can be only one of them (core s4.1.8).",
        )
    if isinstance(redacted, dict) and not redacted.get("type"):
        notes.warn("R10", vcon.at("redacted"), "redacted does not say its type (core s4.1.8.1).")
    for name, value in (("redacted", redacted), ("amended", amended)):
        if isinstance(value, dict) and value.get("url") and not value.get("content_hash"):
            notes.error(
                "R10",
                vcon.at(name, "url"),
                f"{name} points to a url without content_hash: what lies there cannot be checked (core s4.1.8).",
            )


def _check_extensions(vcon: Container, notes: Notes) -> None:
    for name in vcon.names("extensions"):
        if name not in SUPPORTED:
            notes.info(
                "R6",
                vcon.at("extensions"),
                f"Extension {shown(name)} is not known here; its members are kept and not read.",
            )
    if "mcp_session" in vcon.names("critical"):
        notes.info("R18", vcon.at("critical"), "mcp_session is listed as critical, which its draft forbids (s5.1).")
    for name in _UNREAD:
        if isinstance(vcon.top.get(name), list):
            notes.warn(
                "R6",
                vcon.at(name),
                f"This vCon contains parts of an extension that is not read here: {name} "
                f"({len(vcon.top[name])} elements). They are kept.",
            )
    for name in vcon.top:
        if name in KNOWN_TOP or name in _UNREAD:
            continue
        notes.info("R6", vcon.at(name), f"The member {shown(name)} is not known; it is kept and not read.", name)


def _check_dialog(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    for name in PARTY_REFS:
        _check_refs(item, name, len(vcon.parties), "party", pointer, notes)
    for name in DIALOG_REFS:
        _check_refs(item, name, len(vcon.dialog), "dialog", pointer, notes)
    kind = item.get("type")
    if not item:
        return
    if kind in (None, ""):
        notes.warn("R37", pointer, "The dialog does not say its type (core s4.3.1).")
    elif kind not in DIALOG_TYPES:
        notes.info("R37", pointer, f"Dialog type {shown(kind)} is not one of core's.", shown(kind))
    for name in FORBIDDEN.get(kind, ()) if isinstance(kind, str) else ():
        if item.get(name) not in EMPTY:
            notes.error(
                "R35", point(pointer, name), f"{name} must not stand on a dialog of type {kind} (core s4.3.1.6)."
            )
    _check_disposition(item, pointer, notes)
    if kind in ("text", "recording") and item.get("body") is None and not item.get("url"):
        notes.info("R38", pointer, "The content of this dialog is removed or absent.", "shell")
    _check_link(item, pointer, notes)


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
    _check_refs(item, "dialog", len(vcon.dialog), "dialog", pointer, notes)
    _check_refs(item, "attachment", len(vcon.attachments), "attachment", pointer, notes)
    missing = [name for name in ("type", "vendor") if not item.get(name)] if item else []
    if missing:
        notes.warn("R40", pointer, f"The analysis has no {' and no '.join(missing)} (core s4.5).", str(missing))
    _check_link(item, pointer, notes)


def _check_attachment(item: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    _check_refs(item, "party", len(vcon.parties), "party", pointer, notes)
    _check_refs(item, "dialog", len(vcon.dialog), "dialog", pointer, notes)
    missing = [name for name in ("start", "party", "dialog") if item.get(name) is None] if item else []
    if missing:
        notes.warn(
            "R39", pointer, f"The attachment has no {', no '.join(missing)} (core s4.4 requires them).", str(missing)
        )
    _check_link(item, pointer, notes)


def _check_link(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    """An external reference; it is checked as text and never fetched (rule R60)."""
    url = item.get("url")
    if not url:
        return
    if not item.get("content_hash"):
        notes.error(
            "R59", point(pointer, "url"), "A url without content_hash: what lies there cannot be checked (core s2.4)."
        )
    if not isinstance(url, str) or not url.lower().startswith("https://"):
        notes.error("R59", point(pointer, "url"), f"The url {shown(url)} is not https (core s2.4); it was not fetched.")


def _check_refs(item: dict[str, Any], name: str, length: int, what: str, pointer: str, notes: Notes) -> None:
    """Every index in a reference: an integer, not a boolean, 0 to length - 1 (rules R25, R26)."""
    value = item.get(name)
    if value is None or isinstance(value, Elided):
        return
    for part in value if isinstance(value, list) else [value]:
        for number in part if isinstance(part, list) else [part]:
            if number is not None and not (type(number) is int and 0 <= number < length):
                _check_index(number, length, what, point(pointer, name), notes)


def _check_index(number: Json, length: int, what: str, pointer: str, notes: Notes) -> None:
    if isinstance(number, float) and number.is_integer():
        notes.warn("R26", pointer, f"The {what} index {number} is written as a float; read as {int(number)}.", what)
        number = int(number)
    if type(number) is not int:
        notes.error("R25", pointer, f"{shown(number)} is no {what} index: an index is an integer.")
    elif number < 0:
        notes.error("R25", pointer, f"The {what} index {number} is negative; it points nowhere.")
    elif number >= length:
        notes.error("R25", pointer, f"The {what} index {number} is out of range: there are {length}.")


def note_marks(texts: Any, notes: Notes) -> None:
    """Redaction marks in texts are told; their absence proves nothing (rule R109)."""
    for pointer, words in texts:
        if "__REDACTED_REF_" in words and (mark := _MARK.search(words)):
            notes.info("R109", pointer, f"Text was removed here and marked {mark.group()}.", "mark")
