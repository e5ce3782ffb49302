"""A session that fills the context window of its model is summarised and goes on; nothing of its log is lost."""

from __future__ import annotations

import time

import pytest

from sessions_app.models import Event, TurnUsage
from sessions_app.runtimes.local import compaction
from sessions_app.services.turns import messages
from tests.fakes.messages_api import call, text

from .conftest import BY, say, told, work
from .local import ALLOW, content, event, lose_the_worker, texts, working

pytestmark = pytest.mark.django_db(transaction=True)
WINDOW = 5_500
LONG = "The order is late. " * 300
"""1,425 tokens, as the fake counts."""


@pytest.fixture
def small_window_session(make_session, api, shop):
    """Of a model with a small window."""
    tools = [{"type": "mcp", "server": "shop", "url": shop.url}]
    api.window = WINDOW
    about = {"context_window": WINDOW, "max_tokens": 1000}
    return make_session("Clerk", "local", model="claude-opus-5-5", policy=ALLOW, tools=tools, environment=about)


def talk(session, api, *said: str) -> None:
    for one in said:
        api.says(text(f"So {one[:10]}"))
        say(session, one)
        work(session)


def fill(session, api) -> None:
    talk(session, api, *(f"{number} {LONG}" for number in range(3)))


def test_before_the_window_is_full_the_agent_writes_a_summary_and_goes_on_from_it(small_window_session, api):
    fill(small_window_session, api)
    api.says(text("They wait for order 7."))
    talk(small_window_session, api, "And now?")
    asked, answered = api.requests[-2:]
    record, order = (block["text"] for block in asked["messages"][0]["content"])
    assert "turn 1: 0 The order is late." in record and "person Ines: And now?" in record and "tools" not in asked
    assert order == compaction.ORDER
    assert content(answered["messages"][0])[0]["text"].endswith("in place of its messages:\n\nThey wait for order 7.")
    assert content(answered["messages"][0])[1:] == [text("And now?")] and len(answered["messages"]) == 1
    made = event(small_window_session, "compaction")
    assert (made.turn, made.data["tokens_before"] > 0.8 * WINDOW) == (4, True)
    assert [kind for kind, _ in told(small_window_session)][-4:] == [
        "user_message",
        "status",
        "compaction",
        "agent_message",
    ]
    assert texts(small_window_session, "agent_message")[-1] == "So And now?" and not api.refused


def test_the_summary_is_paid_and_not_said_as_a_message(small_window_session, api, monkeypatch):
    fill(small_window_session, api)
    shown = []
    monkeypatch.setattr("sessions_app.runtimes.run.TurnRun.stream_text", lambda self, said, request: shown.append(said))
    api.says(text("They wait."))
    talk(small_window_session, api, "And now?")
    assert "They wait." not in "".join(shown)
    made, said = (
        event(small_window_session, "compaction"),
        Event.objects.filter(session=small_window_session).order_by("-seq")[0],
    )
    assert TurnUsage.objects.get(turn=4).output_tokens == made.output_tokens + said.output_tokens > 0


def test_summary_is_sent_to_the_model_in_later_turns(small_window_session, api):
    fill(small_window_session, api)
    api.says(text("They wait."))
    talk(small_window_session, api, "And now?", "And then?")
    first, *rest = api.requests[-1]["messages"]
    assert [block["text"] for block in first["content"]][1:] == ["And now?"]
    assert [content(message) for message in rest] == [[text("So And now?")], [text("And then?")]]


def test_a_turn_is_summarised_in_its_middle_with_its_calls(small_window_session, api):
    fill(small_window_session, api)
    api.window = 0
    api.says(text("Earlier."))
    api.says(call("shop__huge", characters=4 * WINDOW))
    api.says(call("shop__orders"))
    api.says(text("Found much; nothing is left to do."))
    talk(small_window_session, api, "Find it")
    assert texts(small_window_session, "compaction") == ["Earlier.", "Found much; nothing is left to do."]
    assert "result of shop/orders" in api.requests[-2]["messages"][0]["content"][0]["text"]
    [message] = api.requests[-1]["messages"]
    assert content(message)[1:] == [text("Find it")]
    assert small_window_session.status == "idle" and not texts(small_window_session, "error") and not api.refused


