"""Checks and makes hashes of passwords: few at once, without a database connection, behind a queue with an end.

A hash takes a third of a second of a core, on purpose. Forty at once held all connections of the process meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password, verify_password
from django.contrib.auth.models import User
from django.db import connections

AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Half of the cores: pages go on with the others."""
WAITING, WAITING_EACH = 32, 8
"""Passwords that wait, and those of one address or browser."""
WAIT_SECONDS = 15.0
RETRY_SECONDS = 10
LONGEST_NAME = 254
NICENESS = 15
Result = TypeVar("Result")

_hashing = threading.BoundedSemaphore(AT_ONCE)
_lock = threading.Lock()
_waiting: Counter[str] = Counter()


class Busy(Exception):
    """So many passwords wait already that this one does not; ``of_caller``: those of the same caller."""

    def __init__(self, *, of_caller: bool) -> None:
        super().__init__("too many passwords are being checked")
        self.of_caller = of_caller


def canonical_name(text: str) -> str:
    """The one form of a name that it is stored, looked up and counted in: NFKC, lower case, no blanks around it."""
    normal = unicodedata.normalize("NFKC", text).lower()
    return unicodedata.normalize("NFKC", normal).strip()


@contextmanager
def place_in_queue(caller: str) -> Iterator[None]:
    """A place for the length of a ``with``. Raises ``Busy``."""
    with _lock:
        if _waiting[caller] >= WAITING_EACH:
            raise Busy(of_caller=True)
        if _waiting.total() >= WAITING:
            raise Busy(of_caller=False)
        _waiting[caller] += 1
    try:
        yield
    finally:
        with _lock:
            _waiting[caller] -= 1
            if not _waiting[caller]:
                del _waiting[caller]


def user_with(name: str, password: str) -> User | None:
    """The active user of this canonical name and password. Raises ``Busy``.

    As long for a name that nobody has: else the time would tell who has an account.
    """
    user = _user(name)
    stored = user.password if user and user.is_active and user.has_usable_password() else None
    is_right, renewed = _hash(lambda: _verified(password, stored))
    if user is None or not is_right:
        return None
    if renewed:
        get_user_model().objects.filter(pk=user.pk, password=stored).update(password=renewed)
        user.password = renewed
    return user


def is_password_of(user: User, password: str) -> bool:
    """Whether it is this user's password. Raises ``Busy``."""
    return _hash(lambda: verify_password(password, user.password)[0])


def hashed(password: str) -> str:
    """The hash to store. Raises ``Busy``."""
    return _hash(lambda: make_password(password))


def _verified(password: str, stored: str | None) -> tuple[bool, str]:
    """Whether it is right, and the hash to store instead where the stored one is of an older kind."""
    if stored is None:
        make_password(password)
        return False, ""
    is_right, is_outdated = verify_password(password, stored)
    return is_right, make_password(password) if is_right and is_outdated else ""


def _user(name: str) -> User | None:
    if not name or len(name) > LONGEST_NAME or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        return None  # PostgreSQL stores neither NUL nor lone surrogates, and no name has other control characters
    return get_user_model().objects.filter(username=name).first()


def _hash(work: Callable[[], Result]) -> Result:
    """Result of a hash, in its own thread, as soon as it is this one's turn. Raises ``Busy``."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
    if not _hashing.acquire(timeout=WAIT_SECONDS):
        raise Busy(of_caller=False)
    try:
        return _threads.submit(work).result()
    finally:
        _hashing.release()


def _step_back() -> None:
    """Let pages go first: on Linux each thread has a niceness of its own, and a hash works without Python's lock."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


_threads = ThreadPoolExecutor(AT_ONCE, "password", _step_back)
