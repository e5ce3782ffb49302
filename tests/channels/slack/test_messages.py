"""A message in Slack becomes a message of a session: one session for each thread, every message once, in order."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from sessions_app.channels.slack import messages, sweep
from sessions_app.models import Event, Session, SlackEvent, TriggerRun
from sessions_app.services import agents, audit, sessions
from sessions_app.services.slack import threads
from tests.fakes.slack import BOT, BOT_ID, TEAM, Fault

from .work import read, said, work

BY = audit.Actor("member", "m", "Ines")
ROOT = "1700000100.000100"


def test_a_direct_message_begins_a_session_of_the_agent(slack, client, scripted_agent):
    slack.says(client, "What is open?", ts=ROOT)
    read()
    session = Session.objects.get()
    assert (session.agent, session.origin, session.status) == (scripted_agent, "slack", "running")
    assert (session.title, session.user_id) == ("What is open?", "U0KIM0001")
    assert session.slack_conversation_key == f"{TEAM}:D0KIM0001:{ROOT}"
    message = Event.objects.get(session=session)
    assert (message.actor_kind, message.actor_name, message.text) == ("person", "Kim", "What is open?")


def test_the_first_message_leaves_a_trigger_run_and_replies_leave_none(slack, client):
    slack.says(client, "What is open?", ts=ROOT, event_id="Ev77")
    slack.says(client, "And tomorrow?", thread_ts=ROOT)
    read()
    run = TriggerRun.objects.get()
    assert (run.kind, run.status, run.fire_key) == ("slack", "started", f"slack:{TEAM}:Ev77")
    assert run.input_text == "What is open?"
    assert run.session == Session.objects.get() and list(run.session.trigger_runs.all()) == [run]


def test_replies_in_the_thread_go_to_the_same_session_behind_its_turn(slack, client):
    slack.mentions(client, "one", ts=ROOT)
    slack.says(client, "two", channel="C0GENERAL", channel_type="channel", thread_ts=ROOT)
    read()
    session = Session.objects.get()
    assert said(session) == ["one"] and session.queued_messages.get().text == "two"
    work()
    slack.says(client, "three", channel="C0GENERAL", channel_type="channel", thread_ts=ROOT)
    read()
    assert said(Session.objects.get()) == ["one", "two", "three"]


def test_another_thread_is_another_session(slack, client):
    slack.says(client, "one")
    slack.says(client, "two")
    read()
    assert Session.objects.count() == 2


def test_a_mention_that_comes_as_two_events_is_one_message(slack, client):
    slack.says(client, f"<@{BOT}> hello", channel="C0GENERAL", channel_type="channel", ts=ROOT, event_id="Ev1")
    slack.mentions(client, "hello", ts=ROOT, event_id="Ev2")
    read()
    assert said(Session.objects.get()) == ["hello"]


def test_the_same_event_again_changes_nothing_even_when_it_was_read(slack, client):
    for _ in range(2):
        slack.says(client, "hello", ts=ROOT, event_id="Ev1")
        read()
    assert said(Session.objects.get()) == ["hello"]


@pytest.mark.parametrize(
    "event",
    [
        {"bot_id": "B0OTHER01"},
        {"bot_id": BOT_ID, "user": BOT},
        {"user": BOT},
        {"user": "USLACKBOT"},
        {"user": None},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"edited": {"user": "U0KIM0001", "ts": "1.2"}},
        {"channel": "C0GENERAL", "channel_type": "channel"},
        {"channel": "C0GENERAL", "channel_type": "channel", "thread_ts": "1600000000.000100"},
    ],
)
def test_messages_not_addressed_to_the_agent_by_a_person_are_not_stored(slack, client, event):
    assert slack.says(client, "hello", **event).status_code in (200, 404)
    assert not SlackEvent.objects.exists()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"<@{BOT}> refund &lt;b&gt; &amp; go", "refund <b> & go"),
        (f"please <@{BOT}> look", "please look"),
        ("see <https://example.org/a?b=1&amp;c=2|the page>", "see the page (https://example.org/a?b=1&c=2)"),
        ("see <https://example.org>", "see https://example.org"),
        ("ask <@U0ANN0001|ann> in <#C0GENERAL|general>", "ask @ann in #general"),
        ("<mailto:kim@example.org|kim@example.org> <!here>", "kim@example.org @here"),
        ("&amp;lt;", "&lt;"),
        (f"<@{BOT}>", "(a mention without words)"),
        ("nul \0 and \ud800", "nul � and �"),
    ],
)
def test_slack_markup_is_turned_into_plain_text(slack, client, written, meant):
    slack.says(client, written)
    read()
    assert said(Session.objects.get()) == [meant]


def test_files_are_noted_and_not_fetched(slack, client):
    file = {"name": "invoice.pdf", "mimetype": "application/pdf", "size": 48_213, "url_private": "https://x.example/f"}
    slack.says(client, "look", subtype="file_share", files=[file])
    read()
    assert said(Session.objects.get()) == ["look\n\n[file in Slack, not read: invoice.pdf, application/pdf, 48.2 kB]"]
    assert {name for name, _ in slack.calls} == {"users.info"}


def test_concurrent_messages_of_a_thread_make_one_session(slack, client):
    """The thread is new for both: each worker holds another message of it."""
    slack.says(client, "one", ts=ROOT)
    slack.says(client, "two", thread_ts=ROOT)
    ids = list(SlackEvent.objects.values_list("id", flat=True))
    ready = threading.Barrier(2)

    def reader(id_):
        ready.wait()
        messages.read(id_)
        connections.close_all()

    threads = [threading.Thread(target=reader, args=(id_,)) for id_ in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = Session.objects.get()
    assert said(session) == ["one"] and [m.text for m in session.queued_messages.all()] == ["two"]


def test_the_index_keeps_a_thread_to_one_session(slack, client, installation, scripted_agent):
    """A session that somebody else made between our look and our insert is the one that is used."""
    message = threads.ThreadMessage(
        installation, f"{TEAM}:D0KIM0001:{ROOT}", "one", earlier="", by=BY, source={"channel": "D0KIM0001"}
    )
    first, is_new = threads.submit(message, scripted_agent, None)
    again, is_new_again = threads.submit(message, scripted_agent, None)
    assert (first.pk, is_new, is_new_again) == (again.pk, True, False)


def test_a_thread_keeps_the_agent_that_it_began_with(slack, client, installation, workspace, scripted_agent):
    slack.says(client, "one", ts=ROOT)
    read()
    installation.agent = agents.create(workspace.id, "Owl", by=BY, runtime="scripted")
    installation.save(update_fields=["agent"])
    slack.says(client, "two", thread_ts=ROOT)
    read()
    assert Session.objects.get().agent == scripted_agent


def test_a_message_to_an_archived_session_is_answered_and_kept(slack, client):
    slack.says(client, "one", ts=ROOT)
    read()
    work()
    sessions.archive(Session.objects.get(), by=BY)
    slack.says(client, "one more thing", thread_ts=ROOT)
    read()
    assert slack.posted("D0KIM0001")[-1].text == messages.ARCHIVED
    assert slack.posted("D0KIM0001")[-1].thread_ts == ROOT
    run = TriggerRun.objects.get(status="failed")
    assert (run.session, run.input_text) == (Session.objects.get(), "one more thing")


def test_a_paused_agent_is_told_in_the_thread(slack, client, scripted_agent):
    agents.change(scripted_agent, {"status": "paused"}, by=BY)
    slack.says(client, "hello")
    read()
    assert "Parrot is paused" in slack.posted("D0KIM0001")[0].text
    assert not Session.objects.exists() and TriggerRun.objects.get().status == "failed"


def test_without_an_agent_the_thread_is_told_so(slack, client, installation):
    installation.agent = None
    installation.save(update_fields=["agent"])
    slack.says(client, "hello")
    read()
    assert slack.posted("D0KIM0001")[0].text == messages.NOBODY
    assert TriggerRun.objects.get().input_text == "hello"


def test_a_message_waits_while_slack_is_away_and_is_read_by_the_sweep(slack, client):
    slack.faults = [Fault("users.info", status=503)]
    slack.says(client, "hello")
    read()
    assert not Session.objects.exists()
    SlackEvent.objects.update(retry_at=timezone.now() - timedelta(seconds=1))
    assert sweep.sweep() == 1
    assert said(Session.objects.get()) == ["hello"]


def test_slack_is_not_asked_before_the_time_that_it_named(slack, client):
    slack.faults = [Fault("users.info", status=429, error="ratelimited", headers={"Retry-After": "30"})]
    slack.says(client, "hello")
    read()
    waits = SlackEvent.objects.get().retry_at - timezone.now()
    assert timedelta(seconds=25) < waits < timedelta(seconds=31)
    assert sweep.sweep() == 0 and len(slack.called("users.info")) == 1


def test_a_message_that_can_never_be_read_leaves_a_failed_run(slack, client):
    slack.says(client, "hello")
    slack.faults = [Fault("users.info", status=503, times=100)]
    SlackEvent.objects.update(tries=19)
    read()
    run = TriggerRun.objects.get()
    assert (run.status, run.input_text) == ("failed", "hello") and "Slack fails" in run.error


def test_a_crash_after_the_message_was_taken_does_not_say_it_twice(slack, client, scripted_agent):
    """The answer to a refusal is still owed, and it alone is made up for."""
    agents.change(scripted_agent, {"status": "paused"}, by=BY)
    slack.faults = [Fault("chat.postMessage", status=500)]
    slack.says(client, "hello")
    read()
    agents.change(scripted_agent, {"status": "active"}, by=BY)
    SlackEvent.objects.update(retry_at=None)
    read()
    assert "Parrot is paused" in slack.posted("D0KIM0001")[0].text
    assert not Session.objects.exists(), "it was refused, and stays so"


def test_the_run_stands_among_those_of_other_triggers(slack, client, member):
    slack.says(client, "What is open?")
    read()
    desk = Client()
    desk.force_login(member("Rosa").user)
    page = desk.get("/triggers/runs/").content.decode()
    assert "Slack: Garden shop" in page and f"/chat/{Session.objects.get().pk}" in page


def test_old_read_messages_are_deleted_and_their_session_stays(slack, client):
    slack.says(client, "one")
    read()
    assert SlackEvent.objects.get().payload == {}, "what it said is in the session alone"
    SlackEvent.objects.update(done_at=timezone.now() - sweep.KEPT - timedelta(days=1))
    sweep.sweep()
    assert not SlackEvent.objects.exists() and Session.objects.exists()


def test_one_job_that_fails_does_not_keep_the_others(slack, client, monkeypatch):
    slack.says(client, "one")
    slack.says(client, "two")
    first = SlackEvent.objects.order_by("id").first()

    def fails_first(id_):
        if id_ == first.pk:
            raise RuntimeError("a fault of ours")
        reads(id_)

    reads = messages.read
    monkeypatch.setattr(messages, "read", fails_first)
    sweep.sweep()
    assert said(Session.objects.get()) == ["two"]


def test_a_fault_of_ours_is_tried_again_and_then_told(slack, client, monkeypatch):
    def fails(installation, user_id):
        raise RuntimeError("a fault of ours")

    slack.says(client, "one", ts=ROOT)
    slack.says(client, "two", thread_ts=ROOT)
    with monkeypatch.context() as broken:
        broken.setattr(messages.people, "look_up", fails)
        read()
        first, second = SlackEvent.objects.order_by("id")
        assert first.tries == 1 and first.retry_at and second.tries == 0, "the second waits for the first"
        SlackEvent.objects.filter(pk=first.pk).update(tries=19, retry_at=None)
        read()
    assert "a fault of ours: RuntimeError" in TriggerRun.objects.get(input_text="one").error
    SlackEvent.objects.update(retry_at=None)
    read()
    (text,) = said(Session.objects.get())
    assert text.startswith("two\n\n") and text.endswith("\n> Kim: one"), "what was not taken is context at least"
