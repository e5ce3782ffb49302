"""Tool calls and patches to begin from."""

from __future__ import annotations

from typing import Any

from sessions_app.changes.calls import Call, changes_of
from sessions_app.changes.change import Change, Edit
from sessions_app.changes.history import History, NetDiff


def one(name: str | None, arguments: Any, **more: Any) -> Change:
    """The only change of a call."""
    (change,) = changes_of(Call(name, arguments, **more))
    return change


def edit(old: str, new: str, path: str = "a.py", **more: Any) -> Change:
    return Change(path, "edited", "Edit", (Edit(old, new, **more),))


def write(content: str, kind: Any = "written", **more: Any) -> Change:
    return Change("a.py", kind, "Write", content=content, **more)


def history(*changes: Change, seen: str | None = None) -> History:
    made = History()
    if seen is not None:
        made.see(seen)
    for version, change in enumerate(changes, start=1):
        made.apply(change, version)
    return made


def shown(net: NetDiff) -> list[str]:
    """Rows as text, a line ``@ versions`` before each hunk."""
    lines = []
    for hunk in net.hunks:
        lines.append("@ " + " ".join(map(str, hunk.versions)))
        lines += [f"{row.mark}{row.text}" for row in hunk.rows]
    return lines
