"""Rules over the API: admins write, everybody of the desk reads, agents' keys see nothing of them."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Approval, PolicyVersion, Role
from sessions_app.services import agents, audit
from tests.policy.build import argument, rule

from ..client import ok, pointers, refused

TOOL = {"name": "pay", "arguments": {"amount": 5}}


def ask(api, session, **more):
    return ok(api.post("approvals", {"session_id": str(session.pk), "tool": TOOL, **more}), 201)


def put(api, rules, status=200, **more):
    response = api.send("PUT", "policy", json.dumps({"rules": rules, **more}))
    return ok(response, status) if status == 200 else refused(response, status)


def test_rules_are_put_in_force_and_answer_the_next_question(admin, api, session):
    nothing = {"rules": [], "live": None, "shadow": None, "newest": None, "warnings": []}
    assert ok(api.get("policy")) == nothing
    made = put(admin, [rule("allow", "small", arguments=argument("/amount", "<", 10))], note="Small ones", seen=0)
    assert (made["live"]["number"], made["live"]["note"]) == (1, "Small ones")
    answered = ask(api, session)
    assert (answered["status"], answered["rule"]) == ("auto_allowed", "small")
    assert (answered["decision"]["by"], answered["decision"]["by_kind"]) == ("policy 1: small", "policy")
    assert put(admin, [rule("deny")], 409, seen=0)["detail"].startswith("policy 1 is in force by now")
    put(admin, [rule("deny")], seen=1)
    assert ask(api, session)["status"] == "auto_denied"


def test_drafts_have_no_effect_until_they_are_published(admin, viewer, session):
    one = ok(admin.post("policy/versions", {"rules": [rule("allow")], "note": "All"}), 201)
    assert ok(viewer.get("policy"))["live"] is None
    assert ask(admin, session)["status"] == "pending"
    ok(admin.post("policy/versions/1/publish", {"seen": 0, "reason": "Tried"}))
    assert ask(admin, session)["status"] == "auto_allowed"
    ok(admin.post("policy/versions", {"rules": [rule("deny")]}), 201)
    changes = ok(viewer.get("policy/versions/2/changes", {"since": 1}))["changes"]
    assert [(one["kind"], one["name"]) for one in changes] == [("added", "deny"), ("removed", "allow")]
    ok(admin.post("policy/versions/2/publish"))
    restored = ok(admin.post("policy/versions/1/restore", {"reason": "Too strict"}))
    assert (restored["live"]["number"], restored["rules"]) == (3, one["rules"])
    assert restored["live"]["note"] == "as version 1: Too strict"
    assert [each["number"] for each in viewer.all("policy/versions")] == [3, 2, 1]
    refused(viewer.get("policy/versions/4"), 404)
    again = {"path": "policy/versions/1/restore", "body": {"reason": "Once"}, "Idempotency-Key": "1"}
    assert ok(admin.post(**again)) == ok(admin.post(**again))  # without the key a new version each time
    assert PolicyVersion.objects.count() == 4


def test_every_fault_is_named_with_its_place(admin):
    rules = [rule("alow", tool="a", agent="x"), rule("ask", arguments=argument("/a", "<", "b"), ask={"votes": 2}), 7]
    problem = put(admin, rules, 422)
    assert pointers(problem) == {
        "/rules/0/effect", "/rules/0/match/agent", "/rules/1/match/arguments/0/value", "/rules/1/ask/votes", "/rules/2",
    }  # fmt: skip
    assert not PolicyVersion.objects.exists()
    assert pointers(put(admin, [rule("ask"), rule("ask")], 422)) == {"/rules/1/name"}


def test_a_shadow_answers_nothing_and_what_it_would_have_changed_is_listed(admin, viewer, session):
    put(admin, [rule("allow")])
    ok(admin.post("policy/versions", {"rules": [rule("deny", "nothing", tool="pay")]}), 201)
    assert ok(admin.post("policy/versions/2/shadow"))["shadow"]["number"] == 2
    asked = ask(admin, session)
    assert asked["status"] == "auto_allowed"
    found = ok(viewer.get("policy/shadow"))
    assert (found["calls"], found["differing"][0]["approval_id"]) == (1, asked["id"])
    assert (found["differing"][0]["live"]["effect"], found["differing"][0]["shadow"]["effect"]) == ("allow", "deny")
    assert admin.send("DELETE", "policy/shadow", "").status_code == 204
    assert ok(viewer.get("policy/shadow")) == {"version": None, "calls": 0, "differing": []}


def test_past_calls_are_replayed_against_a_draft(admin, viewer, session):
    for amount in (5, 50, 500):
        ask(admin, session, tool=TOOL | {"arguments": {"amount": amount}})
    small, large = argument("/amount", "<", 10), argument("/amount", ">", 100)
    draft = [rule("allow", "small", arguments=small), rule("deny", "large", arguments=large)]
    draft.append(rule("deny", "idle", tool="other"))
    seen = ok(viewer.post("policy/preview", {"rules": draft}))
    assert (seen["calls"], seen["draft"], seen["live"]) == (
        3, {"allow": 1, "ask": 1, "deny": 1}, {"allow": 0, "ask": 3, "deny": 0},
    )  # fmt: skip
    assert (seen["matched"], seen["unmatched"], seen["differing"]) == ({"small": 1, "large": 1}, ["idle"], 2)
    assert {one["draft"]["rule"] for one in seen["calls_differing"]} == {"small", "large"}
    assert not PolicyVersion.objects.exists()


def test_who_may(workspace, session, admin, api, viewer, stranger, key_for):
    put(admin, [rule("ask")])
    agent_key = key_for(workspace, Role.AGENT)
    for path in ("policy", "policy/versions", "policy/versions/1", "policy/shadow", "grants"):
        ok(viewer.get(path))
        refused(agent_key.get(path), 403)
    for path in ("policy/versions", "policy/versions/1/publish", "policy/versions/1/shadow"):
        refused(api.post(path, {"rules": []} if path.endswith("versions") else {}), 403)
    put(api, [], 403)
    refused(agent_key.post("grants", {"approval": ask(admin, session)["id"], "reason": "I want it"}), 403)
    refused(stranger.get("policy/versions/1"), 404)


def test_a_grant_is_made_of_an_approval_used_listed_and_revoked(workspace, session, key_for, viewer, stranger):
    asker, api = key_for(workspace, Role.AGENT), key_for(workspace, Role.REVIEWER)
    asked = ok(asker.post("approvals", {"agent": "Payer", "tool": TOOL}), 201)
    body = {"approval": asked["id"], "scope": "agent", "uses": 2, "expires_in": 3600, "reason": "Always five"}
    made = ok(api.post("grants", body), 201)
    assert (made["state"], made["uses_left"], made["arguments"]) == (
        "in force", 2, [{"path": "", "op": "=", "value": {"amount": 5}}],
    )  # fmt: skip
    again = ok(asker.post("approvals", {"agent": "Payer", "tool": TOOL}), 201)
    assert (again["status"], again["decision"]["by_kind"]) == ("auto_allowed", "grant")
    assert Approval.objects.get(pk=again["id"]).grant_id is not None
    listed = viewer.all("grants")
    assert [(one["id"], one["uses"]) for one in listed] == [(made["id"], 1)]
    refused(stranger.post(f"grants/{made['id']}/revoke"), 404)
    assert ok(api.post(f"grants/{made['id']}/revoke", {"reason": "Enough"}))["state"] == "ended"
    refused(api.post(f"grants/{made['id']}/revoke"), 409)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"reason": "x"}, 422),
        ({"approval": None, "agent": None, "reason": "x"}, 422),
        ({"reason": "", "tool": "pay"}, 422),
    ],
)
def test_a_grant_needs_something_to_be_of(api, session, body, status):
    refused(api.post("grants", body), status)


def test_a_call_of_high_risk_has_no_grant(workspace, key_for, session, api):
    asker = key_for(workspace, Role.AGENT)
    asked = ok(asker.post("approvals", {"agent": "Payer", "tool": TOOL, "risk": "high"}), 201)
    problem = refused(api.post("grants", {"approval": asked["id"], "reason": "Why not"}), 409)
    assert "its risk is high" in problem["detail"]


def test_an_agents_own_policy_is_checked_where_it_is_written(admin, agent):
    policy = {"default": "allwo", "tools": {"pay": "never"}, "rules": [rule("allow", tol="x")], "rule": []}
    problem = refused(admin.patch(f"agents/{agent.pk}", {"policy": policy}), 422)
    assert pointers(problem) == {"/policy/rule", "/policy/default", "/policy/tools/pay", "/policy/rules/0/match/tol"}
    ok(admin.patch(f"agents/{agent.pk}", {"policy": {"default": "ask", "rules": [rule("allow", tool="read")]}}))
    agents.change(agent, {"instructions": "x"}, by=audit.COMMAND)
