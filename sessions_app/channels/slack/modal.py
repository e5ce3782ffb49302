"""Modal that asks who denies in Slack for the reason: https://docs.slack.dev/surfaces/modals."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from sessions_app.models import Approval, SlackInstallation
from sessions_app.rendering.text import in_quotes
from sessions_app.rendering.toolline import name_in_words

from . import api, clicks

log = logging.getLogger(__name__)
CALLBACK = "approval_deny_reason"
SECONDS = 2.0
"""For opening it: Slack wants the answer to the click within 3."""
MOST_REASON = 3_000
"""Characters that Slack lets somebody enter."""


def ask_why(installation: SlackInstallation, click: dict[str, Any], trigger_id: str) -> bool:
    """Open the modal for who clicked. False when it cannot be asked: then the click decides by itself.

    ``trigger_id`` is good for 3 s, so this happens while Slack waits. A question that is decided already, or is none
    of this workspace's, opens nothing: who clicked is told so like after any other click.
    """
    approval = clicks.asked_by(installation, click)
    if approval is None or approval.status != Approval.Status.PENDING:
        return False
    try:
        api.call_for(
            installation, "views_open", timeout=SECONDS, trigger_id=trigger_id, view=_view(approval, click)
        )  # fmt: skip
    except (api.Away, api.Refused) as fault:
        log.info("the reason of a denial could not be asked for: %s", fault)
        return False
    return True


def click_of(view: dict[str, Any]) -> dict[str, Any]:
    """The click that opened the modal, with the reason that was entered. Raises ``ValueError`` for another modal."""
    click = orjson.loads(view.get("private_metadata") or "")
    entered = view["state"]["values"]["reason"]["reason"].get("value")
    return click | {"reason": str(entered or "").strip()[:MOST_REASON]}


def _view(approval: Approval, click: dict[str, Any]) -> dict[str, Any]:
    agent, tool = in_quotes(approval.session.agent.name, 100), name_in_words(approval.tool_name, 180)
    what = f"{agent} asks to run {tool}"
    is_wanted = "deny" in (approval.terms.get("comment") or ())
    kept = {name: click[name] for name in ("action", "value", "channel")}
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": orjson.dumps(kept).decode(),
        "title": _plain("Deny"),
        "submit": _plain("Deny"),
        "close": _plain("Cancel"),
        "blocks": [
            {"type": "section", "text": _plain(what)},
            {
                "type": "input", "block_id": "reason", "optional": not is_wanted,
                "label": _plain("Why? The agent is told, and so is who reads this later."),
                "element": {
                    "type": "plain_text_input", "action_id": "reason", "multiline": True, "max_length": MOST_REASON,
                },
            },
        ],
    }  # fmt: skip


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
