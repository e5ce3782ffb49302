"""The page on which people say when they are away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Absence, Member, Role

from ..build import words
from ..conftest import member_of

pytestmark = pytest.mark.django_db


def days(first: int, last: int) -> dict[str, str]:
    today = timezone.now().date()
    return {"first": str(today + timedelta(days=first)), "last": str(today + timedelta(days=last))}


def me() -> Member:
    return Member.objects.get(user__first_name="Rosa")


def test_a_member_is_away_until_the_end_of_the_last_day(reviewer, workspace):
    kim = member_of(workspace, Role.REVIEWER, "Kim")
    answer = reviewer.post("/settings/absences/", {"member": me().pk, "stand_in": kim.pk, **days(0, 2)}, follow=True)
    assert "Rosa is away until the end of" in words(answer)
    made = Absence.objects.get()
    assert (made.member, made.stand_in) == (me(), kim)
    assert made.begins_at <= timezone.now() and made.ends_at.date() == timezone.now().date() + timedelta(days=3)
    assert "Kim stands in" in words(reviewer.get("/settings/absences/"))
    reviewer.post(f"/settings/absences/{made.pk}/remove/")
    assert not Absence.objects.exists()


def test_only_an_admin_chooses_others(reviewer, admin, workspace):
    kim = member_of(workspace, Role.REVIEWER, "Kim")
    assert reviewer.post("/settings/absences/", {"member": kim.pk, **days(0, 1)}).status_code == 422
    assert admin.post("/settings/absences/", {"member": kim.pk, **days(0, 1)}).status_code == 302
    assert reviewer.post(f"/settings/absences/{Absence.objects.get().pk}/remove/").status_code == 403


def test_what_is_wrong_is_said_at_its_field(reviewer):
    answer = reviewer.post("/settings/absences/", {"member": me().pk, **days(3, 1)})
    assert answer.status_code == 422 and "last" in answer.context["form"].errors
    assert not Absence.objects.exists()


def test_another_workspace_is_not_there(charlie, reviewer):
    reviewer.post("/settings/absences/", {"member": me().pk, **days(0, 1)})
    assert "Rosa" not in words(charlie.get("/settings/absences/"))
    assert charlie.post(f"/settings/absences/{Absence.objects.get().pk}/remove/").status_code == 404
