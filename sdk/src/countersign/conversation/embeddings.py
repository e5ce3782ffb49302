"""Vectors of texts, from a model behind an API of embeddings as OpenAI's and many others' is."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Protocol

from .model import ModelError, ask_api


class Embeddings(Protocol):
    """Anything that makes vectors as ``EmbeddingModel`` does. ``model`` names what makes them."""

    model: str

    async def vector(self, text: str) -> list[float]: ...


class EmbeddingModel:
    """``model`` (or ``COUNTERSIGN_EMBEDDING_MODEL``) at ``url`` (or ``OPENAI_BASE_URL``), with ``OPENAI_API_KEY``."""

    def __init__(self, model: str | None = None, *, url: str | None = None, api_key: str | None = None) -> None:
        self.model = model or os.environ.get("COUNTERSIGN_EMBEDDING_MODEL") or "text-embedding-3-small"
        self._url = url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY", "")

    async def vector(self, text: str) -> list[float]:
        """Of one text. Raises ``ModelError``."""
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        asked = {"model": self.model, "input": text, "encoding_format": "float"}
        return _read(await asyncio.to_thread(ask_api, self._url, "/embeddings", asked, headers))


def _read(said: dict[str, Any]) -> list[float]:
    try:
        return [float(number) for number in said["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ModelError(0, "the model's API answers no embedding") from None
