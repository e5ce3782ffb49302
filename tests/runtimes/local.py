"""What the tests of the ``local`` runtime share."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import timedelta

from django.utils import timezone

from sessions_app.models import Approval, Event, Role, Session, TurnInFlight
from sessions_app.runtimes import worker
from sessions_app.services.approvals import decisions

from .conftest import BY

DECIDER = decisions.Decider(BY, Role.REVIEWER, "desk")
ALLOW = {"default": "allow"}


def decide(session: Session, verdict: str, **more) -> Approval:
    one = session.approvals.get(status="pending")
    return decisions.decide(one, DECIDER, decisions.Decision(verdict, one.version, one.digest, sure=True, **more))


def event(session: Session, kind: str) -> Event:
    """The only event of this kind."""
    return Event.objects.get(session=session, kind=kind)


def responses(session: Session) -> list[Event]:
    """The events that say what a response used and why it ended."""
    return list(Event.objects.filter(session=session, output_tokens__isnull=False).order_by("seq"))


def texts(session: Session, kind: str) -> list[str]:
    return list(Event.objects.filter(session=session, kind=kind).order_by("seq").values_list("text", flat=True))


def content(message: dict) -> list[dict]:
    """Blocks of a message without the marks of the cache."""
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]


@contextmanager
def working(session: Session):
    """A worker in another thread, which ends by itself before the block does."""
    running = threading.Thread(target=worker.run, args=(session.pk,))
    running.start()
    try:
        yield
    finally:
        running.join(60)
        assert not running.is_alive()
        session.refresh_from_db()


def lose_the_worker(session: Session) -> None:
    """As after a crash: nobody has said for a minute that the turn is held."""
    TurnInFlight.objects.filter(session=session).update(heartbeat_at=timezone.now() - timedelta(minutes=1))
