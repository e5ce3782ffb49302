"""Where documents and exports of a test lie on the disk (the fixture ``document_storage``)."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from vcon_app.models import Export, SourceDocument
from vcon_app.services.documents import documents


def stored(document: SourceDocument) -> Path:
    """The file of a document's bytes."""
    return Path(settings.DOCUMENTS_DIR) / documents.name_of(document.sha256)


def written(export: Export) -> Path:
    """The file that was written for an export."""
    return Path(settings.DATA_DIR) / "exports" / str(export.pk)
