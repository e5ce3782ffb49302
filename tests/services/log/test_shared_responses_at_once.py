"""Files that share responses and come at the same time: none waits, and in the end each response is counted once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config import doctor
from sessions_app.models import ModelRequest, OwnerCheck, Session, Workspace
from sessions_app.services import agents
from sessions_app.services.log import shared_responses
from sessions_app.tasks import settle_shared_responses

from ..imports import uncommitted
from ..imports.test_imports import drop
from .test_shared_responses import BILLED, FILES, OWN, totals
from .test_shared_responses import fresh as without_agent

pytestmark = pytest.mark.django_db(transaction=True)


def fresh(name: str) -> Workspace:
    """A workspace with the agent that all files name: two would wait for each other to make it."""
    workspace = without_agent(name)
    agents.get_or_create_agent(workspace.pk, "Claude Code")
    return workspace


def importing(workspace: Workspace, name: str) -> AbstractContextManager[Callable[[], None]]:
    return uncommitted.importing(workspace, FILES[name], f"{name}.jsonl")


def in_turn(name: str) -> dict:
    """What the library says when the files come one after the other."""
    workspace = fresh(name)
    for file in FILES:
        drop(workspace, FILES[file], f"{file}.jsonl")
    return totals(workspace)


@pytest.mark.parametrize("first", FILES)
def test_files_that_come_while_another_is_read_are_counted_as_if_they_came_in_turn(first):
    workspace = fresh("at-once")
    with importing(workspace, first) as commit:
        for name in FILES.keys() - {first}:
            drop(workspace, FILES[name], f"{name}.jsonl")
        commit()
    assert totals(workspace) == in_turn("in-turn")
    assert not OwnerCheck.objects.exists()


def test_three_that_are_read_at_once_end_in_any_order():
    workspace = fresh("at-once")
    with (
        importing(workspace, "third") as third,
        importing(workspace, "second") as second,
        importing(workspace, "first") as first,
    ):
        drop(workspace, FILES["fourth"], "fourth.jsonl")
        for commit in (second, first, third):
            commit()
    assert totals(workspace) == in_turn("in-turn")
    assert not OwnerCheck.objects.exists()


def test_nobody_who_reads_alone_puts_a_look_off(monkeypatch):
    monkeypatch.setattr(shared_responses, "settle", lambda workspace: None)
    workspace = fresh("alone")
    for name in FILES:
        drop(workspace, FILES[name], f"{name}.jsonl")
        assert not OwnerCheck.objects.exists()


def test_files_of_another_workspace_are_nothing_to_wait_for():
    with importing(fresh("theirs"), "first"):
        drop(fresh("ours"), FILES["second"])
        assert not OwnerCheck.objects.exists()


def test_a_sweep_counts_once_what_was_killed_before_it_looked(monkeypatch):
    workspace, look = fresh("killed"), shared_responses.settle
    with monkeypatch.context() as killed:
        killed.setattr(shared_responses, "settle", lambda workspace: None)
        with importing(workspace, "first") as commit:
            drop(workspace, FILES["second"])
            assert look() == 0  # what it waits for is not over
            commit()
    second = Session.objects.get(external_id="second")
    assert (second.total_tokens, OwnerCheck.objects.get().session_id) == (3 * BILLED, second.pk)
    assert settle_shared_responses() == 1
    second.refresh_from_db()
    assert (second.total_tokens, OwnerCheck.objects.exists()) == (OWN["second"] * BILLED, False)


def test_doctor_tells_of_sessions_that_nobody_looks_at():
    due = {"session_id": fresh("gone").pk, "workspace_id": fresh("any").pk, "since": 0, "waits_for": []}
    OwnerCheck.objects.create(**due, due_at=timezone.now() - timedelta(minutes=2))
    told = next(check for check in doctor.diagnose() if check.name == "shared responses")
    assert told.fault is None
    assert told.notice
    assert "that a session and others share" in told.notice
    assert settle_shared_responses() == 1  # a session that was deleted meanwhile
    assert shared_responses.late_notice() is None


def test_who_decides_is_not_waited_for_by_an_import():
    """A second look holds the lock: an import that finds a copy leaves it to whoever holds it."""
    workspace = fresh("decided")
    drop(workspace, FILES["first"])
    lock = shared_responses.LOCK.replace("_xact", "")  # of the connection, not of a transaction
    with connection.cursor() as cursor:
        cursor.execute(lock, [str(workspace.pk)])
        with importing(workspace, "second") as commit:
            commit()
        assert not ModelRequest.objects.filter(counted_in__isnull=False).exists()
        cursor.execute(lock.replace("lock(", "unlock("), [str(workspace.pk)])
    assert shared_responses.settle(workspace.pk) == 1
    assert Session.objects.get(external_id="second").total_tokens == OWN["second"] * BILLED
