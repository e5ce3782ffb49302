"""Reading: a vCon of any form and dialect as drafts of sessions with their events."""

from .read import SessionMaterial, read, session_of
from .sessions import FileFacts

__all__ = [
    "FileFacts", "SessionMaterial", "read", "session_of",
]  # fmt: skip
