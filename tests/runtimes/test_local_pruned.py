"""Old messages of an agent that runs here, about which its own model is asked before they go out of sight."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import AuditEntry, Budget, LedgerEntry, Pruning
from sessions_app.queries.retention import hidden, strategies
from sessions_app.services import audit
from sessions_app.services.log import pricing
from sessions_app.services.retention import advised
from tests.fakes.messages_api import text

from .conftest import say, work

BY = audit.Actor("member", "m-1", "Ines")
pytestmark = pytest.mark.django_db


@pytest.fixture
def long(make_session, api):
    session = make_session("Clerk", "local", model="claude-opus-5-5")
    for number in range(6):
        api.says(text(f"Answer {number}"))
        say(session, f"Question {number}")
        work(session)
    session.refresh_from_db()
    return session


def prune(session, name, **numbers):
    return advised.prune(session.pk, strategies.read(name, **numbers), by=BY)


def test_the_summary_is_the_models_and_says_so_and_the_agent_reads_it(long, api):
    api.says(text("They asked four questions."))
    done = prune(long, "summarize_old", threshold=4)
    assert (done.method, done.summary, done.plan.messages) == ("claude-opus-5-5", "They asked four questions.", 8)
    record = api.requests[-1]["messages"][0]["content"][0]["text"]
    assert "Question 3" in record and "Question 4" not in record
    api.says(text("Well"))
    say(long, "And now?")
    work(long)
    asked = str(api.requests[-1]["messages"])
    assert "They asked four questions." in asked and "Question 3" not in asked and "Question 4" in asked


def test_a_model_keeps_more_than_the_rules_and_never_less(long, api):
    api.says(text("Those: [4, 999, 1]"))
    done = prune(long, "keep_important", window_size=2)
    answers = [seq for seq, kind in long.events.order_by("seq").values_list("seq", "kind") if kind == "agent_message"]
    gone = hidden.of_session(long.pk)
    assert done.method == "claude-opus-5-5" and not gone.holds(1) and not gone.holds(4)
    assert [seq for seq in answers if gone.holds(seq)] == [seq for seq in answers[:-1] if seq != 4]


@pytest.mark.parametrize("said", ["I will not", ""])
def test_where_the_model_says_nothing_of_use_the_rules_decide(long, api, said):
    if said:
        api.says(text(said))
    else:
        api.refuses(500, "api_error", "no")
        api.refuses(500, "api_error", "no")
    assert prune(long, "keep_important", window_size=2).method == "rules"
    assert Pruning.objects.get().method == "rules"


def test_what_the_model_is_asked_is_paid_from_the_wallet_once_and_told(long, api):
    before = set(LedgerEntry.objects.values_list("pk", flat=True))
    api.says(text("They asked four questions."))
    prune(long, "summarize_old", threshold=4)
    (entry,) = LedgerEntry.objects.exclude(pk__in=before)
    told = AuditEntry.objects.get(action="session.pruned").details
    took = (told["input_tokens"], 0, 0, 0, told["output_tokens"])
    cost = pricing.price("claude-opus-5-5", entry.at, took)
    assert cost and (-entry.amount, entry.wallet.kind, entry.session_id) == (cost, "ai", long.pk)
    assert entry.event.startswith("retention:") and told["cost"] == str(cost)
    assert list(audit.broken_rows(long.workspace_id)) == []


def test_an_answer_that_is_of_no_use_is_paid_too(long, api):
    before = LedgerEntry.objects.count()
    api.says(text("I will not"))
    assert prune(long, "keep_important", window_size=2).method == "rules" and LedgerEntry.objects.count() == before + 1


def test_where_no_money_is_left_nobody_is_asked(long, api):
    Budget.objects.create(workspace_id=long.workspace_id, amount=Decimal("0.0000001"))
    before = len(api.requests)
    assert prune(long, "summarize_old", threshold=4).method == "rules" and len(api.requests) == before


def test_without_a_key_nobody_is_asked(long, api, settings):
    settings.ANTHROPIC_API_KEY = None
    before = len(api.requests)
    done = prune(long, "summarize_old", threshold=4)
    assert done.method == "rules" and "8 earlier messages" in done.summary and len(api.requests) == before
