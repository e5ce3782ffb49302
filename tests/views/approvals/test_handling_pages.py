"""On the card: who looks at it, who it was handed to, for how long it is out of the way, and a decision taken back."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval, Member

from ..build import asks, session_of, words


@pytest.fixture
def approval(agent) -> Approval:
    return asks(session_of(agent))


def handle(client, approval, do, **form):
    return client.post(f"/approvals/{approval.pk}/handle", {"do": do} | form, headers={"HX-Request": "true"})


def test_who_looks_at_it_is_seen_by_others(reviewer, admin, approval):
    assert handle(reviewer, approval, "claim").status_code == 200
    assert "Rosa is looking at this" in words(admin.get(f"/approvals/{approval.pk}/"))
    assert "Rosa is looking at it" in words(admin.get("/approvals/"))
    assert handle(admin, approval, "claim").status_code == 409
    handle(reviewer, approval, "release")
    assert "is looking at this" not in words(admin.get(f"/approvals/{approval.pk}/"))


def test_what_is_put_off_is_out_of_the_way_until_it_is_brought_back(reviewer, approval):
    assert handle(reviewer, approval, "snooze", minutes="60").status_code == 200
    page = words(reviewer.get("/approvals/"))
    assert "All caught up" in page and "Snoozed 1" in page
    assert f"row-{approval.pk}" in reviewer.get("/approvals/?show=snoozed").content.decode()
    handle(reviewer, approval, "unsnooze")
    assert f"row-{approval.pk}" in reviewer.get("/approvals/").content.decode()


def test_it_is_handed_to_somebody_who_may_decide(reviewer, viewer, admin, approval):
    rosa, vito, ada = (Member.objects.get(user__first_name=name) for name in ("Rosa", "Vito", "Ada"))
    page = reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    assert f'value="{ada.pk}"' in page and f'value="{vito.pk}"' not in page
    assert handle(reviewer, approval, "assign", member=str(vito.pk)).status_code == 422
    assert handle(reviewer, approval, "assign", member=str(ada.pk)).status_code == 200
    assert "assigned to Ada" in words(reviewer.get(f"/approvals/{approval.pk}/"))
    assert "Mine 1" in words(admin.get("/approvals/")) and "Mine 0" in words(reviewer.get("/approvals/"))


@pytest.mark.parametrize("form", [{"do": "explode"}, {"do": "snooze", "minutes": "x"}, {"do": "assign", "member": "x"}])
def test_what_makes_no_sense_is_refused_with_a_sentence(reviewer, approval, form):
    assert reviewer.post(f"/approvals/{approval.pk}/handle", form, headers={"HX-Request": "true"}).status_code == 422


def test_strangers_and_viewers_handle_nothing(charlie, viewer, approval):
    assert (
        handle(charlie, approval, "claim").status_code == 404 and handle(viewer, approval, "claim").status_code == 403
    )


def test_a_decision_that_can_be_taken_back_says_so_and_is(reviewer, approval, settings):
    settings.UNDO_SECONDS = 60
    sent = {"verdict": "approve", "version": approval.version, "digest": approval.digest}
    reviewer.post(f"/approvals/{approval.pk}/decision", sent)
    assert "Undo" in words(reviewer.get(f"/approvals/{approval.pk}/"))
    line = words(reviewer.get(f"/approvals/lines?id={approval.pk}"))
    assert "Approved" in line and "takes effect in" in line
    assert "All caught up" in words(reviewer.get("/approvals/"))
    reviewer.post(f"/approvals/{approval.pk}/withdraw", headers={"HX-Request": "true"})
    assert f"row-{approval.pk}" in reviewer.get("/approvals/").content.decode()


def test_the_card_leads_to_a_grant_and_admins_to_a_rule(reviewer, admin, approval, agent):
    always, rule = f"/approvals/{approval.pk}/always", f"/settings/policies/new?approval={approval.pk}"
    page = reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    assert always in page and rule not in page
    assert rule in admin.get(f"/approvals/{approval.pk}/").content.decode()
    assert reviewer.get(always).status_code == 200 and admin.get(rule).status_code == 200
    destroys = asks(session_of(agent), tool="delete_bucket")
    assert "/always" not in reviewer.get(f"/approvals/{destroys.pk}/").content.decode()
