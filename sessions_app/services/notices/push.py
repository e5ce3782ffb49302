"""Notices in browsers: what waits for its member, and later in the same place how it ended.

A push says which agent asks to run which tool, and of what risk: never arguments, and nothing else that the agent
wrote. Each browser gets one push in ``PAUSE`` at most; what is asked in between comes together in the next one.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from sessions_app.encryption import Unreadable
from sessions_app.models import Approval, Notice, PushSubscription
from sessions_app.rendering.marks import risk_in_words
from sessions_app.rendering.masking import mask
from sessions_app.rendering.text import first_line, in_quotes
from sessions_app.rendering.toolline import name_in_words

from . import outbox, posting, push_encryption, push_keys, subscriptions

log = logging.getLogger(__name__)
PAUSE = timedelta(seconds=10)
"""Between two pushes to one browser: a hundred questions at once are a few pushes."""
SECONDS = 10.0
"""For one post, from the name to the headers of the answer."""
LONGEST_WAIT = 3_600
"""Seconds that a push service can have us wait."""
GONE = (404, 410)
"""The browser takes no more (RFC 8030, section 7.3)."""
LATER = (408, 425, 429)
KEPT = 24 * 3_600
"""Seconds that a push service keeps a push for a browser that is not there."""
TOGETHER = "together"
MOST_NAMED, MOST_NAME = 5, 60
MOST_ERROR = 300
TEST = {
    "tag": "test", "title": "Countersign", "body": "Notices arrive in this browser.", "url": "/settings/notices/",
}  # fmt: skip
URGENT = {"high", "critical", "destructive"}


def send(notice_id: UUID) -> None:
    """Send a notice, with what else is due for its browser; unless another worker is at it, or it is not time."""
    row = Notice.objects.filter(pk=notice_id).values_list("subscription_id", flat=True).first()
    if row is None:
        return  # its browser was removed
    of_browser = Q(subscription=row)
    now = timezone.now()
    free = Q(next_at=None) | Q(next_at__lte=now)
    if not PushSubscription.objects.filter(free, pk=row).update(next_at=now + PAUSE):
        if busy := PushSubscription.objects.filter(pk=row).first():
            outbox.hold(of_browser, busy.next_at or now)
        return
    notices = outbox.claim(of_browser)
    asked = [notice for notice in notices if not notice.shown and not _was_withdrawn(notice)]
    ended = [notice for notice in notices if notice.shown and notice.shown != notice.approval.status]
    outbox.end([notice for notice in notices if notice.shown and notice not in ended], error="")
    browser = notices[0].subscription if notices else None
    if browser and (asked or ended):
        _deliver(browser, asked, ended)


def tell(browser: PushSubscription, told: dict[str, str]) -> str:
    """Push one thing by itself (``tag``, ``title``, ``body``, ``url``); why it was not taken, empty where it was.

    It waits out the pause of the browser as all pushes do; a push service that says the browser is gone has it removed.
    """
    now = timezone.now()
    free = Q(next_at=None) | Q(next_at__lte=now)
    if not PushSubscription.objects.filter(free, pk=browser.pk).update(next_at=now + PAUSE):
        return "it was sent something a moment ago; try again in a while"
    try:
        headers = _headers(browser, [])
        payload = orjson.dumps({"asked": told, "ended": []})
        posting.post(browser.endpoint, headers, push_encryption.encrypt(payload, browser.p256dh, browser.auth), SECONDS)
    except Unreadable as unreadable:
        return f"{unreadable}: this host cannot send pushes"
    except posting.Failed as failed:
        _note_failure(browser, [], failed)
        return str(failed)[:MOST_ERROR]
    _note_taken(browser, [], [])
    return ""


def _was_withdrawn(notice: Notice) -> bool:
    why = outbox.why_not(notice)
    if why:
        outbox.end([notice], error=why)
    return bool(why)


def _deliver(browser: PushSubscription, asked: list[Notice], ended: list[Notice]) -> None:
    while len(payload := payload_of(asked, ended)) > push_encryption.MOST:
        ended = ended[:-1]  # the next push tells of the rest
    notices = [*asked, *ended]
    try:
        headers = _headers(browser, notices)
        body = push_encryption.encrypt(payload, browser.p256dh, browser.auth)
        posting.post(browser.endpoint, headers, body, SECONDS)
    except Unreadable as unreadable:
        _note_failure(browser, notices, posting.Failed(f"{unreadable}: this host cannot send pushes"))
    except posting.Failed as failed:
        _note_failure(browser, notices, failed)
    else:
        _note_taken(browser, asked, ended)


@transaction.atomic
def _note_taken(browser: PushSubscription, asked: Sequence[Notice], ended: Sequence[Notice]) -> None:
    outbox.note_sent(asked, shown=TOGETHER if len(asked) > 1 else Approval.Status.PENDING)
    for notice in ended:
        outbox.note_sent([notice], shown=notice.approval.status)
    PushSubscription.objects.filter(pk=browser.pk).update(last_sent_at=timezone.now(), problem="")


@transaction.atomic
def _note_failure(browser: PushSubscription, notices: list[Notice], failed: posting.Failed) -> None:
    """Try again later; or give up, where the push service refuses for good; or forget a browser that is gone."""
    why = str(failed)[:MOST_ERROR]
    if failed.status in GONE:
        log.info("the push service of browser %s answers %s: it is told no more", browser.pk, failed.status)
        subscriptions.lose(browser)
        return
    passing = failed.status is None or failed.status >= 500 or failed.status in LATER
    if not passing:
        outbox.end(notices, f"{why} — given up")
        PushSubscription.objects.filter(pk=browser.pk).update(problem=why)
        return
    wait = min(failed.retry_after or 0, LONGEST_WAIT)
    later = outbox.put_off(notices, why, wait) or timezone.now() + timedelta(seconds=outbox.WAITS[-1])
    PushSubscription.objects.filter(pk=browser.pk).update(problem=why, next_at=later)


def _headers(browser: PushSubscription, notices: list[Notice]) -> dict[str, str]:
    """Raises ``Unreadable``."""
    now, key = timezone.now(), push_keys.current()
    urgent = any(notice.approval.risk in URGENT and not notice.shown for notice in notices)
    headers = {
        "authorization": push_encryption.authorization(
            browser.endpoint, key.private, key.public, push_keys.contact(), now
        ),
        "content-encoding": "aes128gcm", "content-type": "application/octet-stream", "user-agent": "Countersign",
        "ttl": str(KEPT), "urgency": "high" if urgent else "normal",
    }  # fmt: skip
    if len(notices) == 1:
        # RFC 8030, section 5.4: one that the browser was not there for is replaced by how it ended.
        headers["topic"] = base64.urlsafe_b64encode(notices[0].approval_id.bytes).decode().rstrip("=")
        expires_at = notices[0].approval.expires_at
        if expires_at and not notices[0].shown:
            headers["ttl"] = str(max(0, min(KEPT, round((expires_at - now).total_seconds()))))
    return headers


# --- what a push says ---


def payload_of(asked: list[Notice], ended: list[Notice]) -> bytes:
    """``{"asked": {"tag", "title", "body", "url"} | null, "ended": [the same]}`` as JSON, for the service worker."""
    told = _together(asked) if len(asked) > 1 else _asked(asked[0].approval) if asked else None
    return orjson.dumps({"asked": told, "ended": [_ended(notice.approval) for notice in ended]})


def _asked(approval: Approval) -> dict[str, Any]:
    facts = [f"Risk: {risk_in_words(approval.risk, approval.terms)}"] if approval.risk else []
    if approval.expires_at:
        facts.append(f"Denied by itself at {approval.expires_at:%H:%M} UTC")
    title = f"{_agent(approval)} asks to run {_tool(approval)}"
    if approval.is_escalation:
        title = f"{_agent(approval)} asks a person"
    return _about_one(approval, title, " · ".join(facts) or "It waits for a decision.")


def _ended(approval: Approval) -> dict[str, Any]:
    made = approval.decision or {}
    by = first_line(str(made.get("by") or ""), MOST_NAME)
    by = f"the API key {by}" if by and made.get("by_kind") == "api_key" else by
    status = approval.get_status_display().replace("_", " ").capitalize()
    return _about_one(approval, f"{_agent(approval)}: {_tool(approval)}", f"{status} by {by}" if by else status)


def _about_one(approval: Approval, title: str, body: str) -> dict[str, Any]:
    url = reverse("approval-detail", args=[approval.pk])
    return {"tag": str(approval.pk), "title": title, "body": body, "url": url}


def _together(asked: list[Notice]) -> dict[str, Any]:
    named = dict.fromkeys(f"{_agent(notice.approval)}: {_tool(notice.approval)}" for notice in asked)
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    body = ", ".join(list(named)[:MOST_NAMED]) + more
    return {"tag": TOGETHER, "title": f"{len(asked)} calls wait for you", "body": body, "url": reverse("approval-list")}


def _agent(approval: Approval) -> str:
    return in_quotes(mask(approval.session.agent.name)[0], MOST_NAME)


def _tool(approval: Approval) -> str:
    return name_in_words(mask(approval.tool_name)[0], MOST_NAME)
