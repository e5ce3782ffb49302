"""The first page: what waits, what runs, what went wrong, what came in, what it cost."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from sessions_app.models import Approval, Session, Turn
from sessions_app.queries import home
from sessions_app.services import sessions
from tests.services.build import append, call, event, result

from .build import ASKER, asks, session_of, words

RUNNING = "Running State Session"
"""The heading and the head of its table: sessions themselves say that they are running, too."""


def section(page: str, title: str) -> str:
    """The words between one heading and the next."""
    headings = ("Pending approvals", RUNNING, "Errors today", "Recent sessions")
    rest = page.split(title, 1)[1] if title in page else ""
    ends = [rest.index(other) for other in headings if other in rest]
    return rest[: min(ends)] if ends else rest


def test_an_empty_desk_offers_three_ways_to_begin(admin):
    page = admin.get("/")
    for way in ("Drop a file", "Connect an agent", "See the demo"):
        assert way in words(page)
    assert "http://testserver/api/v1/approvals" in page.content.decode()
    assert 'action="/demo/"' in page.content.decode()


def test_a_viewer_is_offered_only_what_a_viewer_can_do(viewer, workspace):
    page = viewer.get("/").content.decode()
    assert "Create key" not in page and "upload.js" not in page
    assert "can make one" in page and "upload.js" not in viewer.get("/imports/").content.decode()


def test_the_demo_is_one_click(admin, settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path
    assert admin.post("/demo/").url == "/"
    assert Session.objects.count() == 3
    assert Approval.objects.filter(status="pending").count() == 1
    admin.post("/demo/")
    assert Session.objects.count() == 3, "a second click adds nothing"


def test_pending_approvals_come_first_and_the_oldest_on_top(viewer, agent):
    young, old = asks(session_of(agent, "Young")), asks(session_of(agent, "Old"))
    Approval.objects.filter(pk=old.pk).update(requested_at=timezone.now() - timedelta(hours=5))
    waits = section(words(viewer.get("/")), "Pending approvals")
    assert waits.index("5 h ago") < waits.index("just now")
    assert young.pk != old.pk


def test_each_session_stands_where_it_belongs(viewer, agent):
    session_of(agent, "Runner", status="running")
    asks(session_of(agent, "Asker", status="running"))
    session_of(agent, "Failure", errors=1)
    session_of(agent, "Crash", phase="crashed")
    yesterday = timezone.now() - timedelta(days=2)
    session_of(agent, "Old failure", errors=1)
    Session.objects.filter(title="Old failure").update(started_at=yesterday, ended_at=yesterday)
    went_on = session_of(agent, "Went on", errors=1)
    Turn.objects.filter(session=went_on).update(ended_at=yesterday)
    page = words(viewer.get("/"))
    assert "Went on" not in section(page, "Errors today"), "it had them two days ago"
    assert "Runner" in section(page, RUNNING) and "Failure" not in section(page, RUNNING)
    assert "Asker" not in section(page, RUNNING), "it stands above, with its card"
    wrong = section(page, "Errors today")
    assert "Failure" in wrong and "Crash" in wrong and "Old failure" not in wrong and "Runner" not in wrong
    assert "Old failure" in section(page, "Recent sessions")


def test_money_of_today_is_only_that_of_today(viewer, agent, workspace, monkeypatch):
    session_of(agent, cost="0.25")
    session_of(agent, cost="1.50")
    assert "$1.75 today (UTC), 2.4 k tokens in 2 sessions" in words(viewer.get("/"))
    monkeypatch.setattr(home, "midnight", lambda: timezone.now() + timedelta(seconds=1))
    assert "No activity today (UTC)." in words(viewer.get("/"))


def test_a_session_without_times_counts_on_the_day_it_came_in_and_home_says_so(viewer, agent):
    said = "sessions that state no times count on the day they came in"
    session_of(agent, cost="0.25", output_tokens=10)
    assert said not in words(viewer.get("/"))
    Session.objects.update(started_at=None)
    assert said in words(viewer.get("/"))
    Session.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert said not in words(viewer.get("/"))


def test_money_of_today_is_at_least_when_a_model_has_no_price(viewer, agent):
    session_of(agent, cost="0.25")
    session_of(agent, cost=None)
    assert "≥ $0.25 today" in words(viewer.get("/"))


def test_navigation_bar_counts_pending_approvals(viewer, agent):
    assert "Approvals Reviews Triggers" in words(viewer.get("/agents/"))
    asks(session_of(agent))
    assert "Approvals 1 pending Reviews Triggers" in words(viewer.get("/agents/"))


def one_call(agent, number: int) -> None:
    made = sessions.create(agent, by=ASKER, title=f"run_sql · {number}")
    append(made, call("c1"), result("c1"))


def test_calls_that_were_asked_alone_do_not_bury_work(reviewer, agent):
    session_of(agent, title="Real work")
    for number in range(9):
        one_call(agent, number)
    recent = words(reviewer.get("/")).split("Recent sessions")[1]
    assert "Real work" in recent and "run_sql" not in recent


def test_what_waits_is_told_once(reviewer, agent):
    session_of(agent, title="Real work")
    asks(sessions.create(agent, by=ASKER, title="delete_bucket · Ops", origin="api"))
    waits, recent = words(reviewer.get("/")).split("Recent sessions")
    assert "delete_bucket · Ops" in waits and "Real work" in recent and "delete_bucket" not in recent


def test_where_there_is_nothing_else_they_are_shown(reviewer, agent):
    one_call(agent, 1)
    assert "Recent sessions" in words(reviewer.get("/"))


def test_a_session_without_a_title_says_how_it_ended_in_quotes_of_the_page(viewer, agent):
    untitled = sessions.create(agent, by=ASKER)
    append(untitled, event("agent_message", text="1 < 2”"))
    for path in ("/", "/sessions/", f"/agents/{agent.slug}/"):
        page = viewer.get(path).content.decode()
        assert '<q class="untrusted" dir="auto">1 &lt; 2”</q></span>' in page, path


def test_one_with_a_title_is_told_by_that_alone(viewer, agent):
    append(session_of(agent), event("agent_message", text="Seven."))
    assert 'class="told-apart"' not in viewer.get("/").content.decode()
