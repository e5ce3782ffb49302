"""Absences: one's own by everybody, those of others by admins."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Absence, AuditEntry, Role
from sessions_app.services import audit, workspaces
from sessions_app.services.escalations import absences

from .test_steps import person

pytestmark = pytest.mark.django_db
WEEK = timedelta(days=7)


def own(member) -> audit.Actor:
    return audit.Actor("member", str(member.pk), str(member))


def test_everybody_says_when_they_are_away_and_takes_it_back(workspace):
    rosa, kim = person(workspace, "Rosa"), person(workspace, "Kim")
    made = absences.make(
        rosa, by=own(rosa), role=Role.REVIEWER, ends_at=timezone.now() + WEEK, stand_in=kim, note="Skiing"
    )
    assert (made.member, made.stand_in, made.made_by) == (rosa, kim, "Rosa")
    absences.remove(made, by=own(rosa), role=Role.REVIEWER)
    assert not Absence.objects.exists()
    told = AuditEntry.objects.filter(subject_kind="absence").order_by("seq").values_list("action", flat=True)
    assert list(told) == ["absence.made", "absence.removed"]


def test_only_an_admin_says_it_for_others(workspace):
    ada, rosa, kim = person(workspace, "Ada", Role.ADMIN), person(workspace, "Rosa"), person(workspace, "Kim")
    with pytest.raises(absences.NotAllowed):
        absences.make(rosa, by=own(kim), role=Role.REVIEWER, ends_at=timezone.now() + WEEK)
    made = absences.make(rosa, by=own(ada), role=Role.ADMIN, ends_at=timezone.now() + WEEK)
    with pytest.raises(absences.NotAllowed):
        absences.remove(made, by=own(kim), role=Role.REVIEWER)


@pytest.mark.parametrize(("fields", "field"), [
    ({"ends_in": -WEEK}, "ends_at"), ({"ends_in": 100 * WEEK}, "ends_at"), ({"stand_in": "self"}, "stand_in"),
    ({"stand_in": "viewer"}, "stand_in"), ({"stand_in": "stranger"}, "stand_in"), ({"note": "x" * 501}, "note"),
])  # fmt: skip
def test_what_is_wrong_is_refused_by_name(workspace, fields, field):
    rosa = person(workspace, "Rosa")
    others = {
        "self": rosa, "viewer": person(workspace, "Vito", Role.VIEWER),
        "stranger": person(workspaces.create_workspace("elsewhere"), "Charlie", Role.ADMIN),
    }  # fmt: skip
    given = {"ends_at": timezone.now() + fields.pop("ends_in", WEEK)} | fields
    if "stand_in" in given:
        given["stand_in"] = others[given["stand_in"]]
    with pytest.raises(absences.Refused) as refused:
        absences.make(rosa, by=own(rosa), role=Role.REVIEWER, **given)
    assert refused.value.field == field
