"""Browser sessions in the database under a hash of their key: who reads the table, or a backup, signs in as nobody.

``settings.SESSION_ENGINE``. Django's own keeps the very key that the cookie holds.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.compiled import Compiled


def stored_key(key: str) -> str:
    """First 160 of the 256 bits of a key's SHA-256, as hex: what the column of Django's table can hold.

    No salt: a key has 32 random characters of 36, 165 bits, so there is nothing to guess.
    """
    return hashlib.sha256(key.encode()).hexdigest()[:40]


class SessionStore(db.SessionStore):
    """Django's store, which knows the key itself only while a request is answered."""

    def _get_session_from_db(self) -> Session | None:
        found = _UNEXPIRED.first(stored_key(self.session_key or ""), timezone.now())
        if found is None:
            self._session_key = None
        return found

    async def _aget_session_from_db(self) -> Session | None:
        found = await _unexpired(stored_key(self.session_key or ""), timezone.now()).afirst()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(stored_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        return _with_stored_key(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        return _with_stored_key(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(stored_key(key))

    async def adelete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(stored_key(key))


def _unexpired(key: str, now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(session_key=key, expire_date__gt=now)


_UNEXPIRED = Compiled[Session](lambda key, now: _unexpired(key, now)[:1])


def _with_stored_key(row: AbstractBaseSession) -> AbstractBaseSession:
    row.session_key = stored_key(row.session_key)
    return row
