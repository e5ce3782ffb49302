"""Messages and clicks from Slack, kept as rows before they are acknowledged; a worker reads them thread by thread."""

from __future__ import annotations

from typing import Any

from sessions_app.models import Session, SlackEvent, SlackInstallation
from sessions_app.services.slack import threads

SPOKEN = (None, "", "file_share", "thread_broadcast", "me_message")
"""Subtypes of messages that people send; the others tell of edits, deletions, joins and bots."""


CLICK = "click:"
"""What the key of a click begins with; that of a message begins with its channel."""


def keep_message(installation: SlackInstallation, event: dict[str, Any], event_id: str) -> bool:
    """Keep a message for its session, and enqueue it. False for what is none of ours; a retry is kept already."""
    if not _is_of_a_person(installation, event) or not _is_for_us(installation, event):
        return False
    threads.keep_event(installation, f"{event['channel']}:{event['ts']}", key_of(installation, event), event_id, event)
    return True


def click_of(body: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
    """What a click says: the button with its value, where, and who."""
    channel = (body.get("channel") or {}).get("id", "")
    value = action.get("value", "")
    return {"action": action["action_id"], "value": value, "user": body["user"]["id"], "channel": channel}


def keep_click(installation: SlackInstallation, click: dict[str, Any], number: str) -> None:
    """Keep a click for the approval that it names, and enqueue it.

    ``number`` tells it from other clicks of the same person.
    """
    mark = f"{CLICK}{click['user']}:{number}"
    threads.keep_event(installation, mark, mark, mark, click)


def key_of(installation: SlackInstallation, event: dict[str, Any]) -> str:
    """``TEAM:CHANNEL:THREAD`` of a message; one that stands in no thread begins its own."""
    return f"{installation.team_id}:{event['channel']}:{event.get('thread_ts') or event['ts']}"


def _is_of_a_person(installation: SlackInstallation, event: dict[str, Any]) -> bool:
    """Not of a bot (two that answer each other never end), and said now: an edit comes with what was said before."""
    complete = all(isinstance(event.get(name), str) for name in ("user", "channel", "ts"))
    return (
        complete
        and event.get("subtype") in SPOKEN
        and not event.get("bot_id")
        and not event.get("edited")
        and event["user"] not in (installation.bot_user_id, "USLACKBOT")
    )


def _is_for_us(installation: SlackInstallation, event: dict[str, Any]) -> bool:
    """A mention, a direct message, or a reply in a thread that we are in."""
    mentions = bool(installation.bot_user_id) and f"<@{installation.bot_user_id}" in str(event.get("text", ""))
    if event.get("type") == "app_mention" or event.get("channel_type") == "im" or mentions:
        return True
    key = key_of(installation, event) if event.get("thread_ts") else ""
    return bool(key) and (
        SlackEvent.objects.filter(conversation_key=key, installation=installation).exists()
        or Session.objects.filter(workspace_id=installation.workspace_id, slack_conversation_key=key).exists()
    )
