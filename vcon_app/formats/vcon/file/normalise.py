"""Older and newer names folded to those of core-04, by what is there and never by the version string.

The table is that of the drafts container-00 (0.0.1) to core main after -04 (0.5.0). The tree of the file
is left as it is: whatever changes is a new dict.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ....drafts import Json
from ...common.values import dict_of, text_of
from .as_found import put_back
from .forms import ARRAYS
from .notes import Notes, point, shown

TOP = {
    "appended": "amended",
    "amended_from": "amended",
    "redacted_from": "redacted",
    "must_support": "critical",
    "must_understand": "critical",
}
CRITICAL = ("critical", "must_support", "must_understand")
CONTENT = {"mimetype": "mediatype"}
DIALOG = {**CONTENT, "transfer-target": "transfer_target", "target-dialog": "target_dialog"}
ANALYSIS = {**CONTENT, "schema_version": "schema"}
KEYS = {"dtmfdown": "keydown", "dtmfup": "keyup"}
"""Of ``party_history``, as core-01 had them."""
EMPTY: tuple[Json, ...] = (None, "", [], {})
"""Missing, null, [] and {} read the same for optional members (core s2.2)."""


@dataclass(slots=True)
class Container:
    """A vCon with today's names. The arrays hold dicts only; what was none of these is an empty placeholder."""

    top: dict[str, Any]
    """Members beside the four arrays."""
    parties: list[dict[str, Any]]
    dialog: list[dict[str, Any]]
    analysis: list[dict[str, Any]]
    attachments: list[dict[str, Any]]
    pointer: str = ""
    renamed: dict[str, int] = field(default_factory=dict)
    """``"mimetype → mediatype"`` and how often."""
    given: dict[str, str] = field(default_factory=dict)
    """The names that members of ``top`` have in the file, where those are others."""

    def at(self, *tokens: Any) -> str:
        """The JSON pointer of a place in the file."""
        if self.given and tokens:
            tokens = (self.given.get(tokens[0], tokens[0]), *tokens[1:])
        return point(self.pointer, *tokens)

    @property
    def uuid(self) -> str:
        """The uuid as written, ``""`` when there is none."""
        value = self.top.get("uuid")
        return value if isinstance(value, str) else ""

    def names(self, member: str) -> list[str]:
        """``extensions`` or ``critical`` as a list of names; a single name may stand without a list."""
        value = self.top.get(member)
        found = value if isinstance(value, list) else [value]
        return [name for name in found if isinstance(name, str) and name]


def normalise(tree: dict[str, Any], pointer: str, notes: Notes) -> Container:
    """Fold the names of a whole vCon."""
    renamed: dict[str, int] = defaultdict(int)
    top = {key: value for key, value in tree.items() if key not in ARRAYS}
    given: dict[str, str] = {}
    if not TOP.keys().isdisjoint(top):
        given = {new: old for old, new in TOP.items() if top.get(old) not in EMPTY and top.get(new) in EMPTY}
        top = _fold(top, TOP, renamed)
    for key in ("redacted", "amended"):
        if key in top and top[key] in EMPTY:
            del top[key]
        elif isinstance(top.get(key), dict):
            top[key] = _hashed(top[key], renamed)
    arrays = {name: _objects(tree.get(name), name, pointer, notes) for name in ARRAYS}
    return Container(
        top,
        arrays["parties"],
        [_renamed_call_members(_hashed(_fold(item, DIALOG, renamed), renamed), renamed) for item in arrays["dialog"]],
        [_hashed(_fold(item, ANALYSIS, renamed), renamed) for item in arrays["analysis"]],
        [
            _attachment(item, renamed, point(pointer, "attachments", n), notes)
            for n, item in enumerate(arrays["attachments"])
        ],
        pointer,
        renamed,
        given,
    )


