"""What the lines of a file say about the session as a whole."""

from __future__ import annotations

import io
import re
from collections import deque
from datetime import datetime
from decimal import Decimal
from typing import Any, BinaryIO, Literal

import orjson

from ...drafts import Finding, SessionDraft
from ..common.lines import Line, digest
from ..common.values import dict_of, text_of
from .programs import CLAUDE_CODE, Program

TAIL = 256 * 1024
"""Bytes at the end of the file that are searched for the session id."""
ID_LIMIT = 200
RECENT = 1024
BETWEEN = re.compile(rb"(?<=\})\s*(?=\{)")
"""Between objects that are glued together or indented, where no line is an object."""
PLACE = (("cwd", "cwd"), ("git_branch", "gitBranch"))
"""Where a session ran: the name of each part, and its key in a line."""
NAMED = 20
"""Other sessions in one file that are named; real ones hold one or two."""


class Titles:
    """The title of a session: the person's own beats the generated one, which beats a summary.

    A summary belongs to the session whose line ``leafUuid`` names, often one of another file. A summary
    of nobody here counts only if it stands alone before the first message, where a resumed file has it.
    """

    def __init__(self) -> None:
        self.custom = self.generated = self.summary = ""
        self._wanted: dict[str, str] = {}
        self._seen: deque[str] = deque(maxlen=RECENT)

    def add_summary(self, text: str, leaf: str) -> None:
        """A ``summary`` line. ``leaf`` may be before or after it in the file."""
        if not leaf or leaf in self._seen:
            self.summary = text
        elif not self._seen and len(self._wanted) < RECENT:
            self._wanted[leaf] = text

    def note_line_id(self, uuid: str) -> None:
        """Remember the id of a line, in case a summary names it."""
        if self._wanted and uuid in self._wanted:
            self.summary = self._wanted[uuid]
        self._seen.append(uuid)

    def title(self) -> str:
        """The title, or ``""``: a session is then headed by its first prompt."""
        alone = next(iter(self._wanted.values())) if len(self._wanted) == 1 else ""
        return (self.custom or self.generated or self.summary or alone)[:ID_LIMIT]


