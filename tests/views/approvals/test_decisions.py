"""The approval card: what it shows, and each way a decision on it can end."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Approval, Role
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.people import api_keys

from ..session.build import BOT, Page, asked, path_of, priced, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}
ARGUMENTS = {"order": 4711, "amount": "420.00", "note": "lost in transit " * 100}


@pytest.fixture
def approval(agent) -> Approval:
    usage = priced("0.031", input_tokens=10, output_tokens=5)
    session = session_with(agent, [asked("p", "Refund it"), said("m", "I will ask", **usage)])
    return requests.request(
        session,
        requests.Question(
            "issue_refund", ARGUMENTS, context="The carrier lost it.", expires_in=3_600, client_id="call-1"
        ),
        by=BOT,
    )


def decide(client, approval, verdict, *, status=200, headers=FETCHED, **form):
    form = {"verdict": verdict, "version": approval.version, "digest": approval.digest} | form
    response = client.post(f"/approvals/{approval.pk}/decision", form, **headers)
    assert response.status_code == status, response.content
    return response


def now(approval) -> Approval:
    return Approval.objects.get(pk=approval.pk)


def test_the_card_shows_the_question_in_full_and_what_it_cost_so_far(reviewer, approval):
    page = Page(reviewer.get(path_of(approval.session)).content)
    for words in (
        "Needs your approval", "issue_refund", "The carrier lost it.", "Refund agent , asked by refund-bot",
        "order 4711", "amount 420.00", "1,600 characters", "expires in", "cost of this turn $0.031",
        "of the session $0.031",
    ):  # fmt: skip
        assert words in page.text
    assert page.text.count("lost in transit") >= 100
    assert page.all("input", name="digest", value=approval.digest)


@pytest.mark.parametrize(("tool", "arguments", "words"), [
    ("Bash", {"command": "rm -rf build/"}, "rm -rf build/"),
    ("Edit", {"file_path": "a.py", "old_string": "one", "new_string": "two"}, "a.py +1 −1"),
    ("noop", {}, "Without arguments"),
    ("odd", [1, 2], "1, 2"),
])  # fmt: skip
def test_commands_edits_and_odd_arguments_have_their_own_shape(reviewer, agent, tool, arguments, words):
    asked_for = requests.request(session_with(agent, []), requests.Question(tool, arguments), by=BOT)
    assert words in Page(reviewer.get(f"/approvals/{asked_for.pk}/").content).text


@pytest.mark.parametrize("headers", [FETCHED, {}], ids=["script", "no script"])
def test_who_denies_again_for_another_reason_is_told_that_the_first_stands(reviewer, approval, headers):
    decide(reviewer, approval, "deny", reason="too much")
    again = decide(reviewer, approval, "deny", reason="on a Sunday", headers=headers)
    text = Page(again.content).text
    assert "Nothing was changed: you decided this already" in text and "What you wrote: on a Sunday" in text
    assert "HX-Trigger-After-Swap" not in again.headers, "the next card does not take the place of what is said"
    assert approval.votes.get().reason == "too much"


def test_a_viewer_reads_the_card_and_cannot_decide(viewer, approval):
    page = Page(viewer.get(path_of(approval.session)).content)
    assert "You are a viewer" in page.text and not page.all("button", name="verdict")
    decide(viewer, approval, "approve", status=403)
    assert now(approval).status == "pending"


def test_a_key_that_is_called_like_a_member_is_said_to_be_a_key_where_it_decided(reviewer, workspace, approval):
    key, _ = api_keys.create_api_key(workspace, "Rosa", Role.REVIEWER, by=audit.COMMAND)
    decider = decisions.Decider(audit.Actor("api_key", str(key.pk), "Rosa"), Role.REVIEWER, "api", api_key_id=key.pk)
    decisions.decide(approval, decider, decisions.Decision("approve", version=1, digest=approval.digest))
    assert "by the API key Rosa" in Page(reviewer.get(f"/approvals/{approval.pk}/").content).text
    for path in ("/approvals/", "/approvals/?show=decided"):
        assert "API key Rosa" in Page(reviewer.get(path).content).text, path


def test_a_stranger_finds_no_card(charlie, approval):
    assert charlie.get(f"/approvals/{approval.pk}/").status_code == 404
    decide(charlie, approval, "approve", status=404)


def test_approving_answers_with_one_line_about_it(reviewer, approval):
    text = Page(decide(reviewer, approval, "approve").content).text
    assert (
        "Approved" in text
        and "by Rosa" in text
        and "waiting for the agent to pick it up" in text
        and "not executed" in text
    )
    decided = now(approval)
    assert (decided.status, decided.decision["by"], decided.decision["channel"]) == ("approved", "Rosa", "web")


def test_without_javascript_a_decision_leads_back_to_its_place(reviewer, approval):
    response = decide(reviewer, approval, "approve", status=302, headers={})
    assert response.url == f"{path_of(approval.session)}?event={approval.event_seq}#e-{approval.event_seq}"


@pytest.mark.parametrize(
    ("next_", "leads"),
    [("/approvals/", "/approvals/"), ("https://evil.example/", None), ("//evil.example", None), ("nowhere", None)],
)
def test_only_pages_of_ours_are_led_back_to(reviewer, approval, next_, leads):
    assert decide(reviewer, approval, "approve", status=302, headers={}, next=next_).url.startswith(
        leads or path_of(approval.session)
    )


def test_edited_arguments_are_approved_as_edited(reviewer, approval):
    decide(reviewer, approval, "edit", arguments=json.dumps({**ARGUMENTS, "amount": "20.00"}))
    assert now(approval).status == "approved_edited"
    assert now(approval).decision["arguments"]["amount"] == "20.00"


def test_the_text_of_the_editor_is_not_used_by_a_plain_approval(reviewer, approval):
    decide(reviewer, approval, "approve", arguments='{"amount": "9999"}')
    assert now(approval).status == "approved"


@pytest.mark.parametrize("typed", ["{", "null", '{"a": NaN}', ""])
def test_arguments_that_are_no_json_come_back_with_what_was_typed(reviewer, approval, typed):
    page = Page(decide(reviewer, approval, "edit", status=422, arguments=typed).content)
    assert page.all("textarea", name="arguments", **{"aria-invalid": "true"})
    assert typed in page.text and now(approval).status == "pending"


def test_a_denial_needs_its_reason_and_keeps_it(reviewer, approval):
    assert "Say why" in Page(decide(reviewer, approval, "deny", status=422, reason="  ").content).text
    decide(reviewer, approval, "deny", reason="Ask the customer first")
    assert (now(approval).status, now(approval).decision["reason"]) == ("denied", "Ask the customer first")
    assert "Ask the customer first" in Page(reviewer.get(path_of(approval.session)).content).text


def test_an_answer_needs_its_text(reviewer, approval):
    assert "an answer needs its text" in Page(decide(reviewer, approval, "answer", status=422).content).text
    decide(reviewer, approval, "answer", answer="Refund half of it")
    assert now(approval).decision["answer"] == "Refund half of it"


def test_second_decider_sees_the_first_decision_and_keeps_the_input(reviewer, admin, approval):
    decide(admin, approval, "approve")
    text = Page(decide(reviewer, approval, "deny", status=409, reason="Too much money").content).text
    assert "Ada decided this already: approved" in text and "Too much money" in text
    assert now(approval).status == "approved"


def test_the_same_decision_twice_is_one(reviewer, approval):
    decide(reviewer, approval, "approve")
    decide(reviewer, approval, "approve")
    assert now(approval).votes.count() == 1


@pytest.mark.parametrize(
    "stale", [{"version": 7}, {"digest": "0" * 64}, {"version": "x"}, {"version": "", "digest": ""}]
)
def test_a_card_that_is_out_of_date_decides_nothing(reviewer, approval, stale):
    page = Page(decide(reviewer, approval, "deny", status=409, reason="No, because", **stale).content)
    assert "changed since you looked" in page.text and "No, because" in page.text
    assert page.all("button", name="verdict") and now(approval).status == "pending"


def test_unknown_verdict_is_refused_with_an_explanation(reviewer, approval):
    assert "is no verdict" in Page(decide(reviewer, approval, "shrug", status=422).content).text


def test_high_risk_is_asked_twice(reviewer, agent):
    risky = requests.request(
        session_with(agent, []), requests.Question("drop_table", {"name": "orders"}, risk="high"), by=BOT
    )
    page = Page(reviewer.get(f"/approvals/{risky.pk}/").content)
    assert "Yes, run it" in page.text and "risk: high" in page.text
    assert not page.all("button", **{"data-choice": "approve"})


def test_the_page_of_a_decided_one_tells_delivered_and_executed_apart(reviewer, approval):
    decide(reviewer, approval, "approve")
    Approval.objects.filter(pk=approval.pk).update(delivery="delivered", execution="errored")
    text = Page(reviewer.get(path_of(approval.session)).content).text
    assert "delivered" in text and "executed, and failed" in text


def test_very_large_arguments_stand_whole_on_the_cards_own_page(reviewer, agent):
    large = requests.request(
        session_with(agent, []), requests.Question("import_orders", {"csv": "order;amount\n" * 5_000}), by=BOT
    )
    inline = Page(reviewer.get(path_of(large.session)).content)
    assert "Read the arguments in full" in inline.text and not inline.all("textarea", name="arguments")
    alone = Page(reviewer.get(f"/approvals/{large.pk}/").content)
    assert alone.text.count("order;amount") > 10_000 - 5  # to read and to edit
    assert alone.all("textarea", name="arguments")


def test_a_decision_can_be_taken_back_on_its_card(reviewer, admin, approval, settings):
    settings.UNDO_SECONDS = 5
    page = decide(reviewer, approval, "approve")
    assert "Undo" in page.text and now(approval).status == "pending"
    path = f"/approvals/{approval.pk}/withdraw"
    refused = admin.post(path, **FETCHED)
    assert refused.status_code == 403 and "Undo" not in refused.content.decode()
    back = reviewer.post(path, headers=FETCHED)
    assert back.status_code == 200 and "Undo" not in back.content.decode()
    assert now(approval).takes_effect_at is None
    assert reviewer.post(path, headers=FETCHED).status_code == 403


def test_only_who_decided_is_offered_to_undo_it(reviewer, admin, approval, settings):
    """It stood on the card of everybody, and below "Your decision was not recorded"."""
    settings.UNDO_SECONDS = 60
    decide(reviewer, approval, "approve")
    late = Page(decide(admin, approval, "deny", status=409, reason="No").content).text
    assert "Your decision was not recorded" in late and "Rosa decided" in late and "Undo" not in late
    shown = Page(admin.get(f"/approvals/{approval.pk}/").content).text
    assert "until then who decided can undo it" in shown and "Undo" not in shown
    assert "Undo" in Page(reviewer.get(f"/approvals/{approval.pk}/").content).text


def test_a_long_table_is_whole_on_the_card_s_own_page_or_says_where_it_is(reviewer, agent):
    def card_of(rows) -> str:
        table = [{"id": number, "name": f"Customer {number}."} for number in range(rows)]
        asked_for = requests.request(session_with(agent, []), requests.Question("export", {"rows": table}), by=BOT)
        among = Page(reviewer.get(f"/approvals/cards?id={asked_for.pk}").content).text
        assert f"{rows - 100:,} more, not shown here" in among and "Read the arguments in full" in among
        return Page(reviewer.get(f"/approvals/{asked_for.pk}/").content).text

    whole = card_of(400)
    assert "Customer 399." in whole and "not shown here" not in whole
    assert "Read the arguments in full" in card_of(12_000)