def _objects(value: Json, name: str, pointer: str, notes: Notes) -> list[dict[str, Any]]:
    if value in EMPTY:
        return []
    if not isinstance(value, list):
        notes.error("R112", point(pointer, name), f"{name} is {shown(value)}, not an array; nothing of it can be read.")
        return []
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            notes.error(
                "R112",
                point(pointer, name, index),
                f"This element of {name} is {shown(item)}, not an object; it keeps its place and is not read.",
                name,
            )
    return put_back([item if isinstance(item, dict) else {} for item in value])


def _fold(item: dict[str, Any], names: dict[str, str], renamed: dict[str, int]) -> dict[str, Any]:
    """The same members under today's names; a member that has today's name already, and a value, wins."""
    if names.keys().isdisjoint(item):
        return item
    folded: dict[str, Any] = {}
    for key, value in item.items():
        new = names.get(key, key)
        if new == key:
            if value not in EMPTY or folded.get(new) in EMPTY:
                folded[new] = value
        elif item.get(new) in EMPTY and folded.get(new) in EMPTY:
            folded[new] = value
            if value not in EMPTY:
                renamed[f"{key} → {new}"] += 1
        elif value not in EMPTY:
            folded[key] = value
    return folded


def _hashed(item: dict[str, Any], renamed: dict[str, int]) -> dict[str, Any]:
    """``alg`` and ``signature`` beside a url were the content hash of 0.0.1 (container-00)."""
    if "signature" not in item or item.get("content_hash") not in EMPTY or not isinstance(item["signature"], str):
        return item
    alg = text_of(item.get("alg")).lower().replace("-", "")
    if not alg:
        return item
    renamed["alg + signature → content_hash"] += 1
    rest = {key: value for key, value in item.items() if key not in ("alg", "signature")}
    return {**rest, "content_hash": f"{alg}-{item['signature']}"}


def _renamed_call_members(item: dict[str, Any], renamed: dict[str, int]) -> dict[str, Any]:
    """A call's ``session_id`` was one string before core-01, keys pressed had other names before core-02."""
    if isinstance(item.get("session_id"), str) and item["session_id"] and item.get("type") != "mcp_session":
        item = {**item, "session_id": {"local": item["session_id"]}}
        renamed["session_id text → session_id.local"] += 1
    history = item.get("party_history")
    if isinstance(history, list) and any(text_of(dict_of(event).get("event")) in KEYS for event in history):
        item = {**item, "party_history": [_pressed(event, renamed) for event in history]}
    return item


def _pressed(event: Json, renamed: dict[str, int]) -> Json:
    if not isinstance(event, dict) or text_of(event.get("event")) not in KEYS:
        return event
    renamed[f"{event['event']} → {KEYS[event['event']]}"] += 1
    return {**_fold(event, {"dtmf": "button"}, defaultdict(int)), "event": KEYS[event["event"]]}


def _attachment(item: dict[str, Any], renamed: dict[str, int], pointer: str, notes: Notes) -> dict[str, Any]:
    """``type`` was the label before core-02; it becomes ``purpose`` unless it is a media type (rule R41)."""
    item = _hashed(_fold(item, CONTENT, renamed), renamed)
    label = item.get("type")
    if item.get("purpose") not in EMPTY or not isinstance(label, str) or not label:
        return item
    if "/" in label:
        if "mediatype" in item:
            return item
        renamed["attachment type → mediatype"] += 1
        return {**{key: value for key, value in item.items() if key != "type"}, "mediatype": label}
    item = {key: value for key, value in item.items() if key != "purpose"}
    notes.info("R41", pointer, f"The label {shown(label)} stands in type (before core-02): read as purpose.", "label")
    renamed["attachment type → purpose"] += 1
    return {("purpose" if key == "type" else key): value for key, value in item.items()}


def mediatype(item: dict[str, Any]) -> str:
    """Lower case, without parameters (``text/plain; charset=UTF-8`` occurs in official examples)."""
    value = item.get("mediatype")
    return value.partition(";")[0].strip().lower() if isinstance(value, str) else ""
