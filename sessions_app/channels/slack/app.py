"""The Bolt app: Slack's requests come in here, signed with the secret of the installation that they are for.

A listener only keeps what came, so that Slack has its answer within 3 s; ``inbox`` enqueues it for a worker.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from django.conf import settings
from slack_bolt import App, BoltContext, BoltRequest, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware import Middleware, RequestVerification
from slack_sdk.signature import SignatureVerifier

from sessions_app.encryption import Unreadable
from sessions_app.models import SlackInstallation
from sessions_app.services import audit
from sessions_app.services.slack import installations

from . import commands, inbox, manifest, modal, shapes

log = logging.getLogger(__name__)
_SIGNED = re.compile(r"\d{1,12} v0=[0-9a-f]{64}\Z", re.ASCII)
"""Time and signature: the SDK's own check takes nothing else without a fault."""
UNKNOWN = BoltResponse(status=401, body={"error": "no installation here has the secret of this signature"})


@cache
def app() -> App:
    """The app of this process. ``authorize`` and the check below know every installation."""
    bolt = App(
        name="countersign",
        authorize=_authorize,
        before_authorize=_SignatureOfTheTeam(),
        request_verification_enabled=False,  # it knows one secret; the middleware above calls it with the right one
        ssl_check_enabled=False,  # answers without a signature
        process_before_response=True,  # a listener writes one row, in the thread of the request
        attaching_conversation_kwargs_enabled=False,
    )
    bolt.event("app_mention")(_on_message)
    bolt.event("message")(_on_message)
    bolt.event("app_uninstalled")(_on_removal)
    bolt.event("tokens_revoked")(_on_removal)
    bolt.block_action("approval_approve")(_on_click)
    bolt.block_action("approval_stop")(_on_click)
    bolt.block_action("approval_deny")(_on_denial)
    bolt.view(modal.CALLBACK)(_on_reason)
    bolt.command(manifest.COMMAND)(_on_command)
    bolt.block_action("approval_open")(lambda ack: ack())  # a link: the browser opens it
    return bolt


class Malformed(ValueError):
    """The body is nothing that Slack sends; the message says what it has to be."""


def handle(body: bytes, headers: Mapping[str, str]) -> BoltResponse:
    """The answer to a request of Slack's. Raises ``Malformed``."""
    try:
        request = BoltRequest(body=body.decode(), headers=dict(headers))
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):  # read before the signature is checked
        raise Malformed("the body is neither a JSON object nor a form with one") from None
    return app().dispatch(request)


class _SignatureOfTheTeam(Middleware):
    """Bolt's own check (HMAC-SHA256 of the body, at most 5 minutes old), with the secret of the team that is named.

    What is signed has then to be of the shape that Slack gives it.
    """

    def process(self, *, req: BoltRequest, resp: BoltResponse, next: Callable[[], BoltResponse]) -> BoltResponse:
        body, timestamp = req.raw_body, req.headers.get("x-slack-request-timestamp", ["0"])[0]
        signature, team_id = req.headers.get("x-slack-signature", [""])[0], req.context.team_id
        if not _SIGNED.match(f"{timestamp} {signature}") or not (team_id is None or shapes.is_id(team_id)):
            return UNKNOWN
        # To a team that is not connected Bolt would post its regrets there, whatever address it is.
        req.context.pop("response_url", None)
        try:
            for secret in _secrets(team_id):
                if SignatureVerifier(secret).is_valid(body, timestamp, signature):
                    if fault := _fault_in(req):
                        return BoltResponse(status=400, body=fault)
                    return RequestVerification(secret).process(req=req, resp=resp, next=next)
        except Unreadable as unreadable:
            log.error("a request of Slack workspace %s cannot be checked: %s", team_id, unreadable)
            return BoltResponse(status=503)
        return UNKNOWN


def _fault_in(request: BoltRequest) -> str:
    """Why a signed request cannot be read; empty where it can."""
    tries_the_address = request.body.get("type") == "url_verification" or "ssl_check" in request.body
    if request.context.team_id is None and not tries_the_address:
        return "the body names no Slack workspace (team_id, or team with an id)"
    return shapes.fault_in(request.body)


def _secrets(team_id: str | None) -> Iterator[str]:
    """Of the team; of every team where the request names none, as the one by which Slack tries the address.

    Raises ``secrets.Unreadable`` for what was encrypted under another ``SECRET_KEY``.
    """
    rows = SlackInstallation.objects.filter(revoked_at=None)
    rows = rows.filter(team_id=team_id) if team_id else rows
    found = {secret for secret in rows.values_list("signing_secret", flat=True) if secret}
    yield from found
    if settings.SLACK_SIGNING_SECRET and not (team_id and found):
        yield settings.SLACK_SIGNING_SECRET


def _authorize(team_id: str | None, context: BoltContext, **_: Any) -> AuthorizeResult | None:
    """Who we are in that team; listeners have the installation, and never its token."""
    installation = installations.connected().filter(team_id=team_id or "").first()
    if installation is None:
        return None
    context["installation"] = installation
    return AuthorizeResult(
        enterprise_id=None, team_id=team_id, bot_id=installation.bot_id, bot_user_id=installation.bot_user_id
    )


def _on_message(body: dict[str, Any], event: dict[str, Any], context: BoltContext) -> None:
    inbox.keep_message(context["installation"], event, str(body.get("event_id", "")))


def _on_click(ack: Callable[[], Any], body: dict[str, Any], action: dict[str, Any], context: BoltContext) -> None:
    _keep_click(body, action, context)
    ack()


def _on_denial(ack: Callable[[], Any], body: dict[str, Any], action: dict[str, Any], context: BoltContext) -> None:
    """Ask why; where that cannot be asked, the click is the denial."""
    click = inbox.click_of(body, action)
    if not modal.ask_why(context["installation"], click, str(body.get("trigger_id", ""))):
        _keep_click(body, action, context)
    ack()


def _on_reason(ack: Callable[[], Any], body: dict[str, Any], view: dict[str, Any], context: BoltContext) -> None:
    click = modal.click_of(view) | {"user": body["user"]["id"]}
    inbox.keep_click(context["installation"], click, str(view["id"]))
    ack()


def _on_command(ack: Callable[[], Any], body: dict[str, Any], context: BoltContext) -> None:
    inbox.keep_click(context["installation"], commands.payload_of(body), str(body.get("trigger_id", "")))
    ack()


def _keep_click(body: dict[str, Any], action: dict[str, Any], context: BoltContext) -> None:
    number = str(action.get("action_ts") or body.get("trigger_id", ""))
    inbox.keep_click(context["installation"], inbox.click_of(body, action), number)


def _on_removal(event: dict[str, Any], context: BoltContext) -> None:
    """An admin of the Slack workspace removed the app, or took its token away. Bolt asks nobody to authorize these."""
    if event.get("type") == "tokens_revoked" and not (event.get("tokens") or {}).get("bot"):
        return
    if installation := installations.connected().filter(team_id=context.team_id or "").first():
        installations.forget(installation, audit.Actor("slack", installation.team_id, str(installation)))
