"""Session facts that the lines of a transcript state, as far as tools state them alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ...drafts import SessionDraft
from .lines import Line, digest
from .values import text_of

ID_LIMIT = 200
PLACE_LIMIT = 1_000


@dataclass(slots=True)
class Facts:
    """Collects id, times, model, place and title while the lines go by."""

    name: str
    """The format's, which also stands before the made-up id of a file that states none."""
    agent: str
    session: str = ""
    parent: str | None = None
    """External id of the session that started this one."""
    title: str = ""
    model: str | None = None
    version: str = ""
    phase: Literal["active", "completed", "cancelled", "crashed"] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    """Further metadata to show."""
    started: datetime | None = None
    ended: datetime | None = None
    _first: str = ""

    def note_line(self, line: Line) -> None:
        """Take the time of a line; the first line is the identity of a file that states no id."""
        self._first = self._first or digest(line.raw)
        self.at(line.at)

    def at(self, moment: datetime | None) -> None:
        """Widen the session's time span to include this moment."""
        if moment is None:
            return
        if self.started is None or moment < self.started:
            self.started = moment
        if self.ended is None or moment > self.ended:
            self.ended = moment

    def set_environment(self, **places: Any) -> None:
        """Set where it ran (cwd, branch, commit); the first value that a file states of each stays."""
        for name, value in places.items():
            if name not in self.environment and (stated := text_of(value)):
                self.environment[name] = stated[:PLACE_LIMIT]

    @property
    def external_id(self) -> str:
        return self.session[:ID_LIMIT] or f"{self.name}-{self._first}"

    def draft(self, *, complete: bool) -> SessionDraft:
        """The session. What only the end of a file tells stands in the complete one: title, end, phase, model."""
        recorder = {"name": self.name} | ({"version": self.version[:ID_LIMIT]} if self.version else {})
        return SessionDraft(
            external_id=self.external_id,
            title=self.title[:ID_LIMIT] if complete else "",
            agent_name=self.agent,
            started_at=self.started,
            ended_at=self.ended if complete else None,
            phase=self.phase if complete else None,
            model=self.model if complete else None,
            parent_external_id=self.parent,
            metadata={
                "recorder": recorder,
                **({"environment": dict(self.environment)} if self.environment else {}),
                **self.more,
            },
        )
