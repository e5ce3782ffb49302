"""Requests and responses of the OpenAI APIs (chat and Responses), of all who speak them, and what SDKs save.

Read: single requests and responses, event streams of both, lists of messages or items, logs of requests (whose
repeated history is told once), log entries with request and response, batch files, a saved run of the Agents SDK
(``$schemaVersion``) with what it waits for, and updates of Microsoft.Extensions.AI. Shapes are those of the API
reference and of openai-agents 0.24; cost is told only where the provider states it (OpenRouter).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.head import Head
from ..common.records import records
from ..contract import Spec
from .detection import claims
from .reading import Reading

NAME = "openai-chat"
SPEC = Spec(
    name=NAME,
    title="OpenAI requests and responses",
)


def detect(head: Head) -> bool:
    """By the shape of the first object, of the first of a list, or of lines and stream events."""
    return claims(head)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all conversations in the file. Raises ``FormatError`` for what is no JSON."""
    return Reading(NAME).run(records(source, NAME))
