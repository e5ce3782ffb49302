"""``/healthz`` and ``/readyz``, and what every answer carries."""

from __future__ import annotations

import pytest

from config import health
from tests.database_roles import as_owner


def test_healthz_asks_no_database(client):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db(transaction=True)
def test_readyz_is_ok_when_every_part_is_there(client):
    assert client.get("/readyz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_readyz_names_the_migrations_that_are_missing(client):
    with as_owner() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'sessions'")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["part"]) == (503, "migrations")


def test_a_broker_that_is_away_is_named(monkeypatch):
    monkeypatch.setattr(health.app.conf, "broker_url", "amqp://127.0.0.1:1//")
    assert "the broker does not answer" in health.broker_fault()


def test_who_asks_again_and_again_makes_the_server_look_once(client, monkeypatch):
    """Anybody may ask, and each look opened a connection to the broker."""
    looks = []
    monkeypatch.setattr(health, "_looked", (float("-inf"), None))
    monkeypatch.setattr(health, "KEPT_SECONDS", 60.0)
    monkeypatch.setattr(health, "CHECKS", {"database": lambda: looks.append("looked") or "it is away"})
    assert [client.get("/readyz").status_code for _ in range(20)] == [503] * 20
    assert looks == ["looked"]


def test_an_answer_tells_the_browser_to_load_nothing_from_elsewhere(client):
    headers = client.get("/healthz").headers
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
