"""No list runs a number of queries that grows with its rows."""

from __future__ import annotations

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app.models import ApiKey, Role
from sessions_app.queries.money import usage
from sessions_app.services import agents, audit
from sessions_app.services.people import api_keys
from vcon_app.models import Import, ImportedSession, SourceDocument

from .build import asks, session_of
from .conftest import member_of

FEW, MANY = 10, 30
PATHS = (
    "/", "/sessions/", "/sessions/?q=parcel&sort=-cost", "/agents/", "/agents/agent-1/", "/approvals/", "/imports/",
    "/settings/", "/audit/",
)  # fmt: skip


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def fill(workspace, start: int, stop: int) -> None:
    """In each list of the desk, rows from ``start`` to ``stop``."""
    document, _ = SourceDocument.objects.get_or_create(workspace=workspace, sha256="0" * 64, size=1)
    for number in range(start, stop):
        session = session_of(
            agents.get_or_create_agent(workspace.id, f"Agent {number}"), f"Session {number}", errors=number % 2
        )
        asks(session)
        finding = {"rule": f"r{number}", "severity": "info", "path": "/a", "message": "odd"}
        imported = Import.objects.create(
            workspace=workspace, document=document, filename=f"{number}.json", status="done", format="vcon",
            findings=[finding] * 3,
        )  # fmt: skip
        ImportedSession.objects.create(imported=imported, session=session, document=document, events=3)
        member_of(workspace, Role.VIEWER, f"Member{number}")
        api_keys.create_api_key(workspace, f"key {number}", Role.VIEWER, by=audit.COMMAND)


def test_queries_do_not_grow_with_rows(admin, workspace):
    fill(workspace, 0, FEW)
    assert usage.is_kept()  # asked once a process
    before = {path: queries(admin, path) for path in PATHS}
    fill(workspace, FEW, MANY)
    assert ApiKey.objects.count() == MANY
    more = {path: n for path in PATHS if (n := queries(admin, path)) > before[path]}
    assert more == {}, "a common word takes one less than a rare one"
    # Home looks up the sessions and people of what waits by themselves, and what its sessions are recognised by
    assert max(before.values()) <= 27


def test_the_page_of_an_import_does_not_ask_per_session(admin, workspace, agent):
    fill(workspace, 0, 1)
    imported = Import.objects.get()
    before = queries(admin, f"/imports/{imported.id}/")
    for number in range(MANY):
        session = session_of(agent, f"More {number}")
        ImportedSession.objects.create(imported=imported, session=session, document=imported.document)
    assert queries(admin, f"/imports/{imported.id}/") == before


def test_the_page_of_a_session_does_not_ask_per_decided_card(admin, workspace, agent):
    session = session_of(agent, "Orders")
    page = reverse("session-detail", args=[agent.pk, session.pk])

    def decided() -> int:
        asked = asks(session)
        form = {"verdict": "approve", "version": asked.version, "digest": asked.digest}
        assert admin.post(reverse("approval-decide", args=[asked.pk]), form).status_code < 400
        return queries(admin, page)

    decided()
    before = decided()
    assert decided() == before
