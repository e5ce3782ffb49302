"""Approvals of a workspace as server-sent events: which one changed, how it stands now, and how many wait."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import orjson
from django.db import InterfaceError, OperationalError

from sessions_app.queries import approvals

from . import readers
from .hub import hub
from .shared_reads import shared_reads
from .threads import release

log = logging.getLogger(__name__)

PING_SECONDS = 15


async def stream(workspace_id: UUID, caller: str, address: str) -> AsyncIterator[str]:
    """Frames for as long as somebody reads and may read; a comment line when nothing happens for 15 s.

    ``approval`` says how one stands that was asked or changed, ``waiting`` how many wait, ``again`` that anything may
    have changed: the connection to the database was away, or the reader has only just come. ``caller`` is counted
    while it reads.
    """
    await release()
    topic = ("workspace", str(workspace_id))
    try:
        with readers.reading(caller, address), hub().reader("workspace", workspace_id) as reader:
            yield "retry: 2000\n\n"
            while True:
                changed = await reader.wait(PING_SECONDS)
                if readers.is_gone(caller):
                    return
                if changed is None:
                    yield ": still here\n\n"
                    continue
                ids = frozenset(UUID(id_) for kind, id_ in changed if kind == "approval")
                for frame in await shared_reads().read(topic, ids, _frames, workspace_id, ids):
                    yield frame
    except (OperationalError, InterfaceError) as error:
        log.warning("a stream ends, and its reader will come back: %s", error)
    finally:
        shared_reads().forget(topic)


def _frames(workspace_id: UUID, ids: frozenset[UUID]) -> list[str]:
    return list(_states(workspace_id, ids))


def _states(workspace_id: UUID, ids: frozenset[UUID]) -> Iterator[str]:
    if not ids:
        yield _frame("again", {})
    for one in approvals.of_ids(workspace_id, ids):
        yield _frame("approval", {"id": str(one.pk), "status": approvals.standing(one), "version": one.version})
    yield _frame("waiting", {"count": approvals.waiting_count(workspace_id)})


def _frame(event: str, data: dict[str, object]) -> str:
    return f"event: {event}\ndata: {orjson.dumps(data).decode()}\n\n"
