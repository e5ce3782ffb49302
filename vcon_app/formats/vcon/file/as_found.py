"""Members that core-04 does not allow as they came: set aside in ``meta`` when a vCon is written, put back when read.

``meta: {"x-as-found": {"disposition": "ANSWERED"}}`` on a dialog whose ``disposition`` had to be written as ``failed``;
``null`` says that the member was not there. An element that had to be added so that others can point at it is marked
``x-added`` and left out when read.
"""

from __future__ import annotations

from typing import Any

from ....drafts import Json

AS_FOUND = "x-as-found"
ADDED = "x-added"
CONTENT = ("body", "url")
"""What people read: put back only where the item shows other readers nothing in its place."""


def set_aside(item: dict[str, Json], found: dict[str, Json]) -> dict[str, Json]:
    """The item with what some of its members were; a ``meta`` that is no object goes there, too."""
    if not found:
        return item
    meta = item.get("meta")
    if isinstance(meta, dict) or meta is None:
        return {**item, "meta": {**(meta or {}), AS_FOUND: found}}
    return {**item, "meta": {AS_FOUND: {**found, "meta": meta}}}


def put_back(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of an array as they were before they were written; the same list where none says so."""
    if not any("meta" in item for item in items):
        return items
    made = [_as_found(item) if isinstance(item.get("meta"), dict) else item for item in items]
    while made and isinstance(meta := made[-1].get("meta"), dict) and meta.get(ADDED) is True:
        made.pop()
    return made


def _as_found(item: dict[str, Any]) -> dict[str, Any]:
    found = item["meta"].get(AS_FOUND)
    if not isinstance(found, dict):
        return item
    meta = {name: value for name, value in item["meta"].items() if name != AS_FOUND}
    made = {name: value for name, value in item.items() if name != "meta"} | ({"meta": meta} if meta else {})
    for name, value in found.items():
        if value is None:
            made.pop(name, None)
        elif name not in CONTENT or made.get(name) in (None, ""):
            made[name] = value
    return made
