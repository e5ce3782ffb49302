"""Calls of Slack's Web API through its own SDK, and the holds by which one worker at a time runs an errand."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import Error, connection, connections
from django.db.models import Q
from django.utils import timezone

from sessions_app.encryption import Unreadable
from sessions_app.models import SlackInstallation
from sessions_app.models.slack import SlackJob

log = logging.getLogger(__name__)
TIMEOUT = 10
"""Seconds of one call."""
HOLD = timedelta(seconds=40)
"""So long a worker has for the next call of its errand; then another one may take it for dead."""
MOST_TRIES = 20
"""With waits that grow to 5 minutes: somewhat more than an hour."""
LONGEST_WAIT = 300.0
MOMENTARY = ("expired_trigger_id", "exchanged_trigger_id")
"""Refusals that say nothing of how Slack is set up: a click was answered too late, or twice."""
PASSING = ("internal_error", "fatal_error", "service_unavailable", "request_timeout")
SECRETS = ("installation__bot_token", "installation__signing_secret")
"""To be deferred: one that was sealed with another ``SECRET_KEY`` is met where it is needed, not with its row."""


class Away(Exception):
    """Slack could not be reached, or asks to come back in ``seconds``; None: it does not say when."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


class Refused(Exception):
    """Slack does not do it, and will not later; ``code`` is its word for why."""

    def __init__(self, method: str, code: str) -> None:
        super().__init__(f"Slack refuses {method}: {code}")
        self.code = code


class Lost(Exception):
    """Somebody else has taken the errand: it was held for longer than it may be."""


def call(token: str, method: str, *, timeout: float = TIMEOUT, **parameters: Any) -> dict[str, Any]:
    """The answer to a method of ``WebClient``. Holds no database connection meanwhile. Raises ``Away``, ``Refused``."""
    from slack_sdk.errors import SlackApiError, SlackClientError  # 17 MB that most processes never need
    from slack_sdk.web import WebClient

    if not connection.in_atomic_block:
        connections.close_all()
    client = WebClient(token=token, base_url=settings.SLACK_API_URL, timeout=timeout, retry_handlers=[])
    try:
        return getattr(client, method)(**parameters).data
    except SlackApiError as error:
        raise _meaning(method, error) from None  # its request holds the token
    except (SlackClientError, OSError, ValueError) as error:
        raise Away(f"Slack could not be reached: {type(error).__name__}") from None


def _meaning(method: str, error: Any) -> Away | Refused:
    """Of a ``SlackApiError``."""
    status = getattr(error.response, "status_code", 0)
    headers = {name.lower(): value for name, value in dict(getattr(error.response, "headers", {})).items()}
    code = error.response.get("error") if isinstance(getattr(error.response, "data", None), dict) else None
    if status == 429 or code == "ratelimited":
        return Away("Slack asks to come back later (429)", _seconds(headers.get("retry-after")))
    if status >= 500 or code is None or code in PASSING:
        return Away(f"Slack fails: {code or status}")
    return Refused(method, str(code))


def _seconds(value: Any) -> float:
    value = value[0] if isinstance(value, list) and value else value
    return float(value) if isinstance(value, str) and value.isdigit() else 1.0


def of(
    installation: SlackInstallation, method: str, *, timeout: float = TIMEOUT, **parameters: Any
) -> dict[str, Any]:  # fmt: skip
    """``call`` with the installation's token; what Slack refuses is kept for the settings page."""
    try:
        token = installation.bot_token
    except Unreadable as unreadable:
        tell_problem(installation, str(unreadable))
        raise Refused(method, "the token cannot be read") from None
    if installation.revoked_at or not token:
        raise Refused(method, "the desk was disconnected from this Slack workspace")
    try:
        return call(token, method, timeout=timeout, **parameters)
    except Refused as refused:
        if refused.code not in MOMENTARY:
            tell_problem(installation, f"{refused}{_where(parameters)}")
        raise


