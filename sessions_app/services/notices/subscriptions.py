"""Browsers that show notices: each subscribes for itself, on the page where its member chooses how to be told."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from sessions_app import guarded_http
from sessions_app.models import Member, PushSubscription

from .. import audit
from ..log.sanitise import text
from . import push_encryption, push_keys

MOST = 10
"""Browsers of one member: each notice is a post for each."""
MOST_URL, MOST_KEY = 2_000, 200
BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iPadOS"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Mac OS", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


class Refused(ValueError):
    """What a browser sent is no subscription that can be used; ``field`` names what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@transaction.atomic
def subscribe(
    member: Member, endpoint: str, p256dh: str, auth: str, *, public_key: str, agent: str = ""
) -> PushSubscription:  # fmt: skip
    """Tell this browser, too; the same one again takes its new keys. ``public_key`` is ours that it was bound to,
    ``agent`` what it calls itself (User-Agent).

    Where somebody else was told in the same browser, they are no more: they have left it. Raises ``Refused``, and
    ``encryption.Unreadable`` as ``push_keys.current``.
    """
    endpoint = _endpoint(endpoint)
    try:
        push_encryption.check_keys(p256dh[:MOST_KEY], auth[:MOST_KEY])
    except ValueError as wrong:
        raise Refused("keys", f"the keys of this browser cannot be used: {wrong}") from None
    if public_key != push_keys.current().public:
        raise Refused("public_key", "the key of this desk was changed meanwhile; load the page again")
    Member.objects.select_for_update(of=("self",)).only("id").get(pk=member.pk)  # two at once would both be the tenth
    others = PushSubscription.objects.filter(member=member).exclude(endpoint=endpoint)
    if others.count() >= MOST:
        raise Refused("endpoint", f"{MOST} browsers are told already; remove one first")
    PushSubscription.objects.filter(endpoint=endpoint).exclude(member__user_id=member.user_id).delete()
    made, is_new = PushSubscription.objects.update_or_create(
        member=member, endpoint=endpoint,
        defaults={
            "p256dh": p256dh, "auth": auth, "browser": name_of(agent), "public_key": public_key, "problem": "",
            "next_at": None,
        },
    )  # fmt: skip
    if is_new:
        _audit(made, "push_subscription.added")
    return made


@transaction.atomic
def remove(subscription: PushSubscription) -> None:
    """Tell this browser no more."""
    _audit(subscription, "push_subscription.removed")
    subscription.delete()


@transaction.atomic
def lose(subscription: PushSubscription) -> None:
    """Its push service says that the browser is gone. Nobody did that here, so the audit log says it."""
    if PushSubscription.objects.filter(pk=subscription.pk).delete()[0]:  # two workers may be told so
        member = subscription.member
        _audit(subscription, "push_subscription.gone", audit.SYSTEM, member=text(str(member)), member_id=str(member.pk))


@transaction.atomic
def leave(user: User, subscription_id: UUID) -> None:
    """Somebody signs out of a browser: it is told nothing more in their name, in whichever of their workspaces."""
    left = PushSubscription.objects.filter(pk=subscription_id, member__user=user).values_list("endpoint", flat=True)
    of_browser = PushSubscription.objects.filter(member__user=user, endpoint__in=list(left))
    for subscription in of_browser.select_related("member__user"):
        remove(subscription)


def name_of(agent: str) -> str:
    """``Firefox on Linux``, out of a User-Agent; what is not known is "a browser"."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "a browser")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def _endpoint(endpoint: str) -> str:
    endpoint = endpoint.strip()
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port or 443
    except ValueError:
        raise Refused("endpoint", "the address of this browser's push service is none") from None
    # RFC 8030, section 8: https. A host that the operator lists may be one for tests.
    is_one = bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and guarded_http.is_listed(host, port)))
    if not is_one or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint or "@" in parts.netloc:
        raise Refused("endpoint", "the address of a push service is https://HOST/..., in ASCII characters")
    if len(endpoint) > MOST_URL:
        raise Refused("endpoint", f"the address of this browser's push service has more than {MOST_URL:,} characters")
    return endpoint


def _audit(subscription: PushSubscription, action: str, by: audit.Actor | None = None, **more: str) -> None:
    """``by`` None: its member."""
    member = subscription.member
    audit.record(
        member.workspace_id, by or audit.Actor("member", str(member.pk), str(member)), action,
        subject=("push_subscription", subscription.pk), browser=text(subscription.browser),
        push_service=urlsplit(subscription.endpoint).hostname, **more,
    )  # fmt: skip
