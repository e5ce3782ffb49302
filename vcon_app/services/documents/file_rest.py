"""What the file of a session holds beside its events: the parts that its reader kept, and what else stands in it."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import FileText, Session
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats import rest_of_file
from vcon_app.formats.file_parts import FilePart, parts_of, with_words
from vcon_app.formats.rest_of_file import Rest, Shown, TooLarge
from vcon_app.models import ImportedSession
from vcon_app.queries import sources
from vcon_app.queries.log_reader import LogEvents, session_draft

from . import archives, decryption, documents


@dataclass(frozen=True, slots=True)
class Limits:
    """Of what is looked through."""

    events: int
    file: int
    """Bytes of the file, unpacked."""
    archive: int
    """Bytes of the document that the file is in."""
    sessions: int
    """That came with the session in one document: for each of them it is opened again."""


ON_A_PAGE = Limits(20_000, rest_of_file.MOST_BYTES, rest_of_file.MOST_BYTES, 2**31)
"""While somebody waits: 1 to 2 CPU seconds."""
IN_THE_SEARCH = Limits(5_000, 1_000_000, 64_000_000, 100)
"""Of every session that comes: up to half a CPU second."""


@dataclass(frozen=True, slots=True)
class FileParts:
    parts: list[FilePart]
    left_out: int = 0
    """Values for which there was no room."""
    is_whole: bool = True
    """Whether the file was looked through; else ``parts`` are what its reader kept, and the original has the rest."""
    has_all_words: bool = True
    """Whether each of ``parts`` has all words that were looked for; else it has one of them at least."""


def parts_beside_events(session: Session, words: str = "", limits: Limits = ON_A_PAGE) -> FileParts:
    """Every value of the file that stands in no event, under its place; of these, those that have the words."""
    kept = parts_of(session.source_format, session.source_record)
    rest = _rest(session, kept, limits)
    found = [*kept, *(rest.parts if rest else ())]
    parts, has_all = with_words(found, words) if words else (found, True)
    return FileParts(parts, rest.left_out if rest else 0, is_whole=rest is not None, has_all_words=has_all)


def is_in_search(session: Session) -> bool:
    """Whether all of these values are in the search over all sessions, or will be in a moment, as far as is known
    without reading the file."""
    link = sources.original_of(session)
    if FileText.objects.filter(session=session, due_at=None, tries__gt=0).exists():  # given up, see ``file_words``
        return False
    return link is None or _is_within(session, link, IN_THE_SEARCH)


def _is_within(session: Session, link: ImportedSession, limits: Limits) -> bool:
    if session.last_seq > limits.events or link.document.size > (limits.archive if link.member else limits.file):
        return False
    beside = ImportedSession.objects.filter(imported=link.imported)
    return beside[: limits.sessions + 1].count() <= limits.sessions


def _rest(session: Session, kept: list[FilePart], limits: Limits) -> Rest | None:
    """None for a file that is too large to be looked through here, or cannot be read any more."""
    link = sources.original_of(session)
    if link is None:
        return Rest()
    if not _is_within(session, link, limits):
        return None
    prefix = f"{link.member}{archives.BEHIND_NAME}" if link.member else ""
    alone = not ImportedSession.objects.filter(imported=link.imported, member=link.member).exclude(pk=link.pk).exists()
    shown = Shown(session_draft(session), LogEvents(session), kept, prefix)
    try:
        with documents.open_document(link.document) as source, archives.open_part(source, prefix) as (file, _):
            format = registry.readers().get(session.source_format)
            opened = decryption.decrypted(format, file) if format else file
            return rest_of_file.rest_of(opened, shown, alone=alone, most_bytes=limits.file)
    except (TooLarge, FormatError, OSError):
        return None
