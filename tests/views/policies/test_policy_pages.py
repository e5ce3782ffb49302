"""Pages of rules and grants: written without JavaScript, tried before they count, and read by everybody of the desk."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Grant, PolicyInForce, PolicyVersion, Role
from sessions_app.services import audit
from sessions_app.services.approvals.authority import Decider
from sessions_app.services.policies import grants, versions
from tests.policy.build import argument, rule
from tests.services.policies.build import ask, in_force

from ..build import words

EDIT = "/settings/policies/new"
SMALL = rule("allow", "Small ones", tool="pay", arguments=argument("/amount", "<", 100))


def draft_of(answer) -> list[dict]:
    return json.loads(answer.context["draft"].text)


def send(client, action: str, rules=(), status: int = 200, **more: str):
    answer = client.post(EDIT, {"action": action, "rules": json.dumps(list(rules)), "seen": "0", **more})
    assert answer.status_code == status, words(answer)
    return answer


def test_a_rule_is_written_with_the_form_previewed_and_published(admin, workspace, session):
    ask(session, arguments={"amount": 5})
    form = {"name": "Small ones", "effect": "allow", "tool": "pay", "path_0": "/amount", "op_0": "<", "value_0": "100"}
    answer = send(admin, "add", **form)
    assert draft_of(answer) == [SMALL]
    assert not PolicyVersion.objects.exists(), "adding it to the draft keeps nothing"
    seen = words(send(admin, "preview", [SMALL]))
    assert "In force 0 1 0" in seen and "Draft 1 0 0" in seen and "1 answered differently" in seen
    refused = send(admin, "publish", [SMALL], status=422)
    assert "Say in the note what changes and why" in words(refused)
    assert draft_of(refused) == [SMALL], "what was typed is kept"
    assert send(admin, "publish", [SMALL], status=302, note="Nobody reads these").url == "/settings/policies/"
    assert ask(session, arguments={"amount": 5}).status == "auto_allowed"
    page = words(admin.get("/settings/policies/"))
    assert "Small ones tool pay /amount < 100" in page and "Nobody reads these" in page


def test_who_decides_and_when_others_are_told_is_written_with_the_form(admin):
    form = {"name": "Large ones", "effect": "ask", "not_initiator": "on", "typed_confirmation": "on",
            "escalate_minutes": "15", "escalate_to": "role:admin, channel:oncall", "escalate_times": "2"}  # fmt: skip
    assert draft_of(send(admin, "add", **form))[0]["ask"] == {
        "not_initiator": True,
        "typed_confirmation": True,
        "escalation": [{"after": 900, "to": ["role:admin", "channel:oncall"], "repeat": {"every": 900, "times": 2}}],
    }
    nobody = form | {"escalate_to": "ada@example.org"}
    refused = send(admin, "add", status=422, **nobody)
    assert "role:admin, member:ID or channel:NAME" in words(refused) and "ada@example.org" in refused.content.decode()


@pytest.mark.parametrize(
    ("typed", "value"), [("100", 100), ('"100"', "100"), ("prod", "prod"), ("true", True), ('["a"]', ["a"])]
)
def test_values_are_json_where_they_are_json(admin, typed, value):
    form = {"name": "One", "effect": "deny", "path_0": "/a", "op_0": "=", "value_0": typed}
    assert draft_of(send(admin, "add", **form))[0]["match"]["arguments"] == [{"path": "/a", "op": "=", "value": value}]


def test_every_fault_is_shown_and_the_draft_stays(admin):
    answer = send(admin, "save", [rule("alow", tol="x")], status=422)
    shown = words(answer)
    assert 'there is no field "tol"' in shown and "effect is allow, ask or deny" in shown
    assert "alow" in answer.context["draft"].text
    typed = '[{"name": '
    answer = admin.post(EDIT, {"action": "preview", "rules": typed})
    assert answer.status_code == 422 and "this is no JSON" in words(answer) and answer.context["draft"].text == typed
    assert "no number" not in words(send(admin, "add", status=422, effect="ask", name="")), "a rule needs a name"
    wrong = send(admin, "add", status=422, name="One", effect="deny", path_0="amount", op_0="=", value_0="1")
    assert "path is a JSON pointer" in words(wrong)


@pytest.mark.parametrize("action", ["preview", "save", "shadow", "publish"])
def test_a_rule_that_was_typed_and_not_added_is_not_left_out_in_silence(admin, action):
    form = {"name": "No refunds", "effect": "deny", "tool": "refund", "typed_confirmation": "on", "value_0": "7"}
    answer = send(admin, action, [SMALL], status=422, note="Why", **form)
    assert "the rule in the form is not in the draft yet" in words(answer)
    assert not PolicyVersion.objects.exists() and draft_of(answer) == [SMALL]
    typed = answer.context["form"]
    assert [typed[name].value() for name in ("name", "effect", "tool")] == ["No refunds", "deny", "refund"]
    assert typed.conditions()[0][2] == "7" and 'one-rule" open' in answer.content.decode()


def test_who_published_meanwhile_is_not_overwritten(admin, workspace):
    in_force(workspace, rule("deny"))
    answer = send(admin, "publish", [SMALL], status=409, note="Mine")
    assert "policy 1 is in force by now" in words(answer) and draft_of(answer) == [SMALL]
    assert PolicyInForce.objects.get().live.number == 1


def test_a_rule_is_begun_from_a_card(admin, charlie, session):
    approval = ask(session, arguments={"amount": 5, "to": 'A "friend"', "deep": {"x": 1}})
    page = admin.get(f"{EDIT}?approval={approval.pk}")
    initial = page.context["form"].initial
    assert (initial["tool"], initial["agents"], initial["effect"]) == ("pay", "refund-agent", "allow")
    assert [(path, value) for path, _, value in page.context["form"].conditions()][:2] == [
        ("/amount", "5"), ("/to", '"A \\"friend\\""'),
    ]  # fmt: skip
    assert charlie.get(f"{EDIT}?approval={approval.pk}").status_code == 404
    assert admin.get(f"{EDIT}?approval=x").status_code == 404


def test_versions_are_compared_published_again_and_put_in_shadow(admin, workspace, session):
    in_force(workspace, SMALL)
    versions.save_draft(workspace.id, [SMALL, rule("deny", "Nothing else")], by=audit.COMMAND, note="Stricter")
    page = words(admin.get("/settings/policies/versions/2/"))
    assert "Nothing else: added" in page and "Since version 1" in page
    admin.post("/settings/policies/versions/2/shadow/")
    ask(session, arguments={"amount": 5})
    assert "it would have answered 1 differently" in words(admin.get("/settings/policies/"))
    admin.post("/settings/policies/versions/2/publish/", {"seen": "1", "reason": "Tried"})
    assert PolicyInForce.objects.get().live.number == 2
    admin.post("/settings/policies/versions/1/publish/", {"seen": "2", "reason": "Too strict"})
    assert PolicyInForce.objects.get().live.number == 3
    assert admin.get("/settings/policies/versions/9/").status_code == 404


def test_a_grant_is_made_from_an_approval_and_revoked(reviewer, session):
    approval = ask(session, arguments={"amount": 5})
    address = f"/approvals/{approval.pk}/always"
    assert "Exactly these arguments" in words(reviewer.get(address))
    form = {"which": "conditions", "arguments": json.dumps(argument("/amount", "<", 9)), "scope": "agent", "hours": "1"}
    assert reviewer.post(address, form).status_code == 422, "it needs a reason"
    broken = reviewer.post(address, form | {"reason": "x", "arguments": '[{"path": "a"}]'})
    assert broken.status_code == 422 and "path is a JSON pointer" in words(broken)
    assert reviewer.post(address, form | {"reason": "Cheap", "uses": "2"}).url == "/settings/grants/"
    assert ask(session, arguments={"amount": 8}).status == "auto_allowed"
    page = words(reviewer.get("/settings/grants/"))
    assert "/amount < 9" in page and "Used 1 time, 1 left" in page and "“Cheap”" in page
    grant = Grant.objects.get()
    reviewer.post(f"/settings/grants/{grant.pk}/revoke/")
    assert ask(session, arguments={"amount": 8}).status == "pending"
    assert "ended" in words(reviewer.get("/settings/grants/"))


def test_a_list_without_grants_names_the_words_that_make_one_on_a_card(reviewer, session):
    said = re.search(r"No grants yet\..*", words(reviewer.get("/settings/grants/")))[0]
    card = words(reviewer.get(f"/approvals/{ask(session).pk}/"))
    named = re.findall("“(.+?)”", said)
    assert len(named) == 3 and [one for one in named if one not in card] == []


def test_no_grant_is_offered_for_what_is_decided_each_time(reviewer, session):
    approval = ask(session, risk="critical")
    page = reviewer.get(f"/approvals/{approval.pk}/always")
    assert "No grant can be made of it: its risk is critical" in words(page)
    reviewer.post(f"/approvals/{approval.pk}/always", {"reason": "x", "which": "exact", "scope": "agent", "hours": "8"})
    assert not Grant.objects.exists()


def test_who_may(admin, reviewer, viewer, charlie, workspace, session):
    in_force(workspace, SMALL)
    approval = ask(session)
    assert "Small ones" in words(viewer.get("/settings/policies/"))
    main = viewer.get("/settings/policies/versions/1/").content.decode().split("<main", 1)[1]
    assert "<form" not in main, "no form that they may not send"
    for client in (viewer, reviewer):
        assert client.get(EDIT).status_code == 403
        assert client.post("/settings/policies/versions/1/publish/", {}).status_code == 403
    assert viewer.get(f"/approvals/{approval.pk}/always").status_code == 403
    assert charlie.get(f"/approvals/{approval.pk}/always").status_code == 404
    assert charlie.get("/settings/policies/versions/1/").status_code == 404
    assert "Small ones" not in words(charlie.get("/settings/policies/"))
    wish = grants.Wish("Cheap")
    grants.make_from(approval, wish, decider=Decider(audit.COMMAND, Role.ADMIN, "web"))
    grant = Grant.objects.get()
    assert charlie.post(f"/settings/grants/{grant.pk}/revoke/").status_code == 404
    assert "Cheap" not in words(charlie.get("/settings/grants/"))


def test_what_agents_and_people_wrote_is_text(admin, workspace, session):
    nasty = "<script>alert(1)</script>\u202e"
    in_force(workspace, rule("allow", nasty, tool=nasty) | {"reason": nasty})
    approval = ask(session, nasty, arguments={nasty: nasty})
    pages = ["/settings/policies/", "/settings/policies/versions/1/", f"{EDIT}?approval={approval.pk}",
             f"/approvals/{approval.pk}/always", f"{EDIT}?version=1"]  # fmt: skip
    for path in pages:
        body = admin.get(path).content.decode()
        assert "<script>alert" not in body, path
    assert re.search(r"&lt;script&gt;", admin.get("/settings/policies/").content.decode())


def test_pages_cost_as_many_queries_with_many_rows_as_with_few(admin, workspace, session):
    def queries(path: str) -> int:
        admin.get(path)
        with CaptureQueriesContext(connection) as caught:
            assert admin.get(path).status_code == 200
        return len(caught)

    in_force(workspace, rule("ask"))
    draft = versions.save_draft(workspace.id, [rule("deny")], by=audit.COMMAND)
    versions.put_in_shadow(workspace.id, draft, by=audit.COMMAND)
    paths = ["/settings/policies/", "/settings/grants/", "/settings/policies/versions/1/"]
    by = Decider(audit.COMMAND, Role.ADMIN, "web")
    grants.make_from(ask(session), grants.Wish("Cheap"), decider=by)
    before = [queries(path) for path in paths]
    for number in range(8):
        approval = ask(session, f"tool-{number}")
        grants.make_from(approval, grants.Wish("Cheap"), decider=by)
        versions.save_draft(workspace.id, [rule("deny", str(number))], by=audit.COMMAND)
    assert [queries(path) for path in paths] == before
