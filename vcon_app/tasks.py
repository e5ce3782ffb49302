"""Celery tasks of imports, exports and signatures. Each takes the id of a row and may run twice."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from .services.checkpoints import making, publishing
from .services.documents import file_words
from .services.erasure import file_removal, months, over
from .services.exports import export_jobs
from .services.imports import families, import_jobs
from .services.spans import receiving, telling
from .services.transparency import registering
from .services.trust import signatures


@shared_task
def run_import(import_id: str) -> None:
    import_jobs.run(UUID(import_id))


@shared_task
def read_file(session_id: str) -> None:
    """Enqueued a while after an import: what the file says beside the session's events becomes searchable."""
    file_words.read(UUID(session_id))


@shared_task
def run_export(export_id: str) -> None:
    export_jobs.run(UUID(export_id))


@shared_task
def tell_spans(stream_id: str) -> None:
    telling.tell(UUID(stream_id))


@shared_task
def check_signatures(workspace_id: str) -> None:
    signatures.check_again(UUID(workspace_id))


@shared_task
def make_checkpoints() -> None:
    """Called every 45 s by the scheduler: signs how far every chain has grown, and takes that out of the database."""
    making.make_all()
    publishing.publish_due()


@shared_task
def take_receipts() -> int:
    """Called every 5 s by the scheduler: registers signed exports at the transparency service, and asks again for
    receipts that were not ready."""
    return registering.go_on()


@shared_task
def sweep() -> int:
    """Called every 5 s by the scheduler: enqueues what lost its message or worker and what files are to be looked
    through, removes files that nothing uses, links families whose import was killed before it did."""
    spans, linked = receiving.sweep() + telling.sweep(), families.link_put_off()
    jobs = import_jobs.sweep() + export_jobs.sweep() + signatures.sweep() + file_words.sweep()
    return jobs + file_removal.sweep() + spans + linked


@shared_task
def delete_what_is_over() -> int:
    """Sent every 10 min by the scheduler: sessions go that their workspace has kept for its days."""
    return over.sweep()


@shared_task
def remove_old_files() -> int:
    """Sent once an hour by the scheduler: files that were written for somebody are kept for a day, and what an erasure
    that was killed has left of a month goes."""
    return export_jobs.remove_old_files() + months.sweep()
