"""What happened in a session, over the API."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft
from sessions_app.models import Role, RunSummary
from tests.api.client import ok, refused
from tests.views.session.build import asked, call, result, said, session_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def ran(agent):
    return session_with(agent, [
        asked("p", "Mend the gate. Soon."), call("a", "Bash", {"command": "pytest -q"}),
        result("a", "== 1 failed in 1s ==", "error"), call("b", "Edit", {"file_path": "/g.py", "content": "x"}),
        result("b"), said("m", "Done."), EventDraft("artifact", key="r", data={"type": "recording"}),
        call("c", "Bash", {"command": "make"}),
    ])  # fmt: skip


def test_what_happened(api, ran):
    found = ok(api.get(f"/api/v1/sessions/{ran.pk}/summary"))
    assert found["prompts"] == [{"seq": 1, "text": "Mend the gate."}] and found["prompt_count"] == 1
    assert found["calls"]["command"] == {"count": 2, "first_seq": 2} and found["calls"]["page"] is None
    assert found["recordings"] == {"count": 1, "first_seq": 7} and found["artifacts"] is None
    assert found["files_edited"] == 1 and found["last_message"] == {"seq": 6, "text": "Done."}
    assert found["errors"] == [
        {"tool": "Bash", "reason": "1 failed in 1s", "count": 1, "first_seq": 2, "last_seq": 2, "recovered": False}
    ]
    assert found["tests"]["outcome"] == "failed" and found["tests"]["result_seq"] == 3
    assert found["findings"] == [{
        "rule": "tests_failing", "label": "Tests left failing", "count": 1,
        "places": [{"seq": 2, "words": "pytest", "text": "1 failed in 1s"}],
    }]  # fmt: skip
    assert found["open_calls"] == [{"seq": 8, "text": "Bash make"}]
    assert found["read_to_seq"] == found["last_seq"] == 8 and len(found["lines"]) == 6


def test_a_session_that_was_not_read_for_it_has_none(api, ran):
    RunSummary.objects.all().delete()
    refused(api.get(f"/api/v1/sessions/{ran.pk}/summary"), 404)


def test_it_is_not_for_other_workspaces_nor_for_agents(ran, stranger, key_for, workspace):
    refused(stranger.get(f"/api/v1/sessions/{ran.pk}/summary"), 404)
    refused(key_for(workspace, Role.AGENT).get(f"/api/v1/sessions/{ran.pk}/summary"), 404)
