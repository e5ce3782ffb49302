"""Requests of Slack's: only what is signed with the secret of its team, and just now, is heard."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from sessions_app.channels.slack import app, install
from sessions_app.models import SlackEvent, SlackInstallation
from tests.fakes.slack import SECRET, TEAM, TOKEN, envelope

from .conftest import BY

HELLO = envelope(
    {
        "type": "message",
        "channel_type": "im",
        "channel": "D0KIM0001",
        "user": "U0KIM0001",
        "text": "Hello",
        "ts": "1.1",
    },
    "Ev1",
)


def test_a_signed_event_is_kept_and_acknowledged(slack, client):
    assert slack.send(client, HELLO).status_code == 200
    assert SlackEvent.objects.get().payload["text"] == "Hello"
    assert slack.calls == [], "nobody waits for Slack while Slack waits"


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": "f" * 32},
        {"age": 301},
        {"age": -360},  # from ahead: the time until it is looked at brings it nearer
        {"signature": "v0="},
        {"signature": "v0=é"},
        {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "now"},
        {"X-Slack-Request-Timestamp": "1" * 400},
    ],
)
def test_a_wrong_or_old_signature_is_refused(slack, client, wrong):
    assert slack.send(client, HELLO, **wrong).status_code == 401
    assert not SlackEvent.objects.exists()


def test_a_request_without_any_signature_is_refused(client):
    assert client.post("/slack/events", HELLO, content_type="application/json").status_code == 401


def test_the_secret_of_one_team_does_not_sign_for_another(slack, client, installation):
    SlackInstallation.objects.create(
        workspace=installation.workspace, team_id="T0OTHER01", bot_token="xoxb-other", signing_secret="e" * 32
    )
    assert slack.send(client, HELLO, secret="e" * 32).status_code == 401
    assert (
        slack.send(client, HELLO | {"team_id": TEAM, "authorizations": [{"team_id": "T0OTHER01"}]}).status_code == 401
    )


def test_slack_tries_the_address_with_a_signed_challenge(slack, client):
    body = {"type": "url_verification", "challenge": "3eZbrw1a", "token": "old"}
    assert slack.send(client, body).json() == {"challenge": "3eZbrw1a"}
    assert slack.send(client, body, secret="f" * 32).status_code == 401


def test_the_secret_of_the_environment_counts_where_an_installation_has_none(slack, client, installation, settings):
    settings.SLACK_SIGNING_SECRET = "a" * 32
    assert slack.send(client, HELLO, secret="a" * 32).status_code == 401, "this installation has one of its own"
    SlackInstallation.objects.update(signing_secret="")
    assert slack.send(client, HELLO, secret="a" * 32).status_code == 200
    assert SlackEvent.objects.count() == 1


def test_an_event_that_comes_again_is_known(slack, client):
    for number in ("0", "1", "2"):
        answer = slack.send(client, HELLO, **{"X-Slack-Retry-Num": number, "X-Slack-Retry-Reason": "http_timeout"})
        assert answer.status_code == 200
    assert SlackEvent.objects.count() == 1


@pytest.mark.parametrize("path", ["/slack/events", "/slack/interactions"])
@pytest.mark.parametrize(
    "body",
    [b"", b"nothing", b"[1]", b"\xff\xfe", b'{"authorizations": [1]}', b'{"team": 1}', b"payload=x", b"payload=[]"],
)
def test_strange_bodies_are_no_fault_of_ours(slack, client, path, body):
    assert slack.send(client, body, path).status_code < 500
    assert slack.send(client, body, path, secret="f" * 32).status_code in (400, 401)
    assert not SlackEvent.objects.exists()


def test_a_huge_body_is_not_read(client):
    answer = client.post("/slack/events", b"x" * 1_000_001, content_type="application/json")
    assert answer.status_code == 413


def test_a_get_is_no_request_of_slacks(client):
    assert client.get("/slack/events").status_code == 405


def test_a_disconnected_team_is_heard_no_more(slack, client, installation):
    slack.send(client, envelope({"type": "app_uninstalled"}, "Ev2"))
    installation.refresh_from_db()
    assert installation.revoked_at and not installation.bot_token
    assert slack.send(client, HELLO).status_code == 401


def test_a_token_that_slack_took_away_is_forgotten(slack, client, installation):
    slack.send(client, envelope({"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}}, "Ev2"))
    assert SlackInstallation.objects.get().revoked_at is None, "that was a person's token"
    slack.send(client, envelope({"type": "tokens_revoked", "tokens": {"bot": ["U1"]}}, "Ev3"))
    assert SlackInstallation.objects.get().revoked_at


def test_a_secret_of_another_secret_key_asks_slack_to_come_again(slack, client, settings):
    settings.SECRET_KEY = "another key, and at least 32 characters"
    assert slack.send(client, HELLO).status_code == 503


def test_variables_of_other_slack_apps_change_nothing(slack, client, monkeypatch):
    for name, value in {"BOT_TOKEN": "xoxb-x", "SIGNING_SECRET": "x", "CLIENT_ID": "1.2", "CLIENT_SECRET": "y"}.items():
        monkeypatch.setenv(f"SLACK_{name}", value)
    app.app.cache_clear()
    assert slack.send(client, HELLO).status_code == 200
    app.app.cache_clear()


def test_secrets_are_sealed_and_in_no_log(slack, client, installation, caplog):
    caplog.set_level("DEBUG")
    slack.send(client, HELLO)
    slack.send(client, HELLO, secret="f" * 32)
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(i)::text FROM sessions_app_slackinstallation i")
        kept = cursor.fetchone()[0]
    for secret in (TOKEN, SECRET):
        assert secret not in kept
        assert secret not in caplog.text


def test_only_browser_requests_need_a_csrf_token(slack, installation):
    assert slack.send(Client(enforce_csrf_checks=True), HELLO).status_code == 200


def test_a_team_whose_secrets_were_sealed_with_a_lost_key_is_connected_anew(slack, installation):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_slackinstallation SET bot_token = 'x', signing_secret = 'x'")
    made = install.connect_with_token(installation.workspace_id, TOKEN, SECRET, by=BY, desk="https://desk")
    assert (made.pk, made.bot_token) == (installation.pk, TOKEN)
    assert SlackInstallation.objects.get().signing_secret == SECRET
