"""A member who sees numbers only, with their browser at the API: usage, and nothing else that there is."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Role
from sessions_app.services import audit
from sessions_app.services.people import members

from ..client import ok
from ..things import address

READS = {("get", "/api/v1/usage")}


@pytest.fixture
def nora(workspace) -> Client:
    made, _ = members.add_member(
        workspace, "nora@example.org", "Nora", Role.VIEWER, by=audit.COMMAND, numbers_only=True
    )
    client = Client()
    client.force_login(made.user)
    return client


def test_every_operation_is_on_the_list_or_shut(nora, things):
    """A new route is shut to them until somebody puts it on the list here, and opens its door."""
    schema = ok(nora.get("/api/v1/openapi.json"))
    operations = [(method, path) for path, methods in schema["paths"].items() for method in methods]
    assert set(operations) > READS
    for method, path in operations:
        answer = nora.generic(method.upper(), address(path, things), content_type="application/json")
        expected = {200} if (method, path) in READS else {401, 403, 404} if path.endswith("/traces") else {403, 404}
        assert answer.status_code in expected, (method, path, answer.status_code, answer.content[:300])
        if answer.status_code == 404:
            assert "message_id" in path or "import" in path or "redaction" in path or "id}" in path


@pytest.mark.parametrize("group", ["day", "agent", "model", "tool"])
def test_usage_is_grouped_by_all_but_sessions(nora, session, group):
    assert ok(nora.get(f"/api/v1/usage?group_by={group}"))["total"]


def test_sessions_have_titles(nora, session):
    assert nora.get("/api/v1/usage?group_by=session").status_code == 403
