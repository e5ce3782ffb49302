"""A transparency service that the desk is set to, a signed export, and looks at what is due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members
from tests.api.client import Api
from tests.fakes.transparency_service import Service, serving
from tests.services.build import append, user
from vcon_app import tasks
from vcon_app.models import Export, Registration
from vcon_app.services.exports import export_jobs


@pytest.fixture
def api(workspace) -> Api:
    return Api(api_keys.create_api_key(workspace, "key", Role.VIEWER, by=audit.SYSTEM)[1])


@pytest.fixture
def viewer(workspace) -> Client:
    client = Client()
    client.force_login(members.add_member(workspace, "vito@example.org", "Vito", Role.VIEWER, by=audit.SYSTEM)[0].user)
    return client


@pytest.fixture
def service(tmp_path, settings) -> Iterator[Service]:
    with serving(tmp_path) as serves:
        settings.TRANSPARENCY_URL, settings.TRANSPARENCY_KEYS = serves.url, serves.keys
        yield serves


def export_of(session: Session, **options: Any) -> Export:
    if not session.event_count:
        append(session, user("Where is my parcel?"))
        Session.objects.filter(pk=session.pk).update(phase=Session.Phase.COMPLETED)
        session.refresh_from_db()
    return export_jobs.start_export(session, "vcon", by=audit.COMMAND, options=options)


def tried(times: int = 1) -> Registration:
    """The registration after so many looks, each when it was due."""
    for _ in range(times):
        Registration.objects.exclude(next_try_at=None).update(next_try_at=timezone.now())
        tasks.take_receipts()
    return Registration.objects.get()
