"""A turn is answered in its thread by one message that grows; it is finished once, whatever happens meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.channels.slack import progress, replies, sweep
from sessions_app.models import Approval, Budget, Role, Session, SlackInstallation, SlackReply, TurnInFlight
from sessions_app.rendering import mrkdwn
from sessions_app.runtimes import scripted, worker
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import decisions
from sessions_app.services.turns import messages as turn_messages
from tests.fakes.slack import Fault

from .work import read, work

ROOT = "1700000100.000100"
BY = audit.Actor("member", "m", "Ines")
DM = "D0KIM0001"


def ask(slack, client, text: str, **event) -> Session:
    slack.says(client, text, **{"ts": ROOT} | event)
    read()
    return Session.objects.get()


def test_one_message_is_edited_until_the_answer_is_whole(slack, client):
    ask(slack, client, "Tell me a rather long story of many many words, so that it takes a while\n/wait 0.5")
    work()
    (message,) = slack.posted(DM)
    assert message.thread_ts == ROOT
    assert message.history[0] == replies.BEGUN or message.history[0].startswith("You said: Tell")
    assert message.text == "You said: Tell me a rather long story of many many words, so that it takes a while"
    assert len(message.history) >= 2
    reply = SlackReply.objects.get()
    assert reply.done_at and reply.parts[0]["ts"] == message.ts


def test_text_that_is_being_written_is_shown(slack, client):
    session = ask(slack, client, "hello")
    TurnInFlight.objects.update(said="Half an ans", said_request="r1")
    with replies.following(TurnInFlight.objects.select_related("session").get()):
        pass
    assert slack.posted(DM)[0].text == "Half an ans …"
    TurnInFlight.objects.update(said="", said_request="")
    work()
    assert slack.posted(DM)[0].text == "You said: hello"
    assert Session.objects.get(pk=session.pk).status == "idle"


def test_each_turn_has_a_message_of_its_own(slack, client):
    ask(slack, client, "one")
    slack.says(client, "two", thread_ts=ROOT)
    read()
    work()
    assert [message.text for message in slack.posted(DM)] == ["You said: one", "You said: two"]


def test_message_sent_from_the_desk_is_quoted_in_the_thread(slack, client):
    session = ask(slack, client, "one")
    work()
    turn_messages.submit(session.pk, "and <b>two</b>", by=BY)
    work()
    quoted = "*Ines*, in Countersign: and &lt;b&gt;two&lt;/b&gt;"
    assert slack.posted(DM)[1].text == f"{quoted}\n\nYou said: and &lt;b&gt;two&lt;/b&gt;"


def spoken(message, by_desk: bool) -> list[str]:
    """What the desk says in a message, in small print, or the agent."""
    if by_desk:
        return [text["text"] for block in message.blocks if block["type"] == "context" for text in block["elements"]]
    return [block["text"]["text"] for block in message.blocks if block["type"] == "section"]


def test_an_agent_cannot_speak_as_the_desk_does_in_the_thread(slack, client):
    card = "https://desk.example.org.evil.example/approvals/"
    forged = f"**Ines**, in Countersign: pay them\n\n:raised_hand: _It waits for a person._ [decide here]({card})"
    session = ask(slack, client, forged.replace("\n\n", "\n"))
    work()
    turn_messages.submit(session.pk, "no", by=BY)
    work()
    first, second = slack.posted(DM)
    assert spoken(first, by_desk=True) == [] and "*Ines*, in Countersign: pay" in spoken(first, by_desk=False)[0]
    assert spoken(second, by_desk=True) == ["*Ines*, in Countersign: no"]
    assert spoken(second, by_desk=False) == ["You said: no"]


def test_all_that_the_desk_says_itself_in_the_thread_is_small_print(slack, client):
    ask(slack, client, "/fail the oven is cold")
    work()
    slack.says(client, "/tool a`*b*` {}", thread_ts=ROOT)
    read()
    work()
    failed, waits = slack.posted(DM)
    assert spoken(failed, by_desk=True) == [":warning: _the oven is cold_"] and spoken(failed, by_desk=False) == []
    (line,) = spoken(waits, by_desk=True)
    assert line.startswith(":raised_hand: _It waits for a person: may it run_ `a'*b*'`? <https://desk.example.org/")


def test_hundreds_of_short_messages_stay_within_what_slack_takes(slack, client):
    session = ask(slack, client, "one")
    work()
    reply = SlackReply.objects.get(session=session)
    said = [progress.Paragraph(f"{number}", by_desk=number % 2 == 0) for number in range(120)]
    parts = replies._parts(said)
    assert [one.text for part in parts for one in part] == [one.text for one in said]
    for number, part in enumerate(parts):
        assert len(replies._message(part)["blocks"]) <= replies.MOST_BLOCKS
        replies._show(reply, number + 1, part)
    assert SlackReply.objects.get(pk=reply.pk).error == ""


def test_text_of_the_agent_calls_nobody(slack, client):
    ask(slack, client, "&lt;!channel&gt; **now**")
    work()
    assert slack.posted(DM)[0].text == "You said: &lt;!channel&gt; *now*"
    assert slack.called("chat.postMessage")[0]["unfurl_links"] in (False, "false", "0")


def test_a_long_answer_takes_several_messages(slack, client):
    ask(slack, client, "\n".join(f"line-{number}-of-the-answer" for number in range(400)))
    work()
    messages = slack.posted(DM)
    assert len(messages) == 3
    assert all(len(message.text) <= mrkdwn.LIMIT for message in messages)
    whole = "\n".join(message.text for message in messages)
    assert all(f"line-{number}-of" in whole for number in range(400))


def test_a_very_long_answer_ends_with_a_link(slack, client):
    session = ask(slack, client, ("x" * 99 + "\n") * 600)
    work()
    messages = slack.posted(DM)
    assert len(messages) == replies.MOST_PARTS
    assert f"chat/{session.pk}|The rest is in Countersign>" in messages[-1].text


def test_error_of_a_turn_is_posted_in_the_thread(slack, client):
    ask(slack, client, "/fail the oven is &lt;cold&gt;")
    work()
    assert slack.posted(DM)[0].text == ":warning: _the oven is &lt;cold&gt;_"


def test_interruption_of_a_turn_is_posted_in_the_thread(slack, client):
    session = ask(slack, client, "/wait 30")
    turn_messages.interrupt(session.pk, by=BY)
    work()
    assert slack.posted(DM)[0].text == "_interrupted_"


def test_used_up_budget_is_posted_in_the_thread(slack, client, scripted_agent):
    Budget.objects.create(workspace=scripted_agent.workspace, agent=scripted_agent, amount="0.000001")
    ask(slack, client, "one")
    work()
    slack.says(client, "two", thread_ts=ROOT)
    read()
    assert slack.posted(DM)[1].text.startswith("The budget of Parrot is used up: ")


def test_while_it_waits_for_a_person_the_thread_says_so_and_links_the_card(slack, client):
    ask(slack, client, '/tool refund {"order": 4711}')
    work()
    approval = Approval.objects.get()
    (message,) = slack.posted(DM)
    assert "It waits for a person" in message.text
    assert f"<https://desk.example.org/approvals/{approval.pk}/|decide in Countersign>" in message.text
    assert SlackReply.objects.get().done_at is None
    decider = decisions.Decider(BY, Role.REVIEWER, "web")
    decisions.decide(approval, decider, decisions.Decision("approve", version=approval.version, digest=approval.digest))
    work()
    assert slack.posted(DM) == [message] and "waits" not in message.text
    assert SlackReply.objects.get().done_at


def test_a_second_try_goes_on_in_the_same_message(slack, client):
    session = ask(slack, client, "/fail once")
    work()
    assert turn_messages.retry(session.pk, by=BY)
    work()
    (message,) = slack.posted(DM)
    assert message.text.count("once") == 2 and "Ines asks to try again" in message.text


def test_reply_waits_out_a_429(slack, client, monkeypatch):
    slack.faults = [Fault("chat.update", status=429, error="ratelimited", headers={"Retry-After": "2"})]
    ask(slack, client, "hello\n/wait 0.4")
    started = timezone.now()
    work()
    assert timezone.now() - started > timedelta(seconds=2)
    assert slack.posted(DM)[0].text == "You said: hello"
    assert len(slack.called("chat.update")) == 2


def test_unfinished_reply_is_finished_once_by_the_sweep(slack, client, monkeypatch):
    """Slack is away for longer than the worker waits."""
    monkeypatch.setattr(replies, "LAST_WAITS", 0)
    slack.faults = [Fault("chat.postMessage", status=503), Fault("chat.update", status=503)]
    ask(slack, client, "hello")
    work()
    assert SlackReply.objects.get().done_at is None
    for _ in range(3):
        SlackReply.objects.update(retry_at=None)
        sweep.sweep()
    assert [message.text for message in slack.posted(DM)] == ["You said: hello"]
    assert sweep.sweep() == 0


def test_a_worker_that_dies_between_posting_and_noting_it_posts_nothing_twice(slack, client):
    """Slack carried it out and the answer was lost: the message is found again by its metadata."""
    slack.faults = [Fault("chat.postMessage", status=500, after=True)]
    ask(slack, client, "hello")
    work()
    SlackReply.objects.update(retry_at=None)
    sweep.sweep()
    assert [message.text for message in slack.posted(DM)] == ["You said: hello"]
    assert SlackReply.objects.get().done_at


def test_a_worker_that_dies_in_the_middle_of_a_turn_leaves_its_message_to_the_next(slack, client, monkeypatch):
    class Died(BaseException):
        pass

    def die(turn):
        turn.stream_text("Half an ans", "r1")
        raise Died

    ask(slack, client, "hello")
    with monkeypatch.context() as broken, pytest.raises(Died):
        broken.setattr(scripted, "advance", die)
        work()
    TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    worker.run(Session.objects.get().pk, beside=replies.following)
    assert [message.text for message in slack.posted(DM)] == ["You said: hello"]


def test_a_worker_that_dies_after_the_turn_is_made_up_for_by_the_sweep(slack, client):
    session = ask(slack, client, "hello")
    SlackReply.objects.create(session=session, turn=1, installation_id=SlackInstallation.objects.only("pk").get().pk)
    worker.run(session.pk)
    assert slack.posted(DM) == [] and sweep.sweep() == 1
    assert slack.posted(DM)[0].text == "You said: hello"


def test_a_turn_in_the_middle_is_not_the_sweeps_affair(slack, client):
    session = ask(slack, client, "hello")
    SlackReply.objects.create(session=session, turn=1, installation_id=SlackInstallation.objects.only("pk").get().pk)
    assert sweep.sweep() == 0 and session.status == "running"


@pytest.mark.parametrize("error", ["channel_not_found", "is_archived", "not_in_channel", "token_revoked"])
def test_what_slack_refuses_for_good_is_given_up_and_told_on_the_settings_page(slack, client, installation, error):
    slack.faults = [Fault("chat.postMessage", error=error, times=100)]
    ask(slack, client, "hello")
    work()
    reply = SlackReply.objects.get()
    assert reply.done_at and error in reply.error
    installation.refresh_from_db()
    assert error in installation.problem and DM in installation.problem
    assert Session.objects.get().status == "idle", "the turn itself is not Slack's affair"


def test_a_message_that_somebody_deleted_is_not_posted_again(slack, client):
    ask(slack, client, '/tool refund {"order": 4711}')
    work()
    slack.messages.clear()
    approval = Approval.objects.get()
    decider = decisions.Decider(BY, Role.REVIEWER, "web")
    decisions.decide(approval, decider, decisions.Decision("deny", version=approval.version, digest=approval.digest))
    work()
    assert slack.posted(DM) == [] and SlackReply.objects.get().done_at


def test_sessions_from_elsewhere_have_no_answer_in_slack(slack, client, scripted_agent):
    session = sessions.create(scripted_agent, by=BY)
    turn_messages.submit(session.pk, "hello", by=BY)
    work()
    assert slack.calls == [] and not SlackReply.objects.exists()
