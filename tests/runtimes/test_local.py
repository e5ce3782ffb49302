"""A turn of the ``local`` runtime: the model is asked, its tools run, people decide, and it ends as the model says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import Approval, CallUsage, ModelRequest, Role, TurnUsage
from sessions_app.runtimes import run
from sessions_app.runtimes.local import events
from sessions_app.runtimes.local.model import Model
from sessions_app.services.approvals.authority import Decider
from sessions_app.services.money import ledger
from sessions_app.services.policies import grants
from sessions_app.services.turns import in_flight
from tests.fakes.messages_api import call, text, thinking

from .conftest import BY, say, told, work
from .local import ALLOW, content, decide, event, lose_the_worker, responses, texts

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "claude-opus-5-5"
CUSTOM = {"type": "custom", "name": "price_of", "description": "Look a price up", "input_schema": {"type": "object"}}


@pytest.fixture
def local_session(make_session, api):
    return make_session("Clerk", "local", model=MODEL, instructions="Be brief.", policy=ALLOW)


@pytest.fixture
def seller(make_session, api, shop):
    """A session of an agent with the tools of the shop, of which refunds ask."""
    policy = {"default": "allow", "tools": {"shop/refund": "ask"}}
    tools = [{"type": "mcp", "server": "shop", "url": shop.url}]
    return make_session("Seller", "local", model=MODEL, policy=policy, tools=tools)


def test_a_message_is_answered_by_the_model(local_session, api):
    api.says(thinking("They greet me."), text("Hello, what can I do?"))
    say(local_session, "Hello")
    work(local_session)
    assert local_session.status == "idle"
    assert told(local_session)[:3] == [
        ("user_message", "Hello"), ("reasoning", "They greet me."), ("agent_message", "Hello, what can I do?"),
    ]  # fmt: skip
    [asked] = api.requests
    assert (asked["model"], asked["max_tokens"]) == (MODEL, 32_000)
    assert asked["system"][0]["text"] == "Be brief."
    assert [tool["name"] for tool in asked["tools"]] == ["escalate_to_human"]
    assert content(asked["messages"][0]) == [text("Hello")]


def test_usage_of_a_response_is_counted_once_and_priced(local_session, api):
    api.says(text("Hello there"))
    say(local_session, "Hello")
    work(local_session)
    [request] = ModelRequest.objects.filter(session=local_session)
    [ended] = responses(local_session)
    assert (request.key, ended.model, ended.data["stop_reason"]) == (ended.request, MODEL, "end_turn")
    used = TurnUsage.objects.get(session=local_session)
    assert used.cache_write_tokens == ended.cache_write_tokens > 0
    assert used.output_tokens > 0 and used.cost > 0 and used.price_source.startswith("genai-prices")


def test_a_tool_of_a_server_runs_and_its_result_goes_back(seller, api, shop):
    api.says(text("Let me look."), call("shop__orders", "toolu_1"))
    api.says(text("There are two."))
    say(seller, "How many orders?")
    work(seller)
    assert [kind for kind, _ in told(seller)] == [
        "user_message", "agent_message", "tool_call", "tool_result", "agent_message",
    ]  # fmt: skip
    made, result = event(seller, "tool_call"), event(seller, "tool_result")
    assert (made.tool_server, made.tool_name, made.data["shown_as"]) == ("shop", "orders", "shop__orders")
    assert (result.text, result.tool_status) == ('2 orders\n{"orders":[1,2]}', "ok")
    assert result.data["structured"] == {"orders": [1, 2]}
    question, said, answer = api.requests[1]["messages"]
    assert content(said) == [text("Let me look."), call("shop__orders", "toolu_1")]
    assert content(answer)[0]["content"] == [text(result.text)]
    assert list(CallUsage.objects.values_list("provider", "tool", "status")) == [("shop", "orders", "ok")]


def test_the_second_request_of_a_turn_reads_the_first_from_the_cache(seller, api):
    api.says(call("shop__orders"))
    api.says(text("Two."))
    api.says(text("Still two."))
    say(seller, "How many orders?")
    work(seller)
    say(seller, "And now?")
    work(seller)
    first, second, third = responses(seller)
    assert first.cache_read_tokens == 0 and first.cache_write_tokens > 0
    assert second.cache_read_tokens == first.cache_write_tokens
    assert third.cache_read_tokens == second.cache_read_tokens + second.cache_write_tokens
    assert {first.input_tokens, second.input_tokens, third.input_tokens} == {0}
    marked = [message["role"] for message in api.requests[2]["messages"] if "cache_control" in message["content"][-1]]
    assert marked == ["user", "user"]


def test_a_call_waits_for_a_person_while_no_worker_does(seller, api, shop):
    api.says(text("I refund it."), call("shop__orders"), call("shop__refund", order=4711))
    say(seller, "Refund 4711")
    work(seller)
    assert (seller.status, seller.pending_approvals, len(shop.calls)) == ("running", 1, 0)
    decide(seller, "approve")
    api.says(text("Done."))
    work(seller)
    assert seller.status == "idle"
    assert shop.calls == [("refund", {"order": 4711, "reason": ""})]
    results = content(api.requests[1]["messages"][2])
    assert [block["content"][0]["text"] for block in results] == [
        '2 orders\n{"orders":[1,2]}',
        "order 4711 is refunded",
    ]


def test_a_grant_is_void_once_the_tool_has_another_schema(seller, api, shop):
    def refund(order: int) -> Approval:
        api.says(call("shop__refund", f"toolu_{order}_{len(api.requests)}", order=order))
        api.says(text("Done."))
        say(seller, f"Refund {order}")
        work(seller)
        return seller.approvals.latest("requested_at")

    first = refund(4711)
    assert len(first.tool_fingerprint) == 64
    by = Decider(BY, Role.REVIEWER, "web")
    grant = grants.make_from(first, grants.Wish("Routine", arguments=[]), decider=by)
    decide(seller, "deny")
    work(seller)
    second = refund(4712)
    assert (second.status, second.tool_fingerprint) == ("auto_allowed", first.tool_fingerprint)
    schema = {"type": "object", "properties": {"order": {"type": "integer"}, "to": {"type": "string"}}}
    shop.become("refund", schema)
    third = refund(4713)
    grant.refresh_from_db()
    assert third.status == "pending" and third.tool_fingerprint != first.tool_fingerprint
    assert grant.end_reason == "the tool or its server is another one now"


def test_the_model_is_told_what_a_person_changed(seller, api, shop):
    api.says(call("shop__refund", "toolu_1", order=4711))
    say(seller, "Refund 4711")
    work(seller)
    decide(seller, "approve", arguments={"order": 4712})
    api.says(text("Done."))
    work(seller)
    assert shop.calls == [("refund", {"order": 4712, "reason": ""})]
    assert event(seller, "tool_result").data["arguments"] == {"order": 4712}
    _, said, answer = api.requests[1]["messages"]
    assert content(said) == [call("shop__refund", "toolu_1", order=4711)]
    assert content(answer)[0]["content"] == [
        text("order 4712 is refunded"),
        text('A person changed the arguments before it ran. It ran with: {"order":4712}'),
    ]


def test_the_model_is_told_that_a_person_refused(seller, api, shop):
    api.says(call("shop__refund", order=4711))
    say(seller, "Refund 4711")
    work(seller)
    decide(seller, "deny", reason="Not on a Sunday")
    api.says(text("Then not."))
    work(seller)
    [answer] = content(api.requests[1]["messages"][2])
    assert (answer["content"], answer["is_error"]) == ([text("Not on a Sunday")], True)
    assert shop.calls == []


def test_a_question_is_answered_by_a_person(local_session, api):
    api.says(call("escalate_to_human", question="Which order?"))
    say(local_session, "Refund it")
    work(local_session)
    assert local_session.approvals.get().context == "Which order?"
    decide(local_session, "answer", answer="4711")
    api.says(text("So 4711."))
    work(local_session)
    assert content(api.requests[1]["messages"][2])[0]["content"] == [text("4711")]


def test_a_tool_that_a_person_answers_asks_whatever_the_policy_allows(make_session, api):
    session = make_session("Bold", "local", model=MODEL, policy=ALLOW, tools=[CUSTOM])
    api.says(call("price_of", article="tea"))
    say(session, "What is tea?")
    work(session)
    assert session.pending_approvals == 1
    decide(session, "answer", answer="3 euros")
    api.says(text("3 euros."))
    work(session)
    assert event(session, "tool_result").text == "3 euros"


def test_a_tool_that_is_not_there_is_told_without_asking_anybody(make_session, api):
    session = make_session("Asks", "local", model=MODEL)
    api.says(call("rm_rf", path="/"))
    api.says(text("Sorry."))
    say(session, "Go")
    work(session)
    assert session.status == "idle" and not session.approvals.exists()
    assert event(session, "tool_result").tool_status == "error"


def test_a_worker_that_dies_between_call_and_result_does_not_call_again(seller, api, shop):
    api.says(call("shop__refund", "toolu_9", order=4711))
    say(seller, "Refund 4711")
    work(seller)
    decide(seller, "approve")
    dead = run.TurnRun(in_flight.claim(seller.pk))
    dead.save_state(executing="toolu_9")  # killed while the shop was at it
    lose_the_worker(seller)
    api.says(text("I will look whether it worked."))
    work(seller)
    result = event(seller, "tool_result")
    assert (result.tool_status, result.data["unknown_outcome"], shop.calls) == ("error", True, [])
    assert seller.status == "idle"


def test_a_worker_that_dies_after_a_response_does_not_ask_for_it_again(local_session, api, monkeypatch):
    say(local_session, "Hello")
    api.says(text("Hello yourself"), id="msg_fixed")
    asked: list[list] = []
    drafts_of = events.drafts_of_response
    monkeypatch.setattr(events, "drafts_of_response", lambda *given: asked.append(made := drafts_of(*given)) or made)
    work(local_session)
    again = say(local_session, "Hello again")
    assert not again.queued
    dead = run.TurnRun(in_flight.claim(local_session.pk))
    api.says(text("Hello again yourself"))
    reply = asked[0]  # the same response twice is there once
    assert dead.append(*reply).accepted == 0
    lose_the_worker(local_session)
    work(local_session)
    assert texts(local_session, "agent_message") == ["Hello yourself", "Hello again yourself"]
    assert len(api.requests) == 2


def test_a_turn_whose_last_response_is_in_the_log_only_has_to_end(local_session, api):
    say(local_session, "Hello")
    turn = run.TurnRun(in_flight.claim(local_session.pk))
    turn.append(
        turn.event("agent_message", "local:msg_1:0", "Hi", request="msg_1", data={"stop_reason": "end_turn"}),
    )
    lose_the_worker(local_session)
    work(local_session)
    assert (local_session.status, api.requests) == ("idle", [])


def test_no_database_connection_is_held_while_the_model_writes(local_session, api, monkeypatch):
    from django.db import connection

    open_ones = []
    wait = Model.stream_response.__globals__["wait"]

    def waits(futures, timeout):
        open_ones.append(connection.connection is not None)
        return wait(futures, timeout=timeout)

    monkeypatch.setitem(Model.stream_response.__globals__, "wait", waits)
    api.pace = 0.05
    api.says(text("one two three four five six seven eight nine ten"))
    say(local_session, "Count")
    work(local_session)
    assert len(open_ones) > 3 and not any(open_ones)


def test_budget_is_checked_before_every_model_request(seller, api):
    ledger.credit(ledger.wallet_of(seller.workspace_id, "ai"), "trial", Decimal("0.0001"), by=BY)
    api.says(call("shop__orders"))
    say(seller, "How many orders?")
    work(seller)
    assert len(api.requests) == 1
    assert told(seller)[-1][1].startswith("the AI wallet of this workspace is empty")


def test_an_agent_without_a_model_or_a_key_says_so(make_session, api, settings):
    nameless = make_session("Nameless", "local")
    say(nameless, "Hello")
    assert told(work(nameless))[-1][1].startswith("this agent has no model")
    keyless = make_session("Keyless", "local", model=MODEL)
    settings.ANTHROPIC_API_KEY = None
    say(keyless, "Hello")
    assert told(work(keyless))[-1][1].startswith("this agent needs a key of the Anthropic API")


def test_request_options_of_the_environment_are_sent(make_session, api):
    environment = {"max_tokens": 500, "thinking": {"type": "adaptive"}, "effort": "low"}
    session = make_session("Tuned", "local", model=MODEL, environment=environment)
    api.says(text("Hi"))
    say(session, "Hello")
    work(session)
    asked = api.requests[0]
    assert (asked["max_tokens"], asked["thinking"], asked["output_config"]) == (
        500, {"type": "adaptive"}, {"effort": "low"},
    )  # fmt: skip
