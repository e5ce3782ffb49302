"""The list of all that waits, and what was decided lately."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone
from django.utils.html import escape

from sessions_app.models import Approval, Member, Role
from sessions_app.queries import approvals as queries
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, endings, requests

from ..build import ASKER, asks, session_of, words


def test_inbox_without_pending_approvals_says_so(viewer, workspace):
    assert "All caught up" in words(viewer.get("/approvals/"))


def test_oldest_pending_approval_comes_first(viewer, agent):
    for tool in ("first_tool", "second_tool"):
        asks(session_of(agent), tool=tool)
    page = words(viewer.get("/approvals/"))
    assert page.index("first_tool") < page.index("second_tool")
    assert "2 pending, most urgent first" in page


def test_high_risk_comes_first_then_what_expires_first_then_the_oldest(viewer, agent):
    fields = {
        "low_tool": {"risk": "low", "expires_in": 60}, "old_tool": {}, "new_tool": {},
        "medium_tool": {"risk": "medium", "expires_in": 600},
        "high_tool": {"risk": "high"}, "soon_tool": {"risk": "high", "expires_in": 300},
        "worst_tool": {"risk": "critical"},
    }  # fmt: skip
    for tool, more in fields.items():
        asks(session_of(agent), tool=tool, **more)
    order = ["worst_tool", "soon_tool", "high_tool", "medium_tool", "old_tool", "new_tool", "low_tool"]
    assert [one.tool_name for one in queries.waiting(agent.workspace_id)] == order
    keys = {one.tool_name: queries.urgency_key(one) for one in queries.waiting(agent.workspace_id)}
    assert sorted(keys, key=lambda tool: keys[tool]) == order, "a page puts a new one where the server would"


def test_a_row_names_its_agent_once(viewer, agent):
    for title in (f"run_sql · {agent.name}", "run_sql · warehouse", "Late orders"):
        asks(session_of(agent, title), tool="run_sql")
    page = viewer.get("/approvals/").content.decode()
    rows = [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in re.findall(r'class="inbox-of[^>]+>(.*?)\n', page)]
    assert rows == [agent.name, f"{agent.name} · run_sql · warehouse", f"{agent.name} · Late orders"]


def test_pages_of_the_list_have_every_row_once(viewer, agent, monkeypatch):
    monkeypatch.setattr("sessions_app.views.approvals.inbox.FIRST", 2)
    monkeypatch.setattr("sessions_app.views.approvals.inbox.LINES", 3)
    session = session_of(agent)
    for number in range(8):
        asks(session, risk=("high", "", "low")[number % 3], expires_in=(None, 900)[number % 2], client_id=f"c{number}")
    address, seen = "/approvals/more?show=all", []
    while address:
        page = viewer.get(address, headers={"HX-Request": "true"}).content.decode()
        seen += re.findall(r'id="row-([\w-]+)"', page)
        found = re.search(r'href="(/approvals/more[^"]+)"', page)
        address = found and unescape(found[1])
    assert seen == [str(one.pk) for one in queries.waiting(agent.workspace_id)] and len(seen) == 8


def test_chips_narrow_the_list_and_what_is_snoozed_is_out_of_the_way(reviewer, agent):
    session = session_of(agent)
    for tool, more in {
        "plain": {},
        "risky": {"risk": "high"},
        "hurried": {"expires_in": 60},
        "given": {},
        "later": {},
    }.items():
        asks(session, tool=f"{tool}_tool", **more)
    Approval.objects.filter(tool_name="later_tool").update(snoozed_until=timezone.now() + timedelta(hours=1))
    Approval.objects.filter(tool_name="given_tool").update(assigned_to=Member.objects.get())
    page = words(reviewer.get("/approvals/"))
    assert "All 4 High risk 1 Expiring 1 Mine 1 Snoozed 1" in page and "later_tool" not in page and "4 pending," in page
    for show, tool in {"high": "risky", "expiring": "hurried", "mine": "given", "snoozed": "later"}.items():
        rows = re.findall(r"<strong>(\w+)_tool", inbox(reviewer, f"?show={show}"))
        assert rows == [tool], show


def test_inbox_counts_one_pending_approval_in_the_singular(viewer, agent):
    asks(session_of(agent))
    assert "1 pending, most urgent first" in words(viewer.get("/approvals/"))


def inbox(client, query: str = "") -> str:
    return client.get(f"/approvals/{query}").content.decode()


def test_one_card_stands_beside_the_list_with_what_led_to_it(reviewer, agent):
    first, second = (
        asks(session_of(agent, "One"), tool="first_tool"),
        asks(session_of(agent, "Two"), tool="second_tool"),
    )
    page = inbox(reviewer)
    assert f"/approvals/{first.pk}/decision" in page and f"/approvals/{second.pk}/decision" not in page
    assert "first_tool" in page and "second_tool" in page
    led = words(reviewer.get("/approvals/")).split("Conversation so far")[1]
    assert "The parcel never came" in led and "I look it up" in led
    page = inbox(reviewer, f"?card={second.pk}")
    assert f"/approvals/{second.pk}/decision" in page and f"/approvals/{first.pk}/decision" not in page


def test_links_of_the_transcript_beside_a_card_lead_into_its_session(viewer, agent):
    approval = asks(session_of(agent))
    place = f"/dashboard/sub-agents/{agent.pk}/chat/{approval.session_id}"
    page = inbox(viewer)
    assert f'href="{place}?event={approval.event_seq}#e-{approval.event_seq}"' in page
    assert f'href="{place}?event=1#e-1"' in page and 'href="?event=' not in page


@pytest.mark.parametrize("wanted", ["nonsense", "01a20275-1093-7000-abe5-b5057e0383b3", ""])
def test_a_card_that_does_not_wait_gives_way_to_the_first(reviewer, agent, wanted):
    approval = asks(session_of(agent))
    assert f"/approvals/{approval.pk}/decision" in inbox(reviewer, f"?card={wanted}")


def test_a_stranger_s_card_is_not_shown(charlie, agent):
    approval = asks(session_of(agent))
    page = inbox(charlie, f"?card={approval.pk}&decided={approval.pk}")
    assert "All caught up" in page and str(approval.pk) not in page


def test_after_a_decision_the_next_one_is_there_and_what_became_of_the_last(reviewer, agent):
    first, second, third = (asks(session_of(agent), tool=f"tool_{number}") for number in (1, 2, 3))
    sent = {"verdict": "approve", "version": second.version, "digest": second.digest}
    sent["next"] = f"/approvals/?decided={second.pk}&card={third.pk}"
    assert f'value="{escape(sent["next"])}"' in inbox(reviewer, f"?card={second.pk}")
    shown = reviewer.post(f"/approvals/{second.pk}/decision", sent, follow=True)
    assert f"/approvals/{third.pk}/decision" in shown.content.decode()
    assert "Approved tool_2, Order 4711" in words(shown)
    assert f"card={first.pk}" in inbox(reviewer, f"?card={third.pk}"), "after the last comes the first"


def test_a_question_is_answered_in_words(reviewer, agent):
    said = {"question": "Refund or replace?"}
    approval = requests.request(
        session_of(agent), requests.Question("escalate_to_human", said, context=said["question"]), by=ASKER
    )
    page, read = inbox(reviewer), words(reviewer.get("/approvals/"))
    assert "asks a person" in read and "Refund or replace?" in read and "Approve without an answer" in read
    assert 'name="arguments"' not in page and page.count("Refund or replace?") == 2, "in the list and on the card"
    answer = {"verdict": "answer", "version": approval.version, "digest": approval.digest, "answer": "Replace it"}
    reviewer.post(f"/approvals/{approval.pk}/decision", answer)
    approval.refresh_from_db()
    assert (approval.status, approval.decision["answer"]) == ("answered", "Replace it")


def test_attachments_of_a_question_are_shown_under_it(reviewer, agent):
    said = {"question": "Refund or replace?", "context": {"order": "4711"}}
    requests.request(session_of(agent), requests.Question("escalate_to_human", said, context="He is angry"), by=ASKER)
    read = words(reviewer.get("/approvals/"))
    assert "He is angry" in read and "4711" in read


def test_decisions_are_listed_with_who_and_why(viewer, agent):
    approval = asks(session_of(agent))
    decider = decisions.Decider(audit.Actor("member", "1", "Rosa"), Role.REVIEWER, "web")
    decisions.decide(
        approval, decider, decisions.Decision("deny", version=1, digest=approval.digest, reason="Already refunded")
    )
    page = words(viewer.get("/approvals/"))
    assert "All caught up" in page
    assert "Denied issue_refund Order 4711 Rosa , just now Already refunded" in page


def test_an_expired_question_is_among_the_decisions(viewer, agent):
    approval = asks(session_of(agent), expires_in=60)
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now())
    endings.expire_due()
    assert "Expired, so denied issue_refund" in words(viewer.get("/approvals/"))


def test_a_decision_can_be_made_in_the_list_without_a_script(reviewer, agent):
    approval = asks(session_of(agent))
    page = reviewer.get("/approvals/").content.decode()
    assert f'action="/approvals/{approval.id}/decision"' in page
    answer = reviewer.post(
        f"/approvals/{approval.id}/decision",
        {"verdict": "approve", "version": approval.version, "digest": approval.digest},
    )
    assert answer.status_code == 302
    approval.refresh_from_db()
    assert approval.status == "approved"


def test_another_call_of_the_same_session_is_named_beside_the_card_and_not_decided_there(reviewer, agent):
    session = session_of(agent)
    earlier, later = asks(session, tool="earlier_tool"), asks(session, tool="later_tool", risk="high")
    for address in (f"/approvals/?card={later.pk}", f"/approvals/{later.pk}/led"):
        page = reviewer.get(address).content.decode()
        led = page[page.index("led-title") :]
        assert "earlier_tool" in led and f"/approvals/?card={earlier.pk}" in led
        assert f'action="/approvals/{earlier.pk}/decision"' not in page and f'id="approval-{earlier.pk}"' not in page


def test_a_card_shows_what_an_edit_changes(reviewer, agent):
    edit = {"file_path": "/srv/refunds.py", "old_string": "return 2 * sum", "new_string": "return sum / 2"}
    card = asks(session_of(agent), tool="Edit", arguments=edit)
    picked = {"pick": f"{card.pk}:{card.version}:{card.digest}"}
    pages = (
        reviewer.get("/approvals/"),
        reviewer.get(f"/approvals/{card.pk}/"),
        reviewer.post("/approvals/batch", picked),
    )
    read = [words(page) for page in pages]
    assert [("2 * sum" in one, "sum / 2" in one) for one in read] == [(True, True)] * 3
