"""Slows down guessing of passwords: so many failures for one name or one address, then a pause.

Counted in the memory of the web process (there is one): a restart forgets, which costs a guesser more than it gains.
"""

from __future__ import annotations

import hashlib

from django.core.cache import cache

FAILURES = 10
FAILURES_OF_ADDRESS = 100
"""More, because everybody behind one proxy has the same address."""
PAUSE_SECONDS = 300


def paused(name: str, address: str) -> bool:
    """Whether the name or the address has failed too often in the last five minutes."""
    return cache.get(_key("name", name), 0) >= FAILURES or cache.get(_key("address", address), 0) >= FAILURES_OF_ADDRESS


def note_failure(name: str, address: str) -> None:
    """Count a failure for both; the pause begins anew with every one."""
    for key in (_key("name", name), _key("address", address)):
        cache.set(key, cache.get(key, 0) + 1, PAUSE_SECONDS)


def _key(kind: str, subject: str) -> str:
    return f"failures:{kind}:{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()}"
