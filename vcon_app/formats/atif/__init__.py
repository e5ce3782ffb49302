"""ATIF, the Agent Trajectory Interchange Format of Harbor: one JSON object for each trajectory, v1.0 to v1.8.

A trajectory is a session. Sub-agents' trajectories that are embedded in it are told where they were started, one
level deeper, for ``final_metrics`` counts them too; those in files of their own are sessions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft, Finding
from ..common.head import Head
from ..common.lines import Line
from ..common.reading import Findings
from ..common.records import records
from ..common.values import text_of
from ..contract import Spec
from .trajectory import Trajectory, external_id

NAME = "atif"
SPEC = Spec(
    name=NAME,
    title="ATIF trajectory",
)


def detect(head: Head) -> bool:
    """By ``schema_version``, of the only trajectory or of the first of several."""
    return any(text_of(head.shape.get(f"{place}schema_version")).startswith("ATIF-") for place in ("", "item."))


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one trajectory, or of each in a list or on lines. Raises ``FormatError`` for what is no JSON."""
    findings = Findings(NAME)
    used: dict[str, int] = {}
    for item in records(source, NAME):
        if isinstance(item, Line) and isinstance(item.value.get("steps"), list):
            id = external_id(item)
            used[id] = used.get(id, 0) + 1
            yield from Trajectory(item, findings, id if used[id] == 1 else f"{id}#{used[id]}").drafts()
        elif isinstance(item, Line):
            message = "it has no list of steps, so it is no trajectory; left out"
            yield from findings.limit(Finding(f"{NAME}.no-trajectory", "warning", item.pointer, message))
        elif isinstance(item, Finding):
            yield from findings.limit(item)
    yield from findings.close()
