"""Hub of live changes: one LISTEN connection per process, and any number of readers that each wait for a topic.

The hub says *that* something changed, never what: a reader then reads the database from where it stands. So a
slow reader costs a flag and not a queue, and nothing is lost while the connection to the database is.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import psycopg
from django.db import connection

from sessions_app import counts
from sessions_app.services.notify import CHANNEL

log = logging.getLogger(__name__)

# All readers are woken after a reconnect (``_wake_all``), so nothing is lost meanwhile.
RECONNECT_SECONDS = 1.0
KEEPALIVE = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A host that vanished is noticed within a minute; with the system's defaults after two hours."""
QUIET_SECONDS, ANSWER_SECONDS = 20.0, 10.0
"""After so long a backend is asked whether it is there, and for so long it is waited for: of one that hangs the kernel
answers for ever, and every stream would say that nothing happens."""
OF_DJANGO = ("cursor_factory", "context", "prepare_threshold")
"""Parameters of Django's connections that a plain asynchronous one cannot take."""

Piece = dict[str, Any]
"""``{"request", "offset", "text"}``: a part of a message that is being written, see ``notify.text_written``."""
# A bound, so that a reader who stopped reading costs no growing memory; lost pieces are in the log at the end.
PIECES_KEPT = 500
Topic = tuple[str, str]
"""Kind and id of an object: ``("session", "0198...")``; kinds are those of ``KINDS``."""
KINDS = ("session", "approval", "import", "workspace", "review")
"""A change of an approval is one of its workspace's inbox, too; one of a review is told to readers of its session."""


class Reader:
    """A reader of one topic: it waits for changes."""

    def __init__(self) -> None:
        self._has_news = asyncio.Event()
        self._changed: set[Topic] | None = None
        self._pieces: deque[Piece] = deque(maxlen=PIECES_KEPT)

    async def wait(self, seconds: float) -> set[Topic] | None:
        """Topics that changed since the last call, as soon as one did; None when none did in ``seconds``.

        An empty set means "perhaps anything": the hub has (again) begun to listen. Text that is being written ends
        the wait, too, and changes nothing: see ``written_pieces``.
        """
        try:
            await asyncio.wait_for(self._has_news.wait(), seconds)
        except TimeoutError:
            return None
        self._has_news.clear()
        changed, self._changed = self._changed, None
        return changed

    def written_pieces(self) -> list[Piece]:
        """Pieces of text since the last call. Of a reader that is too slow for them the oldest are lost: each piece
        says where it begins, so that a gap shows, and the log has the message when it is whole.
        """
        pieces = list(self._pieces)
        self._pieces.clear()
        return pieces

    def note_changes(self, changed: set[Topic]) -> None:
        self._changed = (self._changed or set()) | changed
        self._has_news.set()

    def add_piece(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._has_news.set()


class Hub:
    """The hub of one event loop. It listens while it has readers."""

    def __init__(self) -> None:
        self._readers: defaultdict[Topic, set[Reader]] = defaultdict(set)
        self._changes: defaultdict[Topic, int] = defaultdict(int)
        self._task: asyncio.Task[None] | None = None

    def changes(self, kind: str, id_: Any) -> int:
        """Number of changes of a topic: what was read at the same number need not be read again."""
        return self._changes[kind, str(id_)]

    def has_readers(self, kind: str, id_: Any) -> bool:
        return (kind, str(id_)) in self._readers

    @contextmanager
    def reader(self, kind: str, id_: Any) -> Iterator[Reader]:
        """A reader of one topic, for the length of a ``with``. It is woken once the hub listens, too."""
        topic, reader = (kind, str(id_)), Reader()
        self._readers[topic].add(reader)
        counts.add("open_streams")
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        try:
            yield reader
        finally:
            self._readers[topic].discard(reader)
            counts.add("open_streams", -1)
            if not self._readers[topic]:
                del self._readers[topic]
                self._changes.pop(topic, None)
            if not self._readers:
                # Nobody reads: give the connection back to PostgreSQL.
                self._task.cancel()
                self._task = None

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(**_parameters(), autocommit=True) as listening:
                    await _listen(listening)
                    self._wake_all()
                    while True:
                        async for notice in listening.notifies(timeout=QUIET_SECONDS):
                            self._dispatch(notice.payload)
                        await _listen(listening)
            except psycopg.Error as error:
                log.warning("the live connection is gone, trying again: %s", str(error).strip())
            except Exception:  # a task that ended would leave every stream silent, and nobody would know
                log.exception("the live connection failed, trying again")
            await asyncio.sleep(RECONNECT_SECONDS)

    def _wake_all(self) -> None:
        for topic, readers in self._readers.items():
            # What changed while the connection was away is unknown, so every topic counts as changed.
            self._changes[topic] += 1
            for reader in readers:
                reader.note_changes(set())

    def _dispatch(self, payload: str) -> None:
        message = orjson.loads(payload)
        if "said" in message:
            topic = ("session", message["session"])
            if topic in self._readers:
                self._changes[topic] += 1
            for reader in self._readers.get(topic, ()):
                reader.add_piece(message["said"])
            return
        topics = {(kind, message[kind]) for kind in KINDS if kind in message}
        for topic in topics & self._readers.keys():
            self._changes[topic] += 1
            for reader in self._readers[topic]:
                reader.note_changes(topics)


async def _listen(listening: psycopg.AsyncConnection[Any]) -> None:
    """Listen, or go on doing so. Raises ``psycopg.Error`` where the backend does not answer in time."""
    hang_up = asyncio.get_running_loop().call_later(ANSWER_SECONDS, _hang_up, listening.fileno())
    try:
        await listening.execute(f"LISTEN {CHANNEL}")
    finally:
        hang_up.cancel()


def _hang_up(descriptor: int) -> None:
    # A cancelled query is waited for until the backend says so, which one that hangs never does.
    line = socket.socket(fileno=descriptor)  # no copy of it: that fails in a process that has all the files it may
    try:
        line.shutdown(socket.SHUT_RDWR)
    finally:
        line.detach()


def _parameters() -> dict[str, Any]:
    parameters = connection.get_connection_params()
    return {name: value for name, value in parameters.items() if name not in OF_DJANGO} | KEEPALIVE


# By loop, because asyncio objects belong to one loop, and tests run many in one process.
_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop; a web server has one loop per process."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())
