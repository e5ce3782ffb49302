"""Celery tasks of the desk. Each takes an id at most, may run twice, and finds in the rows what is left to do."""

from __future__ import annotations

from uuid import UUID

from celery import current_app, shared_task

from .channels.slack import escalation, messages, replies, sweep
from .runtimes import worker
from .runtimes.managed import upkeep
from .services import agent_days, fair_queue
from .services.approvals import delivery, effects, endings
from .services.escalations import steps
from .services.log import run_summaries, search_index, shared_responses
from .services.money import totals
from .services.notices import choices, outbox, outgoing_messages, sending
from .services.retention import sweeping
from .services.reviews import mention_mails, mention_pushes
from .services.stops import carrying_out
from .services.triggers import schedules
from .services.turns import in_flight
from .services.upkeep import event_months, retention


@shared_task
def run_next(queue: str) -> None:
    """Enqueued for each task that joins a queue: run the one whose workspace and person are next, whichever it is."""
    if taken := fair_queue.take(queue):
        current_app.tasks[taken.task](str(taken.row_id))


@shared_task
def expire_approvals() -> int:
    """Called every 5 s by the scheduler: deny what nobody decided in time."""
    return endings.expire_due()


@shared_task
def carry_out_stops() -> int:
    """Called every 5 s by the scheduler: finish stops that were left half done, and end those whose time is over."""
    return carrying_out.sweep()


@shared_task
def fire_escalation_steps() -> int:
    """Called every 5 s by the scheduler: tell more people of what still waits."""
    return steps.fire_due()


@shared_task
def settle_decisions() -> int:
    """Called every second by the scheduler: have decisions take effect whose process was killed before."""
    return effects.settle_due()


@shared_task
def sweep_deliveries() -> int:
    """Called every minute by the scheduler: say of decisions that nobody will fetch that it is so."""
    return delivery.sweep()


@shared_task
def fire_schedules() -> int:
    """Called every second by the scheduler: fire the schedules that are due."""
    return schedules.fire_due()


@shared_task
def index_session(session_id: str) -> None:
    """Enqueued after a bulk import: make its text searchable."""
    search_index.index(UUID(session_id))


@shared_task
def sweep_search_rows() -> int:
    """Called every 5 s by the scheduler: enqueue what a lost message left unindexed, and place older rows."""
    return search_index.sweep() + search_index.place()


@shared_task
def settle_shared_responses() -> int:
    """Called every 5 s by the scheduler: decide where responses are counted whose import was killed before it did."""
    return shared_responses.settle()


@shared_task
def keep_totals() -> int:
    """Called every 5 s by the scheduler: take what changed into what is kept, of older sessions for the first time."""
    return totals.fill_in() + totals.fold() + agent_days.fold()


@shared_task
def fill_in_run_summaries() -> int:
    """Called every 5 s by the scheduler: read sessions from before there were run summaries."""
    return run_summaries.fill_in()


@shared_task
def run_turn(session_id: str) -> None:
    """Enqueued when a turn begins, and when a person decided what it waited for."""
    worker.run(UUID(session_id), beside=replies.following)


@shared_task
def run_triggered_turn(session_id: str) -> None:
    """As ``run_turn``, of a turn that a webhook began: apart from those that people wait for."""
    worker.run(UUID(session_id), beside=replies.following)


@shared_task
def close_session(session_id: str) -> None:
    """Enqueued when a session is archived that its runtime keeps at the provider, too."""
    worker.close(UUID(session_id))


@shared_task
def look_again() -> int:
    """Sent every 2 min by the scheduler: resume turns that may have been answered at the provider."""
    return upkeep.look_again()


@shared_task
def sweep_turns() -> int:
    """Called every 5 s by the scheduler: enqueue turns again that lost their worker or their message."""
    return in_flight.sweep()


@shared_task
def make_event_months() -> int:
    """Sent four times a day by the scheduler: parts of the table of events for the months to come."""
    made = event_months.make()
    event_months.take_statistics()
    return made


@shared_task
def remove_old() -> int:
    """Sent four times a day by the scheduler: delete what was kept long enough."""
    forgotten = retention.forget_answers() + retention.forget_signed_requests() + retention.forget_browser_sessions()
    return forgotten + retention.empty_deliveries() + outgoing_messages.forget_old()


@shared_task
def apply_retention() -> int:
    """Sent every 10 min by the scheduler: prune the sessions whose retention says so."""
    return sweeping.sweep()


@shared_task
def read_slack(event_id: str) -> None:
    """Enqueued when Slack sent a message or a click."""
    messages.read(UUID(event_id))


@shared_task
def tell_of_approval(approval_id: str) -> None:
    """Enqueued when an approval is asked for, and when it is decided."""
    escalation.tell_of_approval(UUID(approval_id))


@shared_task
def tell_of_budget(budget_id: str) -> None:
    """Enqueued when a budget is used up, once in its period."""
    escalation.tell_of_budget(UUID(budget_id))


@shared_task
def sweep_slack() -> int:
    """Called every 5 s by the scheduler: what Slack sent or is to be sent, and what was held up or lost."""
    return sweep.sweep()


@shared_task
def post_message(message_id: str) -> None:
    """Enqueued when an outgoing webhook is to be told of something."""
    outgoing_messages.send(UUID(message_id))


@shared_task
def sweep_notices() -> int:
    """Called every 5 s by the scheduler: enqueue what is to be sent again, and what a lost message left unsent."""
    notices = outgoing_messages.sweep() + choices.write_late_endings() + outbox.sweep()
    return notices + mention_mails.sweep() + mention_pushes.sweep()


@shared_task
def send_mention(mention_id: str) -> None:
    """Enqueued when a member who wants mail is named in a comment."""
    mention_mails.send(UUID(mention_id))


@shared_task
def push_mention(mention_id: str) -> None:
    """Enqueued when a member is named in a comment who has a browser told."""
    mention_pushes.send(UUID(mention_id))


@shared_task
def send_notice(notice_id: str) -> None:
    """Enqueued when a member is to be told of an approval, by mail or in a browser."""
    sending.send(UUID(notice_id))
