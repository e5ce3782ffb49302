"""Absences over the API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Absence, Role
from sessions_app.services import audit
from sessions_app.services.people import members

from ..client import ok, pointers, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def rosa(workspace):
    return members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]


def ends() -> str:
    return (timezone.now() + timedelta(days=3)).isoformat()


def test_an_admin_says_it_for_others_and_takes_it_back(admin, viewer, rosa):
    made = ok(admin.post("absences", {"member": "Rosa@Example.org", "ends_at": ends(), "note": "Skiing"}), 201)
    assert (made["member"]["name"], made["stand_in"], made["made_by"]) == ("Rosa", None, "admin key")
    assert [row["id"] for row in viewer.all("absences")] == [made["id"]]
    refused(viewer.send("DELETE", f"absences/{made['id']}", ""), 403)
    assert admin.send("DELETE", f"absences/{made['id']}", "").status_code == 204
    assert not Absence.objects.exists()


def test_a_reviewer_does_not_say_it_for_others(api, rosa):
    refused(api.post("absences", {"member": str(rosa.pk), "ends_at": ends()}), 403)


def test_a_key_is_never_away_and_a_stranger_no_member(admin, stranger, rosa):
    assert pointers(refused(admin.post("absences", {"ends_at": ends()}), 422)) == {"/member"}
    body = {"member": str(rosa.pk), "ends_at": ends()}
    assert pointers(refused(stranger.post("absences", body), 422)) == {"/member"}
    assert pointers(refused(admin.post("absences", body | {"stand_in": "nobody@example.org"}), 422)) == {"/stand_in"}
    assert pointers(refused(admin.post("absences", body | {"ends_at": "2020-01-01"}), 422)) == {"/ends_at"}


def test_another_workspace_sees_and_removes_none(admin, stranger, rosa):
    made = ok(admin.post("absences", {"member": str(rosa.pk), "ends_at": ends()}), 201)
    assert stranger.all("absences") == []
    refused(stranger.send("DELETE", f"absences/{made['id']}", ""), 404)
