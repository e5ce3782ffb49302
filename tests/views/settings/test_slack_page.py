"""The page where Slack is set up: by admins, its secrets never shown again, other workspaces' not there."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.db import connection
from django.test import Client

from sessions_app.channels.slack import install
from sessions_app.models import AuditEntry, Role, SlackInstallation
from sessions_app.services import agents, audit
from sessions_app.services.slack import installations
from tests.fakes.slack import CLIENT_ID, CLIENT_SECRET, SECRET, TEAM, TOKEN, FakeSlack, Fault
from tests.html import on_one_line

from ..build import words
from ..conftest import member_of, signed_in

BY = audit.Actor("member", "m", "Ines")
ENTERED = {"token": TOKEN, "signing_secret": SECRET}


@pytest.fixture
def slack(settings) -> Iterator[FakeSlack]:
    with FakeSlack().serving() as server:
        settings.SLACK_API_URL = server.api_url
        yield server


@pytest.fixture
def installation(workspace, slack) -> SlackInstallation:
    return install.connect_with_token(workspace.id, TOKEN, SECRET, by=BY, desk="https://desk.example.org")


def setup(**changes) -> dict[str, str]:
    return {"agent": "", "escalation_channel": "", "outsiders": "reject", "allow_list": ""} | changes


def test_an_admin_connects_with_a_token_that_is_never_shown_again(admin, slack, workspace):
    answer = admin.post("/settings/slack/connect/", ENTERED, follow=True)
    assert "Garden shop is connected" in words(answer)
    made = SlackInstallation.objects.get()
    assert (made.team_id, made.workspace, made.bot_token, made.signing_secret) == (TEAM, workspace, TOKEN, SECRET)
    page = admin.get("/settings/slack/").content.decode()
    assert TOKEN not in page and SECRET not in page
    entry = AuditEntry.objects.get(action="slack.connected")
    assert TOKEN not in str(entry.details) and entry.actor_name == "Ada"


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"token": "xoxp-of-a-person-1234"}, "begins with xoxb-"),
        ({"token": "xoxb-no\nheader"}, "begins with xoxb-"),
        ({"token": ""}, "required"),
        ({"signing_secret": "no secret"}, "has 32 letters"),
        ({"signing_secret": ""}, "requests of Slack's are checked with it"),
        ({"token": "xoxb-9999-somebody-elses"}, "Slack says: invalid_auth"),
    ],
)
def test_a_form_that_is_wrong_says_so_and_shows_no_secret(admin, slack, form, says):
    answer = admin.post("/settings/slack/connect/", ENTERED | form)
    assert answer.status_code == 422 and says in words(answer)
    assert TOKEN not in answer.content.decode() and SECRET not in answer.content.decode()
    assert not SlackInstallation.objects.exists()


def test_slack_that_is_away_is_reported(admin, slack):
    slack.faults = [Fault("auth.test", status=503)]
    assert "try again in a minute" in words(admin.post("/settings/slack/connect/", ENTERED))


def test_slack_connection_is_configured(admin, installation, scripted_agent):
    form = setup(
        agent=scripted_agent.pk,
        escalation_channel=" C0PEOPLE1 ",
        outsiders="allow_list",
        allow_list="U0ANN0001,\nT0OTHER01",
    )
    answer = admin.post(f"/settings/slack/{installation.pk}/", form, follow=True)
    assert "Saved for Garden shop" in words(answer)
    installation.refresh_from_db()
    assert (installation.agent, installation.escalation_channel) == (scripted_agent, "C0PEOPLE1")
    assert (installation.outsiders, installation.allow_list) == ("allow_list", ["U0ANN0001", "T0OTHER01"])
    page = on_one_line(answer)
    assert f'<option value="{scripted_agent.pk}" selected>' in page and 'value="allow_list" checked' in page
    agents.change(scripted_agent, {"status": "archived"}, by=audit.SYSTEM)
    assert f'<option value="{scripted_agent.pk}" selected>' in on_one_line(admin.get("/settings/slack/"))


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"escalation_channel": "#general"}, "Use the id of a channel"),
        ({"allow_list": "@ann"}, '"@ann" is no id'),
        ({"outsiders": "some"}, "Select a valid choice"),
    ],
)
def test_a_setup_that_is_wrong_is_kept_to_be_put_right(admin, installation, form, says):
    answer = admin.post(f"/settings/slack/{installation.pk}/", setup(**form))
    assert answer.status_code == 422 and says in words(answer)
    installation.refresh_from_db()
    assert (installation.escalation_channel, installation.outsiders) == ("", "reject")


def test_only_agents_that_run_in_this_workspace_can_answer(admin, installation, workspace, elsewhere):
    theirs = agents.create(elsewhere.id, "Owl", by=BY, runtime="scripted")
    outside = agents.get_or_create_agent(workspace.id, "Refund agent")
    page = admin.get("/settings/slack/").content.decode()
    for agent in (theirs, outside):
        assert str(agent.pk) not in page
        assert admin.post(f"/settings/slack/{installation.pk}/", setup(agent=agent.pk)).status_code == 404


def test_disconnecting_revokes_the_token_and_forgets_it(admin, installation, slack):
    answer = admin.post(f"/settings/slack/{installation.pk}/disconnect/", follow=True)
    assert "its token does not work any more" in words(answer)
    assert slack.token is None
    installation.refresh_from_db()
    assert (installation.bot_token, installation.signing_secret) == ("", "") and installation.revoked_at
    assert "No Slack workspace is connected" in words(admin.get("/settings/slack/"))


def test_disconnecting_while_slack_is_away_forgets_it_all_the_same_and_says_so(admin, installation, slack):
    slack.faults = [Fault("auth.revoke", status=503)]
    answer = admin.post(f"/settings/slack/{installation.pk}/disconnect/", follow=True)
    assert "Remove the app in Slack as well" in words(answer)
    assert SlackInstallation.objects.get().bot_token == ""


def test_disconnected_slack_team_can_be_connected_again_by_any_workspace(admin, charlie, installation, elsewhere):
    assert "disconnect it there first" in words(charlie.post("/settings/slack/connect/", ENTERED))
    SlackInstallation.objects.update(bot_token=TOKEN)
    installations.forget(installation, BY)
    charlie.post("/settings/slack/connect/", ENTERED)
    assert SlackInstallation.objects.get().workspace == elsewhere


def test_a_secret_of_another_secret_key_leaves_the_page_standing(admin, installation, settings):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_slackinstallation SET bot_token = 'gAAAAsealed-otherwise'")
    assert "Garden shop" in words(admin.get("/settings/slack/"))
    admin.post(f"/settings/slack/{installation.pk}/disconnect/")
    assert SlackInstallation.objects.get().revoked_at


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_only_admins_change_the_slack_connection(workspace, installation, role):
    client = signed_in(member_of(workspace, role, "Rosa"))
    page = client.get("/settings/slack/")
    assert "Garden shop" in words(page) and "<form" not in page.content.decode().split("<main", 1)[1]
    assert client.post("/settings/slack/connect/", ENTERED).status_code == 403
    assert client.post(f"/settings/slack/{installation.pk}/", setup()).status_code == 403
    assert client.post(f"/settings/slack/{installation.pk}/disconnect/").status_code == 403
    assert client.get("/settings/slack/add/").status_code == 403
    assert client.get("/slack/oauth_redirect").status_code == 403


def test_another_workspace_finds_nothing_of_it(charlie, installation):
    assert "Garden shop" not in words(charlie.get("/settings/slack/"))
    assert charlie.post(f"/settings/slack/{installation.pk}/", setup()).status_code == 404
    assert charlie.post(f"/settings/slack/{installation.pk}/disconnect/").status_code == 404


def test_a_stranger_is_sent_to_the_sign_in(workspace):
    assert Client().get("/settings/slack/").status_code == 302


# --- OAuth ---


@pytest.fixture
def app_of_the_desk(settings, slack) -> None:
    settings.SLACK_CLIENT_ID, settings.SLACK_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    settings.SLACK_SIGNING_SECRET = SECRET


def begin(client: Client) -> dict[str, str]:
    """What Slack is asked with."""
    answer = client.get("/settings/slack/add/")
    assert urlsplit(answer.url).path == "/oauth/v2/authorize"
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.url).query).items()}


def test_the_app_of_the_desk_is_added_with_one_click(admin, app_of_the_desk, slack):
    assert 'href="/settings/slack/add/"' in admin.get("/settings/slack/").content.decode()
    asked = begin(admin)
    assert asked["redirect_uri"] == "http://testserver/slack/oauth_redirect"
    assert "chat:write" in asked["scope"].split(",")
    answer = admin.get("/slack/oauth_redirect", {"code": "code-once", "state": asked["state"]}, follow=True)
    assert "Garden shop is connected" in words(answer)
    made = SlackInstallation.objects.get()
    assert (made.bot_token, made.signing_secret) == (TOKEN, ""), "it is checked with the secret of the desk's app"


@pytest.mark.parametrize("state", ["", "x", None])
def test_an_answer_to_somebody_elses_question_is_not_taken(admin, app_of_the_desk, slack, state):
    begin(admin)
    given = {"code": "code-once"} | ({"state": state} if state is not None else {})
    answer = admin.get("/slack/oauth_redirect", given, follow=True)
    assert "does not belong to a question of this browser" in words(answer)
    assert not SlackInstallation.objects.exists() and slack.calls == []


def test_a_state_is_good_once(admin, app_of_the_desk):
    state = begin(admin)["state"]
    answer = admin.get("/slack/oauth_redirect", {"error": "access_denied", "state": state}, follow=True)
    assert "Slack was not connected: access_denied" in words(answer)
    answer = admin.get("/slack/oauth_redirect", {"code": "code-once", "state": state}, follow=True)
    assert "Begin again" in words(answer)


def test_a_code_that_slack_refuses_is_reported(admin, app_of_the_desk):
    answer = admin.get("/slack/oauth_redirect", {"code": "no", "state": begin(admin)["state"]}, follow=True)
    assert "Slack was not connected: Slack says: invalid_code" in words(answer)


def test_the_page_of_slack_is_filled_in_for_this_desk(admin, settings, slack):
    settings.PUBLIC_URL = "https://desk.example.org"
    page = admin.get("/settings/slack/").content.decode()
    assert quote("https://desk.example.org/slack/events", safe="") in page
    assert "begin with https" not in page
    settings.PUBLIC_URL = None
    assert "Slack reaches only addresses that begin with https" in words(admin.get("/settings/slack/"))


def test_without_an_app_of_the_desk_there_is_no_such_button(admin, slack):
    assert "Add to Slack" not in words(admin.get("/settings/slack/"))
    assert "connect with a token instead" in words(admin.get("/settings/slack/add/", follow=True))


def test_many_teams_take_no_more_queries(admin, workspace, slack, scripted_agent, django_assert_max_num_queries):
    for number in range(8):
        SlackInstallation.objects.create(workspace=workspace, team_id=f"T{number}", bot_token="x", agent=scripted_agent)
    with django_assert_max_num_queries(9):
        admin.get("/settings/slack/")
