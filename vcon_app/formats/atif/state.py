"""What is known of a trajectory while its steps are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..common.calls import Calls
from ..common.reading import Findings


@dataclass(slots=True)
class TrajectoryState:
    findings: Findings
    calls: Calls
    called: set[tuple[str | None, str | None, bytes]] = field(default_factory=set)
    """Id, name and arguments of calls in earlier steps: OpenHands' files repeat a call beside its result."""
