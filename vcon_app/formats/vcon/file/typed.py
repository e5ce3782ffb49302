"""Members of a vCon that are not of the type that core gives them: told, and read as not stated (rule R112)."""

from __future__ import annotations

from typing import Any

from .elide import Elided
from .normalise import EMPTY, Container
from .notes import Notes, point, shown

_CONTENT = frozenset({"mediatype", "filename", "encoding"})
TEXTS = {
    "parties": frozenset(
        {"tel", "sip", "stir", "mailto", "name", "did", "validation", "gmlpos", "uuid", "type", "org", "dept", "role"}
    ),
    "dialog": _CONTENT | {"type", "disposition", "application", "message_id"},
    "analysis": _CONTENT | {"type", "vendor", "product", "schema"},
    "attachments": _CONTENT | {"purpose"},
}
"""Members that are texts (core s4.2 to s4.5; ``role`` is of the CC extension)."""
OBJECTS = {"parties": "civicaddress"}
LISTS = ("extensions", "critical")
_OF_CALLS = frozenset({"duration", "session_id", "party_history"})


def check_types(vcon: Container, notes: Notes) -> None:
    """Report what has a wrong type, at the top and in the four arrays."""
    subject = vcon.top.get("subject")
    if type(subject) is not str:
        _check_text(subject, vcon.at("subject"), notes)
    for name in LISTS:
        if name in vcon.top:
            _check_names(vcon.top[name], vcon.at(name), "R4" if name == "critical" else "R6", notes)
    for array, texts in TEXTS.items():
        for index, item in enumerate(getattr(vcon, array)):
            for name, value in item.items():
                if type(value) is not str and name in texts:
                    _check_text(value, vcon.at(array, index, name), notes)
    for index, party in enumerate(vcon.parties):
        if (address := party.get("civicaddress")) not in EMPTY and not isinstance(address, dict):
            _report(address, "an object", vcon.at("parties", index, "civicaddress"), notes)
    for index, dialog in enumerate(vcon.dialog):
        if not _OF_CALLS.isdisjoint(dialog):
            _check_call(dialog, vcon.at("dialog", index), notes)


def _check_text(value: Any, pointer: str, notes: Notes) -> None:
    if value not in EMPTY and not isinstance(value, (str, Elided)):
        _report(value, "a text", pointer, notes)


def _check_call(dialog: dict[str, Any], pointer: str, notes: Notes) -> None:
    """What only dialogs have: seconds, ids of a call, who came and went."""
    seconds = dialog.get("duration")
    if seconds not in EMPTY and (not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0):
        _report(seconds, "a number of seconds", point(pointer, "duration"), notes)
    for name in ("session_id", "party_history"):
        value = dialog.get(name)
        if value not in EMPTY and not isinstance(value, dict | list) and dialog.get("type") != "mcp_session":
            _report(value, "an object" if name == "session_id" else "an array", point(pointer, name), notes)


def _check_names(value: Any, pointer: str, rule: str, notes: Notes) -> None:
    if value in EMPTY:
        return
    odd = [name for name in value if not isinstance(name, str)] if isinstance(value, list) else [value]
    for name in odd:
        notes.warn(rule, pointer, f"{shown(name)} stands where a list of extension names belongs (core s2.5).")


def _report(value: Any, wanted: str, pointer: str, notes: Notes) -> None:
    notes.warn("R112", pointer, f"{shown(value)} stands where {wanted} belongs; it is kept and read as not stated.")
