"""The transcript of a run as events of its session at the desk, so that a card has behind it what led to the call.

Lines become the same events each time, with ids of their own: what is sent again is found to be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from . import runs
from .asking import Request
from .holding import Desk

Json = dict[str, Any]
AT_ONCE = 500
"""Events of one request; the desk takes 1,000."""
LONGEST = 100_000
"""Characters of one text."""
MOST = 4 << 20
"""Bytes of one request."""
PATIENCE = 20.0


class NotTaken(Exception):
    """The desk did not take the events; the message says why."""


class Reader(Protocol):
    """What is known of the lines of one client."""

    def events_of(self, lines: list[Json], first: int) -> Iterator[Json]:
        """The events of the lines from ``first`` on."""

    def requests_of(self, lines: list[Json]) -> list[Json]:
        """What is only known when a turn is over: the requests to the model, with their tokens."""


def send(desk: Desk, client: str, session: str, path: str | None, run: str, *, whole: bool = False) -> None:
    """Send what the desk has not got. ``whole``: the turn is over, so that the tokens of its requests stand.

    Raises ``OSError``, ``NotTaken``, or ``ValueError`` where there is no transcript.
    """
    if not path:
        raise ValueError("this run has no transcript")
    known, reader = runs.recall(run) or {}, _reader(client)
    before = known if known.get("session") == session else {}
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()  # it is being written
    parsed = [_parsed(line) for line in lines]
    sent, counted = int(before.get("lines", 0)), int(before.get("requests", 0))
    events = list(reader.events_of(parsed, sent))
    if whole:
        events += reader.requests_of(parsed[counted:])
    for batch in _batches(events):
        _post(desk, f"/api/v1/sessions/{session}/events", batch)
    _report_executions(desk, events, runs.calls_of(run))
    runs.remember(run, session, len(parsed), len(parsed) if whole else counted)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n({len(text) - LONGEST} more characters)"


def _reader(client: str) -> Reader:
    """Raises ``ValueError``."""
    if client == "claude-code":
        from .claude_code.transcript import ClaudeCodeReader

        return ClaudeCodeReader()
    if client == "codex":
        from .codex.transcript import CodexReader

        return CodexReader()
    raise ValueError(f"nothing is known of transcripts of {client[:40]}")


def _parsed(line: str) -> Json:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _batches(events: list[Json]) -> Iterator[bytes]:
    """Bodies of requests."""
    pieces: list[str] = []
    for event in events:
        piece = json.dumps(event, ensure_ascii=True)
        if pieces and (len(pieces) >= AT_ONCE or sum(map(len, pieces)) + len(piece) > MOST):
            yield _body(pieces)
            pieces = []
        pieces.append(piece)
    if pieces:
        yield _body(pieces)


def _body(pieces: list[str]) -> bytes:
    return f'{{"events": [{", ".join(pieces)}]}}'.encode()


def _report_executions(desk: Desk, events: list[Json], calls: dict[str, tuple[str, str]]) -> None:
    """What came of the calls that the desk had allowed. Raises ``NotTaken``."""
    for event in events:
        call = calls.get(str(event["tool"]["call_id"])) if event["kind"] == "tool_result" else None
        if call:
            status = "errored" if event["tool"]["status"] == "error" else "succeeded"
            body = json.dumps({"digest": call[1], "status": status}).encode()
            _post(desk, f"/api/v1/approvals/{quote(call[0], safe='')}/execution", body)


def _post(desk: Desk, path: str, body: bytes) -> None:
    came = desk.send(Request("POST", path, body, PATIENCE))
    if not isinstance(came, tuple):
        raise NotTaken(str(came))
    if came[0] not in (200, 201):
        raise NotTaken(f"{came[0]} {came[1][:300].decode(errors='replace')}")
