"""``rebuild`` and ``audit verify``."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import Session, Turn
from sessions_app.services import agents, audit, sessions, workspaces
from sessions_app.services.log import events, links
from tests.database_roles import as_owner
from tests.services.build import answer, user


@pytest.fixture
def session_with_usage(db):
    agent = agents.get_or_create_agent(workspaces.default_workspace().id, "Refund agent")
    made = sessions.create(agent, by=audit.SYSTEM)
    events.append(made.id, [user("Go"), answer("r", "m", input_tokens=3)], origin=links.RUNTIME)
    return made


def test_rebuild_computes_everything_from_the_log_again(session_with_usage, capsys):
    before = (
        Session.objects.filter(pk=session_with_usage.pk)
        .values("turn_count", "event_count", "input_tokens", "last_seq")
        .get()
    )
    Turn.objects.all().delete()
    Session.objects.update(turn_count=99, input_tokens=99)
    call_command("rebuild")
    assert Session.objects.filter(pk=session_with_usage.pk).values(*before).get() == before
    assert Turn.objects.get(session=session_with_usage, index=1).prompt == "Go"
    assert "1 session" in capsys.readouterr().out


def test_rebuild_of_one_session_leaves_the_others(session_with_usage):
    other = sessions.create(session_with_usage.agent, by=audit.SYSTEM)
    events.append(other.id, [user()], origin=links.RUNTIME)
    Session.objects.update(turn_count=99)
    call_command("rebuild", str(session_with_usage.id))
    assert list(Session.objects.order_by("id").values_list("turn_count", flat=True)) == [1, 99]


@pytest.mark.parametrize("id_", ["x", "01900000-0000-7000-8000-000000000000"])
def test_rebuild_of_a_session_that_is_not_there_is_refused(db, id_):
    with pytest.raises(CommandError, match="session"):
        call_command("rebuild", id_)


def test_an_intact_log_is_said_to_be_intact(session_with_usage, capsys):
    call_command("audit", "verify")
    assert capsys.readouterr().out.startswith("intact  default: ")


def test_the_first_broken_entry_is_named_with_exit_status_1(session_with_usage, capsys):
    workspaces.create_workspace("north")
    for _ in range(3):
        sessions.create(session_with_usage.agent, by=audit.SYSTEM)
    _forge(
        "UPDATE sessions_app_auditentry SET action = 'session.forged' WHERE seq IN (2, 3) AND workspace_id = %s",
        session_with_usage.workspace_id,
    )
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify")
    assert ended.value.code == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "broken  default: entry 2: its content was changed"
    assert "intact  north: 1 entries" in said
    call_command("audit", "verify", "--workspace", "north")


def test_a_missing_entry_is_named(session_with_usage, capsys):
    sessions.create(session_with_usage.agent, by=audit.SYSTEM)
    _forge("DELETE FROM sessions_app_auditentry WHERE seq = 1 AND workspace_id = %s", session_with_usage.workspace_id)
    with pytest.raises(SystemExit):
        call_command("audit", "verify")
    assert "entry 2: entry 1 is missing" in capsys.readouterr().out


def _forge(sql, workspace_id):
    with as_owner() as cursor:
        cursor.execute(
            "SET LOCAL session_replication_role = replica"
        )  # the trigger that refuses this is off for a moment
        cursor.execute(sql, [workspace_id])
        cursor.execute("SET LOCAL session_replication_role = origin")
