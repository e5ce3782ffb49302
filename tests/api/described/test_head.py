"""HEAD is answered as GET is, without its body, and nobody counts as told by it (RFC 9110, 9.3.2)."""

from __future__ import annotations

import pytest

from config.api import api as described
from tests.api.client import ok
from tests.api.gate.test_approvals import ask, decide

from ..things import address
from .operations import NAMES, path_of


@pytest.mark.django_db(transaction=True)
def test_what_can_be_read_has_a_head(api, things):
    read = [path_of(name) for name in NAMES if name.startswith("GET ")]
    answers = {path: api.client.head(address(path, things), headers=api.headers) for path in read}
    assert len(answers) > 50
    assert not [path for path, answer in answers.items() if answer.status_code == 405 or answer.content]


@pytest.mark.django_db
def test_the_head_is_that_of_get(api, session):
    got, asked = (
        api.get(f"sessions/{session.pk}"),
        api.client.head(f"/api/v1/sessions/{session.pk}", headers=api.headers),
    )
    assert (asked.status_code, dict(asked.headers), asked.content) == (200, dict(got.headers), b"")
    assert api.client.head(f"/api/v1/sessions/{session.agent_id}", headers=api.headers).status_code == 404


@pytest.mark.django_db
def test_a_key_that_asks_for_the_head_was_not_told_the_decision(api, admin, session):
    asked = ask(api, session)
    ok(decide(admin, asked))
    for path in (f"/api/v1/approvals/{asked['id']}", "/api/v1/approvals"):
        assert api.client.head(path, headers=api.headers).status_code == 200
    assert ok(admin.get("approvals"))["items"][0]["delivery"] == "queued"
    assert ok(api.get(f"approvals/{asked['id']}"))["delivery"] == "delivered"


def test_the_description_tells_of_get_alone():
    assert not any("head" in methods for methods in described.get_openapi_schema()["paths"].values())
