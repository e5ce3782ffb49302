"""What a rule wants of a decision is asked on the card; many decisions at once are many decisions."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Approval, SavedReason, Vote
from sessions_app.views.approvals import batch

from ..build import asks, session_of, words


@pytest.fixture
def approval(agent) -> Approval:
    return asks(session_of(agent), tool="drop_index")


def with_terms(approval, **terms) -> Approval:
    Approval.objects.filter(pk=approval.pk).update(terms=terms, votes_needed=terms.get("approvals", 1))
    return Approval.objects.get(pk=approval.pk)


def decide(client, approval, verdict="approve_sure", **form):
    sent = {"verdict": verdict, "version": approval.version, "digest": approval.digest} | form
    return client.post(f"/approvals/{approval.pk}/decision", sent, headers={"HX-Request": "true"})


def status(approval) -> str:
    return Approval.objects.get(pk=approval.pk).status


def test_a_typed_confirmation_is_asked_for_and_checked(reviewer, approval):
    approval = with_terms(approval, typed_confirmation=True)
    assert 'name="confirmation"' in reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    refused = decide(reviewer, approval, confirmation="drop")
    assert (
        refused.status_code == 422 and "wants the name of the tool" in words(refused) and status(approval) == "pending"
    )
    assert decide(reviewer, approval, confirmation="drop_index").status_code == 200


def test_a_comment_that_the_rule_wants_comes_back_when_it_lacks(reviewer, approval):
    approval = with_terms(approval, comment=["approve"])
    refused = decide(reviewer, approval)
    assert refused.status_code == 422 and 'name="comment"' in refused.content.decode()
    decide(reviewer, approval, comment="Unused since May")
    assert Vote.objects.get().reason == "Unused since May"


def test_only_what_may_be_decided_is_offered(reviewer, approval):
    approval = with_terms(approval, decisions=["approve"])
    page = reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    assert re.findall(r'name="verdict" value="(\w+)"', page) == ["approve_sure", "deny"]


def test_votes_so_far_are_on_the_card(reviewer, admin, approval):
    approval = with_terms(approval, approvals=2)
    assert "Your approval is one of 2" in words(reviewer.get(f"/approvals/{approval.pk}/"))
    decide(reviewer, approval)
    assert "1 of 2 approvals: Rosa" in words(admin.get(f"/approvals/{approval.pk}/"))
    assert status(approval) == "pending"


def picks(*approvals) -> list[str]:
    return [f"{one.pk}:{one.version}:{one.digest}" for one in approvals]


def test_a_batch_shows_each_one_and_then_decides_each_by_itself(reviewer, admin, agent):
    first, second, third, many, question = (
        asks(session_of(agent), tool="one"), asks(session_of(agent), tool="two"), asks(session_of(agent), tool="three"),
        with_terms(asks(session_of(agent), tool="four"), approvals=2),
        asks(session_of(agent), tool="escalate_to_human", arguments={"question": "Which?"}),
    )  # fmt: skip
    form = {"verdict": "approve", "pick": picks(first, second, third, many, question)}
    page = words(reviewer.post("/approvals/batch", form))
    assert "Approve 3?" in page and page.count("420.00") >= 3 and "2 people have to approve it" in page
    assert Vote.objects.count() == 0, "a look decides nothing"
    decide(admin, second, "deny", reason="No")
    page = words(reviewer.post("/approvals/batch", form | {"sure": "1"}))
    assert "2 of 5 decided" in page and Vote.objects.filter(by="Rosa").count() == 2
    assert [one.votes.filter(by="Rosa").count() for one in (first, second, third, many, question)] == [1, 0, 1, 0, 0]


def test_a_batch_of_denials_needs_its_reason(reviewer, approval):
    form = {"verdict": "deny", "sure": "1", "pick": picks(approval)}
    assert reviewer.post("/approvals/batch", form).status_code == 422 and Vote.objects.count() == 0
    reviewer.post("/approvals/batch", form | {"reason": "Not today"})
    assert Vote.objects.get().reason == "Not today"


def test_what_was_changed_since_is_not_taken_in_a_batch(reviewer, approval):
    form = {"verdict": "approve", "sure": "1", "pick": [f"{approval.pk}:{approval.version}:{'0' * 64}", "nonsense"]}
    assert "not taken" in words(reviewer.post("/approvals/batch", form)) and Vote.objects.count() == 0


def test_what_is_beyond_a_batch_is_told_and_left(reviewer, approval):
    picked = [f"{uuid4()}:1:{'0' * 64}" for _ in range(batch.MOST - 1)] + picks(approval)
    assert "more w" not in words(reviewer.post("/approvals/batch", {"verdict": "approve", "pick": picked}))
    page = words(reviewer.post("/approvals/batch", {"verdict": "approve", "pick": [picked[0], *picked]}))
    assert "1 more was selected and is left as it is" in page and "None can be decided together" in page


def test_a_batch_of_another_workspace_is_empty_and_a_viewer_has_none(charlie, viewer, approval):
    form = {"verdict": "approve", "sure": "1", "pick": picks(approval)}
    assert "None was selected" in words(charlie.post("/approvals/batch", form))
    assert viewer.post("/approvals/batch", form).status_code == 403 and Vote.objects.count() == 0


def test_a_reason_is_saved_used_and_removed(reviewer, charlie, agent):
    first, second = asks(session_of(agent)), asks(session_of(agent))
    decide(reviewer, first, "deny", reason="Ask the customer first", save_reason="1")
    saved = SavedReason.objects.get()
    assert "Ask the customer first" in reviewer.get(f"/approvals/{second.pk}/").content.decode()
    assert charlie.post(f"/approvals/reasons/{saved.pk}/remove/").status_code == 302 and SavedReason.objects.exists()
    refused = decide(reviewer, second, "deny", saved_reason=saved.text, version=9)
    assert refused.status_code == 409 and ">Ask the customer first</textarea>" in refused.content.decode()
    decide(reviewer, second, "deny", saved_reason=saved.text)
    assert Vote.objects.filter(reason="Ask the customer first").count() == 2
    assert reviewer.post("/approvals/reasons/", {"text": " "}).status_code == 422
    reviewer.post(f"/approvals/reasons/{saved.pk}/remove/")
    assert not SavedReason.objects.exists()


def test_who_is_not_eligible_reads_why_and_has_no_buttons(reviewer, admin, approval):
    approval = with_terms(approval, eligible={"roles": ["admin"], "members": []})
    for address in (f"/approvals/{approval.pk}/", "/approvals/"):
        page = reviewer.get(address)
        assert "The rule lets only the role admin decide this; ask one of them." in words(page)
        assert 'name="verdict" value="approve" data-choice' not in page.content.decode()
        assert "Needs your approval" not in words(page)
    assert "Claim it" in words(reviewer.get(f"/approvals/{approval.pk}/")), "they can still hand it to one of them"
    assert "Needs your approval" in words(admin.get(f"/approvals/{approval.pk}/"))
    page = words(reviewer.post("/approvals/batch", {"verdict": "approve", "pick": picks(approval)}))
    assert "Left out: the rule lets only the role admin decide this" in page


def test_who_voted_is_not_asked_again_and_can_withdraw(reviewer, admin, approval):
    approval = with_terms(approval, approvals=2)
    decide(reviewer, approval)
    page = reviewer.get(f"/approvals/{approval.pk}/")
    assert "You approved this. It runs when 2 people have." in words(page)
    assert 'data-choice="approve"' not in page.content.decode() and 'data-choice="deny"' in page.content.decode()
    assert "Withdraw my approval" in words(page) and "Needs your approval" not in words(page)
    admins = words(admin.get(f"/approvals/{approval.pk}/"))
    assert "Needs your approval" in admins and "Withdraw my approval" not in admins
    reviewer.post(f"/approvals/{approval.pk}/withdraw")
    assert 'data-choice="approve"' in reviewer.get(f"/approvals/{approval.pk}/").content.decode()


def test_who_changed_the_arguments_is_named(reviewer, admin, agent):
    approval = with_terms(asks(session_of(agent)), approvals=2)
    decide(reviewer, approval, "edit", arguments='{"order": "4712"}')
    assert "Rosa changed the arguments. To approve is to approve these:" in words(admin.get("/approvals/"))


def test_a_batch_leaves_out_what_deceives(reviewer, agent):
    odd = asks(session_of(agent), tool="pay", arguments={"to": "acme\u202eknab"})
    page = words(reviewer.post("/approvals/batch", {"verdict": "approve", "pick": picks(odd)}))
    assert "Left out: characters in it deceive: look at its own card" in page
    assert "Deny 1?" in words(reviewer.post("/approvals/batch", {"verdict": "deny", "pick": picks(odd)}))


def test_what_is_not_done_short_of_a_decision_is_not_called_a_decision(reviewer, admin, approval):
    def claim(client):
        form, headers = {"do": "claim"}, {"HX-Request": "true"}
        return words(client.post(f"/approvals/{approval.pk}/handle", form, headers=headers))

    claim(admin)
    refused = claim(reviewer)
    assert "This was not done:" in refused and "decision was not" not in refused


def test_on_its_own_page_the_card_stays_whole_after_a_step(reviewer, agent):
    long = asks(session_of(agent), tool="write_note", arguments={"text": "word " * 3_000})
    form, headers = {"do": "claim", "place": "alone"}, {"HX-Request": "true"}
    card = reviewer.post(f"/approvals/{long.pk}/handle", form, headers=headers).content.decode()
    assert "<html" not in card and "<h1" in card and "Long values are cut" not in card
    assert "Long values are cut" in reviewer.get(f"/approvals/cards?id={long.pk}").content.decode()


def test_cards_with_terms_cost_no_queries_each(reviewer, agent):
    wanted = {"eligible": {"members": ["rosa@example.org"]}, "escalation": [{"after": 60, "to": []}]}

    def queries_for(number) -> int:
        made = [asks(session_of(agent), tool=f"tool_{one}") for one in range(number)]
        for one in made:
            with_terms(one, approvals=2, **wanted)
        address = f"/approvals/cards?{'&'.join(f'id={one.pk}' for one in made)}"
        with CaptureQueriesContext(connection) as captured:
            assert "Needs your approval" in words(reviewer.get(address))
        return len(captured)

    assert queries_for(2) == queries_for(8)


def test_wherever_a_risk_stands_it_is_said_who_says_so(reviewer, agent):
    """An agent that calls what it wants to do harmless is not a rule that does."""
    said = asks(session_of(agent), tool="one", risk="low")
    ruled = asks(session_of(agent), tool="two", risk="high")
    Approval.objects.filter(pk=ruled.pk).update(terms={"risk": "high"})
    form = {"verdict": "approve", "pick": picks(said, ruled)}
    lists = (words(reviewer.get("/approvals/")), words(reviewer.post("/approvals/batch", form)))
    for page in lists:
        assert "risk: low, says the agent" in page and "risk: high, by the rule" in page
    assert "Risk: high, by the rule." in words(reviewer.get(f"/approvals/{ruled.pk}/"))
