"""Findings of runs on pages: on the card, in lists, of agents, and their settings."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import AuditEntry
from sessions_app.summary.findings import NAMES
from tests.views.session.build import Page, call, path_of, result, session_with

FORCED = [call("a", "Bash", {"command": "git push --force"}), result("a")]
HOSTILE = "npm </script><b>\u202edrow"


@pytest.fixture
def marked(agent):
    return session_with(agent, FORCED)


def test_the_card_leads_to_the_event(reviewer, marked):
    page = Page(reviewer.get(path_of(marked)).content)
    assert "Command that destroys" in page.text and "git push --force" in page.text
    assert "1" in [link["data-mark"] for link in page.all("a") if "data-mark" in link]


def test_lists_have_a_mark_and_a_filter(reviewer, marked, agent):
    session_with(agent, [call("a", "Bash", {"command": "ls"}), result("a")])
    whole = reviewer.get("/sessions/").content.decode()
    assert whole.count("finding-mark") == 1
    found = reviewer.get("/sessions/?finding=destructive_command").content.decode()
    assert str(marked.pk) in found and found.count('class="cell-title"') == 1
    assert reviewer.get("/sessions/?finding=odd").status_code == 400


def test_an_agent_has_its_counts(reviewer, marked, agent):
    for path in ("/agents/", f"/agents/{agent.slug}/"):
        content = reviewer.get(path).content.decode()
        assert f"?agent={agent.slug}&amp;finding=destructive_command" in content, path


def test_admins_turn_rules_off(admin, reviewer, marked, agent):
    on = [name for name in NAMES if name != "destructive_command"]
    assert reviewer.post("/settings/findings/", {"on": on}).status_code == 403
    assert admin.post("/settings/findings/", {"on": ["odd"]}).status_code == 422
    admin.post("/settings/findings/", {"on": on})
    assert AuditEntry.objects.get(action="workspace.finding_rules").details["after"] == ["destructive_command"]
    for path in (path_of(marked), "/sessions/", "/agents/", f"/agents/{agent.slug}/"):
        content = reviewer.get(path).content.decode()
        assert "Command that destroys" not in content and "finding-mark" not in content, path
    asked = reviewer.get("/sessions/?finding=destructive_command")
    assert asked.status_code == 400 and "is off in this workspace" in asked.content.decode()
    assert "1 session" in Page(reviewer.get("/settings/findings/").content).text


def test_who_turns_a_rule_off_is_told_which_queues_stop_and_none_of_it_is_offered(admin, reviewer, marked):
    for rule in ("tests_failing", "destructive_command"):
        reviewer.post("/reviews/", {"name": f"Of {rule}", "filter": f"finding={rule}", "percent": "100", "wanted": "1"})
    on = [name for name in NAMES if name != "tests_failing"]
    told = Page(admin.post("/settings/findings/", {"on": on}, follow=True).content).text
    assert "Queues of rules that are off give no sessions out: Of tests_failing." in told
    ready = "filter=finding%3Dtests_failing"
    assert ready not in reviewer.get("/reviews/").content.decode()
    told = Page(admin.post("/settings/findings/", {"on": NAMES}, follow=True).content).text
    assert "give no sessions out" not in told and ready in reviewer.get("/reviews/").content.decode()


def test_a_queue_of_what_rules_found(reviewer, marked):
    made = reviewer.post("/reviews/", {"name": "Forced", "filter": "finding=any", "percent": "100", "wanted": "1"})
    assert made.status_code == 302
    assert str(marked.pk) in reviewer.get(made["Location"]).content.decode()


def test_what_is_quoted_is_escaped(reviewer, agent):
    session = session_with(agent, [call("a", "Bash", {"command": HOSTILE}), result("a", HOSTILE, "error")])
    for path in (path_of(session), "/sessions/"):
        content = reviewer.get(path).content.decode()
        assert "</script><b>" not in content and "\u202e" not in content


def test_marks_cost_a_list_no_query_each(reviewer, agent):
    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert reviewer.get("/agents/").status_code == reviewer.get("/sessions/?finding=any").status_code == 200
        return len(captured)

    session_with(agent, FORCED)
    asked()
    before = asked()
    for _ in range(5):
        session_with(agent, FORCED)
    assert asked() == before
