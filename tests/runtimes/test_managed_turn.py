"""A turn at Managed Agents: the message goes there once, and what happens there is in the log, each event once."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.drafts import EventDraft
from sessions_app.models import CallUsage, Event, Session, TurnInFlight, TurnUsage
from sessions_app.runtimes.managed import loop as runtime
from sessions_app.services import agents
from tests.fakes.managed_agents_steps import Calls, Emit, FailedRequest, Reschedule, Say, Stop, SubAgent, Use

from .conftest import BY, say, told, work
from .managed import is_whole, messages, of_kind

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_message_is_answered(managed, fake):
    fake.world.scripts.append([Say("Hello, what can I do?")])
    say(managed, "Hello")
    work(managed)
    assert managed.status == "idle"
    assert messages(managed) == ["Hello", "Hello, what can I do?"]
    assert managed.runtime_id == fake.session.id
    assert not TurnInFlight.objects.exists()


def test_every_event_of_the_runtime_is_in_the_log_once_and_in_its_order(managed, fake):
    fake.world.scripts.append([Calls([Use("bash", {"command": "ls"}, result="total 0")]), Say("Nothing there.")])
    say(managed, "Look")
    work(managed)
    assert is_whole(managed, fake.session)
    call, result = of_kind(managed, "tool_call", "tool_result")
    assert (call.tool_name, call.arguments, call.call_id) == ("bash", {"command": "ls"}, call.client_key[8:])
    assert (result.tool_status, result.text, result.parent_seq) == ("ok", "total 0", call.seq)


def test_two_turns_are_two_messages_in_one_session_there(managed, fake):
    for text in ("One", "Two"):
        say(managed, text)
        work(managed)
    assert messages(managed) == ["One", "Done.", "Two", "Done."]
    assert len(fake.world.sessions) == len(fake.world.agents) == 1
    assert is_whole(managed, fake.session)
    assert [event.turn for event in of_kind(managed, "agent_message")] == [1, 2]


def test_tokens_are_counted_per_request_and_cost_is_what_the_runtime_states_in_cents(managed, fake):
    fake.world.scripts += [[Say("One", cents=187), Say("Two", cents=3)], [Say("Three", cents=12)]]
    for text in ("Hello", "Again"):
        say(managed, text)
        work(managed)
    assert (managed.input_tokens, managed.output_tokens) == (300, 60)
    assert (managed.cache_read_tokens, managed.cache_write_tokens) == (2400, 150)
    assert managed.cost_recorded == Decimal("2.02")
    assert list(TurnUsage.objects.order_by("turn").values_list("cost", "price_source")) == [
        (Decimal("1.90"), "runtime"), (Decimal("0.12"), "runtime"),
    ]  # fmt: skip
    assert managed.model_names == ["claude-opus-5-5"]


def test_a_failed_request_carries_its_tokens(managed, fake):
    fake.world.scripts.append([FailedRequest(), Say("At last")])
    say(managed, "Hello")
    work(managed)
    assert managed.input_tokens == 200


def test_text_is_shown_while_it_is_written(managed, fake, monkeypatch):
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "sessions_app.services.notify.text_written", lambda s, request, at, text: shown.append((request, text))
    )
    fake.world.scripts.append([Say("abcdefghi", pieces=3, pause=0.5)])
    say(managed, "Hello")
    work(managed)
    message = of_kind(managed, "agent_message")[0]
    assert [text for _, text in shown] == ["abc", "def", "ghi"]
    assert {request for request, _ in shown} == {message.request}


def test_the_definition_is_made_there_once_and_a_change_is_a_version(make_session, fake):
    policy = {"default": "ask", "tools": {"bash": "allow", "billing/read": "allow", "billing/drop": "deny"}}
    tools = [
        {"type": "builtin", "name": "bash"},
        {"type": "mcp", "server": "billing", "url": "https://mcp.example.org"},
        {"type": "custom", "name": "print_label", "input_schema": {"type": "object", "additionalProperties": False}},
    ]
    first = make_session(
        "Clerk", runtime="managed", model="claude-opus-5-5", instructions="Be brief.", tools=tools, policy=policy
    )
    say(first, "Hello")
    work(first)
    agent = fake.session.agent
    assert (agent["system"], agent["model"]["id"], agent["version"]) == ("Be brief.", "claude-opus-5-5", 1)
    builtin, mcp, label, escalate = agent["tools"]
    allowed = {"type": "bash", "name": "bash", "enabled": True, "permission_policy": {"type": "always_allow"}}
    assert (builtin["default_config"], builtin["configs"]) == ({"enabled": False}, [allowed])
    assert mcp["default_config"] == {"enabled": True, "permission_policy": {"type": "always_ask"}}
    assert [(config["name"], config["enabled"]) for config in mcp["configs"]] == [("drop", False), ("read", True)]
    assert (label["name"], label["input_schema"]) == ("print_label", {"type": "object"})
    assert escalate["name"] == "escalate_to_human"

    agents.change(first.agent, {"instructions": "Be polite."}, by=BY)
    second = make_session("Clerk")
    say(second, "Hello")
    work(second)
    assert (fake.session.agent["system"], fake.session.agent["version"]) == ("Be polite.", 2)
    assert len(fake.world.agents) == len(fake.world.environments) == 1
    say(first, "Still brief?")
    work(first)
    assert len(fake.world.sessions) == 2


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"type": "builtin", "name": "levitate"}, 'no built-in tool "levitate"'),
        ({"type": "mcp", "server": "x", "command": ["run"]}, "reach servers by URL alone"),
        (
            {"type": "mcp", "server": "x", "url": "https://x.example", "headers_secret": {"A": "b"}},
            "put it into a vault",
        ),
        ({"type": "python", "name": "nobody_offers_this"}, "no installed package offers it"),
        ({"type": "telepathy"}, "tool 1 of this agent cannot be used here"),
    ],
)
def test_a_tool_that_cannot_be_used_there_is_reported(make_session, fake, tool, said):
    session = make_session("Odd", runtime="managed", model="claude-opus-5-5", tools=[tool])
    say(session, "Hello")
    work(session)
    assert said in told(session)[-1][1]
    assert fake.world.agents == {}


def test_the_environment_says_how_and_where_it_works(make_session, fake):
    packages = {"type": "packages", "pip": ["polars"]}
    session = make_session(
        "Analyst", runtime="managed", model="claude-opus-5-5", environment={"effort": "low", "packages": packages}
    )
    say(session, "Hello")
    work(session)
    assert fake.session.agent["model"] == {"id": "claude-opus-5-5", "effort": "low"}
    (place,) = fake.world.environments.values()
    assert place["config"] == {"type": "cloud", "packages": packages}


def test_unknown_setting_is_reported(make_session, fake):
    session = make_session("Odd", runtime="managed", model="claude-opus-5-5", environment={"max_tokens": 5})
    say(session, "Hello")
    work(session)
    assert 'Managed Agents have no setting "max_tokens"' in told(session)[-1][1]


def test_an_agent_that_another_workspace_made_is_made_again(managed, fake):
    managed.agent.runtime_ref = {"agent": "agent_gone", "versions": {"1": 4}, "environments": {}}
    managed.agent.save()
    say(managed, "Hello")
    work(managed)
    assert messages(managed) == ["Hello", "Done."]


def test_a_session_that_belongs_to_another_desk_is_not_touched(managed, fake):
    say(managed, "Hello")
    work(managed)
    fake.session.body["metadata"] = {"countersign_session": "somebody-else"}
    say(managed, "Again")
    work(managed)
    assert told(managed)[-1][1].endswith("belongs to somebody-else")
    assert len(fake.session.sent) == 1


def test_calls_of_the_runtime_are_booked(managed, fake):
    fake.world.scripts.append([Calls([Use("bash"), Use("read_order", server="billing")]), Say("There.")])
    say(managed, "Look")
    work(managed)
    booked = CallUsage.objects.order_by("seq").values_list("provider", "tool", "status")
    assert list(booked) == [("builtin", "bash", "ok"), ("billing", "read_order", "ok")]
    assert all(latency >= 0 for latency in CallUsage.objects.values_list("latency_ms", flat=True))


def test_an_unknown_event_is_kept_whole(managed, fake):
    fake.world.scripts.append([Emit("agent.levitates", {"height": {"m": 3}, "content": 5}), Say("Down again.")])
    say(managed, "Up")
    work(managed)
    (unknown,) = of_kind(managed, "unknown")
    assert unknown.data["raw"]["type"] == "agent.levitates"
    assert unknown.data["raw"]["height"] == {"m": 3}
    assert messages(managed)[-1] == "Down again."


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            Stop("refusal", {"type": "refusal", "category": "cyber", "explanation": "No."}),
            "refused to go on: cyber: No.",
        ),
        (Stop("retries_exhausted"), "gave up after several failed requests"),
        (Stop("budget_reached"), "The budget of this session at the runtime is used up"),
        (Stop("terminated"), "The runtime has ended this session for good"),
    ],
)
def test_a_bad_end_is_told_in_the_session(managed, fake, step, said):
    fake.world.scripts.append([step])
    say(managed, "Hello")
    work(managed)
    assert (managed.status, managed.error_count) == ("idle", 1)
    (error,) = of_kind(managed, "error")
    assert said in error.text


def test_a_session_that_has_ended_for_good_takes_no_messages(managed, fake):
    fake.world.scripts.append([Stop("terminated")])
    for text in ("One", "Two"):
        say(managed, text)
        work(managed)
    assert [event.text for event in of_kind(managed, "error")] == [runtime.ENDED_FOR_GOOD] * 2


def test_a_session_that_is_put_off_goes_on(managed, fake):
    fake.world.scripts.append([Reschedule(), Say("Here I am.")])
    say(managed, "Hello")
    work(managed)
    assert messages(managed)[-1] == "Here I am."
    assert of_kind(managed, "error")[0].text == "overloaded (the runtime tries again)"


def test_events_of_a_sub_agent_are_below_its_call_and_its_cost_counts_once(managed, fake):
    fake.world.scripts.append([SubAgent("Researcher", "Look it up", "Found it", cents=5), Say("It is there.", cents=2)])
    say(managed, "Where?")
    work(managed)
    (handoff,) = of_kind(managed, "handoff")
    below = Event.objects.filter(session=managed, parent_seq=handoff.seq, depth=1)
    assert {"Look it up", "Found it"} <= set(below.values_list("text", flat=True))
    request = below.get(kind="model_request")
    assert (request.model, request.actor_name, request.input_tokens) == ("claude-haiku-4-5", "Researcher", 100)
    assert (managed.input_tokens, managed.cost_recorded) == (200, Decimal("0.07"))
    assert messages(managed) == ["Where?", "It is there."]
    assert managed.last_turn == 1


def test_a_message_from_elsewhere_begins_no_turn_here(managed, fake):
    say(managed, "Hello")
    work(managed)
    elsewhere = {"type": "user.message", "content": [{"type": "text", "text": "I am in the console"}]}
    fake.do(lambda: fake.session.receive({"events": [elsewhere]}))
    say(managed, "And I am here")
    work(managed)
    (context,) = of_kind(managed, "injected_context")
    assert (context.text, context.data["sent_elsewhere"]) == ("I am in the console", True)
    assert (managed.last_turn, managed.status) == (2, "idle")
    assert is_whole(managed, fake.session)


def test_context_that_was_put_into_the_log_goes_with_the_next_message(managed, fake):
    from sessions_app.services.log import events, links

    events.append(
        managed.pk,
        [EventDraft("injected_context", "context:1", text="The customer is called Ada.")],
        origin=links.RUNTIME,
    )
    for text in ("Hello", "Again"):
        say(managed, text)
        work(managed)
    first, second = (sent["content"] for sent in fake.session.sent)
    assert [block["text"] for block in first] == ["The customer is called Ada.", "Hello"]
    assert [block["text"] for block in second] == ["Again"]


def test_without_a_key_the_session_says_what_to_do(managed, settings, fake):
    settings.ANTHROPIC_API_KEY = None
    say(managed, "Hello")
    work(managed)
    assert "ANTHROPIC_API_KEY" in told(managed)[-1][1]
    assert fake.requests == []


def test_a_wrong_key_is_told_and_stands_in_no_log(managed, settings, fake, caplog):
    settings.ANTHROPIC_API_KEY = "sk-ant-very-secret"
    with caplog.at_level("DEBUG"):
        say(managed, "Hello")
        work(managed)
    assert "Anthropic refuses the key" in told(managed)[-1][1]
    assert "very-secret" not in caplog.text + str(told(managed))


def test_a_turn_that_never_ends_is_stopped(managed, fake, monkeypatch):
    from tests.fakes.managed_agents_steps import Pause

    monkeypatch.setattr(runtime, "LONGEST_SECONDS", 0.5)
    fake.world.scripts.append([Pause(30)])
    say(managed, "Hello")
    work(managed)
    assert told(managed)[-1][1].startswith("the turn was stopped after")
    assert [event["type"] for event in fake.session.sent] == ["user.message", "user.interrupt"]
    assert Session.objects.get().status == "idle"