class Facts:
    """Collects id, times, model, place and title while the lines go by."""

    def __init__(self, last_session: str = "", program: Program = CLAUDE_CODE) -> None:
        self.titles = Titles()
        self._program = program
        self.session = last_session
        self.agent_id = ""
        self.model: str | None = None
        self.first_digest = ""
        self._claimed = False
        self.version = ""
        self.phase: Literal["completed", "crashed"] | None = None
        self._cost = self._cost_before = Decimal(0)
        self._started: datetime | None = None
        self._ended: datetime | None = None
        self._environment: dict[str, str] = {}
        self._others: set[str] = set()
        self._forked_from = self._resumed_from = ""

    @property
    def external_id(self) -> str:
        """The file's own session id; for a sub-agent's file, id of the parent and of the agent."""
        if self.agent_id:
            return f"{self.session}/agent-{self.agent_id}"
        return self.session or f"{self._program.name}-{self.first_digest}"

    def note_line(self, line: Line) -> None:
        """Take from a line what it says about its session."""
        value = line.value
        if at := line.at:
            # Not just the first line's time: lines need not stand in the order of time.
            if self._started is None or at < self._started:
                self._started = at
            if self._ended is None or at > self._ended:
                self._ended = at
        if not self.first_digest:
            self.first_digest = digest(line.raw)
        if not self._claimed and (session := session_of(value)):
            self._claim(value, session)
        if version := value.get("version"):
            self.version = text_of(version)[:ID_LIMIT] or self.version
        for name, key in PLACE if len(self._environment) < len(PLACE) else ():
            if name not in self._environment and (found := value.get(key)):
                self._environment[name] = text_of(found)[: ID_LIMIT * 5]

    def fix_session_id(self) -> None:
        """The first events are about to go out: the id of the session does not change any more."""
        self._claimed = True

    def _claim(self, value: dict[str, Any], session: str) -> None:
        """Decide whose file this is, from its first line with a session id: a sub-agent's own file begins
        with a line of the sub-agent, and carries the session id of its parent.
        """
        self.session = self.session or session
        self._claimed = True
        if value.get("isSidechain") is True:
            self.agent_id = text_of(value.get("agentId"))[:ID_LIMIT] or self.first_digest

    def state_cost(self, total: Decimal | None) -> Decimal | None:
        """Take a stated total in US dollars; what of it is new. It counts on from the one before, or again from 0
        after a reset.
        """
        if total is None:
            return None
        # The total is cumulative for a connection; a conversation reset starts it again at 0.
        if total < self._cost:
            self._cost_before += self._cost
            self._cost = Decimal(0)
        new, self._cost = total - self._cost, total
        return new

    def mark_copied(self, line: Line) -> Finding | None:
        """Mark a line that repeats one of another session, and say so once for each session.

        A fork names its origin on each line that it copied (``forkedFrom``); a resumed session may hold the lines of
        the one before under their own session id.
        """
        if line.value.get("sessionId") == self.session and "forkedFrom" not in line.value:  # as nearly all are
            return None
        session, origin = session_of(line.value), forked_from(line.value)
        if not origin and (not session or session == self.session):
            return None
        other = origin or session
        line.data = {"copied_from": other}
        if origin:
            self._forked_from = origin
        else:
            self._resumed_from = session
        if other in self._others or len(self._others) >= NAMED:
            return None
        self._others.add(other)
        how = "forked from it" if origin else "resumed or merged"
        return Finding(
            f"{self._program.name}.other-session", "info", line.pointer,
            f"lines of session {other} stand in the file of {self.session} ({how}); kept in this session",
        )  # fmt: skip

    def first_session(self) -> SessionDraft:
        """The session as known before its first event. The title comes last: a later one may be better."""
        return SessionDraft(
            external_id=self.external_id,
            agent_name=self._program.title,
            started_at=self._started,
            parent_external_id=self.session if self.agent_id else None,
            metadata=self._metadata(),
        )

    def final_session(self) -> SessionDraft:
        """The same session with what only the end of the file tells."""
        return SessionDraft(
            external_id=self.external_id,
            title=self.titles.title(),
            agent_name=self._program.title,
            started_at=self._started,
            ended_at=self._ended,
            phase=self.phase,
            model=self.model,
            parent_external_id=self.session if self.agent_id else None,
            metadata=self._metadata(),
        )

    def _metadata(self) -> dict[str, Any]:
        recorder = {"name": self._program.name} | ({"version": self.version} if self.version else {})
        return {
            "recorder": recorder,
            **({"environment": dict(self._environment)} if self._environment else {}),
            **({"total_cost_usd": str(self._cost_before + self._cost)} if self._cost else {}),
            **({"agent_id": self.agent_id} if self.agent_id else {}),
            **({"other_sessions": sorted(self._others)} if self._others else {}),
            **({"forked_from": self._forked_from} if self._forked_from else {}),
            **({"resumed_from": self._resumed_from} if self._resumed_from else {}),
        }


def session_of(value: dict[str, Any]) -> str:
    """The session id of a line (``session_id`` in stream-json), or ``""``."""
    return text_of(value.get("sessionId") or value.get("session_id"))[:ID_LIMIT]


def forked_from(value: dict[str, Any]) -> str:
    """The session that a line was copied from, or ``""``. ``forkedFrom`` has its id and the uuid of the message."""
    return text_of(dict_of(value.get("forkedFrom")).get("sessionId"))[:ID_LIMIT]


def last_session(source: BinaryIO) -> str:
    """The session id that the file ends with, or ``""``.

    A resumed session may begin with lines of the session it goes on from, so the last id is the file's
    own. The stream is put back where it was.
    """
    start = source.tell()
    end = source.seek(0, io.SEEK_END)
    source.seek(max(start, end - TAIL))
    tail = source.read(TAIL)
    source.seek(start)
    # Taken apart between its objects only where no line says it: that takes 30 times as long as lines do.
    return _last_session_in(tail.split(b"\n")) or _last_session_in(BETWEEN.split(tail))


def _last_session_in(pieces: list[bytes]) -> str:
    return next((session for raw in reversed(pieces) if b"ession" in raw and (session := _session_in(raw))), "")


def _session_in(raw: bytes) -> str:
    try:
        return session_of(dict_of(orjson.loads(raw)))
    except orjson.JSONDecodeError:  # the cut-off first or last line of the tail
        return ""
