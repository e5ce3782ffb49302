"""What is remembered beyond a session: kept by the desk for a user or an app, and found by its words."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from .session import Session

Json = dict[str, Any]
PREFIX = "memory/"
MOST = 500
"""Found values of which those that are memories are answered."""


class VectorMemoryService:
    """How a memory is searched. The desk has no vectors: its search is full text, and ``method`` says so."""

    method = "full text"


@dataclass
class Remembered:
    """One thing that is remembered."""

    key: str
    content: str
    metadata: Json = field(default_factory=dict)
    version: int = 0


class Memory:
    """For a user of an app where ``user_id`` is given, else for the app; for as long as nobody forgets it.

    It is state of that scope, under keys that begin with ``memory/``, at most 1,000 with the other keys there.
    """

    def __init__(
        self, service: VectorMemoryService | None = None, *, app_name: str | None = None, user_id: str | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        self.service = service or VectorMemoryService()
        self._scope: Any = "user" if user_id else "app"
        self._session = Session(f"memory of {user_id}" if user_id else "memory", app_name, user_id, **more)

    async def store(self, key: str, content: str, **metadata: Any) -> None:
        """Remember something under a key, in place of what was there. Raises ``DeskError``."""
        kept = {"content": content, "metadata": metadata}
        await asyncio.to_thread(self._session.update_state, PREFIX + key, lambda before: kept, self._scope)

    async def recall(self, keys: list[str]) -> dict[str, str]:
        """Contents by key, of those that are remembered. Raises ``DeskError``."""
        found = {key: await asyncio.to_thread(self._session.get_state, PREFIX + key, None, self._scope) for key in keys}
        return {key: str(kept["content"]) for key, kept in found.items() if kept}

    async def search(self, query: str, limit: int = 5) -> list[Remembered]:
        """What says any of the words, the best first. Raises ``DeskError``."""
        rows = await asyncio.to_thread(self._session.search_state, query[:1000], self._scope, MOST)
        return [
            Remembered(row["key"].removeprefix(PREFIX), str(row["value"]["content"]), row["value"]["metadata"],
                       row["version"])
            for row in rows if row["key"].startswith(PREFIX)
        ][:limit]  # fmt: skip

    async def forget(self, key: str) -> bool:
        """Whether there was anything. Raises ``DeskError``."""
        return await asyncio.to_thread(self._session.delete_state, PREFIX + key, self._scope)
