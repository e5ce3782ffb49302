"""Removal of files that nothing uses any more: at once, or by the sweep when a process was killed before it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from django.db import transaction

from vcon_app.models import FileRemoval, SourceDocument

from ..documents import documents, storage

log = logging.getLogger(__name__)


def ask_for(kind: FileRemoval.Storage, names: Iterable[str]) -> None:
    """Have files removed once this transaction is committed: their rows are gone then, and not before."""
    rows = FileRemoval.objects.bulk_create(FileRemoval(storage=kind, name=name) for name in names)
    for row in rows:
        # Robust: what asked for it is committed, and must not be told that it failed.
        transaction.on_commit(partial(_try, row.pk), robust=True)


def sweep() -> int:
    """Remove what is left over; how many files."""
    return sum(_try(pk) for pk in list(FileRemoval.objects.order_by("pk").values_list("pk", flat=True)[:1_000]))


def _try(removal_id: UUID) -> bool:
    """Whether it could be removed. Storage that is away is no reason to fail what asked for it: the sweep comes by."""
    try:
        return _remove(removal_id)
    except OSError as error:
        log.warning("a file stays for now, the next sweep tries again: %s", error)
        return False


@transaction.atomic
def _remove(removal_id: UUID) -> bool:
    """Remove one file and its row, unless another process is at it. Raises ``OSError``."""
    row = FileRemoval.objects.select_for_update(skip_locked=True).filter(pk=removal_id).first()
    if row is None:
        return False
    if row.storage == FileRemoval.Storage.EXPORTS:
        storage.of_exports().remove(row.name)
    else:
        # Somebody may be taking the same bytes in at this moment: whoever comes second sees what the first has done.
        documents.lock(row.name)
        if not SourceDocument.objects.filter(sha256=row.name).exists():
            storage.of_documents().remove(documents.name_of(row.name))
    row.delete()
    return True
