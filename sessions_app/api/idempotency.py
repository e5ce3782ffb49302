"""``Idempotency-Key``: the first answer to a POST is kept and given again to its repeats."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse

from sessions_app.services import idempotent_answers
from sessions_app.services.idempotent_answers import AnswerOnce

from .problems import Problem, invalid

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
REPEAT_ID = "repeat_id"
"""An attribute of requests: see ``repeat_id``."""
View = Callable[..., HttpResponse]


def once(view: View) -> View:
    """Decorator: runs the view at most once per key, caller and address; what it does is undone when it fails."""
    return _guarded(view, idempotent_answers.answer_once)


def once_hiding(member: str) -> Callable[[View], View]:
    """The same for an answer with a secret, which the first caller is told: kept, and given to a repeat, is null."""
    return lambda view: _guarded(view, idempotent_answers.answer_once, member)


def once_in_steps(view: View) -> View:
    """The same for what must not be one transaction: nothing is undone, and what died in its middle goes on by
    ``repeat_id``.
    """
    return _guarded(view, idempotent_answers.answer_in_steps)


def repeat_id(request: HttpRequest) -> UUID | None:
    """An id that is the same in every repeat of a request to a view that is ``once_in_steps``; None without a key."""
    return getattr(request, REPEAT_ID, None)


def _guarded(view: View, answer: AnswerOnce, hidden: str = "") -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None:
            return view(request, *args, **kwargs)
        if not 0 < len(key) <= MAX_LENGTH or "\0" in key:
            raise invalid(f"/{HEADER}", f"{HEADER} must have 1 to {MAX_LENGTH} characters")
        return _answer(request, key, lambda: view(request, *args, **kwargs), answer, hidden)

    # The router resolves annotations in the globals of the function it is given, and those are this module's.
    guarded.__signature__ = inspect.signature(view, eval_str=True)
    return guarded


def _answer(
    request: HttpRequest, key: str, view: Callable[[], HttpResponse], answer: AnswerOnce, hidden: str
) -> HttpResponse:
    response: HttpResponse | None = None

    def run(repeat_id: UUID) -> tuple[int, Any]:
        nonlocal response
        setattr(request, REPEAT_ID, repeat_id)
        response = view()
        told = orjson.loads(response.content)
        return response.status_code, told | {hidden: None} if hidden else told

    route = f"{request.method} {request.path}"
    caller = f"{request.auth.actor.kind}:{request.auth.actor.id}"
    asked = idempotent_answers.Request(request.auth.workspace, caller, route, key, _hash_of_body(request))
    try:
        before = answer(asked, run)
    except idempotent_answers.KeyReused:
        problem = f'{HEADER} "{key}" was used with another body; use a new key for a new request'
        raise Problem(409, problem) from None
    if before is None:
        return response
    status, kept = before
    replayed = {"Idempotent-Replayed": "true"}
    return HttpResponse(orjson.dumps(kept), status=status, content_type="application/json", headers=replayed)


def _hash_of_body(request: HttpRequest) -> str:
    """SHA-256 of the body; of a form its fields and files, because each sending has a boundary of its own."""
    if request.content_type != "multipart/form-data":
        return hashlib.sha256(request.body).hexdigest()
    digest = hashlib.sha256(orjson.dumps(sorted(request.POST.lists())))
    for name, file in sorted(request.FILES.items()):
        digest.update(orjson.dumps([name, file.name, file.size]))
        for chunk in file.chunks():
            digest.update(chunk)
    return digest.hexdigest()
