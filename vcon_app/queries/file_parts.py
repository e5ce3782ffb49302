"""What the file of a session holds beside its events."""

from __future__ import annotations

from sessions_app.models import Session
from vcon_app.formats.file_parts import FilePart, parts_of, with_words


def file_parts(session: Session, words: str = "") -> list[FilePart]:
    """Every value kept with the session under its place in the file; of these, those that have the words."""
    found = parts_of(session.source_format, session.source_record)
    return with_words(found, words) if words else found
