"""Exports wait in the line of who asked for them, and the list of a session's exports says how far they are."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string

from sessions_app.models import QueuedTask, Session
from vcon_app.queries import export_log
from vcon_app.services.exports import export_jobs

from ..files import transcript
from ..imports.test_imports import BY, drop

pytestmark = pytest.mark.django_db


def test_an_export_that_waits_says_behind_how_many_of_its_sender(workspace, monkeypatch):
    drop(workspace, transcript(4))
    QueuedTask.objects.all().delete()  # the import's own: it was run by hand
    session = Session.objects.get()
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 0)
    first, second, third = (export_jobs.start_export(session, "vcon", by=BY) for _ in range(3))
    states = export_log.states(workspace.pk, [first, second, third])
    assert states == ["Waits for a worker.", "Waits behind 1 other of Ines.", "Waits behind 2 others of Ines."]
    listed = render_to_string("sources/_taken.html", {"taken": [(third, states[2])], "more": False})
    assert "Waits behind 2 others of Ines." in listed
    export_jobs.run(third.pk)
    third.refresh_from_db()
    assert export_log.states(workspace.pk, [third]) == [""]