def posted_before(
    installation: SlackInstallation, method: str, mark: dict[str, Any], since: datetime, **where: Any
) -> str | None:  # fmt: skip
    """The message that somebody posted who could not note it any more: its metadata says what it is.

    ``method`` lists messages. Where that is refused, nobody can tell, and None lets it be posted again.
    """
    oldest = f"{since.timestamp() - 60:.6f}"
    try:
        page = of(installation, method, oldest=oldest, limit=200, include_all_metadata=True, **where)
    except Refused as refused:
        log.warning("whether a message was posted cannot be seen, so it is posted: %s", refused)
        return None
    ours = (m for m in page["messages"] if (m.get("metadata") or {}).get("event_payload") == mark)
    return next((message["ts"] for message in ours), None)


def tell_problem(installation: SlackInstallation, problem: str) -> None:
    """Keep for the settings page, and the log, what stands in the way."""
    log.warning("slack workspace %s: %s", installation.team_id, problem)
    SlackInstallation.objects.filter(pk=installation.pk).update(problem=problem[:500])


def _where(parameters: dict[str, Any]) -> str:
    return f" in {parameters['channel']}" if "channel" in parameters else ""


# --- errands ---


def free() -> Q:
    """Errands that are to be done and nobody holds."""
    now = timezone.now()
    return Q(done_at=None) & (Q(held_until=None) | Q(held_until__lt=now)) & (Q(retry_at=None) | Q(retry_at__lt=now))


def hold(errand: SlackJob) -> bool:
    """Take an errand, by compare-and-set. False when somebody has it, it is done, or it is not time yet."""
    until = timezone.now() + HOLD
    taken = type(errand).objects.filter(free(), pk=errand.pk).update(held_until=until)
    errand.held_until = until if taken else None
    return bool(taken)


def go_on(errand: SlackJob, **changes: Any) -> None:
    """Keep what was done of it and hold it longer. Raises ``Lost``."""
    until = timezone.now() + HOLD
    mine = type(errand).objects.filter(pk=errand.pk, held_until=errand.held_until)
    if not mine.update(held_until=until, **changes):
        raise Lost
    for name, value in changes.items():
        setattr(errand, name, value)
    errand.held_until = until


def finish(errand: SlackJob, **changes: Any) -> None:
    """It is done; nobody takes it again."""
    _let_go(errand, done_at=timezone.now(), tries=0, **changes)


def put_off(errand: SlackJob, away: Away) -> None:
    """Let it go until later; after many tries give it up."""
    tries = errand.tries + 1
    if tries >= MOST_TRIES and away.seconds is None:
        return _let_go(errand, tries=tries, done_at=timezone.now(), error=str(away))
    seconds = min(2.0**tries if away.seconds is None else away.seconds, LONGEST_WAIT)
    _let_go(errand, tries=tries, retry_at=timezone.now() + timedelta(seconds=seconds))


def _let_go(errand: SlackJob, **changes: Any) -> None:
    mine = type(errand).objects.filter(pk=errand.pk, held_until=errand.held_until)
    mine.update(held_until=None, **changes)
    errand.held_until = None


@contextmanager
def errand_of(errand: SlackJob) -> Iterator[bool]:
    """Hold an errand for a while; yields whether it is ours. What Slack cannot do now is put off, and so is a fault."""
    if not hold(errand):
        yield False
        return
    try:
        yield True
    except Away as away:
        put_off(errand, away)
    except Refused as refused:
        finish(errand, error=str(refused))
    except Lost:
        errand.held_until = None
    except Error:
        errand.held_until = None  # the database is away, and the hold ends by itself
        raise
    except Exception as fault:  # what stands behind it in its thread must not wait for ever
        log.exception("Slack errand %s failed", errand.pk)
        put_off(errand, Away(f"a fault of ours: {type(fault).__name__}; it is in the server's log"))
    finally:
        if errand.held_until:
            _let_go(errand)
