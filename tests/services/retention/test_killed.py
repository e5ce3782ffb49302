"""``kill -9`` in the middle of a sweep, and of a deletion: what is done is whole, and the next one goes on."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import connections

from sessions_app.models import AuditEntry, HiddenSpan, Pruning, Session, SessionRetention
from sessions_app.queries.retention import plans
from sessions_app.services import audit
from sessions_app.services.retention import advised, policies, sweeping
from tests.services.build import append, at_once, user
from vcon_app.services.erasure import erasing

BY = audit.Actor("member", "m-1", "Ines")
SESSIONS = 5
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def long(agent):
    made = [Session.objects.create(workspace_id=agent.workspace_id, agent=agent) for _ in range(SESSIONS)]
    for session in made:
        policies.set_policy(session.pk, {"auto_prune": True, "max_messages": 3}, by=BY)
        append(session, *(user(f"{n}") for n in range(10)))
    return sorted(made, key=lambda one: one.pk)


def killed_at(monkeypatch, module, name, call):
    """Sweep in a process that is killed as it makes this call of a function for the time that is said."""
    connections.close_all()
    child = os.fork()
    if not child:
        try:
            real, calls = getattr(module, name), iter(range(1, 100))

            def dying(*args, **more):
                if next(calls) == call:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **more)

            monkeypatch.setattr(module, name, dying)
            sweeping.sweep()
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with connections["default"].cursor() as cursor:  # until the server has seen that the process is gone
        cursor.execute(
            "SELECT pg_advisory_lock(hashtext('retention'), 0), pg_advisory_unlock(hashtext('retention'), 0)"
        )


@pytest.mark.parametrize(
    ("module", "name", "whole"),
    [(audit, "record", 2), (sweeping, "_note_looked", 3)],
    ids=["before the commit", "after the commit"],
)
def test_a_sweep_that_is_killed_leaves_nothing_half_and_the_next_goes_on(monkeypatch, long, module, name, whole):
    killed_at(monkeypatch, module, name, 3)
    for place, session in enumerate(long):
        is_done = place < whole
        assert plans.messages_in_sight(session.pk) == (3 if is_done else 10)
        assert Pruning.objects.filter(session=session).count() == is_done
        assert HiddenSpan.objects.filter(session=session).count() == is_done
        assert AuditEntry.objects.filter(action="session.pruned", subject_id=session.pk).count() == is_done
    assert SessionRetention.objects.filter(looked_seq=10).count() == 2
    assert sweeping.sweep() == SESSIONS - whole
    assert Pruning.objects.count() == SESSIONS and set(Pruning.objects.values_list("messages", flat=True)) == {7}
    assert list(audit.broken_rows(long[0].workspace_id)) == [] and sweeping.sweep() == 0


def test_a_sweep_while_another_asks_a_model_asks_it_nothing(monkeypatch, long):
    asked, second = [], []
    ask = advised.advice.ask

    def slowly(session, plan):
        asked.append(session.pk)
        second.extend(at_once(sweeping.sweep))
        return ask(session, plan)

    monkeypatch.setattr(advised.advice, "ask", slowly)
    assert sweeping.sweep() == SESSIONS
    assert sorted(asked) == [one.pk for one in long] and second == [0] * SESSIONS


def test_a_sweep_that_fails_lets_the_next_one_begin(monkeypatch, long):
    monkeypatch.setattr(sweeping, "_to_look_at", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sweeping.sweep()
    monkeypatch.undo()
    assert at_once(sweeping.sweep) == [SESSIONS]


def test_what_came_in_before_it_was_locked_is_not_deleted(long):
    session = long[0]
    policies.set_policy(session.pk, {"ttl_days": 3}, by=BY, is_admin=True)
    assert not sweeping.is_still_over(session.pk)
    with pytest.raises(erasing.CannotErase, match="no longer to go"):
        erasing.erase_session(session, by=BY, only_if=sweeping.is_still_over)
    assert Session.objects.filter(pk=session.pk).exists()
