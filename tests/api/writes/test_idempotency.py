"""``Idempotency-Key``: the same key and body is the first answer again, another body is a conflict."""

from __future__ import annotations

import io

import pytest

from sessions_app.models import Agent, Approval, Event, IdempotentAnswer, Session
from tests.services.build import at_once
from vcon_app.models import Import

from ..client import ok, pointers, refused

KEY = {"Idempotency-Key": "k-1"}


def test_the_first_answer_is_given_again(api):
    first = api.post("agents", {"name": "A"}, **KEY)
    second = api.post("agents", {"name": "A"}, **KEY)
    assert ok(first, 201) == ok(second, 201)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Agent.objects.count() == 1


def test_another_body_is_a_conflict(api):
    ok(api.post("agents", {"name": "A"}, **KEY), 201)
    refused(api.post("agents", {"name": "B"}, **KEY), 409)
    assert Agent.objects.count() == 1


def test_every_post_that_creates_takes_a_key(api, session):
    seed = f"/dashboard/agents/{session.agent_id}/sessions"
    tool = {"name": "t", "arguments": {}}
    for path, body, status in (
        (seed, {"title": "T", "message": "M"}, 201),
        (f"{seed}/{session.id}/messages", {"text": "Hi"}, 202),
        (f"sessions/{session.id}/events", {"events": [{"client_id": "1", "kind": "note"}]}, 200),
        ("approvals", {"session_id": str(session.id), "tool": tool}, 201),
        ("approvals", {"agent": "A", "tool": tool}, 201),
    ):
        headers = {"Idempotency-Key": f"{path}{body}"[:255]}
        first = ok(api.post(path, body, **headers), status)
        assert ok(api.post(path, body, **headers), status) == first
    assert (Session.objects.count(), Approval.objects.count()) == (3, 2)
    assert Event.objects.filter(session=session).count() == 3


def test_a_key_counts_for_one_address_and_one_workspace(api, stranger, agent):
    ok(api.post("agents", {"name": "A"}, **KEY), 201)
    ok(stranger.post("agents", {"name": "B"}, **KEY), 201)
    ok(api.post(f"/dashboard/agents/{agent.id}/sessions", {"title": "T"}, **KEY), 201)


def test_failed_request_can_be_retried_with_the_same_key(api, agent):
    refused(api.post("agents", {"name": agent.name}, **KEY), 409)
    assert not IdempotentAnswer.objects.exists()
    ok(api.post("agents", {"name": "Another"}, **KEY), 201)


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_has_1_to_255_characters(api, key):
    assert pointers(refused(api.post("agents", {"name": "A"}, **{"Idempotency-Key": key}), 422)) == {"/Idempotency-Key"}


def test_an_upload_is_known_by_its_bytes_whatever_its_boundary(api):
    def send(content, **fields):
        file = io.BytesIO(content)
        file.name = "a.jsonl"
        return api.upload(file, fields, **KEY)

    first = ok(send(b"one"), 202)
    assert ok(send(b"one"), 202) == first
    refused(send(b"two"), 409)
    refused(send(b"one", agent="Other"), 409)
    assert Import.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_requests_with_a_key_does_the_work(api):
    answers = at_once(*[lambda: api.post("agents", {"name": "A"}, **KEY)] * 6)
    assert len({ok(answer, 201)["id"] for answer in answers}) == 1
    assert Agent.objects.count() == 1
