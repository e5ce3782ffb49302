"""Slows down guessing of passwords: whoever guesses waits ever longer, and the person whose name it is does not.

An attempt is counted before the password is looked at, in the database, so that neither many at once nor several web
processes are checked more often. Counted are the name from one address, the address, and the name from everywhere; in
a browser that has signed in under this name before (OWASP's "device cookies") nothing but the browser itself:
strangers who try a name cannot keep its owner out of there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from sessions_app.models import SignInAttempts

FORGOTTEN = timedelta(hours=1)
"""So long after the last attempt all of them are forgotten."""
SWEPT = 20
"""Forgotten rows that each attempt removes, of at most three that it adds: the table cannot be filled."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Attempts that are free, then the first wait in seconds, which doubles with each further one up to the longest."""

    free: int
    first: int
    longest: int

    def wait(self, tried: int) -> timedelta | None:
        """The wait after so many attempts."""
        if tried < self.free:
            return None
        return timedelta(seconds=min(self.first * 2 ** min(tried - self.free, 20), self.longest))


RULES = {
    "name at address": Rule(10, 60, 900),
    "browser": Rule(10, 60, 900),
    "address": Rule(100, 10, 900),  # more, because everybody in an office has the same one
    "link at address": Rule(100, 10, 900),  # of links for people without an account: those that opened nothing
    "name": Rule(100, 5, 60),  # short: it slows a thousand addresses down, and the owner in a new browser as well
}


class Paused(Exception):
    """Too many attempts; ``seconds`` until the next one is looked at."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"{seconds} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Subject:
    """What attempts are counted by."""

    kind: str
    key: str
    name_key: str = ""


def subjects(name: str, address: str, browser: str = "") -> list[Subject]:
    """Subjects of an attempt. ``browser`` is the id of one that has signed in under this name before."""
    of_name = name_key(name)
    if browser:
        return [Subject("browser", _key("browser", f"{browser} {name}"), of_name)]
    network = _network(address)
    return [
        Subject("name at address", _key("name at address", f"{network} {name}"), of_name),
        Subject("address", _key("address", network)),
        Subject("name", _key("name", name), of_name),
    ]


def link_at_address(address: str) -> Subject:
    """Subject of whoever opens a link that needs no account."""
    return Subject("link at address", _key("link at address", _network(address)))


@transaction.atomic
def begin(tried_by: Sequence[Subject]) -> None:
    """Count an attempt. Raises ``Paused``, and counts nothing, when one of the subjects has to wait."""
    now = timezone.now()
    rows = _locked(tried_by, now)
    for row in rows.values():
        if now - row.last_at > FORGOTTEN:
            row.tried, row.not_before = 0, None
    until = max((row.not_before for row in rows.values() if row.not_before), default=now)
    if until > now:
        raise Paused(max(1, round((until - now).total_seconds())))
    for subject in tried_by:
        row = rows[subject.key]
        wait = RULES[subject.kind].wait(row.tried + 1)
        row.tried, row.last_at, row.not_before = row.tried + 1, now, now + wait if wait else None
    SignInAttempts.objects.bulk_update(rows.values(), ["tried", "last_at", "not_before"])
    _sweep(now)


@transaction.atomic
def take_back(tried_by: Sequence[Subject], *, succeeded: bool) -> None:
    """The attempt was right, or was not looked at after all: it does not count.

    A right one ends the waits of its browser, or its name at its address; the address and the name from everywhere
    keep what others have tried.
    """
    rows = _locked(tried_by, timezone.now())
    for subject in tried_by:
        row = rows[subject.key]
        row.tried, row.not_before = max(0, row.tried - 1), None
        if succeeded and subject.kind in ("browser", "name at address"):
            row.tried = 0
    SignInAttempts.objects.bulk_update(rows.values(), ["tried", "not_before"])


def forget_name(name: str) -> int:
    """Forget what was tried under a name, from wherever; the number of counts that are gone."""
    return SignInAttempts.objects.filter(name_key=name_key(name)).delete()[0]


def name_key(name: str) -> str:
    """Key of a name."""
    return _key("name", name)


def _locked(tried_by: Sequence[Subject], now: datetime) -> dict[str, SignInAttempts]:
    new = [SignInAttempts(key=subject.key, name_key=subject.name_key, last_at=now) for subject in tried_by]
    SignInAttempts.objects.bulk_create(sorted(new, key=lambda row: row.key), ignore_conflicts=True)
    keys = [subject.key for subject in tried_by]
    rows = SignInAttempts.objects.select_for_update().filter(key__in=keys).order_by("key")  # one order: no deadlock
    return {row.key: row for row in rows}


def _sweep(now: datetime) -> None:
    old = SignInAttempts.objects.select_for_update(skip_locked=True).filter(last_at__lt=now - FORGOTTEN)
    keys = list(old.order_by("last_at").values_list("key", flat=True)[:SWEPT])
    if keys:
        SignInAttempts.objects.filter(key__in=keys).delete()


def _network(address: str) -> str:
    """The address; of IPv6 its /64, which one customer has whole."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(found if found.version == 4 else ip_network((found, 64), strict=False))


def _key(kind: str, subject: str) -> str:
    return salted_hmac(
        f"sign-in throttle {kind}", subject.encode("utf-8", "surrogatepass"), algorithm="sha256"
    ).hexdigest()
