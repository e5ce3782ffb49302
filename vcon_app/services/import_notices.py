"""Notices to open pages that an import went on."""

from __future__ import annotations

from uuid import UUID

from sessions_app.services import notify


def import_changed(import_id: UUID) -> None:
    notify.send({"import": str(import_id)})
