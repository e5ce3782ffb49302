"""Rows of findings: they follow the log, a rebuild makes the same, older sessions get theirs, and they go."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import RunFinding, RunSummary, RunSummaryFillIn, Session
from sessions_app.services.log import events, links, projections, run_summaries
from tests.views.session.build import BOT, asked, call, result, said, session_with
from vcon_app.services.erasure import erasing

pytestmark = pytest.mark.django_db
FAILED = [
    asked("p", "Mend the gate"),
    call("a", "Bash", {"command": "pytest"}),
    result("a", "2 failed, 1 passed", "error"),
]
MENDED = [call("b", "Bash", {"command": "pytest"}), result("b", "3 passed, 0 failed")]
GONE = [call("g", "Bash", {"command": "git push --force"}), result("g")]


def rules(session: Session) -> list[str]:
    rows = RunFinding.objects.filter(session=session).order_by("rule")
    assert all((row.workspace_id, row.agent_id) == (session.workspace_id, session.agent_id) for row in rows)
    return [row.rule for row in rows]


def test_a_row_comes_with_what_a_rule_finds_and_goes_when_it_is_no_more(agent):
    session = session_with(agent, FAILED)
    assert rules(session) == ["tests_failing"]
    events.append(session.pk, GONE, origin=links.RUNTIME)
    assert rules(session) == ["destructive_command", "tests_failing"]
    events.append(session.pk, MENDED, origin=links.RUNTIME)
    assert rules(session) == ["destructive_command"]


def test_an_append_that_changes_nothing_of_them_does_not_ask_for_them(agent):
    session = session_with(agent, [*FAILED, *GONE])
    with CaptureQueriesContext(connection) as captured:
        events.append(session.pk, [said("m", "Done")], origin=links.RUNTIME)
    assert not [query for query in captured if "runfinding" in query["sql"]]


def test_a_rebuild_makes_the_same(agent):
    session = session_with(agent, [*FAILED, *GONE])
    before = rules(session)
    RunFinding.objects.create(session=session, rule="error_left", workspace=agent.workspace, agent=agent)
    projections.rebuild(session.pk)
    assert rules(session) == before == ["destructive_command", "tests_failing"]


def test_sessions_of_before_an_upgrade_are_filled_in(agent, monkeypatch):
    session = session_with(agent, [*FAILED, *GONE])
    RunFinding.objects.all().delete()
    RunFinding.objects.create(session=session, rule="error_left", workspace=agent.workspace, agent=agent)
    RunSummary.objects.update(told={"version": 1})
    RunSummaryFillIn.objects.create()
    monkeypatch.setattr(run_summaries, "AT_ONCE", 2)
    monkeypatch.setattr(run_summaries, "FILL_IN_SECONDS", 60.0)
    run_summaries.fill_in()
    assert rules(session) == ["destructive_command", "tests_failing"]


def test_the_working_directory_may_be_known_later(agent):
    session = session_with(agent, [call("a", "Write", {"file_path": "/etc/hosts", "content": "x"}), result("a")])
    assert rules(session) == []
    session.metadata = {"environment": {"cwd": "/srv/shop"}}
    session.save(update_fields=["metadata"])
    run_summaries.read_anew(session.pk)
    assert rules(session) == ["outside_directory"]
    events.append(session.pk, [call("b", "Write", {"file_path": "~/.profile"}), result("b")], origin=links.RUNTIME)
    assert RunSummary.objects.get(session=session).told["findings"]["found"]["outside_directory"][0] == 2


def test_they_go_with_their_session(agent, document_storage):
    session = session_with(agent, GONE)
    erasing.erase_session(session, by=BOT)
    assert not RunFinding.objects.exists()
