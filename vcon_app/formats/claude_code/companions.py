"""Companion files beside sub-agents' transcripts, with facts that no line of a transcript has.

``<session>/subagents/agent-<id>.meta.json`` describes one sub-agent; ``journal.jsonl`` in
``<session>/subagents/workflows/<run>/`` has a ``started`` and a ``result`` line for each sub-agent of a workflow.
Neither says whose it is but by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...drafts import Companion
from ..common.jsonio import Unreadable, loads
from ..common.values import count_of, dict_of, text_of
from .facts import ID_LIMIT

META = re.compile(r"agent-([A-Za-z0-9_.-]{1,200})\.meta\.json")
JOURNAL = "journal.jsonl"
PLACE = re.compile(r"(?:^|/)([^/]{1,200})/subagents/(?:workflows/([^/]{1,200})/)?[^/]*$")
TOLD = {"agentType": "agent_type", "description": "description", "toolUseId": "tool_use_id", "model": "model",
        "label": "label", "phase": "phase", "name": "name"}  # fmt: skip
AGENTS = 10_000
"""Sub-agents of one workflow that are read."""


def companions(name: str, data: bytes) -> list[Companion] | None:
    """What a file tells of sub-agents' sessions; ``None`` when it is no such file.

    ``name`` is its path, as much of it as is known: with the folder that is named after the session it tells whose
    sub-agent it is.
    """
    path = name.replace("\\", "/")
    last = path.rpartition("/")[2]
    place = PLACE.search(path)
    session, run = (place[1], place[2] or "") if place else ("", "")
    if found := META.fullmatch(last):
        value = _object(data)
        return None if value is None else [_meta(found[1], session, run, value)]
    if last == JOURNAL:
        return list(_journal(session, run, data)) or None
    return None


def is_companion(name: str) -> bool:
    """Whether a name is that of a companion; its content may still be something else."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return last == JOURNAL or META.fullmatch(last) is not None


def _meta(agent: str, session: str, run: str, value: dict[str, Any]) -> Companion:
    facts: dict[str, Any] = _facts_in(value) | ({"workflow": run} if run else {})
    depth = count_of(value.get("spawnDepth"))
    if depth is not None:
        facts["spawn_depth"] = depth
    title = facts.get("description") or facts.get("label") or facts.get("name") or ""
    return Companion("meta", f"agent-{agent}", session, title, facts)


def _journal(session: str, run: str, data: bytes) -> Iterator[Companion]:
    """One for each sub-agent. A line that cannot be read says nothing; the last one may be cut off."""
    agents: dict[str, dict[str, Any]] = {}
    for raw in data.split(b"\n"):
        value = _object(raw) if raw.strip() else None
        agent = text_of(value.get("agentId"))[:ID_LIMIT] if value else ""
        if value is None or not agent or "message" in value or value.get("type") not in ("started", "result"):
            continue
        if len(agents) < AGENTS:
            facts = agents.setdefault(agent, {"workflow": run} if run else {})
            facts |= _facts_in(value) | ({"returned": True} if value["type"] == "result" else {})
    for agent, facts in agents.items():
        yield Companion("journal", f"agent-{agent}", session, facts.get("label", ""), facts)


def _facts_in(value: dict[str, Any]) -> dict[str, Any]:
    return {ours: told[: ID_LIMIT * 5] for theirs, ours in TOLD.items() if (told := text_of(value.get(theirs)))}


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        return dict_of(loads(data)[0]) or None
    except Unreadable:
        return None
