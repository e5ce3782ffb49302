"""What is remembered beyond a session: kept by the desk for a user or an app, and found by vectors or by its words."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .embeddings import EmbeddingModel, Embeddings
from .session import Session

Json = dict[str, Any]
PREFIX = "memory/"
FULL_TEXT = "full text"


class VectorMemoryService:
    """How a memory is searched: by vectors where a model makes them and the desk has pgvector, else by words.

    ``model`` is ``EmbeddingModel()`` where ``COUNTERSIGN_EMBEDDING_MODEL`` names one. Without, no text goes to a model.
    """

    def __init__(self, model: Embeddings | None = None) -> None:
        self.model = model or (EmbeddingModel() if os.environ.get("COUNTERSIGN_EMBEDDING_MODEL") else None)
        self.method = FULL_TEXT
        """``pgvector`` or ``full text``: what the best of the last search was found by."""

    async def embedding(self, text: str) -> Json | None:
        """Nothing where there is no model. Raises ``ModelError``."""
        return {"model": self.model.model, "vector": await self.model.vector(text)} if self.model else None


@dataclass
class Remembered:
    """One thing that is remembered."""

    key: str
    content: str
    metadata: Json = field(default_factory=dict)
    version: int = 0
    method: str = FULL_TEXT
    score: float = 0.0
    """The cosine of the two vectors, or the rank of its words."""


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
        """Remember something under a key, in place of what was there. Raises ``DeskError`` and ``ModelError``."""
        kept, embedding = {"content": content, "metadata": metadata}, await self.service.embedding(content)
        keep = partial(self._session.update_state, PREFIX + key, lambda before: kept, self._scope, embedding=embedding)
        await asyncio.to_thread(keep)

    async def recall(self, keys: list[str]) -> dict[str, str]:
        """Contents by key, of those that are remembered. Raises ``DeskError``."""
        found = {key: await asyncio.to_thread(self._session.get_state, PREFIX + key, None, self._scope) for key in keys}
        return {key: str(kept["content"]) for key, kept in found.items() if _is_memory(kept)}

    async def search(self, query: str, limit: int = 5) -> list[Remembered]:
        """What is nearest to the query or says any of its words, the best first.

        Raises ``DeskError`` and ``ModelError``.
        """
        embedding = await self.service.embedding(query) if query.strip() else None
        search = partial(
            self._session.search_state, query[:1000], self._scope, limit, prefix=PREFIX, embedding=embedding
        )
        found = [_remembered(row) for row in await asyncio.to_thread(search) if _is_memory(row["value"])]
        if found:
            self.service.method = found[0].method
        return found

    async def forget(self, key: str) -> bool:
        """Whether there was anything. Raises ``DeskError``."""
        return await asyncio.to_thread(self._session.delete_state, PREFIX + key, self._scope)


def _remembered(row: Json) -> Remembered:
    key, kept = row["key"].removeprefix(PREFIX), row["value"]
    metadata = kept.get("metadata") or {}
    return Remembered(key, str(kept["content"]), metadata, row["version"], row["method"], row["score"])


def _is_memory(kept: Any) -> bool:
    """Whoever writes state may write under these keys, too."""
    return isinstance(kept, dict) and "content" in kept
