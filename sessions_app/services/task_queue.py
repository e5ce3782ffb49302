"""Messages to the workers. Tasks are named, not imported: they stand above the services and call these."""

from __future__ import annotations

from uuid import UUID

from celery import current_app
from django.db import transaction

RUN_TURN = "sessions_app.tasks.run_turn"
INDEX_SESSION = "sessions_app.tasks.index_session"
CLOSE_SESSION = "sessions_app.tasks.close_session"
READ_SLACK = "sessions_app.tasks.read_slack"
TELL_OF_APPROVAL = "sessions_app.tasks.tell_of_approval"
TELL_OF_BUDGET = "sessions_app.tasks.tell_of_budget"


def enqueue(task: str, row_id: UUID) -> None:
    """Queue a task for a row, once the transaction that changed the row is committed.

    The row says what is to be done, not the message: a broker that is away is logged, and a sweep enqueues again.
    """
    transaction.on_commit(lambda: current_app.send_task(task, args=[str(row_id)]), robust=True)
