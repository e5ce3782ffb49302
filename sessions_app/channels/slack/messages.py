"""A worker reads what Slack sent: a message goes to the session of its thread, which the first one begins."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sessions_app.models import Session, SlackEvent, TriggerRun
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.numbers import size
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import initiators
from sessions_app.services.log.sanitise import text as storable_text
from sessions_app.services.money.budgets import Spent
from sessions_app.services.slack import installations, jobs, threads
from sessions_app.services.turns.messages import NotActive, TooLong

from . import api, blocks, clicks, commands, inbox, people
from . import context as slack_context
from .people import Person

REFUSALS = (NotActive, TooLong, Spent, sessions.Closed)
NOBODY = "No agent is set up to answer here yet. An admin can choose one in Countersign under Settings, Slack."
ARCHIVED = "This session is archived, so it takes no more messages. Start a new thread to go on."
REJECTED = "Sorry, this agent does not take messages from people outside of this Slack workspace."


def read(event_id: UUID) -> None:
    """Read the event and what waits before and behind it in its thread, one after the other."""
    key = SlackEvent.objects.values_list("conversation_key", flat=True).filter(pk=event_id).first()
    while event := _first_of(key):
        with jobs.claimed(event) as mine:
            if not mine:
                return  # who has it goes on with those behind it
            _read(event)
        event.refresh_from_db(fields=["done_at", "error"])
        if event.error and not event.message.startswith(inbox.CLICK):
            _leave_run(event, TriggerRun.Status.FAILED, _text_of(event), error=event.error)
        if event.done_at is None:
            return


def _first_of(key: str | None) -> SlackEvent | None:
    waiting = SlackEvent.objects.filter(conversation_key=key, done_at=None).order_by("id")
    return waiting.select_related("installation__agent").defer(*installations.SECRETS_OF_JOB).first()


def _read(event: SlackEvent) -> None:
    """Raises ``jobs.Away``, ``Refused`` and ``ClaimLost``. What is to be said is kept with what was done."""
    if "say" not in event.payload:
        person = people.look_up(event.installation, event.payload["user"])
        is_click = "action" in event.payload
        context = "" if is_click else _context(event, person)
        done = _done_alone(event, person)
        with jobs.owned(event):
            if done is not None:
                say = done
            else:
                say = clicks.decide(event, person) if is_click else _take(event, person, context)
            jobs.extend(event, payload={"say": say})
    say = event.payload["say"]
    if say.get("method") == commands.RESPOND:
        commands.respond(say["url"], say["text"])
    elif say:
        api.call_for(event.installation, **say)
    jobs.finish(event, payload={})


def _done_alone(event: SlackEvent, person: Person) -> dict[str, Any] | None:
    """Stops and commands have transactions of their own; what is to be said of them. None for what is neither."""
    action = event.payload.get("action")
    if action == clicks.STOP:
        return clicks.stop(event, person)
    return commands.answer(event, person) if action == commands.ACTION else None


def _context(event: SlackEvent, person: Person) -> str:
    """What was said in the thread before, where the message begins a session in the middle of it."""
    installation = event.installation
    if (
        installation.agent is None
        or people.why_not(installation, person)
        or threads.session_of(event.installation, event.conversation_key)
    ):
        return ""
    return slack_context.earlier(event)


def _member(event: SlackEvent, person: people.Person) -> dict[str, str]:
    """The member that the sender is: where a rule says so, they do not decide what their message leads to."""
    member = people.member_of(event.installation, person)
    return {initiators.MEMBER: str(member.pk)} if member else {}


def _take(event: SlackEvent, person: Person, context: str) -> dict[str, Any]:
    """Hand the message to its session; what is to be said in the thread, as a call of Slack's API."""
    text = _text_of(event)
    if why := people.why_not(event.installation, person):
        return _reject(event, person, text, why)
    before = threads.session_of(event.installation, event.conversation_key)
    agent = before.agent if before else event.installation.agent
    if agent is None:
        _leave_run(event, TriggerRun.Status.FAILED, text, person, error="no agent is set up for Slack")
        return _in_thread(event, NOBODY)
    message = threads.ThreadMessage(
        event.installation, event.conversation_key, text, earlier=context,
        by=audit.Actor("slack", person.id, person.name),
        source={name: event.payload.get(name) for name in ("user", "channel", "ts", "thread_ts")}
        | _member(event, person),
    )  # fmt: skip
    try:
        session, is_new = threads.submit(message, agent, before)
    except REFUSALS as refused:
        _leave_run(event, TriggerRun.Status.FAILED, text, person, session=before, error=str(refused))
        return _in_thread(event, ARCHIVED if isinstance(refused, sessions.Archived) else _sentence(str(refused)))
    if is_new:
        _leave_run(event, TriggerRun.Status.STARTED, text, person, session=session)
    return {}


def _reject(event: SlackEvent, person: Person, text: str, why: str) -> dict[str, Any]:
    """An outsider is told once in a thread, where only they see it."""
    of_thread = SlackEvent.objects.filter(conversation_key=event.conversation_key, installation=event.installation)
    rejected_before = of_thread.filter(rejected=True).exists()
    SlackEvent.objects.filter(pk=event.pk).update(rejected=True)
    _leave_run(event, TriggerRun.Status.SKIPPED, text, person, error=f"{person.name} was turned away: {why}")
    if rejected_before:
        return {}
    return _in_thread(event, REJECTED) | {"method": "chat_postEphemeral", "user": person.id}


def _text_of(event: SlackEvent) -> str:
    """Text of a message with the names of its files, which stay at Slack."""
    written = mrkdwn.to_plain(str(event.payload.get("text") or ""), bot=event.installation.bot_user_id)
    files = "\n".join(f"[{_file(file)}]" for file in event.payload.get("files") or [] if isinstance(file, dict))
    return storable_text("\n\n".join(filter(None, (written, files))) or "(a mention without words)")


def _file(file: dict[str, Any]) -> str:
    bytes_ = file.get("size")
    facts = (file.get("name") or "a file", file.get("mimetype"), size(bytes_) if isinstance(bytes_, int) else None)
    return f"file in Slack, not read: {', '.join(str(fact) for fact in facts if fact)}"


def _leave_run(
    event: SlackEvent, status: str, text: str = "", person: Person | None = None, *,
    session: Session | None = None, error: str = "",
) -> None:  # fmt: skip
    """The trigger run of this message; there is one however often it is read."""
    about = {"agent": session.agent if session else event.installation.agent, "kind": TriggerRun.Kind.SLACK}
    about |= {"name": f"Slack: {event.installation}", "cause": f"by {person.name}" if person else ""}
    TriggerRun.objects.get_or_create(
        workspace_id=event.installation.workspace_id,
        fire_key=f"slack:{event.installation.team_id}:{event.event_id or event.message}",
        defaults=about | {"status": status, "session": session, "input_text": text, "error": error},
    )


def _in_thread(event: SlackEvent, text: str) -> dict[str, Any]:
    thread = event.conversation_key.rpartition(":")[2]
    return {
        "method": "chat_postMessage", "channel": event.payload["channel"], "thread_ts": thread,
        "text": mrkdwn.escape(text), "blocks": [blocks.context(mrkdwn.escape(text))], "unfurl_links": False,
    }  # fmt: skip


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
