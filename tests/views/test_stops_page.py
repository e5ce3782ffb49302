"""The button that stops agents, and the strip that every page shows meanwhile."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Stop
from sessions_app.services import agents, audit
from sessions_app.services.agents import get_or_create_agent

from ..services.stops.build import lift, stop
from .build import asks, session_of
from .build import words as all_words

WHY = "it refunds the wrong people"
PAGES = ["/", "/sessions/", "/agents/", "/approvals/", "/triggers/", "/imports/", "/usage/", "/settings/"]


def words(answer) -> str:
    """What a person reads, without the blanks that stand for tags."""
    return all_words(answer).replace(" ,", ",").replace(" :", ":").replace(" .", ".")


def press(client, **fields):
    return client.post("/stops/", {"reason": WHY, "agent": "", "seconds": ""} | fields)


def test_a_reviewer_stops_one_agent_and_what_waits_is_denied(reviewer, agent):
    approval = asks(session_of(agent))
    assert press(reviewer, agent=agent.slug, seconds="3600").status_code == 302
    made = Stop.objects.get()
    assert (made.agent, made.made_by, made.made_by_kind) == (agent, "Rosa", "member")
    assert abs((made.until - timezone.now()).total_seconds() - 3600) < 60
    assert Approval.objects.get(pk=approval.pk).status == "denied"
    page = words(reviewer.get("/stops/"))
    assert "It denied 1 call and interrupted 0 turns in 1 session." in page


def test_who_comes_to_stop_an_archived_agent_does_not_stop_every_agent(reviewer, agent):
    agents.change(agent, {"status": "archived"}, by=audit.SYSTEM)
    chosen = f'<option value="{agent.slug}" selected>'
    assert chosen in reviewer.get(f"/stops/?agent={agent.slug}").content.decode()
    assert chosen in press(reviewer, agent=agent.slug, reason="").content.decode()
    assert press(reviewer, agent=agent.slug).status_code == 302 and Stop.objects.get().agent == agent
    assert reviewer.get("/stops/?agent=nobody").status_code == 404


def test_what_hides_in_a_name_is_shown_where_an_agent_is_chosen(reviewer, workspace):
    agents.create(workspace.pk, "Safe \u202etnega", by=audit.SYSTEM)
    assert "Safe ⟨U+202E⟩tnega" in words(reviewer.get("/stops/"))


@pytest.mark.parametrize("path", PAGES)
def test_every_page_says_who_why_and_until_when(viewer, agent, path):
    stop(agent, everybody=True)
    page = words(viewer.get(path))
    assert f"Every agent is stopped by Olga, until somebody lifts it: {WHY}" in page


def test_the_strip_of_an_open_page_comes_and_goes(viewer, agent):
    assert words(viewer.get("/stops/strip")).strip() == ""
    made = stop(agent, until=timezone.now() + timedelta(hours=1))
    assert "Refund agent is stopped by Olga, until" in words(viewer.get("/stops/strip"))
    Stop.objects.filter(pk=made.pk).update(until=timezone.now())
    assert words(viewer.get("/stops/strip")).strip() == ""


def test_an_open_page_is_left_alone_while_nothing_changed(viewer, agent):
    made = stop(agent)
    known = re.search(r'name="known" value="([^"]+)"', viewer.get("/").content.decode())[1]
    assert known == str(made.pk)
    assert viewer.get("/stops/strip", {"known": known}).status_code == 204
    another = stop(agent, everybody=True)
    assert f"{another.pk},{made.pk}" in viewer.get("/stops/strip", {"known": known}).content.decode()
    for one in (made, another):
        lift(one)
    assert viewer.get("/stops/strip", {"known": known}).status_code == 200
    assert viewer.get("/stops/strip", {"known": ""}).status_code == 204


def test_the_agents_page_leads_to_the_button(reviewer, agent):
    assert f"/stops/?agent={agent.slug}" in reviewer.get(f"/agents/{agent.slug}/").content.decode()
    form = reviewer.get(f"/stops/?agent={agent.slug}").context["form"]
    assert form["agent"].value() == agent.slug


def test_a_viewer_sees_no_button_and_may_not_press_it(viewer, agent):
    stop(agent)
    page = viewer.get("/stops/").content.decode().split("<main", 1)[1]
    assert "<form" not in page and "can be lifted by an admin or by who made it" in page
    assert press(viewer).status_code == 403
    assert viewer.post(f"/stops/{Stop.objects.get().pk}/lift/").status_code == 403
    assert Stop.objects.count() == 1


def test_only_who_made_it_and_admins_lift_it(reviewer, admin, agent):
    press(reviewer)
    own, foreign = Stop.objects.get(), stop(agent)
    assert reviewer.post(f"/stops/{foreign.pk}/lift/").status_code == 403
    assert reviewer.post(f"/stops/{own.pk}/lift/", {"reason": "mended"}).status_code == 302
    assert admin.post(f"/stops/{foreign.pk}/lift/").status_code == 302
    assert "Rosa: mended" in words(admin.get("/stops/"))
    again = admin.post(f"/stops/{foreign.pk}/lift/", follow=True)
    assert "Not lifted: this stop was lifted by Ada" in words(again)


def test_a_stop_without_a_reason_is_asked_for_it_and_nothing_typed_is_lost(reviewer, agent):
    answer = press(reviewer, reason=" ", agent=agent.slug, seconds="3600")
    assert answer.status_code == 422 and not Stop.objects.exists()
    assert answer.context["form"]["seconds"].value() == "3600"


def test_another_workspace_sees_and_lifts_nothing(charlie, agent):
    made = stop(agent, everybody=True)
    assert WHY not in words(charlie.get("/")) + words(charlie.get("/stops/"))
    assert charlie.post(f"/stops/{made.pk}/lift/").status_code == 404
    assert press(charlie, agent=agent.slug).status_code == 422


def test_what_a_hostile_reason_says_is_only_text(viewer, agent):
    stop(agent, reason="<script>alert(1)</script>\u202egnp.exe")
    page = viewer.get("/").content.decode()
    assert "<script>alert(1)" not in page and "\u202e" not in page


def test_queries_do_not_grow_with_stops(admin, agent, django_assert_max_num_queries):
    for _ in range(30):
        asks(session_of(agent))
        lift(stop(agent))
        stop(get_or_create_agent(agent.workspace_id, "Idle"))
    with django_assert_max_num_queries(14):
        admin.get("/stops/")
