"""The slash command: ``/countersign stop AGENT WHY``, ``status``, ``pending``.

It is answered where only who wrote it reads it. Members read, and reviewers stop, as at the desk.
"""

from __future__ import annotations

from typing import Any

import orjson
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Agent, Role, SlackEvent, SlackInstallation
from sessions_app.queries import approvals
from sessions_app.queries import stops as stop_queries
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.marks import risk_in_words
from sessions_app.rendering.text import first_line, in_quotes
from sessions_app.rendering.toolline import name_in_words
from sessions_app.services import audit
from sessions_app.services.slack.jobs import Away, Refused
from sessions_app.services.stops import stops

from . import clicks, install, people
from .manifest import COMMAND

ACTION = "command"
"""What an event of a command has in place of the name of a button."""
RESPOND = "respond"
"""In place of a method of Slack's API: a post to the address that came with the command."""
ALL = "all"
HELP = (
    f"`{COMMAND} stop AGENT WHY` stops an agent (`{ALL}`: every agent) until somebody lifts it in Countersign, "
    f"`{COMMAND} status` says what is stopped and how much waits, `{COMMAND} pending` lists what waits for a decision."
)
MOST_LISTED, MOST_NAME = 10, 80
SECONDS = 10.0


def payload_of(body: dict[str, Any]) -> dict[str, str]:
    """What a command says, in the form of a click."""
    return {
        "action": ACTION, "value": mrkdwn.to_plain(str(body.get("text") or ""), bot=""), "user": str(body["user_id"]),
        "channel": str(body.get("channel_id", "")), "response_url": str(body.get("response_url", "")),
    }  # fmt: skip


def answer(event: SlackEvent, person: people.Person) -> dict[str, Any]:
    """Do what the command says, in transactions of its own; what is to be said to who wrote it.

    The same command read twice is the same stop.
    """
    installation = event.installation
    member = people.member_of(installation, person)
    verb, _, rest = event.payload["value"].strip().partition(" ")
    if member is None or member.numbers_only:
        text = clicks.not_a_member(installation, person)
    elif verb == "stop":
        actor = audit.Actor("member", str(member.pk), str(member))
        text = _stop(event, rest.strip(), actor, Role(member.role))
    elif verb in ("status", "pending") and not rest.strip():
        text = _status(installation) if verb == "status" else _pending(installation)
    else:
        text = HELP
    return {"method": RESPOND, "url": event.payload["response_url"], "text": text}


def respond(url: str, text: str) -> None:
    """Say it to who wrote the command: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses.

    Whoever knows a signing secret, as the admin who entered it, can name any address: only public ones are called.
    Raises ``Away`` and ``Refused``.
    """
    from sessions_app.services.notices import posting  # an HTTP client: the web server keeps commands, workers answer

    body = orjson.dumps({"response_type": "ephemeral", "text": text})
    try:
        posting.post(url, {"content-type": "application/json"}, body, SECONDS)
    except posting.Failed as failed:
        if failed.status is None or failed.status == 429 or failed.status >= 500:
            raise Away(f"the answer to a command could not be given: {failed}", failed.retry_after) from None
        raise Refused(RESPOND, str(failed.status)) from None


def _stop(event: SlackEvent, said: str, actor: audit.Actor, role: Role) -> str:
    installation = event.installation
    if not said:
        return HELP
    found = _agent_and_reason(installation, said)
    if found is None:
        name = mrkdwn.escape(first_line(said, MOST_NAME))
        return f'There is no agent "{name}" here. Write `{COMMAND} stop AGENT WHY`, or `{ALL}` for every agent.'
    agent, reason = found
    try:
        made = stops.make(
            installation.workspace, by=actor, role=role, reason=reason, agent=agent, id_=event.pk
        )  # fmt: skip
    except (stops.NotAllowed, stops.Refused) as refused:
        return f"Nothing was stopped: {mrkdwn.escape(str(refused))}."
    return f"{_sentence(stop_queries.sentence(made))} {_link(installation, 'stop-list', 'Lift it in Countersign')}"


def _agent_and_reason(installation: SlackInstallation, said: str) -> tuple[Agent | None, str] | None:
    """The agent whose name or slug what was said begins with, of several the longest; the rest is why."""
    if said == ALL or said.startswith(f"{ALL} "):
        return None, said.removeprefix(ALL).strip()
    named = [
        (name, agent)
        for agent in Agent.objects.filter(workspace_id=installation.workspace_id).only("id", "name", "slug")
        for name in (agent.name, agent.slug)
        if f"{said} ".casefold().startswith(f"{name} ".casefold())
    ]
    if not named:
        return None
    name, agent = max(named, key=lambda one: len(one[0]))
    return agent, said[len(name) :].strip()


def _status(installation: SlackInstallation) -> str:
    workspace_id = installation.workspace_id
    held = list(stop_queries.in_force(workspace_id)[:MOST_LISTED])
    lines = [f":octagonal_sign: {_sentence(stop_queries.sentence(stop))}" for stop in held] or ["No agent is stopped."]
    waiting = approvals.waiting_count(workspace_id)
    waits = f"{waiting} calls wait" if waiting != 1 else "1 call waits"
    lines.append(f"{waits} for a decision. {_link(installation, 'approval-list', 'Open the inbox')}")
    return "\n".join(lines)


def _pending(installation: SlackInstallation) -> str:
    found = list(approvals.waiting(installation.workspace_id)[: MOST_LISTED + 1])
    if not found:
        return "No pending approvals."
    lines = []
    for approval in found[:MOST_LISTED]:
        tool = name_in_words(approval.tool_name, MOST_NAME).replace("`", "'")
        asks = f"{in_quotes(approval.session.agent.name, MOST_NAME)} asks to run {tool}"
        minutes = round((timezone.now() - approval.requested_at).total_seconds() / 60)
        facts = [f"risk {risk_in_words(approval.risk, approval.terms)}"] if approval.risk else []
        facts.append(f"waits for {minutes} min")
        card = mrkdwn.link(clicks.card_url(installation, approval), asks)
        lines.append(f"• {card} ({mrkdwn.escape(', '.join(facts))})")
    if len(found) > MOST_LISTED:
        more = approvals.waiting_count(installation.workspace_id) - MOST_LISTED
        lines.append(f"and {_link(installation, 'approval-list', f'{more} more')}")
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{mrkdwn.escape(text[:1].upper() + text[1:])}."


def _link(installation: SlackInstallation, name: str, words: str) -> str:
    return mrkdwn.link(f"{install.desk_url(installation)}{reverse(name)}", words)
