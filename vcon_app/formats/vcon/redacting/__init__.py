"""Redaction: a session without what a reviewer removes, and a search for the removed words in the written file."""

from .check import Leak, Where, find_leaks
from .redact import (
    ARGUMENTS,
    ATTACHMENTS,
    ENVIRONMENT,
    EVENT,
    EVERY,
    METADATA,
    PARTS,
    PEOPLE,
    REASONING,
    RESULT,
    SUMMARY,
    TEXT,
    TITLE,
    WHOLE,
    Redacted,
    Selection,
)
from .session import Prepared, prepare, pseudonyms, session_without

__all__ = [
    "ARGUMENTS", "ATTACHMENTS", "ENVIRONMENT", "EVENT", "EVERY", "METADATA", "PARTS", "PEOPLE", "REASONING", "RESULT",
    "SUMMARY", "TEXT", "TITLE", "WHOLE", "Leak", "Prepared", "Redacted", "Selection", "Where", "find_leaks", "prepare",
    "pseudonyms", "session_without",
]  # fmt: skip
