"""What is known of a conversation while its messages are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..common.calls import Calls
from ..common.reading import Findings


@dataclass(slots=True)
class ChatState:
    findings: Findings
    calls: Calls = field(default_factory=Calls)
    open_calls: dict[str, str] = field(default_factory=dict)
    """Calls without an id that wait for their results: key of the event -> name, oldest first."""
