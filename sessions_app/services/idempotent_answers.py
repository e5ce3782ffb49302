"""Idempotent answers: the first answer to a POST with an ``Idempotency-Key``, given again to its repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction

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


Run = Callable[[UUID], tuple[int, Any]]
"""Does what was asked and gives status and JSON; the id is the same whenever the same is asked again."""
AnswerOnce = Callable[[Request, Run], tuple[int, Any] | None]


@transaction.atomic
def answer_once(request: Request, run: Run) -> tuple[int, Any] | None:
    """Run a request unless it ran before. None when it runs now, else status and JSON of its first answer.

    The row and what ``run`` writes are one transaction, so a second request with the same key waits at the unique
    index until the first is done: then it is given the first answer, or has its own try if that failed. Raises
    ``KeyReused``.
    """
    kept = _kept(request)
    if kept.status is not None:
        return kept.status, kept.answer
    kept.status, kept.answer = run(kept.pk)
    kept.save(update_fields=["status", "answer"])
    return None


def answer_in_steps(request: Request, run: Run) -> tuple[int, Any] | None:
    """The same for a ``run`` that commits by itself, and does nothing twice when it is given the same id again.

    Only what is refused is forgotten, and may be sent otherwise: where the database failed, or the process died,
    nobody knows how far it came, and the same request goes on with it. Raises ``KeyReused``.
    """
    kept = _kept(request)
    if kept.status is not None:
        return kept.status, kept.answer
    own = IdempotentAnswer.objects.filter(pk=kept.pk, status=None)
    try:
        status, answer = run(kept.pk)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        own.delete()
        raise
    own.update(status=status, answer=answer)
    return None


def _kept(request: Request) -> IdempotentAnswer:
    """The row of a request, made where there is none; without a status it has no answer yet. Raises ``KeyReused``."""
    kept, _ = IdempotentAnswer.objects.get_or_create(
        workspace=request.workspace, caller=request.caller, route=request.route, key=request.key,
        defaults={"body_sha256": request.body_sha256},
    )  # fmt: skip
    if kept.body_sha256 != request.body_sha256:
        raise KeyReused(request.key)
    return kept
