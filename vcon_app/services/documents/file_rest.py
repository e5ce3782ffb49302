"""What the file of a session holds beside its events: the parts that its reader kept, and what else stands in it."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import Session
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats import rest_of_file
from vcon_app.formats.file_parts import FilePart, parts_of, with_words
from vcon_app.formats.rest_of_file import Rest, Shown, TooLarge
from vcon_app.models import ImportedSession
from vcon_app.queries import sources
from vcon_app.queries.log_reader import LogEvents, session_draft

from . import archives, decryption, documents

MOST_EVENTS = 20_000
"""Of a session whose file is looked through while somebody waits."""


@dataclass(frozen=True, slots=True)
class FileParts:
    parts: list[FilePart]
    left_out: int = 0
    """Values for which there was no room."""
    is_whole: bool = True
    """Whether the file was looked through; else ``parts`` are what its reader kept, and the original has the rest."""


def parts_beside_events(session: Session, words: str = "") -> FileParts:
    """Every value of the file that stands in no event, under its place; of these, those that have the words."""
    kept = parts_of(session.source_format, session.source_record)
    rest = _rest(session, kept)
    found = [*kept, *(rest.parts if rest else ())]
    parts = with_words(found, words) if words else found
    return FileParts(parts, rest.left_out if rest else 0, is_whole=rest is not None)


def _rest(session: Session, kept: list[FilePart]) -> Rest | None:
    """None for a file that is too large to be looked through here, or cannot be read any more."""
    link = sources.original_of(session)
    if link is None:
        return Rest()
    if session.last_seq > MOST_EVENTS or link.document.size > rest_of_file.MOST_BYTES:
        return None
    prefix = f"{link.member}{archives.BEHIND_NAME}" if link.member else ""
    alone = not ImportedSession.objects.filter(imported=link.imported, member=link.member).exclude(pk=link.pk).exists()
    shown = Shown(session_draft(session), LogEvents(session), kept, prefix)
    try:
        with documents.open_document(link.document) as source, archives.open_part(source, prefix) as (file, _):
            format = registry.readers().get(session.source_format)
            opened = decryption.decrypted(format, file) if format else file
            return rest_of_file.rest_of(opened, shown, alone=alone)
    except (TooLarge, FormatError, OSError):
        return None
