"""Exports wait in the line of who asked for them, and the list of a session's exports says how far they are."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from sessions_app.models import QueuedTask, Role, Session
from sessions_app.services.people import api_keys
from vcon_app.queries import export_log
from vcon_app.services.exports import export_jobs

from ..files import transcript
from ..imports.test_imports import BY, drop

pytestmark = pytest.mark.django_db


def test_an_export_that_waits_says_behind_how_many_of_its_sender(workspace, monkeypatch, client):
    drop(workspace, transcript(4))
    QueuedTask.objects.all().delete()  # the import's own: it was run by hand
    session = Session.objects.get()
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 0)
    first, second, third = (export_jobs.start_export(session, "vcon", by=BY) for _ in range(3))
    states = export_log.states(workspace.pk, [first, second, third])
    assert states == ["Waits for a worker.", "Waits behind 1 other of Ines.", "Waits behind 2 others of Ines."]
    address = f"/sessions/{session.pk}/exports"
    member = workspace.members.create(user=User.objects.create(username="v"), role=Role.VIEWER)
    client.force_login(member.user)
    listed = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "Waits behind 2 others of Ines." in listed and f'hx-get="{address}"' in listed
    _, key = api_keys.create_api_key(workspace, "key", Role.VIEWER, by=BY)
    told = client.get(f"/api/v1{address}", headers={"Authorization": f"Bearer {key}"}).json()["items"]
    assert [(one["id"], one["status"], one["queued_behind"]) for one in told] == [
        (str(third.pk), "queued", 2), (str(second.pk), "queued", 1), (str(first.pk), "queued", 0),
    ]  # fmt: skip
    export_jobs.run(third.pk)
    third.refresh_from_db()
    assert export_log.states(workspace.pk, [third]) == [""]
    for one in (first, second):
        export_jobs.run(one.pk)
    assert "hx-get" not in client.get(address, headers={"HX-Request": "true"}).content.decode(), "it asks no more"
