"""What the model is told of a session: the log as messages that the Messages API takes, whoever wrote the log."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Event
from sessions_app.runtimes.local import context
from sessions_app.services.log import events, links
from tests.fakes.managed_agents_errors import ApiError
from tests.fakes.messages_api import call, text, thinking
from tests.fakes.messages_api_rules import check, check_size

from .conftest import say, work
from .local import ALLOW, content

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "claude-opus-5-5"


@pytest.fixture
def shop_session(make_session, api, shop):
    tools = [{"type": "mcp", "server": "shop", "url": shop.url}]
    return make_session("Clerk", "local", model=MODEL, policy=ALLOW, tools=tools)


def log(session, *new: EventDraft) -> list[dict]:
    """The messages of a log with these events; they are such as the API takes."""
    events.append(session.pk, new, origin=links.RUNTIME)
    made = context.conversation(Event.objects.filter(session=session).order_by("seq"), MODEL)
    signed = {"sig-1": "Hm", "sig-2": "Hmm"}
    body = {"model": MODEL, "max_tokens": 1, "stream": True, "messages": made}
    check(body | {"tools": [{"name": "x", "input_schema": {"type": "object"}}]}, signed, paused=True)
    return made


def user(said: str, key: str = "u") -> EventDraft:
    return EventDraft("user_message", key, text=said, actor_kind="person")


def agent(said: str, key: str = "a", **more) -> EventDraft:
    return EventDraft("agent_message", key, text=said, actor_kind="agent", **more)


def called(id_: str | None, key: str, **more) -> EventDraft:
    tool = ToolDraft(call_id=id_, name="refund", server="shop", arguments=more.pop("arguments", {"order": 1}))
    return EventDraft("tool_call", key, tool=tool, **more)


def gave(id_: str | None, key: str, said: str = "done", status: str | None = "ok", **more) -> EventDraft:
    result = more.pop("result", None)
    return EventDraft("tool_result", key, text=said, tool=ToolDraft(call_id=id_, status=status, result=result), **more)


def answer(id_: str, *said: str, failed: bool = False) -> dict:
    return {"type": "tool_result", "tool_use_id": id_, "content": [*map(text, said)], "is_error": failed}


def test_after_several_turns_everything_is_told_once_and_in_order(shop_session, api):
    api.says(thinking("Hm"), text("I look."), call("shop__orders", "toolu_1"), call("shop__broken", "toolu_2"))
    api.says(text("Two, and the till is stuck."))
    say(shop_session, "How many orders?")
    work(shop_session)
    api.says(text("You are welcome."))
    say(shop_session, "Thank you")
    work(shop_session)
    api.says(text("Bye."))
    say(shop_session, "Bye")
    work(shop_session)
    assert [(message["role"], content(message)) for message in api.requests[-1]["messages"]] == [
        ("user", [text("How many orders?")]),
        ("assistant", [
            thinking("Hm"), text("I look."), call("shop__orders", "toolu_1"), call("shop__broken", "toolu_2"),
        ]),
        ("user", [
            answer("toolu_1", '2 orders\n{"orders":[1,2]}'), answer("toolu_2", "the till is stuck", failed=True),
        ]),
        ("assistant", [text("Two, and the till is stuck.")]),
        ("user", [text("Thank you")]),
        ("assistant", [text("You are welcome.")]),
        ("user", [text("Bye")]),
    ]  # fmt: skip
    assert api.refused == []


def test_each_request_begins_as_the_one_before_did(shop_session, api):
    for number in range(3):
        api.says(thinking("Hm"), call("shop__orders", f"toolu_{number}"))
        api.says(text("Two."))
        say(shop_session, f"How many orders? {number}")
        work(shop_session)
    plain = [[content(message) for message in request["messages"]] for request in api.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in zip(plain, plain[1:], strict=False))
    assert len({str(request["tools"]) for request in api.requests}) == 1


def test_a_compaction_stands_for_what_came_before_it(shop_session):
    compacted = EventDraft("compaction", "c", text="They wanted a refund.")
    log(shop_session, user("Refund it"), called("t1", "t"), compacted, gave("t1", "r"), user("Well?", "u2"))
    [message] = context.Context(Turnlike(shop_session)).messages()
    summary = "Summary of this session up to here, in place of its messages:\n\nThey wanted a refund."
    assert content(message) == [text(summary), text("Well?")]


class Turnlike:
    """What a context needs of a turn."""

    def __init__(self, session):
        self.session, self.session_id, self.agent = session, session.pk, session.agent

    def events(self, *, after, kinds):
        return Event.objects.filter(session=self.session, seq__gt=after, kind__in=kinds).order_by("seq")


def test_context_that_was_given_stands_first(shop_session):
    given = EventDraft("injected_context", "i", text="Ines spoke to them yesterday.")
    [first] = log(shop_session, given, user("Go on"))
    assert first["content"] == [text("<context>\nInes spoke to them yesterday.\n</context>"), text("Go on")]


def test_a_call_without_a_result_gets_one_that_says_so(shop_session):
    made = log(shop_session, user("Go"), called("t1", "t1"), called("t2", "t2"), gave("t2", "r2"), user("Well?", "u2"))
    assert made[2]["content"] == [
        answer("t1", context.NO_RESULT, failed=True), answer("t2", "done"), text("Well?"),
    ]  # fmt: skip


def test_results_that_come_late_are_told_where_the_api_wants_them(shop_session):
    made = log(
        shop_session, user("Go"), called("t1", "t1", request="m1"), agent("Meanwhile", "a1", request="m2"),
        gave("t1", "r1"), agent("Done", "a2", request="m3"),
    )  # fmt: skip
    assert [message["role"] for message in made] == ["user", "assistant", "user", "assistant"]
    assert made[3]["content"] == [text("Meanwhile"), text("Done")]


def test_results_of_nothing_and_second_results_are_left_out(shop_session):
    made = log(
        shop_session, user("Go"), gave("t0", "r0"), called("t1", "t1"), gave("t1", "r1"), gave("t1", "r2", "again")
    )
    assert made[2]["content"] == [answer("t1", "done")]


def test_repeated_call_is_sent_once(shop_session):
    made = log(shop_session, user("Go"), called("t1", "t1"), called("t1", "t1b"), gave("t1", "r1"))
    assert made[1]["content"] == [call("shop__refund", "t1", order=1)]


def test_ids_names_and_arguments_of_other_systems_are_made_to_fit(shop_session):
    tool = ToolDraft(call_id="call|äöü", name="run command!", arguments=["ls", "-l"])
    made = log(
        shop_session, user("Go"), EventDraft("tool_call", "t", tool=tool), gave("call|äöü", "r", "", result={"a": 1})
    )
    [use], [result] = made[1]["content"], made[2]["content"]
    assert use["name"].startswith("run_command__") and use["input"] == {"input": ["ls", "-l"]}
    assert result["tool_use_id"] == use["id"] and result["content"] == [text('{"a":1}')]


def test_calls_without_an_id_have_one(shop_session):
    made = log(
        shop_session, user("Go"), called(None, "t1"), gave(None, "r1", "one", parent="t1"), called(None, "t2"),
        gave(None, "r2", "two", parent="t2"),
    )  # fmt: skip
    ids = [block["id"] for message in made for block in message["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids) == 2
    assert [block["content"] for block in made[2]["content"]] == [[text("one")], [text("two")]]


def test_empty_texts_are_left_out_of_the_context(shop_session):
    made = log(
        shop_session,
        user(" \n", "u0"),
        agent("", "a0"),
        user("Go"),
        agent(" ", "a1"),
        called("t1", "t"),
        gave("t1", "r", ""),
    )
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert made[2]["content"] == [answer("t1", "(no output)")]


def test_thinking_goes_back_to_its_own_model_alone(shop_session):
    def thought(key, **data):
        return EventDraft("reasoning", key, text="Hm", data=data)

    made = log(
        shop_session, user("Go"), thought("1", signature="sig-1", asked_of=MODEL), thought("2"),
        thought("3", signature="sig-1", asked_of="claude-haiku-5-5"), agent("Done"),
    )  # fmt: skip
    assert made[1]["content"] == [thinking("Hm"), text("Done")]


def test_a_log_that_the_agent_began_gets_a_first_word(shop_session):
    made = log(shop_session, agent("Welcome"), user("Hello"))
    assert [message["role"] for message in made] == ["user", "assistant", "user"]


def test_sub_agent_events_are_left_out_of_the_context(shop_session):
    made = log(shop_session, user("Go"), agent("Done"))
    events.append(shop_session.pk, [agent("In the depth", "deep", depth=1)], origin=links.RUNTIME)
    told = context.Context(Turnlike(shop_session)).messages()
    assert content(told[1]) == made[1]["content"]


def test_an_old_long_result_is_cut_for_the_model(shop_session):
    made = log(shop_session, user("Go"), called("t1", "t"), gave("t1", "r", "x" * 300_000))
    assert len(made[2]["content"][0]["content"][0]["text"]) <= 100_000


ONE = {"role": "user", "content": [text("Go")]}
USE = {"role": "assistant", "content": [call("x", "t1")]}
CACHED = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_tokens": None}, "max_tokens: Input should be greater"),
        ({"temprature": 1}, "temprature: Extra inputs are not permitted"),
        ({"messages": []}, "at least one message is required"),
        ({"messages": [ONE, ONE]}, "roles must alternate"),
        ({"messages": [ONE, USE]}, "`tool_use` ids were found without `tool_result` blocks immediately after: t1"),
        ({"messages": [ONE, USE, ONE]}, "`tool_use` ids were found without `tool_result` blocks"),
        ({"messages": [{"role": "user", "content": [answer("t9", "a")]}]}, "unexpected `tool_use_id` found"),
        ({"messages": [{"role": "user", "content": [text(" ")]}]}, "must contain non-whitespace text"),
        ({"messages": [ONE, {"role": "assistant", "content": [thinking("no")]}]}, "Invalid `signature`"),
        ({"messages": [ONE, {"role": "assistant", "content": [text("I")]}]}, "assistant message prefill"),
        ({"messages": [{"role": "user", "content": [text(str(n)) | CACHED for n in range(5)]}]}, "maximum of 4 blocks"),
        ({"tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, "name: String should match pattern"),
        ({"tools": [{"name": "x", "input_schema": {"type": "array"}}]}, "input_schema.type: Input should be 'object'"),
    ],
)
def test_the_api_of_these_tests_refuses_what_the_real_one_refuses(more, words):
    body = {"model": MODEL, "max_tokens": 1, "stream": True, "messages": [ONE]}
    check(body, {}, paused=False)
    with pytest.raises(ApiError) as refused:
        check(body | more, {"sig-1": "Hm"}, paused=False)
    assert words in refused.value.message


def test_fake_messages_api_refuses_requests_beyond_the_context_window():
    body = {"model": MODEL, "messages": [{"role": "user", "content": [text("word " * 100)]}]}
    check_size(body, 0)
    check_size(body, 200)
    with pytest.raises(ApiError, match="prompt is too long: 1.. tokens > 100 maximum"):
        check_size(body, 100)
