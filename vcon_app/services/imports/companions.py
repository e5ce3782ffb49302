"""Companions: files that hold no session and say something of one, kept whichever of the two comes first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from sessions_app.services.log.sanitise import identifier, storable, text
from vcon_app import drafts, registry
from vcon_app.formats.contract import CompanionReader
from vcon_app.models import Companion, Import

MAX_BYTES = 16 * 1024 * 1024
"""Real ones have some hundred bytes, the journal of a workflow a line for each of its sub-agents."""


def is_companion(name: str) -> bool:
    """Whether a file of this name may be a companion: such names are no proof, and one content may have several."""
    return any(True for _ in _formats(name, "auto"))


def keep_companions(imported: Import, name: str, source: BinaryIO) -> tuple[str, list[Companion]] | None:
    """Keep what a file says of sessions, if it is a companion: the name of its format, and the rows, else None.

    ``name`` is the path of the file, as far as it is known. The stream is left at its start. To be called in a
    transaction.
    """
    for format in _formats(name, imported.format_asked):
        source.seek(0)
        data = source.read(MAX_BYTES + 1)
        source.seek(0)
        found = format.companions(name, data) if len(data) <= MAX_BYTES else None
        if found is not None:
            return format.SPEC.name, [_save(imported, format.SPEC.name, companion) for companion in found]
    return None


def reason(kept: list[Companion]) -> str:
    """Why a companion is no session of its own, for the person who dropped it."""
    names = ", ".join(f"{one.tail} ({one.title})" if one.title else one.tail for one in kept[:3])
    more = f" and {len(kept) - 3} more" if len(kept) > 3 else ""
    return f"tells of {names}{more}; it is no transcript itself, and what it says is shown with theirs"


def _formats(name: str, asked: str) -> Iterator[CompanionReader]:
    for format_name, format in registry.readers().items():
        # not isinstance, which looks through a protocol for each format of each file anew
        if asked in ("auto", format_name) and hasattr(format, "companions"):
            reader = cast(CompanionReader, format)
            if reader.is_companion(name):
                yield reader


def _save(imported: Import, format_name: str, companion: drafts.Companion) -> Companion:
    """The row of a companion. A newer file adds to what an older one said: journals grow."""
    kept, _ = Companion.objects.get_or_create(
        workspace_id=imported.workspace_id,
        source_format=format_name,
        kind=companion.kind,
        tail=identifier(companion.tail),
        parent=identifier(companion.parent),
        requester=imported.requester,
        defaults={"document": imported.document},
    )
    kept.title = text(companion.title) or kept.title
    kept.metadata = storable({**kept.metadata, **companion.metadata})
    kept.document = imported.document
    kept.save()
    return kept
