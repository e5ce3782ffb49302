"""What was allowed for more than one call ends when the tool, or its server, is another one: with the real desk."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.models import Approval, Grant, Role
from sessions_app.services import audit
from sessions_app.services.approvals.authority import Decider
from sessions_app.services.policies import grants

from .driven import PAID, TOOL, Driven


@pytest.fixture
def driven(desk_server, agent_key):
    return Driven(desk_server, agent_key, hold=30)


@pytest.fixture
def grant(driven, asked, decide, reviewer_member) -> Grant:
    """Rosa has allowed a call and all like it, in every session of the agent."""
    driven.calls(1, meta={})
    approval = asked()
    actor = audit.Actor("member", str(reviewer_member.pk), str(reviewer_member))
    decider = Decider(actor, Role.REVIEWER, "web", reviewer_member.pk)
    wish = grants.Wish("Small sums.", whole_agent=True, lasts=timedelta(hours=1))
    made = grants.make_from(approval, wish, decider=decider)
    decide(approval, "approve")
    assert driven.next()["result"] == PAID
    return made


def test_a_call_of_the_same_tool_is_let_through(driven, grant):
    driven.calls(2, meta={})
    assert driven.next()["result"] == PAID
    assert Approval.objects.get(status="auto_allowed").decides_by == "grant"


def test_a_change_of_the_schema_that_the_server_tells_makes_the_grant_void(driven, grant, asked, decide):
    driven.shop.tools = [TOOL | {"inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}}}]
    driven.shop.say(method="notifications/tools/list_changed")
    assert driven.next()["method"] == "notifications/tools/list_changed"
    driven.calls(2, meta={})
    decide(asked(), "deny")
    assert driven.next()["result"]["isError"] is True
    grant.refresh_from_db()
    assert "another one now" in grant.end_reason
    assert len(driven.ran) == 1


def test_while_the_tool_is_not_listed_the_grant_is_not_used_and_stays(driven, grant, asked, decide):
    driven.shop.tools = []
    driven.shop.say(method="notifications/tools/list_changed")
    driven.next()
    driven.calls(2, meta={})
    decide(asked(), "deny")
    driven.next()
    grant.refresh_from_db()
    assert grant.ended_at is None


def test_a_server_somewhere_else_is_another_one(driven, grant, desk_server, agent_key, asked, decide):
    elsewhere = Driven(desk_server, agent_key, hold=30, place="python other.py")
    elsewhere.calls(1, meta={})
    decide(asked(), "deny")
    assert elsewhere.next()["result"]["isError"] is True
    grant.refresh_from_db()
    assert grant.ended_at is not None
