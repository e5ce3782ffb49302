"""The pages of retention: of the workspace, and of a session with its hold, its pruning and what is shown again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Role, Session, SessionRetention, Workspace
from sessions_app.queries.retention import plans
from sessions_app.services.retention import policies, sweeping, workspaces
from tests.views.session.build import BOT, asked, path_of, said, session_with

from ..build import words
from ..conftest import member_of

pytestmark = pytest.mark.django_db
SETTINGS = "/settings/retention/"
KEEP = "/settings/retention/keep/"


@pytest.fixture
def talk(agent):
    return session_with(agent, [event for n in range(6) for event in (asked(f"p{n}", f"Q{n}"), said(f"m{n}", f"A{n}"))])


@pytest.fixture
def later(monkeypatch):
    """Lets days pass."""

    def pass_days(days):
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(timezone, "now", lambda: now)

    return pass_days


def at(session):
    return f"{path_of(session)}/retention"


def do(client, session, what, follow=True, **more):
    return client.post(at(session), {"do": what, **more}, follow=follow)


def in_sight(session):
    return plans.messages_in_sight(session.pk)


def test_an_admin_says_the_retention_of_the_workspace_and_sees_what_is_due(admin, reviewer, talk, workspace):
    assert "None: everything stays visible" in words(reviewer.get(SETTINGS))
    assert '<form method="post" action="/settings/retention/"' not in reviewer.get(SETTINGS).content.decode()
    assert reviewer.post(SETTINGS, {"max_messages": 5}).status_code == 403
    page = words(admin.post(SETTINGS, {"max_messages": 5, "auto_prune": "on"}, follow=True))
    assert "The retention is saved" in page and "7 messages: all but the last 5" in page
    assert "hidden within 10 minutes" in page and in_sight(talk) == 12
    assert sweeping.sweep() == 1 and in_sight(talk) == 5
    assert "Nothing is due." in words(reviewer.get(SETTINGS))
    admin.post(SETTINGS, {})
    assert Workspace.objects.get(pk=workspace.pk).retention == {}


@pytest.mark.parametrize(
    "said",
    [{"ttl_days": 0}, {"ttl_days": "x"}, {"max_messages": -1}, {"prune_strategy": "forget"}, {"auto_prune": "on"},
     {"max_messages": 10**30}, {"ttl_days": 36_501}],
)  # fmt: skip
def test_what_is_no_retention_is_told_at_its_field_and_changes_nothing(admin, talk, workspace, said):
    for address, more in ((SETTINGS, {}), (at(talk), {"do": "keep"})):
        answer = admin.post(address, said | more)
        assert answer.status_code == 422 and "field-error" in answer.content.decode()
    assert Workspace.objects.get(pk=workspace.pk).retention == {} and not SessionRetention.objects.exists()


def test_a_session_has_its_own_retention_and_follows_the_workspace_again(reviewer, talk, workspace):
    workspaces.set_policy(workspace.pk, {"max_messages": 4, "auto_prune": True}, by=BOT)
    assert "the workspace, for all sessions without" in words(reviewer.get(at(talk)))
    assert "The retention of this session is saved" in words(do(reviewer, talk, "keep", max_messages=8))
    assert sweeping.sweep() == 0 and policies.of_session(talk.pk).is_own
    assert "follows the workspace again" in words(do(reviewer, talk, "follow"))
    assert sweeping.sweep() == 1 and in_sight(talk) == 4


def test_a_hold_needs_a_reason_and_an_admin_lifts_it(admin, reviewer, talk):
    assert do(reviewer, talk, "hold", hold_reason=" ").status_code == 422
    page = words(do(reviewer, talk, "hold", hold_reason="Case <b>7</b>"))
    assert "on hold: nothing of it is pruned or deleted" in page and "“Case <b>7</b>”" in page
    assert "only an admin lifts it" in page and "Retention of this session alone" not in page
    for what, more in (("lift", {}), ("keep", {"max_messages": 2})):
        assert do(reviewer, talk, what, **more).status_code == 403
    assert do(reviewer, talk, "prune", window=2).status_code == 409
    assert reviewer.get(f"{at(talk)}?window=2").status_code == 409 and in_sight(talk) == 12
    assert "no longer on hold" in words(do(admin, talk, "lift"))
    entry = AuditEntry.objects.get(action="session.held")
    assert entry.details["after"]["hold_reason"] == "Case <b>7</b>"


def test_pruning_by_hand_is_shown_before_it_is_done_and_shown_again_after(reviewer, talk):
    page = words(reviewer.get(f"{at(talk)}?window=5&strategy="))
    assert "7 messages would be hidden (all but the last 5); 5 would stay" in page and in_sight(talk) == 12
    assert "7 messages are hidden" in words(do(reviewer, talk, "prune", window=5, strategy=""))
    assert in_sight(talk) == 5 and "7 messages were pruned and are in the log" in words(reviewer.get(at(talk)))
    assert "Nothing would be pruned" in words(reviewer.get(f"{at(talk)}?window=5"))
    page = words(do(reviewer, talk, "show"))
    assert "7 messages are visible again" in page and "shown again" in page and in_sight(talk) == 12
    assert AuditEntry.objects.get(action="session.shown_again").actor_name == "Rosa"
    assert "earlier messages are left out" in words(reviewer.get(f"{at(talk)}?window=3&strategy=summarize_old"))
    for bad in ("?window=0", "?window=x", "?window=5&strategy=forget"):
        assert reviewer.get(at(talk) + bad).status_code == 422
    assert do(reviewer, talk, "forget").status_code == 422 and do(reviewer, talk, "prune").status_code == 422


def test_viewers_look_and_others_see_nothing(viewer, reviewer, talk, client):
    do(reviewer, talk, "prune", window=5)
    page = viewer.get(at(talk)).content.decode()
    assert "were pruned" in page and "<form" not in page[page.index("<main") :]
    for what in ("show", "hold", "lift", "keep", "follow", "prune"):
        assert do(viewer, talk, what, hold_reason="x", window=1).status_code == 403
    other = Workspace.objects.create(slug="other", name="Other")
    client.force_login(member_of(other, Role.ADMIN, "Olga").user)
    assert client.get(at(talk)).status_code == 404 and do(client, talk, "show").status_code == 404
    assert "Nothing is due" in words(client.get(SETTINGS)) and in_sight(talk) == 5


def test_the_report_goes_on_where_it_ended(reviewer, agent, workspace, monkeypatch):
    monkeypatch.setattr("sessions_app.views.settings.retention.LOOKED_AT", 2)
    for n in range(3):
        session_with(agent, [asked(f"{n}a", "Q"), said(f"{n}b", "A")])
    workspaces.set_policy(workspace.pk, {"max_messages": 1}, by=BOT)
    first = words(reviewer.get(SETTINGS))
    assert first.count("1 message: all but the last 1") == 2 and "Show more sessions" in first
    last = sorted(Session.objects.values_list("pk", flat=True))[1]
    rest = words(reviewer.get(f"{SETTINGS}?after={last}"))
    assert rest.count("1 message: all but the last 1") == 1 and "Show more" not in rest
    assert reviewer.get(f"{SETTINGS}?after=x").status_code == 404


def test_an_admin_sees_what_would_go_before_saying_how_long_sessions_are_kept(admin, reviewer, talk, workspace, later):
    later(5)
    assert "Sessions are kept indefinitely." in words(reviewer.get(KEEP))
    page = admin.get(KEEP, {"keep_days": 3})
    assert "Would be deleted after 3 days" in words(page) and str(talk) in words(page)
    assert Workspace.objects.get(pk=workspace.pk).keep_days is None
    assert "Delete sessions after 3 days" in words(page)
    assert "Delete sessions after" not in words(reviewer.get(KEEP, {"keep_days": 3}))
    assert reviewer.post(KEEP, {"keep_days": 3}).status_code == 403
    saved = words(admin.post(KEEP, {"keep_days": 3}, follow=True))
    assert "Sessions are deleted 3 days after their last event" in saved and "Old enough now" in saved
    assert "Sessions are deleted 3 days after their last event." in words(reviewer.get(SETTINGS))
    assert Session.objects.filter(pk=talk.pk).exists()
    assert "Sessions are kept indefinitely." in words(admin.post(KEEP, {}, follow=True))


@pytest.mark.parametrize("said", ["0", "-1", "x", "36501", "1.5"])
def test_what_is_no_number_of_days_keeps_sessions_for_good(admin, workspace, said):
    for answer in (admin.post(KEEP, {"keep_days": said}), admin.get(KEEP, {"keep_days": said})):
        assert answer.status_code == 422 and "field-error" in answer.content.decode()
    assert Workspace.objects.get(pk=workspace.pk).keep_days is None


@pytest.mark.parametrize(
    ("name", "words_of_it"), [("sliding_window", "the last messages"), ("keep_last_7", "the last 7 messages")]
)
def test_a_strategy_that_a_program_said_stands_in_the_form_in_words_and_stays(reviewer, talk, name, words_of_it):
    policies.set_policy(talk.pk, {"prune_strategy": name, "max_messages": 9}, by=BOT)
    page = reviewer.get(at(talk)).content.decode()
    assert f'<option value="{name}" selected>{words_of_it}</option>' in page
    do(reviewer, talk, "keep", prune_strategy=name, max_messages=8)
    kept = SessionRetention.objects.get()
    assert (kept.prune_strategy, kept.max_messages) == (name, 8)
