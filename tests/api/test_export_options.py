"""What may be chosen for an export, over the API: checked by name and value, and described."""

from __future__ import annotations

import asyncio
import json

import pytest
from django.test import AsyncClient

from sessions_app.models import AuditEntry
from sessions_app.services import audit
from sessions_app.services.log import events, links
from tests.services.build import call, result, user
from tests.signing.make import ec_key, public_pem, rsa_key
from vcon_app.models import Export
from vcon_app.services.trust import anchors

from .client import ok, pointers, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def done(session):
    events.append(session.id, [user("Where is it?"), call("c"), result("c")], origin=links.RUNTIME)
    type(session).objects.update(phase="completed", status="idle")
    return session


def export(api, session, query: str):
    """The answer; ``file`` is what it holds."""

    async def fetched():
        answer = await AsyncClient().get(f"/api/v1/sessions/{session.id}/export?{query}", headers=api.headers)
        answer.file = b"".join([piece async for piece in answer]) if answer.streaming else answer.content
        return answer

    return asyncio.run(fetched())


def test_string_bodies_are_asked_for_by_name(api, done):
    answer = export(api, done, "format=vcon&bodies=string")
    assert answer.status_code == 200
    [trace] = json.loads(answer.file)["analysis"]
    assert isinstance(trace["body"], str) and json.loads(trace["body"])["session"]


@pytest.mark.parametrize(
    ("query", "pointer", "says"),
    [
        ("format=vcon&bodies=xml", "/bodies", "json, string"),
        ("format=html&bodies=string", "/bodies", '"html" has no option "bodies"'),
        ("format=vcon&verdict=true", "/verdict", 'has no option "verdict"; it has children, bodies, verdicts'),
        ("format=vcon&bodies=json&bodies=string", "/bodies", "2 times"),
        ("format=vcon&verdicts=perhaps", "/verdicts", "true or false"),
        ("format=vcon&signed=perhaps", "/signed", "true or false"),
        ("format=vcon&encrypt_for=me", "/encrypt_for", '"me" is no trust anchor of this workspace'),
        ("format=vcon&encrypt_for=01900000-0000-7000-8000-000000000000", "/encrypt_for", "no trust anchor"),
    ],
)
def test_invalid_export_option_is_refused_with_its_pointer(api, done, query, pointer, says):
    for path in ("export", "export/report"):
        problem = refused(api.get(f"sessions/{done.id}/{path}?{query}"), 422)
        assert pointers(problem) == {pointer}
        assert says in problem["detail"]
    assert not Export.objects.exists()


def test_export_is_encrypted_for_trust_anchors_by_their_ids(api, done, workspace):
    ids = [anchors.add(workspace, public_pem(rsa_key(n)), by=audit.COMMAND).pk for n in (4, 5)]
    answer = export(api, done, f"format=vcon&encrypt_for={ids[0]}&encrypt_for={ids[1]}")
    assert answer.status_code == 200, answer.file
    assert len(json.loads(answer.file)["recipients"]) == 2


def test_an_anchor_that_cannot_receive_is_a_problem(api, done, workspace):
    anchor = anchors.add(workspace, public_pem(ec_key()), name="Recorder", by=audit.COMMAND)
    problem = refused(api.get(f"sessions/{done.id}/export?format=vcon&encrypt_for={anchor.pk}"), 422)
    assert pointers(problem) == {"/encrypt_for"} and '"Recorder": its key is secp256r1' in problem["detail"]


def test_the_anchor_of_another_workspace_is_not_there(api, done, other_workspace):
    anchor = anchors.add(other_workspace, public_pem(rsa_key(4)), name="Theirs", by=audit.COMMAND)
    problem = refused(api.get(f"sessions/{done.id}/export?format=vcon&encrypt_for={anchor.pk}"), 422)
    assert "no trust anchor" in problem["detail"] and "Theirs" not in problem["detail"]


def test_reading_a_report_takes_nothing_away(api, done):
    for format in ("vcon", "html"):
        ok(api.get(f"sessions/{done.id}/export/report", {"format": format}))
    assert not Export.objects.exists()
    assert not AuditEntry.objects.filter(action="session.exported").exists()


def test_export_options_are_described_in_openapi(api):
    described = ok(api.get("openapi.json"))["paths"]["/api/v1/sessions/{session_id}/export"]["get"]["parameters"]
    told = {one["name"]: one["schema"] for one in described if one["in"] == "query"}
    assert {"format", "signed", "encrypt_for", "bodies", "verdicts"} <= told.keys()
    assert told["bodies"]["enum"] == ["json", "string"]
