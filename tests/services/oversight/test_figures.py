"""Figures of oversight: of people, of rules, and of planted calls; nothing else is counted among them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import Approval, CardView, Member
from sessions_app.queries import oversight
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.oversight import planting

from .test_planting import QUESTION, ada, decide, rosa  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db
ASKER = audit.Actor("agent", "a1", "Refund agent")


def figures(workspace) -> oversight.Oversight:
    now = timezone.now()
    return oversight.oversight(workspace.pk, now - timedelta(days=30), now + timedelta(minutes=1))


def asked(session, waited: float = 0, rule: str = "") -> Approval:
    approval = requests.request(session, requests.Question("refund", {"n": 1}), by=ASKER)
    at = timezone.now() - timedelta(seconds=waited)
    Approval.objects.filter(pk=approval.pk).update(requested_at=at, rule=rule or None)
    return Approval.objects.get(pk=approval.pk)


def test_decisions_of_a_person_are_counted_by_how_they_were_made(workspace, session, rosa):  # noqa: F811
    decide(asked(session, 10), rosa)
    decide(asked(session, 20), rosa, arguments={"n": 2})
    decide(asked(session, 30), rosa, "deny", reason="Too much")
    decide(asked(session), rosa, "deny")
    found = figures(workspace)
    mine = found.of(rosa.pk)
    assert (mine.name, mine.decisions, mine.approved, mine.edited, mine.denied, mine.denied_with_reason, mine.fast) == (
        str(rosa), 4, 2, 1, 2, 1, 1,
    )  # fmt: skip
    assert 14 < mine.median < 25 and 26 < mine.p90 < 45 and mine.share_approved == 50
    assert found.all.decisions == 4 and [one.member_id for one in found.people] == [rosa.pk]


def test_time_on_card_is_what_browsers_told(workspace, session, rosa):  # noqa: F811
    approval, now = asked(session), timezone.now()
    CardView.objects.create(approval=approval, member=rosa, first_at=now, last_at=now, seconds=7.5)
    decide(approval, rosa)
    assert figures(workspace).of(rosa.pk).on_card == 7.5


def test_who_decided_nothing_has_zeros(workspace, rosa):  # noqa: F811
    found = figures(workspace)
    assert (found.of(rosa.pk).decisions, found.all.decisions, found.all.median) == (0, 0, None)


def test_a_rule_that_is_only_ever_approved_is_called_so(workspace, session, rosa):  # noqa: F811
    for _ in range(oversight.IN_VAIN):
        decide(asked(session, rule="refunds"), rosa)
    decide(asked(session, rule="mails"), rosa, "deny", reason="No")
    refunds, mails = figures(workspace).rules
    assert (refunds.rule, refunds.asked, refunds.approved, refunds.in_vain) == ("refunds", 20, 20, True)
    assert (mails.denied, mails.in_vain) == (1, False)
    decide(asked(session, rule="refunds"), rosa, arguments={"n": 2})
    assert not figures(workspace).rules[0].in_vain


def test_caught_and_missed_planted_calls_count_in_one_figure_alone(workspace, agent, ada, rosa):  # noqa: F811
    decide(planting.plant(agent, QUESTION, by=ada), rosa, "deny", reason="No")
    decide(planting.plant(agent, QUESTION, by=ada), rosa)
    planting.plant(agent, QUESTION, by=ada)
    found = figures(workspace)
    mine = found.of(rosa.pk)
    assert (mine.caught, mine.planted, mine.decisions, mine.name) == (1, 2, 0, str(rosa))
    assert (found.all.caught, found.all.planted, found.all.decisions) == (1, 2, 0)
    assert found.rules == []


def test_teams_are_the_roles_that_people_had_when_they_decided(workspace, session, agent, ada, rosa):  # noqa: F811
    decide(asked(session, 10), rosa)
    decide(asked(session, 30), ada, "deny", reason="No")
    decide(planting.plant(agent, QUESTION, by=ada), rosa, "deny", reason="No")
    Member.objects.filter(pk=rosa.pk).update(role="viewer")
    found = {one.name: one for one in figures(workspace).teams}
    assert {name: (one.decisions, one.approved, one.caught, one.planted) for name, one in found.items()} == {
        "reviewer": (1, 1, 1, 1), "admin": (1, 0, 0, 0),
    }  # fmt: skip
    assert all(one.member_id is None for one in found.values()) and figures(workspace).all.decisions == 2


def test_what_an_admin_placed_and_decided_somehow_is_not_counted(workspace, agent, ada, rosa):  # noqa: F811
    planted = planting.plant(agent, QUESTION, by=ada)
    decide(planted, rosa, "deny", reason="No")
    Approval.objects.filter(pk=planted.pk).update(asked_by_user=rosa.user)
    assert figures(workspace).of(rosa.pk).planted == 0


def test_what_a_file_told_and_what_was_before_the_period_is_not_counted(workspace, session, rosa):  # noqa: F811
    told = decide(asked(session), rosa)
    Approval.objects.filter(pk=told.pk).update(recorded=True)
    assert figures(workspace).all.decisions == 0
    decide(asked(session), rosa)
    now = timezone.now()
    assert oversight.oversight(workspace.pk, now - timedelta(days=2), now - timedelta(days=1)).all.decisions == 0


def test_queries_do_not_grow(workspace, session, agent, ada, rosa):  # noqa: F811
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            figures(workspace)
        return len(captured)

    decide(asked(session, rule="a"), rosa)
    before = queries()
    for number in range(10):
        decide(asked(session, rule=f"r{number}"), rosa)
        decide(planting.plant(agent, QUESTION, by=ada), rosa)
    assert queries() == before == 4
