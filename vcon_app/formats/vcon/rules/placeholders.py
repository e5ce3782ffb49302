"""Placeholders of dialogs and attachments whose content a redaction removed (core s4.1.8: indices must hold).

A *shell* keeps time, people and media of what lost its words (draft-rosenberg-vcon-redaction); a *placeholder* keeps
only what the core schema requires and what the object is joined by.

A hash stays only of what lies elsewhere (``url``) or is large and binary: who has the hash of a short text can try
texts until one fits.
"""

from __future__ import annotations

from ....drafts import EventDraft, Json
from ...common.values import dict_of, text_or_none
from ..trace import extension

EVENT = "event"
"""Name of the part of an event that is all of it, among the parts that a redaction removes."""
KNOWN = ("agent_file_change", "agent_artifact", "agent_environment", "system-prompt", "tool-definitions")
"""Purposes that say nothing of the content; any other label may."""
PURPOSES = {"file_change": "agent_file_change", "artifact": "agent_artifact"}
LARGE = 1024
"""Characters of base64url from which a hash cannot be guessed by trying."""
SHELL = (
    "type", "start", "duration", "parties", "originator", "mediatype", "message_id", "application", "disposition",
    "transferee", "transferor", "transfer_target", "original", "consultation", "target_dialog", "recordings",
    "recording_set", "purpose", "party", "dialog", "content_hash",
)  # fmt: skip
"""Members of a dialog or attachment that stay when its content goes."""
PLACE = ("message_id", "party", "dialog")
"""Of those, what is left of one that goes whole: what the core schema requires, and what it is joined by."""


def shell_of(item: dict[str, Json], whole: bool) -> dict[str, Json]:
    """A dialog or an attachment without its content, or (``whole``) the placeholder of one."""
    if not item:
        return {}
    members = {name: item[name] for name in (PLACE if whole else SHELL) if name in item}
    if not (item.get("url") or (item.get("encoding") == "base64url" and len(str(item.get("body"))) >= LARGE)):
        members.pop("content_hash", None)
    if whole and "type" in item:
        members["type"] = "text"  # core s4.3.1: a dialog of this type alone is a placeholder
    if whole and item.get("purpose") in KNOWN:
        members["purpose"] = item["purpose"]
    after = text_or_none(dict_of(item.get("meta")).get(extension.AFTER))
    return {**members, "meta": {extension.AFTER: after}} if after else members


def shell_of_new(event: EventDraft) -> dict[str, Json]:
    """What is left of a changed file or an artifact that was in no vCon."""
    return {"purpose": PURPOSES[event.kind]}
