"""Manifest of a Slack app for a desk, from which Slack makes the app."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

SCOPES = (
    "app_mentions:read", "channels:history", "chat:write", "chat:write.public", "commands", "groups:history",
    "im:history", "mpim:history", "users:read", "users:read.email",
)  # fmt: skip
"""What the bot may do at Slack."""
EVENTS = (
    "app_mention", "app_uninstalled", "message.channels", "message.groups", "message.im", "message.mpim",
    "tokens_revoked",
)  # fmt: skip


COMMAND = "/countersign"
USAGE = "stop AGENT WHY | status | pending"
"""The slash command, and what Slack shows while somebody writes it."""


def manifest(desk: str) -> dict[str, Any]:
    """The app manifest for a desk at this address: https://docs.slack.dev/reference/app-manifest."""
    return {
        "display_information": {"name": "Countersign", "description": "Ask an agent, and decide what it may do"},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": "countersign", "always_online": True},
            "slash_commands": [
                {
                    "command": COMMAND,
                    "url": f"{desk}/slack/commands",
                    "usage_hint": USAGE,
                    "description": "Stop agents, and see what waits for a decision",
                    "should_escape": False,
                }
            ],
        },
        "oauth_config": {"redirect_urls": [f"{desk}/slack/oauth_redirect"], "scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {"request_url": f"{desk}/slack/events", "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, "request_url": f"{desk}/slack/interactions"},
            "org_deploy_enabled": False,
            "socket_mode_enabled": False,
            "token_rotation_enabled": False,
        },
    }


def url_of_new_app(desk: str) -> str:
    """Slack's page that makes an app, with the manifest filled in."""
    return f"https://api.slack.com/apps?{urlencode({'new_app': 1, 'manifest_json': json.dumps(manifest(desk))})}"
