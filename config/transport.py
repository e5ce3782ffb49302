"""kombu's ``pgmq`` transport, for a worker that is kept busy."""

from __future__ import annotations

from typing import Any

from celery.worker import state
from django.db import close_old_connections
from kombu.transport import pgmq
from psycopg import OperationalError

from config.processes.part_heartbeat import Progress

progress = Progress()
"""Of the loop in which this process reads its queues, if it is a worker."""
SECONDS = 0.05
"""Between two looks whether a task has ended. It costs no query: the queue is read when there is room again."""


class Channel(pgmq.Channel):
    """Channel to queues that are there: ``config.broker.install`` makes them, with the rights of their owner.

    kombu's own makes each queue and its trigger anew wherever it is declared, which the desk's role may not.
    """

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        self._maybe_enable_notify(queue)

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        if self.use_notify:
            transport: Any = self.connection  # to kombu's stubs it is any transport
            transport._register_notify_queue(queue_name or self._queue_name(queue))

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        """As kombu's; once more where the database has ended the one connection that is kept, which only shows now."""
        try:
            super()._put(queue, message, **kwargs)  # type: ignore[no-untyped-call]
        except OperationalError:
            super()._put(queue, message, **kwargs)  # type: ignore[no-untyped-call]

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """As kombu's; a message that could not be deleted, since the database has ended the connection, is out no more.

        Celery logs that and goes on, and kombu would count it among those that a worker has for ever: with one at a
        time it took no other. It comes again when its time is over, and its task finds the row done.
        """
        try:
            super().basic_ack(delivery_tag, multiple)  # type: ignore[no-untyped-call]
        except Exception:
            self.qos.ack(delivery_tag)
            raise

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Likewise."""
        try:
            super().basic_reject(delivery_tag, requeue)  # type: ignore[no-untyped-call]
        except Exception:
            self.qos.ack(delivery_tag)
            raise


class Transport(pgmq.Transport):
    """Transport that takes the next message as soon as a worker has room for it.

    kombu waits for a NOTIFY or ``polling_interval`` also when as many messages are out as may be, and no NOTIFY
    tells of one that was acknowledged: a backlog of short tasks went at 1 a second with two children (measured).
    """

    Channel = Channel
    _interval = pgmq.Transport.polling_interval

    @property
    def polling_interval(self) -> float | None:
        """Seconds between two polls; kombu reads it once, as a wait begins."""
        return self._interval if self._has_room() else SECONDS

    @polling_interval.setter
    def polling_interval(self, seconds: float | None) -> None:
        self._interval = seconds

    def verify_connection(self, connection: Any) -> bool:
        """Whether there is a connection. kombu's own lists all queues for that, before each message that is sent and
        each look for one that is read; either says itself when the database is away."""
        return self._pgmq_client is not None

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Read once. Back from here, with a message or without, the worker has proved that it reads its queue.

        It has not where as many messages are out as may be and no task of them is at work: nobody will make room, and
        the supervisor starts a worker that shows no heartbeat again.
        """
        try:
            super().drain_events(connection, timeout=timeout)  # type: ignore[no-untyped-call]  # kombu has no types
        finally:
            if self._has_room() or state.reserved_requests:
                progress.went_round()
            close_old_connections()  # of a worker that has had nothing to do for a while

    def _has_room(self) -> bool:
        """Whether one more message may be taken."""
        return all(channel.qos.can_consume() for channel in self.channels or ())
