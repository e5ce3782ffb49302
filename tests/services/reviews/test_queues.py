"""Queues: the same sample every time, each session to one person, and nothing that nobody may do."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from sessions_app.models import Agent, Member, Role, Session, TakenSession
from sessions_app.queries.reviews import queues as queries
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.services.reviews import assignments, queues, verdicts
from sessions_app.services.reviews.problems import NotAllowed, Refused
from sessions_app.services.reviews.queues import Rules

from ..build import at_once
from .test_verdicts import actor, give, someone


@pytest.fixture
def rosa(workspace) -> Member:
    return someone(workspace, "rosa")


@pytest.fixture
def ada(workspace) -> Member:
    return someone(workspace, "ada", Role.ADMIN)


def sessions(agent: Agent, count: int, **fields) -> list[Session]:
    began = timezone.now()
    return [
        Session.objects.create(
            workspace_id=agent.workspace_id, agent=agent, started_at=began + timedelta(seconds=n), **fields
        )
        for n in range(count)
    ]


def make(member: Member, **rules) -> queues.ReviewQueue:
    return queues.make(member, Rules(**{"name": "Queue"} | rules), by=actor(member))


def test_a_sample_is_reproducible_and_about_as_large_as_asked(agent, rosa):
    made = sessions(agent, 200)
    queue = make(rosa, percent=Decimal(20), seed="spring")
    drawn = set(queries.sessions_in(queue).values_list("pk", flat=True))
    limit = queries.limit_of(queue)
    assert drawn == {one.pk for one in made if queries.bucket_of("spring", one.pk) < limit}
    assert 15 < len(drawn) < 75
    queues.close(queue, rosa, by=actor(rosa))
    again = make(rosa, percent=Decimal(20), seed="spring")
    assert set(queries.sessions_in(again).values_list("pk", flat=True)) == drawn
    other = make(rosa, name="Other", percent=Decimal(20))
    assert set(queries.sessions_in(other).values_list("pk", flat=True)) != drawn


def test_a_filter_is_that_of_the_list(agent, rosa):
    bad, _ = *sessions(agent, 1, error_count=2), sessions(agent, 1)
    queue = make(rosa, filter="?has_errors=true&sort=-cost")
    assert queue.filter == "has_errors=true"
    assert [one.pk for one in queries.sessions_in(queue)] == [bad.pk]


@pytest.mark.parametrize(
    ("rules", "field", "told"),
    [
        ({"name": " "}, "name", "use 1 to 60"),
        ({"filter": "status=strange"}, "filter", 'status: "strange" is no status'),
        ({"filter": "colour=red"}, "filter", 'knows no filter "colour"'),
        ({"filter": "assignee=me"}, "filter", "is nobody"),
        ({"percent": Decimal(0)}, "percent", "0.01 to 100"),
        ({"percent": Decimal("NaN")}, "percent", "0.01 to 100"),
        ({"wanted": 0}, "wanted", "1 to 9"),
        ({"seed": "x" * 33}, "seed", "32 characters"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(rosa, rules, field, told):
    with pytest.raises(Refused, match=told) as refused:
        make(rosa, **rules)
    assert refused.value.field == field


def test_a_name_is_given_once_while_its_queue_is_open(rosa):
    queue = make(rosa)
    with pytest.raises(Refused, match='there is a queue "Queue" already'):
        make(rosa)
    queues.close(queue, rosa, by=actor(rosa))
    make(rosa)


def test_a_filter_of_an_older_version_is_named_and_nothing_is_given_out(rosa):
    queue = make(rosa)
    queue.filter = "mood=good"
    with pytest.raises(BadFilter, match='knows no filter "mood"'):
        assignments.take_next(queue, rosa)


def test_next_is_the_oldest_that_nobody_else_is_at(agent, rosa, ada):
    first, second, third = sessions(agent, 3)
    queue = make(rosa)
    assert assignments.take_next(queue, rosa) == first
    assert assignments.take_next(queue, ada) == second
    assert assignments.take_next(queue, rosa) == first, "she has it already"
    TakenSession.objects.filter(session=first).update(until=timezone.now() - timedelta(seconds=1))
    assert assignments.take_next(queue, ada) == first, "whoever took it went away"
    give(first, ada, "pass")
    assignments.assign([second.pk], ada, rosa, by=actor(rosa))
    assert assignments.take_next(queue, rosa) == third, "the first is reviewed, the second is somebody else's"
    give(third, rosa, "fail")
    assert assignments.take_next(queue, rosa) is None
    assert queries.progress_of(queue) == queries.Progress(sessions=3, left=1, more=False)


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_once_are_given_different_ones(agent, rosa, ada):
    made = sessions(agent, 2)
    queue = make(rosa)
    taken = at_once(lambda: assignments.take_next(queue, rosa), lambda: assignments.take_next(queue, ada))
    assert sorted(one.pk for one in taken) == [one.pk for one in made]


def test_several_reviewers_are_wanted_and_none_of_them_twice(agent, rosa, ada):
    (session,) = sessions(agent, 1)
    queue = make(rosa, wanted=2)
    give(session, rosa, "pass")
    assert assignments.take_next(queue, rosa) is None
    assert assignments.take_next(queue, ada) == session
    give(session, ada, "fail")
    assert queries.progress_of(queue).done == 1
    assert queries.agreement_in(queue).share == 0
    verdicts.withdraw(session.pk, ada, by=actor(ada))
    assert queries.progress_of(queue).left == 1


def test_a_viewer_takes_makes_and_assigns_nothing(agent, workspace, rosa):
    vito = someone(workspace, "vito", Role.VIEWER)
    (session,) = sessions(agent, 1)
    queue = make(rosa)
    with pytest.raises(NotAllowed):
        make(vito, name="Mine")
    with pytest.raises(NotAllowed):
        assignments.take_next(queue, vito)
    with pytest.raises(NotAllowed):
        assignments.assign([session.pk], rosa, vito, by=actor(vito))
    with pytest.raises(Refused, match="is a viewer"):
        assignments.assign([session.pk], vito, rosa, by=actor(rosa))


def test_sessions_of_another_workspace_stay_as_they_are(agent, rosa):
    from sessions_app.services import agents, workspaces

    there = agents.get_or_create_agent(workspaces.create_workspace("elsewhere", "Elsewhere").id, "Other")
    (session,) = sessions(there, 1)
    assert assignments.assign([session.pk], rosa, rosa, by=actor(rosa)) == 0
    assert not queries.sessions_in(make(rosa)).exists()


def test_whoever_leaves_has_no_sessions_any_more(agent, rosa, ada):
    (session,) = sessions(agent, 1)
    assignments.assign([session.pk], rosa, ada, by=actor(ada))
    rosa.delete()
    session.refresh_from_db()
    assert session.assignee is None
