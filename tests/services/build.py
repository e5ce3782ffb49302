"""Short names for the events that tests append, and for what they look at afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from django.db import connection
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Event, SearchBacklog, SearchBlock, Session
from sessions_app.services.log import events, links

_numbers = count(1)


def event(kind: str = "note", key: str = "", **fields: Any) -> EventDraft:
    """An event with a key of its own unless one is given."""
    return EventDraft(kind=kind, key=key or f"k{next(_numbers)}", **fields)


def user(text: str = "Do it", **fields: Any) -> EventDraft:
    return event("user_message", text=text, actor_kind="person", **fields)


def call(call_id: str | None = None, name: str = "search", **fields: Any) -> EventDraft:
    return event("tool_call", tool=ToolDraft(call_id=call_id, name=name, arguments={"q": "x"}), **fields)


def result(call_id: str | None = None, status: str | None = "ok", **fields: Any) -> EventDraft:
    return event("tool_result", tool=ToolDraft(call_id=call_id, status=status), **fields)


def answer(request: str | None = None, model: str | None = None, cost: Any = None, **tokens: int) -> EventDraft:
    """A message of a model, with the tokens of the response it is part of."""
    usage = Usage(**tokens) if tokens else None
    return event("agent_message", text="Done", request=request, model=model, cost=cost, usage=usage)


def append(session: Session, *new: EventDraft) -> events.Appended:
    """Append, and bring ``session`` up to date."""
    done = events.append(session.pk, list(new), origin=links.RUNTIME)
    session.refresh_from_db()
    return done


def forget_search(session: Session) -> None:
    """As an upgrade to a new search index leaves a session: all of it is to be indexed."""
    SearchBlock.objects.filter(session=session).delete()
    Session.objects.filter(pk=session.pk).update(indexed_seq=0)
    SearchBacklog.objects.create(session_id=session.pk, workspace_id=session.workspace_id, since=timezone.now())
    session.refresh_from_db()


def log(session: Session) -> list[Event]:
    return list(Event.objects.filter(session=session).order_by("seq"))


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """Run each in a thread with a connection of its own, all released together; what they return or raise."""
    barrier = threading.Barrier(len(work))

    def run(task: Callable[[], Any]) -> Any:
        try:
            barrier.wait(60)
            return task()
        except Exception as error:  # the tests look at it
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(run, work))
