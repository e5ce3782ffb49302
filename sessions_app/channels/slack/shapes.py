"""Shapes of what Slack sends, as far as it is read here: https://docs.slack.dev/interactivity/handling-user-interaction.

Bolt and the listeners take them for granted, so a signed body of another shape is refused before it reaches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from . import modal

_ID = re.compile(r"[!-~]{1,255}", re.ASCII)
"""Ids and times of Slack's have some 10 to 60 visible characters. They become keys, which PostgreSQL indexes up to
2,704 bytes, and never with a NUL."""


def is_id(given: Any) -> bool:
    """Whether it can be an id of Slack's."""
    return isinstance(given, str) and bool(_ID.fullmatch(given))


def fault_in(body: dict[str, Any]) -> str:
    """What is not as Slack sends it, as a sentence; empty where everything is that will be read."""
    return next(_faults(body), "")


def _faults(body: dict[str, Any]) -> Iterator[str]:
    if "event" in body or body.get("type") == "event_callback":
        yield from _event(body)
    if body.get("type") == "block_actions":
        yield from _click(body)
    if body.get("type") in ("view_submission", "view_closed"):
        yield from _view(body)
    if "command" in body:
        yield from _wrong_ids(body, "", needed=["user_id"], others=["trigger_id"])


def _event(body: dict[str, Any]) -> Iterator[str]:
    event = body.get("event")
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        yield "event must be an object with a type"
        return
    yield from _wrong_ids(body, "", others=["event_id"])
    if event["type"] in ("message", "app_mention"):
        yield from _wrong_ids(event, "event.", others=["user", "channel", "ts", "thread_ts"])
    if not isinstance(event.get("tokens") or {}, dict):
        yield "event.tokens must be an object"


def _click(body: dict[str, Any]) -> Iterator[str]:
    yield from _person(body)
    yield from _wrong_ids(body, "", others=["trigger_id"])
    channel, actions = body.get("channel") or {}, body.get("actions")
    if isinstance(channel, dict):
        yield from _wrong_ids(channel, "channel.", others=["id"])
    else:
        yield "channel must be an object with an id"
    if not isinstance(actions, list) or not actions or not isinstance(actions[0], dict):
        yield "actions must be a list of objects, and not empty"
        return
    yield from _wrong_ids(actions[0], "actions[0].", needed=["action_id"], others=["action_ts"])
    if not isinstance(actions[0].get("value", ""), str):
        yield "actions[0].value must be text"


def _view(body: dict[str, Any]) -> Iterator[str]:
    yield from _person(body)
    view = body.get("view")
    if not isinstance(view, dict):
        yield "view must be an object"
        return
    yield from _wrong_ids(view, "view.", needed=["id", "type", "callback_id"])
    if view.get("callback_id") == modal.CALLBACK and body["type"] == "view_submission":
        yield from _reason(view)


def _reason(view: dict[str, Any]) -> Iterator[str]:
    """Of the modal that asks for the reason of a denial."""
    entered: Any = view
    for name in ("state", "values", "reason", "reason"):
        entered = entered.get(name) if isinstance(entered, dict) else None
    if not isinstance(entered, dict) or not isinstance(entered.get("value") or "", str):
        yield "view.state.values.reason.reason must be an object whose value is text"
    try:
        click = orjson.loads(str(view.get("private_metadata")))
    except ValueError:
        click = None
    kept = click if isinstance(click, dict) else {}
    if not all(isinstance(kept.get(name), str) for name in ("action", "value", "channel")):
        yield "view.private_metadata must be what the desk gave the modal: an object with action, value and channel"


def _person(body: dict[str, Any]) -> Iterator[str]:
    user = body.get("user")
    if isinstance(user, dict):
        yield from _wrong_ids(user, "user.", needed=["id"])
    else:
        yield "user must be an object with an id"


def _wrong_ids(
    given: dict[str, Any], place: str, *, needed: list[str] | None = None, others: list[str] | None = None
) -> Iterator[str]:
    """``needed`` must be there; ``others`` may be left out or null."""
    for name in needed or ():
        if not is_id(given.get(name)):
            yield f"{place}{name} must be an id of 1 to 255 visible ASCII characters"
    for name in others or ():
        if given.get(name) is not None and not is_id(given[name]):
            yield f"{place}{name} must be an id of 1 to 255 visible ASCII characters, or left out"
