"""Celery's doors into imports and exports. Each takes an id; the row behind it is the truth."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from .services import exports, imports, signatures


@shared_task
def run_import(import_id: str) -> None:
    imports.run(UUID(import_id))


@shared_task
def run_export(export_id: str) -> None:
    exports.run(UUID(export_id))


@shared_task
def check_signatures(workspace_id: str) -> None:
    signatures.check_again(UUID(workspace_id))


@shared_task
def sweep() -> int:
    """Rung by beat: ring again for what lost its message or its worker."""
    return imports.sweep() + exports.sweep() + signatures.sweep()
