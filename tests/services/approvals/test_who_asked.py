"""Questions that waited when the migration came: who asked them stands in the audit log, and counts."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from sessions_app.models import Approval, Member, Role
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.people import api_keys

pytestmark = pytest.mark.django_db
WHO_ASKED = import_module("sessions_app.migrations.0004_callers_and_links").WHO_ASKED


def test_keys_and_members_who_asked_before_cannot_decide_it_afterwards(workspace, session):
    key, _ = api_keys.create_api_key(workspace, "robot", Role.REVIEWER, by=audit.COMMAND)
    user = get_user_model().objects.create_user("ada@example.org", first_name="Ada")
    ada = Member.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    by_key = audit.Actor("api_key", str(key.pk), "robot")
    by_member = audit.Actor("member", str(ada.pk), "Ada")
    asked = [
        requests.request(session, requests.Question("refund", {}), by=by)
        for by in (by_key, by_member, audit.Actor("agent", "", "Parrot"))
    ]
    Approval.objects.update(asked_by_key=None, asked_by_user=None)  # as before the migration
    with connection.cursor() as cursor:
        cursor.execute(WHO_ASKED)
    of_key, of_member, of_nobody = (Approval.objects.get(pk=one.pk) for one in asked)
    assert (of_key.asked_by_key, of_key.asked_by_user) == (key, None)
    assert (of_member.asked_by_key, of_member.asked_by_user) == (None, user)
    assert (of_nobody.asked_by_key, of_nobody.asked_by_user) == (None, None)
    decider = decisions.Decider(by_key, Role.REVIEWER, "api", api_key_id=key.pk)
    with pytest.raises(decisions.NotAllowed, match="this key asked for this itself"):
        decisions.decide(of_key, decider, decisions.Decision("approve", of_key.version, of_key.digest))
