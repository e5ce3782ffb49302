"""Wishes for a grant: what somebody wants to allow from now on, said with a decision or apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

USUAL = timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be allowed from now on. ``arguments``: predicates as in a rule; None: exactly those that were asked.

    ``whole_agent``: in every session of the agent, not in the one that asked alone. ``uses`` None: without a limit.
    """

    reason: str
    whole_agent: bool = False
    arguments: list[dict[str, Any]] | None = None
    lasts: timedelta = USUAL
    uses: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The wish as a vote keeps it until the decision takes effect; ``seconds`` is how long the grant lasts."""
        return {
            "reason": self.reason, "whole_agent": self.whole_agent, "arguments": self.arguments,
            "seconds": self.lasts.total_seconds(), "uses": self.uses,
        }  # fmt: skip

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Wish:
        """The wish that a vote kept."""
        return cls(
            kept["reason"], kept["whole_agent"], kept["arguments"], timedelta(seconds=kept["seconds"]), kept["uses"]
        )