@pytest.mark.parametrize(("record", "refusals", "summary"), [(9_000, 1, "They wait."), (90_000, 2, "## Turns before")])
def test_request_refused_as_too_long_is_compacted_and_sent_again(
    make_session, api, monkeypatch, record, refusals, summary
):
    """A price list may know of a larger window than a key may use; even the record may be too long for it."""
    monkeypatch.setattr(compaction, "RECORD", record)
    monkeypatch.setattr(compaction, "SHORT", 4_000)
    session, api.window = make_session("Clerk", "local", model="claude-opus-5-5"), WINDOW
    talk(session, api, *(f"{number} {LONG}" for number in range(3)))
    if refusals == 1:
        api.says(text("They wait."))
    talk(session, api, f"4 {LONG}")
    assert [words.split(":")[0] for words in api.refused] == ["prompt is too long"] * refusals
    assert texts(session, "agent_message")[-1] == "So 4 The orde"
    assert event(session, "compaction").text.startswith(summary)


def test_a_message_that_is_too_long_by_itself_is_told_and_the_next_one_goes_on(small_window_session, api):
    say(small_window_session, "x" * 5 * WINDOW)
    work(small_window_session)
    assert texts(small_window_session, "error")[0].endswith(
        "this message is too long for the model by itself, send less at once"
    )
    api.says(text("They sent many x."))
    talk(small_window_session, api, "Sorry")
    assert texts(small_window_session, "agent_message") == ["So Sorry"]
    assert len(str(api.requests[-1])) < WINDOW


def test_a_response_that_ran_into_the_window_is_followed_by_a_summary(small_window_session, api):
    """It tells the true size of the window, whatever is said of it."""
    api.says(text("Half a"), stop="model_context_window_exceeded")
    say(small_window_session, "Hello")
    work(small_window_session)
    assert "retry: the session is summarised first" in event(small_window_session, "error").text
    messages.retry(small_window_session.pk, by=BY)
    api.says(text("They said hello."))
    api.says(text("Hello!"))
    work(small_window_session)
    assert texts(small_window_session, "compaction") == ["They said hello."]
    assert texts(small_window_session, "agent_message") == ["Half a", "Hello!"]


@pytest.mark.parametrize("blocks", [[], [text(" ")]])
def test_without_a_summary_the_end_of_the_record_takes_its_place(small_window_session, api, blocks):
    fill(small_window_session, api)
    api.says(*blocks, stop="refusal")
    api.window = 0
    talk(small_window_session, api, "And now?")
    assert "agent: So 2 The orde" in event(small_window_session, "compaction").text
    assert texts(small_window_session, "agent_message")[-1] == "So And now?"


def test_compaction_interrupted_by_a_dead_worker_is_done_again_once(small_window_session, api, monkeypatch):
    fill(small_window_session, api)
    with monkeypatch.context() as dying:
        dying.setattr(compaction, "_event", lambda *_: (_ for _ in ()).throw(SystemExit))
        api.says(text("Lost."))
        say(small_window_session, "And now?")
        with pytest.raises(SystemExit):
            work(small_window_session)
    lose_the_worker(small_window_session)
    api.says(text("They wait."))
    api.says(text("Good."))
    work(small_window_session)
    assert texts(small_window_session, "compaction") == ["They wait."]
    assert [kind for kind, _ in told(small_window_session)][-4:] == [
        "user_message",
        "status",
        "compaction",
        "agent_message",
    ]


def test_a_failure_that_passes_is_waited_for_and_an_interrupt_leaves_no_summary(small_window_session, api):
    fill(small_window_session, api)
    api.refuses(529, "overloaded_error", "Overloaded", retry_after="0")
    api.says(text("They wait for many things."), hangs_at=3)
    say(small_window_session, "And now?")
    with working(small_window_session):
        while len(api.requests) < 5:
            time.sleep(0.02)
        messages.interrupt(small_window_session.pk, by=BY)
    assert not texts(small_window_session, "compaction")
    assert told(small_window_session)[-1] == ("status", "interrupted")


def test_context_window_of_each_model_is_known():
    assert compaction.window_of("claude-haiku-4-5", {}) == 200_000
    assert compaction.window_of("claude-opus-5-5", {}) == 1_000_000
    assert compaction.window_of("nobody-knows", {}) == 200_000
    assert compaction.window_of("claude-opus-5-5", {"context_window": 5}) == 5
