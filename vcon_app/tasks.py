"""Celery's doors into imports and exports. Each takes an id; the row behind it is the truth."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from .services.exports import export_jobs
from .services.imports import import_jobs
from .services.trust import signatures


@shared_task
def run_import(import_id: str) -> None:
    import_jobs.run(UUID(import_id))


@shared_task
def run_export(export_id: str) -> None:
    export_jobs.run(UUID(export_id))


@shared_task
def check_signatures(workspace_id: str) -> None:
    signatures.check_again(UUID(workspace_id))


@shared_task
def sweep() -> int:
    """Rung by beat: ring again for what lost its message or its worker."""
    return import_jobs.sweep() + export_jobs.sweep() + signatures.sweep()
