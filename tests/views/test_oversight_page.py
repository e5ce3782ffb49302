"""The page of oversight: one's own figures first; those of others for admins; and the form that plants a test call."""

from __future__ import annotations

import re

import pytest

from sessions_app.models import Approval, Member
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.oversight import planting
from tests.services.oversight.test_planting import QUESTION, decide
from tests.views.build import words

FORM = {"agent": "refund-agent", "tool": "shell", "arguments": '{"command": "rm -rf /"}'}


def member(name: str) -> Member:
    return Member.objects.select_related("user").get(user__first_name=name)


def test_your_own_figures_come_first_and_those_of_others_only_admins_see(admin, reviewer, viewer, agent, session):
    asked = requests.request(session, requests.Question("refund", {}), by=audit.Actor("agent", "a", "A"))
    decide(asked, member("Rosa"))
    for one in (reviewer, viewer):
        page = words(one.get("/oversight/"))
        assert page.index("You") < page.index("Everybody")
        assert "By person" not in page and "Plant a test call" not in page
    assert "Rosa" not in words(viewer.get("/oversight/")).split("Everybody")[1]
    page = words(admin.get("/oversight/"))
    assert page.index("You") < page.index("By person") < page.index("Rosa")


def test_a_planted_call_is_like_any_other_until_it_is_decided_and_then_is_told_kindly(admin, reviewer, agent):
    assert admin.post("/oversight/planted-calls/", FORM).status_code == 302
    approval = Approval.objects.get()
    assert approval.planted
    card = f"/approvals/{approval.pk}/"
    for path in ("/approvals/", card, f"/dashboard/sub-agents/{agent.pk}/chat/{approval.session_id}", "/"):
        page = reviewer.get(path).content.decode().lower()
        assert "planted" not in page and "test call" not in page
        told = re.sub(r"<option.*?</option>", "", page.split("<main", 1)[1], flags=re.S)  # whom it may be assigned to
        told = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", told)  # letters at random
        assert not re.search(r"\bada\b", told)
        assert "asked by" not in told, "no agent that asks for itself is said to be asked by somebody"
    form = {"verdict": "deny", "reason": "No", "version": approval.version, "digest": approval.digest}
    answer = reviewer.post(f"{card}decision", form, HTTP_HX_REQUEST="true")
    assert "This was a test call" in words(answer) and "thank you for reading closely" in words(answer)
    assert "You stopped 1 of the 1 test call that you decided" in words(reviewer.get("/oversight/"))


def test_a_planted_call_can_have_a_risk_as_others_have(admin, agent):
    assert "critical" in words(admin.get("/oversight/"))
    admin.post("/oversight/planted-calls/", FORM | {"risk": "critical"})
    assert Approval.objects.get().risk == "critical"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"agent": "nobody"}, "Choose the agent"),
        ({"tool": ""}, "Name the tool"),
        ({"arguments": "{"}, "This is not JSON"),
        ({"arguments": "[1]"}, "Arguments are a JSON object"),
    ],
)
def test_what_the_form_lacks_is_said_and_nothing_is_lost(admin, agent, change, says):
    answer = admin.post("/oversight/planted-calls/", FORM | change)
    assert answer.status_code == 422 and says in words(answer)
    assert not Approval.objects.exists()


def test_nobody_but_admins_plants(reviewer, viewer, charlie, agent):
    for one in (reviewer, viewer):
        assert one.post("/oversight/planted-calls/", FORM).status_code == 403
    assert charlie.post("/oversight/planted-calls/", FORM).status_code == 422, "it is no agent of theirs"
    assert not Approval.objects.exists()


def test_another_workspaces_figures_are_not_there(charlie, reviewer, agent, session):
    asked = requests.request(session, requests.Question("refund", {}), by=audit.Actor("agent", "a", "A"))
    decide(asked, member("Rosa"))
    assert "Rosa" not in words(charlie.get("/oversight/"))


def test_the_page_does_not_ask_per_person(admin, django_assert_max_num_queries, agent, workspace):
    planting.plant(agent, QUESTION, by=member("Ada"))
    with django_assert_max_num_queries(14):
        admin.get("/oversight/")
