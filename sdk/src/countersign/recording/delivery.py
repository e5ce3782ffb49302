"""Brings what lies in the spool to the desk: in batches, again until it was taken, each event into the log once.

The desk leaves out an event that it has (same ``client_id``), so that whatever is not known to be taken is sent again.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import wire

AT_ONCE = 1000
"""Events of one request: what the desk takes."""
MOST = 2 << 20
"""Bytes of one request."""
PATIENCE = 30.0
"""Seconds for an answer."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0
REFUSALS = (400, 403, 409, 413, 422)
"""What the same request would be answered again."""
KNOWN = 10_000
"""Sessions whose id at the desk is remembered."""
logger = logging.getLogger("countersign")


class Stopped(Exception):
    """The process ends, and what is left stays in the spool."""


@dataclass
class Counts:
    """Events of this process and of those before it, whose spools it sent."""

    sent: int = 0
    repeated: int = 0
    """The desk had them already."""
    refused: int = 0
    """The desk takes them never; the reason was logged."""


class Delivery:
    """``pause`` waits so many seconds, or less; it raises ``Stopped``. ``note_fault`` is told what goes wrong."""

    def __init__(
        self, desk: wire.Address, key: str, pause: Callable[[float], None], note_fault: Callable[[str], None]
    ) -> None:
        self._desk = desk
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._pause, self._note_fault = pause, note_fault
        self._ids: dict[bytes, str] = {}
        self.counts = Counts()

    def deliver(self, lines: list[bytes], sessions: dict[int, bytes]) -> None:
        """Bring lines of a spool to the desk. ``sessions`` are those that the lines before have named; more are added.

        Returns when the desk has taken or refused every event. Raises ``Stopped``.
        """
        events: dict[bytes, list[bytes]] = {}
        for line in lines:
            brace = line.find(b"{")
            head = line[:brace]
            if brace < 2 or not head[:-1].isdigit() or (head[-1:] != b"=" and int(head[:-1]) not in sessions):
                self._refuse(1, "a line of the spool is damaged")
            elif head[-1:] == b"=":
                sessions[int(head[:-1])] = line[brace:]
            else:
                events.setdefault(sessions[int(head[:-1])], []).append(line[brace:])
        for session, found in events.items():
            for batch in _batches(found):
                self._send(session, batch)

    def _send(self, session: bytes, batch: list[bytes], reopened: bool = False) -> None:
        """One batch; of one that is refused each half for itself, until only what is wrong is left out."""
        id_ = self._open(session)
        if id_ is None:
            return self._refuse(len(batch), "the desk does not open its session")
        body = b'{"events": [%b]}' % b",".join(batch)
        status, said = self._until_answered(
            f"/api/v1/sessions/{id_}/events", body, lambda said: _adds_up(said, len(batch))
        )
        if status == 200:
            self.counts.sent += said["accepted"]
            self.counts.repeated += said["duplicates"]
        elif status == 404:
            self._ids.pop(session, None)
            if reopened:
                return self._refuse(len(batch), "its session is not there")
            self._send(session, batch, reopened=True)
        elif len(batch) == 1:
            self._refuse(1, f"the desk answers {status}: {_reason(said)}")
        else:
            middle = len(batch) // 2
            self._send(session, batch[:middle])
            self._send(session, batch[middle:])

    def _open(self, session: bytes) -> str | None:
        """The id of a session at the desk, made there if need be; None where the desk refuses it."""
        if session in self._ids:
            return self._ids[session]
        status, said = self._until_answered("/api/v1/sessions", session, lambda said: isinstance(said.get("id"), str))
        if status not in (200, 201):
            logger.warning("countersign: the desk opens no session %.200r: %s", session, _reason(said))
            return None
        while len(self._ids) >= KNOWN:
            del self._ids[next(iter(self._ids))]
        self._ids[session] = said["id"]
        return self._ids[session]

    def _until_answered(
        self, path: str, body: bytes, is_whole: Callable[[dict[str, Any]], bool]
    ) -> tuple[int, dict[str, Any]]:
        """Status and body of the first answer that is one of a desk, however long that takes.

        A key that is unknown, a proxy that speaks for the desk, an error of the desk: all of that may pass, and nothing
        is given up for it.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                status, data = wire.exchange(self._desk, "POST", path, body, self._headers, PATIENCE)
                said = _object(data)
                if status in (200, 201) and is_whole(said):
                    self._note_fault("")
                    return status, said
                if said.get("status") == status and (status in REFUSALS or (status == 404 and "events" in path)):
                    self._note_fault("")
                    return status, said
                fault = f"it answers {status}: {_reason(said) or 'nothing that a desk says'}"
            except (wire.Unreachable, wire.Garbled) as failed:
                fault = str(failed)
            self._note_fault(fault)
            self._pause(pause * random.uniform(0.7, 1.3))  # many that begin again at one moment would fail again
            pause = min(pause * 2, LONGEST_PAUSE)

    def _refuse(self, number: int, reason: str) -> None:
        self.counts.refused += number
        logger.warning("countersign: %d event(s) were not recorded: %s", number, reason)


def _batches(events: list[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for event in events:
        if batch and (len(batch) >= AT_ONCE or size + len(event) > MOST):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += len(event) + 1
    if batch:
        yield batch


def _adds_up(said: dict[str, Any], number: int) -> bool:
    accepted, duplicates = said.get("accepted"), said.get("duplicates")
    return isinstance(accepted, int) and isinstance(duplicates, int) and accepted + duplicates == number


def _object(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _reason(said: dict[str, Any]) -> str:
    """What a problem (RFC 9457) says."""
    errors = said.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else ""
    return f"{said.get('detail', '')} {first}".strip()[:500]
