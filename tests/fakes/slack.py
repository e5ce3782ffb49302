"""Slack on loopback: a Web API that refuses what the real one refuses, in its words; and its signed requests.

For the real SDK to talk to. What it cannot do: files, views, socket mode, Enterprise Grid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from django.http import HttpResponse
from django.test import Client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TEAM, BOT, BOT_ID = "T0GARDEN1", "U0BOT0001", "B0BOT0001"
TOKEN = "xoxb-1111-2222-gardenshopgarden"
SECRET = "0123456789abcdef0123456789abcdef"
CLIENT_ID, CLIENT_SECRET, CODE = "11.22", "clientsecret4711", "code-once"
ALL_SCOPES = frozenset({
    "app_mentions:read", "channels:history", "chat:write", "chat:write.public", "groups:history", "im:history",
    "mpim:history", "users:read", "users:read.email",
})  # fmt: skip
NEEDS = {
    "chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.postEphemeral": "chat:write",
    "conversations.replies": "channels:history", "conversations.info": "channels:read", "users.info": "users:read",
}  # fmt: skip
MOST_POSTED, MOST_UPDATED, MOST_SECTION, MOST_VALUE, MOST_LABEL = 40_000, 4_000, 3_000, 2_000, 75


class Refusal(Exception):
    """``{"ok": false, "error": ...}``."""


@dataclass
class Fault:
    """The next calls of a method fail so. ``after``: each is carried out first, and its answer is lost."""

    method: str
    status: int = 200
    error: str = "internal_error"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False


@dataclass
class Message:
    channel: str
    ts: str
    text: str
    thread_ts: str | None
    blocks: list[dict[str, Any]]
    metadata: dict[str, Any] | None
    history: list[str] = field(default_factory=list)
    """Each text that it had, the first one included."""


class FakeSlack:
    """One Slack workspace with the app in it. Tests change ``users``, ``faults`` and ``scopes``, and read the rest."""

    def __init__(self) -> None:
        self.api_url = ""
        self.token: str | None = TOKEN
        self.scopes = set(ALL_SCOPES)
        self.users: dict[str, dict[str, Any]] = {}
        self.channels = {"C0GENERAL", "C0PEOPLE1", "D0KIM0001"}
        self.messages: dict[tuple[str, str], Message] = {}
        self.ephemeral: list[dict[str, str]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.faults: list[Fault] = []
        self.codes = {CODE}
        self._lock = threading.Lock()
        self._clock = itertools.count(1_700_000_000)

    def user(self, id_: str, name: str, email: str = "", **more: Any) -> dict[str, Any]:
        """Somebody whom ``users.info`` knows; a full member of the team unless ``more`` says otherwise."""
        profile = {"real_name": name, "display_name": name, "email": email}
        self.users[id_] = {"id": id_, "team_id": TEAM, "profile": profile, "is_email_confirmed": bool(email)} | more
        return self.users[id_]

    def posted(self, channel: str) -> list[Message]:
        """What we said in a channel, in order."""
        return [message for message in self.messages.values() if message.channel == channel]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.calls if name == method]

    # --- requests of Slack's ---

    def send(
        self, client: Client, body: dict[str, Any] | bytes, path: str = "/slack/events", *, secret: str = SECRET,
        age: float = 0, signature: str | None = None, **headers: str,
    ) -> HttpResponse:  # fmt: skip
        """POST it signed, as Slack does: JSON to the events, a form with ``payload`` to the interactions."""
        is_form = path.endswith("interactions")
        if isinstance(body, dict):
            body = (urlencode({"payload": json.dumps(body)}) if is_form else json.dumps(body)).encode()
        at = str(int(time.time() - age))
        mac = hmac.new(secret.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        return client.post(
            path, body, content_type="application/x-www-form-urlencoded" if is_form else "application/json",
            headers={"X-Slack-Request-Timestamp": at, "X-Slack-Signature": signature or f"v0={mac}"} | headers,
        )  # fmt: skip

    def says(self, client: Client, text: str, **event: Any) -> HttpResponse:
        """Somebody writes: ``user``, ``channel``, ``ts``, ``thread_ts``, ``type``, ``event_id`` as given."""
        number = next(self._clock)
        id_ = event.pop("event_id", f"Ev{number}")
        event = {"type": "message", "channel_type": "im", "channel": "D0KIM0001", "user": "U0KIM0001"} | event
        event |= {"text": text, "ts": event.get("ts") or f"{number}.000100", "team": event.get("team", TEAM)}
        return self.send(client, envelope(event, id_))

    def mentions(self, client: Client, text: str, **event: Any) -> HttpResponse:
        """Somebody mentions the app in a channel."""
        about = {"type": "app_mention", "channel": "C0GENERAL", "channel_type": "channel"}
        return self.says(client, f"<@{BOT}> {text}", **about | event)

    def clicks(self, client: Client, message: Message, label: str, user: str) -> HttpResponse:
        """Somebody presses a button of a message."""
        buttons = [e for block in message.blocks for e in block.get("elements", []) if e["type"] == "button"]
        button = next(button for button in buttons if button["text"]["text"] == label)
        action = {name: button[name] for name in ("action_id", "value") if name in button}
        body = {
            "type": "block_actions", "team": {"id": TEAM}, "user": {"id": user, "team_id": TEAM},
            "channel": {"id": message.channel}, "message": {"ts": message.ts}, "trigger_id": "1.2.3",
            "actions": [action | {"type": "button", "block_id": "b", "action_ts": f"{next(self._clock)}.1"}],
        }  # fmt: skip
        return self.send(client, body, "/slack/interactions")

    # --- the Web API ---

    @contextmanager
    def serving(self) -> Iterator[FakeSlack]:
        listener = socket.create_server(("127.0.0.1", 0))
        self.api_url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/"
        app = Starlette(routes=[Route("/api/{method}", self._answer, methods=["GET", "POST"])])
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="fake-slack")
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(10)
            listener.close()

    async def _answer(self, request: Request) -> Response:
        method, given = request.path_params["method"], await _parameters(request)
        with self._lock:
            self.calls.append((method, given))
            fault = next((fault for fault in self.faults if fault.method in (method, "*") and fault.times), None)
            if fault:
                fault.times -= 1
            if fault is None or fault.after:
                answer = self._carried_out(request, method, given)
            if fault:
                return JSONResponse({"ok": False, "error": fault.error}, fault.status, fault.headers)
        return JSONResponse(answer)

    def _carried_out(self, request: Request, method: str, given: dict[str, Any]) -> dict[str, Any]:
        known = METHODS.get(method)
        try:
            if known is None:
                raise Refusal("unknown_method")
            if method == "oauth.v2.access":
                return {"ok": True} | self._oauth(request, given)
            token = request.headers.get("authorization", "").removeprefix("Bearer ").strip() or given.get("token", "")
            self._check(token, method)
            return {"ok": True} | known(self, given)
        except Refusal as refusal:
            return {"ok": False, "error": str(refusal)}

    def _check(self, token: str, method: str) -> None:
        if not token:
            raise Refusal("not_authed")
        if token != self.token:
            raise Refusal("token_revoked" if token == TOKEN and self.token is None else "invalid_auth")
        if (needed := NEEDS.get(method)) and needed not in self.scopes:
            raise Refusal("missing_scope")

    def _oauth(self, request: Request, given: dict[str, Any]) -> dict[str, Any]:
        kind, _, basic = request.headers.get("authorization", "").partition(" ")
        pair = base64.b64decode(basic).decode().split(":", 1) if kind == "Basic" else [
            given.get("client_id"), given.get("client_secret")
        ]  # fmt: skip
        if pair[0] != CLIENT_ID:
            raise Refusal("invalid_client_id")
        if pair[1] != CLIENT_SECRET:
            raise Refusal("bad_client_secret")
        if given.get("code") not in self.codes:
            raise Refusal("invalid_code")
        self.codes.discard(given["code"])
        team = {"id": TEAM, "name": "Garden shop"}
        scope = ",".join(sorted(self.scopes))
        return {"access_token": TOKEN, "token_type": "bot", "scope": scope, "bot_user_id": BOT, "team": team}

    def _auth_test(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"team": "Garden shop", "team_id": TEAM, "user": "desk", "user_id": BOT, "bot_id": BOT_ID}

    def _auth_revoke(self, given: dict[str, Any]) -> dict[str, Any]:
        self.token = None
        return {"revoked": True}

    def _users_info(self, given: dict[str, Any]) -> dict[str, Any]:
        user = self.users.get(given.get("user", ""))
        if user is None:
            raise Refusal("user_not_found")
        if "users:read.email" not in self.scopes:
            user = user | {"profile": {k: v for k, v in user["profile"].items() if k != "email"}}
        return {"user": user}

    def _info(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"channel": {"id": self._channel(given), "name": "general"}}

    def _channel(self, given: dict[str, Any]) -> str:
        if given.get("channel") not in self.channels:
            raise Refusal("channel_not_found")
        return given["channel"]

    def _post(self, given: dict[str, Any]) -> dict[str, Any]:
        channel, text, blocks = self._channel(given), given.get("text", ""), _blocks(given)
        if not text and not blocks:
            raise Refusal("no_text")
        if len(text) > MOST_POSTED:
            raise Refusal("msg_too_long")
        ts, metadata = f"{next(self._clock)}.000200", given.get("metadata")
        metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        if metadata and not (isinstance(metadata.get("event_type"), str) and "event_payload" in metadata):
            raise Refusal("invalid_metadata_format")
        self.messages[channel, ts] = Message(channel, ts, text, given.get("thread_ts"), blocks, metadata, [text])
        return {"channel": channel, "ts": ts}

    def _update(self, given: dict[str, Any]) -> dict[str, Any]:
        message = self.messages.get((self._channel(given), given.get("ts", "")))
        if message is None:
            raise Refusal("message_not_found")
        if len(given.get("text", "")) > MOST_UPDATED:
            raise Refusal("msg_too_long")
        message.text, message.blocks = given.get("text", ""), _blocks(given)
        message.history.append(message.text)
        return {"channel": message.channel, "ts": message.ts, "text": message.text}

    def _ephemeral(self, given: dict[str, Any]) -> dict[str, Any]:
        self._channel(given)
        if not given.get("text"):
            raise Refusal("no_text")
        if given.get("user") not in self.users:
            raise Refusal("user_not_in_channel")
        self.ephemeral.append({name: given.get(name, "") for name in ("channel", "user", "text", "thread_ts")})
        return {"message_ts": f"{next(self._clock)}.000300"}

    def _replies(self, given: dict[str, Any]) -> dict[str, Any]:
        channel, thread = self._channel(given), given.get("ts")
        found = [m for m in self.posted(channel) if m.thread_ts == thread]
        with_metadata = str(given.get("include_all_metadata")).lower() in ("1", "true")
        return {"messages": [
            {"ts": m.ts, "text": m.text, "thread_ts": thread} | ({"metadata": m.metadata} if with_metadata else {})
            for m in found
        ], "has_more": False}  # fmt: skip


METHODS: dict[str, Callable[[FakeSlack, dict[str, Any]], dict[str, Any]]] = {
    "auth.test": FakeSlack._auth_test,
    "auth.revoke": FakeSlack._auth_revoke,
    "users.info": FakeSlack._users_info,
    "conversations.info": FakeSlack._info,
    "conversations.replies": FakeSlack._replies,
    "chat.postMessage": FakeSlack._post,
    "chat.update": FakeSlack._update,
    "chat.postEphemeral": FakeSlack._ephemeral,
    "oauth.v2.access": lambda slack, given: {},
}


def envelope(event: dict[str, Any], event_id: str) -> dict[str, Any]:
    """What the Events API puts around an event."""
    return {
        "type": "event_callback", "team_id": TEAM, "api_app_id": "A0APP0001", "event": event, "event_id": event_id,
        "event_time": 1_700_000_000, "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
    }  # fmt: skip


def _blocks(given: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = given.get("blocks") or []
    blocks = json.loads(blocks) if isinstance(blocks, str) else blocks
    if len(blocks) > 50 or not all(_is_valid(block) for block in blocks):
        raise Refusal("invalid_blocks")
    return blocks


def _is_valid(block: dict[str, Any]) -> bool:
    if block["type"] == "section":
        return 0 < len(block["text"]["text"]) <= MOST_SECTION
    if block["type"] == "context":
        return all(0 < len(element["text"]) <= MOST_SECTION for element in block["elements"])
    if block["type"] != "actions":
        return False
    names = [element["action_id"] for element in block["elements"]]
    return (
        1 <= len(names) <= 25
        and len(set(names)) == len(names)
        and all(
            len(e.get("value", "")) <= MOST_VALUE
            and len(e["text"]["text"]) <= MOST_LABEL
            and e["text"]["type"] == "plain_text"
            and e.get("style") in (None, "primary", "danger")
            and e.get("url", "https://").startswith(("https://", "http://"))
            for e in block["elements"]
        )
    )


async def _parameters(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        return dict(request.query_params) | (json.loads(raw) if raw else {})
    return dict(request.query_params) | dict(parse_qsl(raw.decode()))
