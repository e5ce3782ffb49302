"""Slack on loopback: a Web API that refuses what the real one refuses, in its words; and its signed requests.

For the real SDK to talk to. What it cannot do: files, socket mode, Enterprise Grid.
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

from .loopback import Server
from .slack_rules import is_block, is_modal

TEAM, BOT, BOT_ID = "T0GARDEN1", "U0BOT0001", "B0BOT0001"
TOKEN = "xoxb-1111-2222-gardenshopgarden"
SECRET = "0123456789abcdef0123456789abcdef"
CLIENT_ID, CLIENT_SECRET, CODE = "11.22", "clientsecret4711", "code-once"
ALL_SCOPES = frozenset({
    "app_mentions:read", "channels:history", "chat:write", "chat:write.public", "commands", "groups:history",
    "im:history", "mpim:history", "users:read", "users:read.email",
})  # fmt: skip
NEEDS = {
    "chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.postEphemeral": "chat:write",
    "conversations.replies": "channels:history", "conversations.history": "channels:history",
    "conversations.info": "channels:read", "users.info": "users:read",
}  # fmt: skip
MOST_POSTED, MOST_UPDATED, MOST_LISTED = 40_000, 4_000, 1_000


SPOKEN = ("channel", "user", "ts", "thread_ts", "text")


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
    """One Slack workspace with the app in it. Tests change ``users``, ``faults``, ``scopes`` and ``joined``, and read
    the rest. ``triggers`` are the clicks for which a view may be opened still: real ones last 3 s.
    """

    def __init__(self) -> None:
        self.api_url = ""
        self.token: str | None = TOKEN
        self.scopes = set(ALL_SCOPES)
        self.users: dict[str, dict[str, Any]] = {}
        self.channels = {"C0GENERAL", "C0PEOPLE1", "D0KIM0001"}
        self.joined = set(self.channels)
        self.messages: dict[tuple[str, str], Message] = {}
        self.spoken: list[dict[str, Any]] = []
        self.triggers: set[str] = set()
        self.views: list[dict[str, Any]] = []
        self.ephemeral: list[dict[str, str]] = []
        self.responses: list[dict[str, str]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.faults: list[Fault] = []
        self.codes = {CODE}
        self._lock = threading.Lock()
        self._clock = itertools.count(int(time.time()))

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
        is_form = path.endswith(("interactions", "commands"))
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
        self.spoken.append({name: event[name] for name in SPOKEN if name in event})
        return self.send(client, envelope(event, id_))

    def mentions(self, client: Client, text: str, **event: Any) -> HttpResponse:
        """Somebody mentions the app in a channel."""
        about = {"type": "app_mention", "channel": "C0GENERAL", "channel_type": "channel"}
        return self.says(client, f"<@{BOT}> {text}", **about | event)

    def overheard(self, text: str, **message: Any) -> str:
        """Somebody says something in a channel of which we hear nothing; its ``ts``."""
        said = {"channel": "C0GENERAL", "user": "U0KIM0001", "ts": f"{next(self._clock)}.000100", "text": text}
        self.spoken.append(said | message)
        return said["ts"]

    def clicks(self, client: Client, message: Message, label: str, user: str) -> HttpResponse:
        """Somebody presses a button of a message."""
        buttons = [e for block in message.blocks for e in block.get("elements", []) if e["type"] == "button"]
        button = next(button for button in buttons if button["text"]["text"] == label)
        action = {name: button[name] for name in ("action_id", "value") if name in button}
        self.triggers.add(trigger := f"{next(self._clock)}.2.3")
        body = {
            "type": "block_actions", "team": {"id": TEAM}, "user": {"id": user, "team_id": TEAM},
            "channel": {"id": message.channel}, "message": {"ts": message.ts}, "trigger_id": trigger,
            "actions": [action | {"type": "button", "block_id": "b", "action_ts": f"{next(self._clock)}.1"}],
        }  # fmt: skip
        return self.send(client, body, "/slack/interactions")

    def submits(self, client: Client, view: dict[str, Any], user: str, reason: str | None, **more: Any) -> HttpResponse:
        """Somebody sends a modal off. An input that was left empty has the value null."""
        (block,) = (block for block in view["blocks"] if block["type"] == "input")
        entered = {block["element"]["action_id"]: {"type": "plain_text_input", "value": reason}}
        body = {
            "type": "view_submission", "team": {"id": TEAM}, "user": {"id": user, "team_id": TEAM},
            "trigger_id": f"{next(self._clock)}.2.3",
            "view": view | {"team_id": TEAM, "state": {"values": {block["block_id"]: entered}}},
        }  # fmt: skip
        return self.send(client, body, "/slack/interactions", **more)

    def commands(self, client: Client, text: str, user: str, **more: Any) -> HttpResponse:
        """Somebody writes the slash command; ``response_url`` is good for what is said to them."""
        number = next(self._clock)
        form = {
            "command": "/countersign", "text": text, "team_id": TEAM, "channel_id": "C0GENERAL", "user_id": user,
            "trigger_id": f"{number}.2.3", "api_app_id": "A0APP0001",
            "response_url": self.api_url.replace("/api/", f"/commands/{number}"),
        }  # fmt: skip
        form |= {name: more.pop(name) for name in list(more) if name in form}
        return self.send(client, urlencode(form).encode(), "/slack/commands", **more)

    # --- the Web API ---

    @contextmanager
    def serving(self) -> Iterator[FakeSlack]:
        listener = socket.create_server(("127.0.0.1", 0))
        self.api_url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/"
        app = Starlette(
            routes=[
                Route("/api/{method}", self._answer, methods=["GET", "POST"]),
                Route("/commands/{number}", self._respond, methods=["POST"]),
            ]
        )
        server = Server(uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="fake-slack")
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(60)
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

    async def _respond(self, request: Request) -> Response:
        """What is said to who wrote a command: at most five times, within half an hour."""
        said = await request.json()
        with self._lock:
            fault = next((fault for fault in self.faults if fault.method == "respond" and fault.times), None)
            if fault:
                fault.times -= 1
                return Response(fault.error, fault.status, fault.headers)
            if said.get("response_type") not in ("ephemeral", "in_channel") or not said.get("text"):
                return Response("no_text", 400)
            self.responses.append(said)
        return Response("ok")

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
        """The first message of the thread, always; then what follows, the oldest first."""
        thread = given.get("ts")
        of_thread = [m for m in self._said(given) if thread in (m["ts"], m.get("thread_ts"))]
        if not any(m["ts"] == thread for m in of_thread):
            raise Refusal("thread_not_found")
        found = [m for m in of_thread if m["ts"] == thread or _is_between(m, given)]
        return _page(sorted(found, key=lambda m: float(m["ts"])), given)

    def _history(self, given: dict[str, Any]) -> dict[str, Any]:
        """What stands in the channel itself, the newest first."""
        if self._channel(given) not in self.joined:
            raise Refusal("not_in_channel")
        found = [m for m in self._said(given) if not m.get("thread_ts") and _is_between(m, given)]
        return _page(sorted(found, key=lambda m: float(m["ts"]), reverse=True), given)

    def _said(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        channel = self._channel(given)
        with_metadata = str(given.get("include_all_metadata")).lower() in ("1", "true")
        ours = [
            {"ts": m.ts, "text": m.text, "user": BOT, "bot_id": BOT_ID, "bot_profile": {"name": "Countersign"}}
            | ({"thread_ts": m.thread_ts} if m.thread_ts else {})
            | ({"metadata": m.metadata} if with_metadata and m.metadata else {})
            for m in self.posted(channel)
        ]
        return ours + [said for said in self.spoken if said["channel"] == channel]

    def _open(self, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("trigger_id") not in self.triggers:
            raise Refusal("expired_trigger_id")
        self.triggers.discard(given["trigger_id"])
        view = given.get("view")
        view = json.loads(view) if isinstance(view, str) else view
        if not isinstance(view, dict) or not is_modal(view):
            raise Refusal("invalid_arguments")
        self.views.append(view | {"id": f"V{next(self._clock)}"})
        return {"view": self.views[-1]}


METHODS: dict[str, Callable[[FakeSlack, dict[str, Any]], dict[str, Any]]] = {
    "auth.test": FakeSlack._auth_test,
    "auth.revoke": FakeSlack._auth_revoke,
    "users.info": FakeSlack._users_info,
    "conversations.info": FakeSlack._info,
    "conversations.replies": FakeSlack._replies,
    "conversations.history": FakeSlack._history,
    "views.open": FakeSlack._open,
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
    if len(blocks) > 50 or not all(is_block(block) for block in blocks):
        raise Refusal("invalid_blocks")
    return blocks


def _is_between(message: dict[str, Any], given: dict[str, Any]) -> bool:
    """Neither bound is in it unless ``inclusive``."""
    ts, inclusive = float(message["ts"]), str(given.get("inclusive")).lower() in ("1", "true")
    oldest, latest = float(given.get("oldest") or 0), float(given.get("latest") or "inf")
    return oldest <= ts <= latest if inclusive else oldest < ts < latest


def _page(messages: list[dict[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
    limit = min(int(given.get("limit") or 100), MOST_LISTED)
    return {"messages": messages[:limit], "has_more": len(messages) > limit}


async def _parameters(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        return dict(request.query_params) | (json.loads(raw) if raw else {})
    return dict(request.query_params) | dict(parse_qsl(raw.decode()))
