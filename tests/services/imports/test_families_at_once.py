"""Files of one family that come at the same time: none waits while it holds a session, and whoever ends last links."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import Session, Workspace
from sessions_app.services import agents
from tests.formats.claude_code.lines import jsonl, result, user
from vcon_app import tasks
from vcon_app.models import FamilyCheck, Import
from vcon_app.services.imports import families, import_jobs

from ..build import at_once
from ..files import transcript
from .test_imports import drop, start
from .test_sub_agents import EXPECTED, FILES, FOLDER, MAIN, side, started, told
from .test_sub_agents_by_prompt import GEMINI
from .uncommitted import held, importing

pytestmark = pytest.mark.django_db(transaction=True)
TWINS = {
    "main": jsonl(
        user("u1", "Look after the orchard"), started("a1", "call_1", "Prune"), started("a2", "call_2", "Prune"),
        user("r1", [result("call_1", "Pruned")]), user("r2", [result("call_2", "Pruned")]),
    ),
    "t1": side("t1", "Prune"),
    "t2": side("t2", "Prune"),
}  # fmt: skip
"""Which of the two calls started which is known of both together."""


@pytest.fixture
def place(workspace) -> Workspace:
    """A workspace with the agent that all files name: two would wait for each other to make it."""
    agents.get_or_create_agent(workspace.pk, "Claude Code")
    return workspace


def calls_of_twins() -> dict[str, str | None]:
    twins = Session.objects.exclude(parent=None)
    return {twin.metadata["agent_id"]: twin.metadata.get("tool_use_id") for twin in twins}


def look_of_a_sweep() -> None:
    """Take what met the row of a session that somebody else held for longer than a moment."""
    families.link_put_off()
    assert not FamilyCheck.objects.exists()


def test_all_files_of_a_family_at_once_give_what_they_give_in_turn(place):
    waiting = [start(place, data, name.rpartition("/")[2]) for name, data in FILES.items()]
    assert at_once(*(lambda one=one: import_jobs.run(one.pk) for one in waiting)) == [None] * len(FILES)
    assert set(Import.objects.values_list("status", flat=True)) == {Import.Status.DONE}
    look_of_a_sweep()
    assert told(place) == EXPECTED


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_two_sub_agents_that_do_not_see_each_other_are_linked_by_whoever_ends_last(place, first_ends_first):
    drop(place, TWINS["main"], f"{MAIN}.jsonl")
    with (
        importing(place, TWINS["t1"], "agent-t1.jsonl") as first,
        importing(place, TWINS["t2"], "agent-t2.jsonl") as second,
    ):
        for commit in (first, second) if first_ends_first else (second, first):
            commit()
    assert calls_of_twins() == {"t1": "call_1", "t2": "call_2"}
    assert not FamilyCheck.objects.exists()


def test_what_tells_of_a_sub_agent_does_not_wait_for_its_import(place):
    drop(place, FILES[f"{MAIN}.jsonl"], f"{MAIN}.jsonl")
    with importing(place, FILES[f"{FOLDER}/agent-aa11.jsonl"], "agent-aa11.jsonl") as commit:
        done = drop(place, FILES[f"{FOLDER}/agent-aa11.meta.json"], "agent-aa11.meta.json")
        assert (done.status, FamilyCheck.objects.count()) == (Import.Status.DONE, 1)
        commit()
    assert told(place) == {"aa11": EXPECTED["aa11"]}
    assert not FamilyCheck.objects.exists()


def test_who_links_a_family_does_not_wait_for_a_session_that_an_import_holds(place):
    """The import may come to link the family in its turn."""
    for name in (f"{MAIN}.jsonl", f"{FOLDER}/agent-aa11.jsonl"):
        drop(place, FILES[name], name.rpartition("/")[2])
    child = Session.objects.get(external_id=f"{MAIN}/agent-aa11")
    with held(lambda: Session.objects.select_for_update().get(pk=child.pk)) as commit:
        done = drop(place, FILES[f"{FOLDER}/agent-aa11.meta.json"], "agent-aa11.meta.json")
        assert (done.status, FamilyCheck.objects.count()) == (Import.Status.DONE, 1)
        commit()
    look_of_a_sweep()
    assert told(place) == {"aa11": EXPECTED["aa11"]}


def test_a_session_with_a_shared_response_takes_a_sub_agent_while_it_is_held(place):
    """A row that says whose parent it is asks for no more than that the parent stays."""
    drop(place, transcript(6, MAIN))
    side_files = [transcript(length, MAIN, isSidechain=True, agentId=agent) for length, agent in ((6, "t1"), (4, "t2"))]
    with importing(place, side_files[0], "agent-t1.jsonl") as commit:  # holds the parent: it moves what it counts
        drop(place, side_files[1], "agent-t2.jsonl")
        assert Session.objects.get(external_id=f"{MAIN}/agent-t2").parent.external_id == MAIN
        commit()


def test_sub_agents_that_are_named_by_their_parents_are_linked_by_whoever_ends_last(workspace):
    agents.get_or_create_agent(workspace.pk, "Gemini CLI")
    with importing(workspace, GEMINI[0], "main.jsonl") as commit:
        drop(workspace, GEMINI[1], "child.jsonl")
        commit()
    assert Session.objects.get(external_id="child-1").parent.external_id == "main-1"
    assert not FamilyCheck.objects.exists()


def test_files_of_another_family_are_nothing_to_put_off(place, monkeypatch):
    monkeypatch.setattr(families, "link_put_off", lambda workspace: None)
    with importing(place, FILES[f"{FOLDER}/agent-aa11.jsonl"], "agent-aa11.jsonl"):
        drop(place, transcript(4, "another", isSidechain=True, agentId="t1"), "agent-t1.jsonl")
        assert not FamilyCheck.objects.exists()


def test_nobody_who_reads_alone_puts_a_look_off(place, monkeypatch):
    monkeypatch.setattr(families, "link_put_off", lambda workspace: None)
    for name, data in FILES.items():
        drop(place, data, name.rpartition("/")[2])
        assert not FamilyCheck.objects.exists()
    assert told(place) == EXPECTED


def test_a_sweep_links_what_was_killed_before_it_looked(place, monkeypatch):
    drop(place, TWINS["main"], f"{MAIN}.jsonl")
    with monkeypatch.context() as killed:
        killed.setattr(families, "link_put_off", lambda workspace: None)
        with importing(place, TWINS["t1"], "agent-t1.jsonl"), importing(place, TWINS["t2"], "agent-t2.jsonl"):
            pass
    assert (calls_of_twins(), FamilyCheck.objects.count()) == ({"t1": "call_1", "t2": None}, 1)
    tasks.sweep()
    assert (calls_of_twins(), FamilyCheck.objects.count()) == ({"t1": "call_1", "t2": "call_2"}, 0)


def test_families_that_nobody_links_are_told_of(workspace):
    late = timezone.now() - timedelta(minutes=2)
    FamilyCheck.objects.create(
        workspace_id=workspace.pk, source_format="claude-code", sessions=[workspace.pk], agents=[], due_at=late
    )
    assert (
        families.late_notice() == "the sub-agents of an import are not linked with the sessions that started them yet"
    )
    assert families.link_put_off() == 1  # its session was deleted meanwhile
    assert families.late_notice() is None


def test_a_parent_is_locked_before_its_child(place):
    """As in an archive, which holds both: or one with the child and one with both would wait for each other."""
    waiting = start(place, TWINS["t1"], "agent-t1.jsonl")
    with CaptureQueriesContext(connection) as queries:
        import_jobs.run(waiting.pk)
    locks = [query["sql"] for query in queries if "hashtext('session')" in query["sql"]]
    assert [("_shared" in lock, "agent-t1" in lock) for lock in locks] == [(True, False), (False, True)]
