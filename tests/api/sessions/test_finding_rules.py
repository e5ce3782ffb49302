"""Findings over the API: sessions by rule, and rules on or off."""

from __future__ import annotations

import pytest

from sessions_app.models import AuditEntry, Role
from sessions_app.summary.findings import NAMES
from tests.api.client import ok, refused
from tests.views.session.build import call, result, session_with

pytestmark = pytest.mark.django_db
RULES = "/api/v1/finding-rules"


@pytest.fixture
def marked(agent):
    session_with(agent, [call("a", "Bash", {"command": "ls"}), result("a")])
    return session_with(agent, [call("a", "Bash", {"command": "git push --force"}), result("a")])


def listed(api, finding: str) -> list[str]:
    return [one["id"] for one in ok(api.get(f"/api/v1/sessions?finding={finding}"))["items"]]


def test_sessions_by_finding(api, marked):
    assert listed(api, "destructive_command") == listed(api, "any") == [str(marked.pk)]
    assert listed(api, "tests_failing") == [] and len(listed(api, "none")) == 1
    refused(api.get("/api/v1/sessions?finding=odd"), 422)


def test_a_rule_is_turned_off_and_on_again(admin, marked):
    rows = {one["name"]: one for one in ok(admin.get(RULES))["items"]}
    assert list(rows) == list(NAMES) and rows["destructive_command"]["sessions"] == 1
    after = ok(admin.patch(RULES, {"off": ["destructive_command"]}))["items"]
    assert [one["name"] for one in after if not one["on"]] == ["destructive_command"]
    assert ok(admin.get(f"/api/v1/sessions/{marked.pk}/summary"))["findings"] == []
    assert listed(admin, "any") == []
    refused(admin.get("/api/v1/sessions?finding=destructive_command"), 422)
    ok(admin.patch(RULES, {"off": ["destructive_command"]}))
    entry = AuditEntry.objects.get(action="workspace.finding_rules")
    assert entry.details["after"] == ["destructive_command"]
    ok(admin.patch(RULES, {"off": []}))
    assert listed(admin, "any") == [str(marked.pk)]


def test_what_is_wrong_is_refused_by_name(admin, viewer, key_for, workspace):
    assert "nobody" in str(refused(admin.patch(RULES, {"off": ["nobody"]}), 422))
    refused(admin.patch(RULES, {"offf": []}), 422)
    refused(viewer.patch(RULES, {"off": []}), 403)
    refused(key_for(workspace, Role.AGENT).get(RULES), 403)
