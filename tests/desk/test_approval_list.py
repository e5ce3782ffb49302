"""The list of all that waits, and what was decided lately."""

from __future__ import annotations

from django.utils import timezone

from sessions_app.models import Approval, Role
from sessions_app.services import approvals, audit

from .build import asks, session_of, words


def test_nothing_waits(viewer, workspace):
    assert "Nothing waits for a person" in words(viewer.get("/approvals/"))


def test_what_waits_longest_stands_first(viewer, agent):
    for tool in ("first_tool", "second_tool"):
        asks(session_of(agent), tool=tool)
    page = words(viewer.get("/approvals/"))
    assert page.index("first_tool") < page.index("second_tool")
    assert "2 wait, the longest first" in page


def test_decisions_are_listed_with_who_and_why(viewer, agent):
    approval = asks(session_of(agent))
    decider = approvals.Decider(audit.Actor("member", "1", "Rosa"), Role.REVIEWER, "web")
    approvals.decide(approval, decider, "deny", version=1, digest=approval.digest, reason="Already refunded")
    page = words(viewer.get("/approvals/"))
    assert "Nothing waits for a person" in page
    assert "denied issue_refund Order 4711 Rosa , just now Already refunded" in page


def test_an_expired_question_is_among_the_decisions(viewer, agent):
    approval = asks(session_of(agent), expires_in=60)
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now())
    approvals.expire_due()
    assert "expired, so denied issue_refund" in words(viewer.get("/approvals/"))


def test_a_decision_can_be_made_in_the_list_without_a_script(reviewer, agent):
    approval = asks(session_of(agent))
    page = reviewer.get("/approvals/").content.decode()
    assert f'action="/approvals/{approval.id}/decision"' in page
    answer = reviewer.post(
        f"/approvals/{approval.id}/decision",
        {"verdict": "approve", "version": approval.version, "digest": approval.digest},
    )
    assert answer.status_code == 302
    approval.refresh_from_db()
    assert approval.status == "approved"
