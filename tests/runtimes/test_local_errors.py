"""The ``local`` runtime on a bad day: what may pass is tried again in sight, what will not is told, nothing is lost."""

from __future__ import annotations

import time

import pytest

from sessions_app.models import TurnInFlight, TurnUsage
from sessions_app.runtimes import worker
from sessions_app.services.turns import messages
from tests.fakes.messages_api import call, text, thinking

from .conftest import BY, say, told, work
from .local import ALLOW, content, event, responses, texts, working

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "claude-opus-5-5"


@pytest.fixture
def local_session(make_session, api):
    return make_session("Clerk", "local", model=MODEL, policy=ALLOW)


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """How long the worker waited, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr(worker.TurnRun, "pause", lambda turn, time: bool(seconds.append(time)))
    return seconds


def test_429_is_waited_for_as_long_as_it_says_in_sight_of_everybody(local_session, api, waits):
    api.refuses(429, "rate_limit_error", "Number of requests has exceeded your rate limit", retry_after="7")
    api.says(text("Here I am."))
    say(local_session, "Hello")
    work(local_session)
    assert waits == [7.0]
    note = event(local_session, "status")
    assert note.data["status"] == "retrying"
    assert note.text.startswith("the API answers 429: Number of requests has exceeded your rate limit (request req_")
    assert told(local_session)[2] == ("agent_message", "Here I am.")


@pytest.mark.parametrize(("status", "kind"), [(529, "overloaded_error"), (500, "api_error"), (504, "timeout_error")])
def test_a_server_that_is_overloaded_is_asked_again_with_growing_patience(local_session, api, waits, status, kind):
    for _ in range(3):
        api.refuses(status, kind, "Overloaded")
    api.says(text("Here I am."))
    say(local_session, "Hello")
    work(local_session)
    assert waits == [2.0, 4.0, 8.0]
    assert texts(local_session, "agent_message") == ["Here I am."]


def test_failures_with_progress_between_them_do_not_add_up(local_session, api, waits):
    for number in range(8):
        api.refuses(529, "overloaded_error", "Overloaded")
        api.says(call("no_such_tool", number=number))
    api.says(text("At last."))
    say(local_session, "Hello")
    work(local_session)
    assert waits == [2.0] * 8
    assert texts(local_session, "agent_message") == ["At last."]


def test_a_server_that_is_not_there_is_asked_again_and_then_given_up(local_session, settings, waits):
    settings.ANTHROPIC_BASE_URL = "http://127.0.0.1:9"
    say(local_session, "Hello")
    work(local_session)
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert told(local_session)[-1][1].startswith("given up after 6 tries: the connection to the model failed:")


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (403, "permission_error")])
def test_a_key_that_is_refused_is_told_with_what_to_do(local_session, api, waits, status, kind):
    api.refuses(status, kind, "invalid x-api-key")
    say(local_session, "Hello")
    work(local_session)
    assert (local_session.status, waits) == ("idle", [])
    assert "an admin has to check ANTHROPIC_API_KEY" in event(local_session, "error").text


def test_a_request_that_is_refused_is_told_in_the_words_of_the_api(local_session, api, waits):
    api.refuses(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum")
    say(local_session, "Hello")
    work(local_session)
    assert waits == []
    assert (
        "(400): prompt is too long: 200001 tokens > 200000 maximum (request req_" in event(local_session, "error").text
    )


def test_an_error_in_the_middle_of_a_stream_is_judged_by_its_type(local_session, api, waits):
    api.says(text("Half of"), error=("overloaded_error", "Overloaded"))
    api.says(text("Whole."))
    say(local_session, "Hello")
    work(local_session)
    assert waits == [2.0]
    assert texts(local_session, "agent_message") == ["Whole."]
    api.says(text("Half of"), error=("invalid_request_error", "This will not do"))
    say(local_session, "Again")
    work(local_session)
    assert event(local_session, "error").text.startswith(
        "the API refuses the request (invalid_request_error): This will not do (request req_"
    )


@pytest.mark.parametrize("how", ["breaks_at", "ends_at"])
@pytest.mark.parametrize("frame", [1, 3, 6, 8])
def test_a_stream_that_stops_in_the_middle_leaves_nothing_half(local_session, api, waits, how, frame):
    api.says(text("Half of a sentence"), call("escalate_to_human", question="?"), **{how: frame})
    api.says(text("Whole."))
    say(local_session, "Hello")
    work(local_session)
    assert len(waits) == 1
    assert [kind for kind, _ in told(local_session)] == ["user_message", "status", "agent_message"]
    assert TurnUsage.objects.get().output_tokens == responses(local_session)[0].output_tokens


def test_a_response_that_is_no_json_is_asked_for_again(local_session, api, waits, monkeypatch):
    from tests.fakes import messages_api

    real = messages_api.json.dumps
    api.says(text("Hello"))
    api.says(text("Whole."))
    broken = iter([lambda frame: "{nonsense"])
    dumps = lambda frame, **more: next(broken, lambda f: real(f, **more))(frame)  # noqa: E731
    monkeypatch.setattr(
        messages_api, "json", type("Json", (), {"dumps": staticmethod(dumps), "loads": messages_api.json.loads})
    )
    say(local_session, "Hello")
    work(local_session)
    assert len(waits) == 1
    assert texts(local_session, "agent_message") == ["Whole."]


def test_an_interrupt_closes_the_stream_and_keeps_what_was_said(local_session, api):
    api.says(thinking("Hm"), text("I begin to tell you a long story"), call("escalate_to_human"), hangs_at=9)
    say(local_session, "Tell me a story")
    with working(local_session):
        for _ in range(100):
            if TurnInFlight.objects.filter(session=local_session, said__startswith="I begin").exists():
                break
            time.sleep(0.05)
        assert not api.left.is_set()
        messages.interrupt(local_session.pk, by=BY)
        assert api.left.wait(60)
    assert local_session.status == "idle"
    message = event(local_session, "agent_message")
    assert message.text.startswith("I begin to t") and message.data["interrupted"]
    assert told(local_session)[-1] == ("status", "interrupted")
    [ended] = responses(local_session)
    assert (ended.quality, ended.data["stop_reason"]) == ("placeholder", "interrupted")
    assert local_session.under_reported == 1 and local_session.cost_amount > 0


def test_after_an_interrupt_the_model_knows_what_it_had_said(local_session, api):
    test_an_interrupt_closes_the_stream_and_keeps_what_was_said(local_session, api)
    api.left.clear()
    api.says(text("As you like."))
    say(local_session, "Shorter, please")
    work(local_session)
    roles = [message["role"] for message in api.requests[1]["messages"]]
    assert roles == ["user", "assistant", "user"]
    thought, said = api.requests[1]["messages"][1]["content"]
    assert thought == thinking("Hm") and said["text"].startswith("I begin to t")


def test_an_interrupt_before_the_first_word_is_noticed_too(local_session, api):
    api.says(text("Never"), hangs_at=0)
    say(local_session, "Hello")
    with working(local_session):
        time.sleep(0.3)
        messages.interrupt(local_session.pk, by=BY)
        assert api.left.wait(60)
    assert told(local_session)[-1] == ("status", "interrupted")
    assert texts(local_session, "agent_message") == []


def test_a_response_that_was_cut_off_is_told_and_its_half_call_is_not_made(local_session, api):
    api.says(text("I look."), call("escalate_to_human", question="?"), call("escalate_to_human"), stop="max_tokens")
    say(local_session, "Hello")
    work(local_session)
    assert (local_session.status, local_session.approvals.count()) == ("idle", 0)
    assert event(local_session, "tool_result").text == "Not made: the response that asked for it was cut off."
    assert event(local_session, "note").data["unfinished_call"]["name"] == "escalate_to_human"
    assert event(local_session, "error").text.startswith("the response was cut off at 32,000 tokens")
    api.says(text("Now whole."))
    assert messages.retry(local_session.pk, by=BY)
    work(local_session)
    assert told(local_session)[-1] == ("agent_message", "Now whole.")


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("refusal", "the model declined to answer: cyber — It looks like malware; say it differently"),
        ("model_context_window_exceeded", "the response was cut off, because the session fills the context window"),
        ("bored", 'the response ended for a reason that is not known here: "bored"'),
    ],
)
def test_every_other_end_is_reported(local_session, api, stop, words):
    details = {"type": "refusal", "category": "cyber", "explanation": "It looks like malware"}
    api.says(stop=stop, details=details if stop == "refusal" else None)
    say(local_session, "Hello")
    work(local_session)
    assert local_session.status == "idle"
    assert event(local_session, "error").text.startswith(words)
    assert event(local_session, "model_request").input_tokens is not None


def test_a_paused_turn_goes_on_from_what_was_said(local_session, api):
    api.says(text("I am thinking"), stop="pause_turn")
    api.says(text("and here it is"))
    say(local_session, "Hello")
    work(local_session)
    assert texts(local_session, "agent_message") == ["I am thinking", "and here it is"]
    assert content(api.requests[1]["messages"][-1]) == [text("I am thinking")]


def test_a_retry_after_a_finished_turn_asks_again(local_session, api):
    api.says(text("Once"))
    say(local_session, "Hello")
    work(local_session)
    api.says(text("Twice"))
    assert messages.retry(local_session.pk, by=BY)
    work(local_session)
    assert texts(local_session, "agent_message") == ["Once", "Twice"]
    assert content(api.requests[1]["messages"][-1]) == [text("Go on from where you stopped.")]


def test_an_agent_that_goes_in_circles_is_stopped(local_session, api, monkeypatch):
    from sessions_app.runtimes.local import loop

    monkeypatch.setattr(loop, "MOST_REQUESTS", 3)
    for _ in range(4):
        api.says(call("no_such_tool"))
    say(local_session, "Hello")
    work(local_session)
    assert len(api.requests) == 3
    assert event(local_session, "error").text.startswith("the agent made 3 model requests in this turn and was stopped")


def test_nul_and_lone_surrogates_of_a_model_do_not_end_the_turn(local_session, api):
    api.says(text("a\0b \ud800 c"), call("no\0pe"))
    api.says(text("Fine."))
    say(local_session, "Hello")
    work(local_session)
    assert local_session.status == "idle"
    assert texts(local_session, "agent_message") == ["a\ufffdb \ufffd c", "Fine."]
