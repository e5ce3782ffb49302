"""``Idempotency-Key``: the first answer to a POST is kept and given again to its repeats."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from sessions_app.services import idempotent_answers

from .problems import Problem, invalid

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
View = Callable[..., HttpResponse]


def once(view: View) -> View:
    """Decorator: runs the view at most once per key, caller and address; what it does is undone when it fails."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None:
            return view(request, *args, **kwargs)
        if not 0 < len(key) <= MAX_LENGTH or "\0" in key:
            raise invalid(f"/{HEADER}", f"{HEADER} must have 1 to {MAX_LENGTH} characters")
        return _answer(request, key, lambda: view(request, *args, **kwargs))

    # The router resolves annotations in the globals of the function it is given, and those are this module's.
    guarded.__signature__ = inspect.signature(view, eval_str=True)
    return guarded


def _answer(request: HttpRequest, key: str, view: Callable[[], HttpResponse]) -> HttpResponse:
    response: HttpResponse | None = None

    def run() -> tuple[int, Any]:
        nonlocal response
        response = view()
        return response.status_code, orjson.loads(response.content)

    route = f"{request.method} {request.path}"
    caller = f"{request.auth.actor.kind}:{request.auth.actor.id}"
    asked = idempotent_answers.Request(request.auth.workspace, caller, route, key, _hash_of_body(request))
    try:
        before = idempotent_answers.answer_once(asked, run)
    except idempotent_answers.KeyReused:
        problem = f'{HEADER} "{key}" was used with another body; use a new key for a new request'
        raise Problem(409, problem) from None
    if before is None:
        return response
    status, answer = before
    replayed = {"Idempotent-Replayed": "true"}
    return HttpResponse(orjson.dumps(answer), status=status, content_type="application/json", headers=replayed)


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
