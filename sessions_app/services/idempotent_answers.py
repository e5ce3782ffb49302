"""Idempotent answers: the first answer to a POST with an ``Idempotency-Key``, given again to its repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from sessions_app.models import IdempotentAnswer, Workspace


class KeyReused(ValueError):
    """The key was used with another body."""


@dataclass(frozen=True, slots=True)
class Request:
    """Identity of a request: ``route`` is method and path, ``body_sha256`` is in hex."""

    workspace: Workspace
    caller: str
    """``KIND:ID`` of the key or member that sent it."""
    route: str
    key: str
    body_sha256: str


@transaction.atomic
def answer_once(request: Request, run: Callable[[], tuple[int, Any]]) -> tuple[int, Any] | None:
    """Run a request unless it ran before. None when it runs now, else status and JSON of its first answer.

    ``run`` gives status and JSON. The row and what ``run`` writes are one transaction, so a second request with the
    same key waits at the unique index until the first is done: then it is given the first answer, or has its own try
    if that failed. Raises ``KeyReused``.
    """
    kept, is_new = IdempotentAnswer.objects.get_or_create(
        workspace=request.workspace, caller=request.caller, route=request.route, key=request.key,
        defaults={"body_sha256": request.body_sha256},
    )  # fmt: skip
    if is_new:
        kept.status, kept.answer = run()
        kept.save(update_fields=["status", "answer"])
        return None
    if kept.body_sha256 != request.body_sha256:
        raise KeyReused(request.key)
    assert kept.status is not None  # the row and its answer are one transaction
    return kept.status, kept.answer
