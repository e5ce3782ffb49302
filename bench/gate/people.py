"""Who takes part: agents that ask, and people who decide by a key, in a browser's session, or by a click in Slack."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.fakes import slack

from ..drills.desk import Desk

MAKE = """
from django.conf import settings
from django.contrib.auth import get_user_model, BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from importlib import import_module
from sessions_app.models import Member, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.people import api_keys
for number in range({keys}):
    workspace, name = Workspace.objects.get(), f"key {{number}}"
    print("key", api_keys.create_api_key(workspace, name, Role.REVIEWER, by=audit.COMMAND)[1])
for number in range({members}):
    name, email = f"Person {{number}}", f"p{{number}}@example.org"
    user = get_user_model().objects.create_user(email, email, first_name=name)
    Member.objects.create(workspace=Workspace.objects.get(), user=user, role="reviewer")
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session.create()
    print("cookie", session.session_key)
"""
CONNECT = """
from sessions_app.channels.slack import install
from sessions_app.models import Workspace
from sessions_app.services import audit
install.connect_with_token(Workspace.objects.get().pk, {token!r}, {secret!r}, by=audit.COMMAND, desk={desk!r})
"""
TOKEN = "t" * 32
CHANNEL = "C0GENERAL"


@dataclass(frozen=True)
class Person:
    """Somebody who decides. ``way``: api (a key), json or form (a browser's session), slack (``name`` is of Slack)."""

    way: str
    headers: dict[str, str]
    name: str = ""


async def send(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status and body of the answer to a POST, without a body to a GET; (0, what failed) where none came."""
    given = {"Host": f"127.0.0.1:{port}", "Connection": "close", "Content-Length": str(len(body))} | headers
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in given.items())
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + b"\r\n" + body)
        answer = await reader.read()
        writer.close()
    except OSError as fault:
        return 0, str(fault).encode()
    first, _, said = answer.partition(b"\r\n\r\n")
    return int(first.split()[1]) if first else 0, said


def people(desk: Desk, keys: int, members: int) -> list[Person]:
    """Those who decide at the desk: with keys, and members both as programs and on the page."""
    said = [line.split() for line in desk.manage("shell", "-c", MAKE.format(keys=keys, members=members)).splitlines()]
    made, cookies = ([line[1] for line in said if line[:1] == [kind]] for kind in ("key", "cookie"))
    signed_in = [
        {"Cookie": f"sessionid={cookie}; csrftoken={TOKEN}", "X-CSRFToken": TOKEN} for cookie in cookies
    ]  # fmt: skip
    return [
        *(Person("api", {"Authorization": f"Bearer {key}"}) for key in made),
        *(Person("json", headers) for headers in signed_in),
        *(Person("form", headers) for headers in signed_in),
    ]


def in_slack(desk: Desk, workspace: slack.FakeSlack, members: int) -> list[Person]:
    """The same members in a Slack workspace, which the desk is connected to."""
    connect = CONNECT.format(token=slack.TOKEN, secret=slack.SECRET, desk=f"http://127.0.0.1:{desk.port}")
    desk.manage("shell", "-c", connect)
    names = [f"U0PERSON{number}" for number in range(members)]
    for number, name in enumerate(names):
        workspace.user(name, f"Person {number}", f"p{number}@example.org")
    return [Person("slack", {}, name) for name in names]


def ask(desk: Desk, count: int, *, sessions: int = 0) -> list[dict[str, Any]]:
    """So many questions, in so many sessions; 0: each in its own."""
    name = f"asker {time.monotonic_ns()}"
    return [
        desk.call("/api/v1/approvals", {
            "agent": name, "external_id": f"{name} {n % sessions if sessions else n}",
            "tool": {"name": "refund", "arguments": {"n": n}},
        })
        for n in range(count)
    ]  # fmt: skip


async def decide(port: int, approval: dict[str, Any], person: Person, number: int) -> tuple[int, bytes]:
    """Status and body of one decision; every second one denies, of those in Slack none."""
    verdict = "approve" if number % 2 or person.way == "slack" else "deny"
    shown = {"version": approval["version"], "digest": approval["digest"]}
    if person.way == "slack":
        return await _click(port, {"approval": approval["id"], **shown}, person, f"{approval['id']}.{number}")
    stated = {"verdict": verdict, **shown, "reason": f"reason {number}"}
    if person.way == "form":
        body, headers = urlencode(stated).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        path, headers = f"/approvals/{approval['id']}/decision", headers | {"HX-Request": "true"}
    else:
        body, headers = json.dumps(stated).encode(), {"Content-Type": "application/json"}
        path = f"/api/v1/approvals/{approval['id']}/decision"
    return await send(port, path, body, headers | person.headers)


async def _click(port: int, value: dict[str, Any], person: Person, mark: str) -> tuple[int, bytes]:
    """Press a button of a message, as Slack tells of it: signed (docs.slack.dev, verifying requests)."""
    button = {"type": "button", "block_id": "b", "action_id": "approval_approve", "value": json.dumps(value)}
    body = {
        "type": "block_actions", "team": {"id": slack.TEAM}, "user": {"id": person.name, "team_id": slack.TEAM},
        "channel": {"id": CHANNEL}, "message": {"ts": "1.1"}, "trigger_id": mark,
        "actions": [button | {"action_ts": mark}],
    }  # fmt: skip
    form, at = urlencode({"payload": json.dumps(body)}).encode(), str(int(time.time()))
    mac = hmac.new(slack.SECRET.encode(), f"v0:{at}:".encode() + form, hashlib.sha256).hexdigest()
    headers = {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={mac}"}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    return await send(port, "/slack/interactions", form, headers)
