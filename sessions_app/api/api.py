"""The JSON API of the desk. ``config.api`` adds the routers of imports and exports and gives it its addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, RawPostDataException, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from ninja import NinjaAPI, Router
from ninja.errors import HttpError, ValidationError, ValidationErrorContext
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from sessions_app.live import readers
from sessions_app.services import agents as agent_service
from sessions_app.services import continuations, sent_events
from sessions_app.services import sessions as session_service
from sessions_app.services.approvals import decisions as approval_service
from sessions_app.services.escalations import absences as absence_service
from sessions_app.services.money import budgets, ledger
from sessions_app.services.reviews import problems as review_problems
from sessions_app.services.stops import stops as stop_service
from sessions_app.services.turns import messages
from sessions_app.services.upkeep import disk

from . import (
    absences,
    agents,
    approval_steps,
    approvals,
    audit,
    auth,
    events,
    grants,
    oversight,
    policies,
    sessions,
    stops,
    triggers,
    usage,
    waiting,
    wallets,
)
from .graph import graph
from .log import calls, cost, files, overview, replay, search, summary
from .notices import outgoing_webhooks
from .parsing import AS_TEXT, BodyParser, refuse_unknown_parameters
from .problems import Problem, add_problems, invalid, wrong_value
from .retention import retention
from .reviews import finding_rules, reviews, saved_views
from .state import state

ROOT = "/api/v1"
SEED_ROOT = "/dashboard/agents"
MAX_ERRORS = 50
DESCRIPTION = """\
Send an API key as `Authorization: Bearer cs_...`, or the cookie of a browser session; with the cookie, every request
that changes something also needs the header `X-CSRFToken`.

Each operation names the roles that may call it: 401 without a valid key or session, 403 when the role is too low, and
404 for everything of another workspace. A key with the role agent sees the sessions that it opened, a key of one agent
those of that agent; for such a key all others are a 404.

Errors are problem details (RFC 9457). Times are RFC 3339 in UTC, money is decimal strings in US dollars. Tokens and
money that are not known are null, never 0.

A POST that creates something takes an `Idempotency-Key` (share links excepted). For 7 days, the same key and body of
the same caller is given the first answer again, with the header `Idempotent-Replayed: true`; another body is a 409.

Lists come in pages: send `next_cursor` as `cursor` to get the next one. Fields and query parameters that an operation
does not know are a 422 that names them.
"""

FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    sent_events.Repeated: lambda error: Problem(409, str(error)),
    session_service.Closed: lambda error: Problem(409, str(error)),
    messages.NotActive: lambda error: Problem(409, str(error)),
    messages.TooLong: lambda error: invalid("/text", str(error)),
    budgets.Spent: lambda error: Problem(402, str(error)),
    review_problems.Refused: lambda error: invalid(f"/{error.field}", str(error)),
    review_problems.NotAllowed: lambda error: Problem(403, str(error)),
    stop_service.Refused: lambda error: invalid(f"/{error.field}", str(error)),
    stop_service.NotAllowed: lambda error: Problem(403, str(error)),
    stop_service.NotInForce: lambda error: Problem(409, str(error)),
    absence_service.Refused: lambda error: invalid(f"/{error.field}", str(error)),
    absence_service.NotAllowed: lambda error: Problem(403, str(error)),
    ledger.NotMoney: lambda error: invalid("/amount", str(error)),
    agent_service.NotAllowed: lambda error: Problem(403, str(error)),
    agent_service.NameTaken: lambda error: Problem(409, str(error)),
    agent_service.Stale: lambda error: Problem(409, str(error), changed=error.changed, version=error.agent.version),
    continuations.CannotContinue: lambda error: Problem(409, str(error)),
    continuations.NoSuchTurn: lambda error: invalid("/after_turn", str(error)),
    approval_service.NotAllowed: lambda error: Problem(403, str(error)),
    approval_service.Invalid: lambda error: invalid(f"/{error.field}", str(error)),
    approval_service.Conflict: approvals.conflict,
    RequestDataTooBig: lambda error: Problem(413, "the body is larger than this server takes; send less at a time"),
    MultiPartParserError: lambda error: Problem(400, f"the form cannot be read: {error}"),
    UnreadablePostError: lambda error: Problem(400, "the body ended too early"),
    # Of a browser: its CSRF token was looked for in the form, and then there is no body any more.
    RawPostDataException: lambda error: Problem(415, 'send JSON as "application/json", not as "multipart/form-data"'),
    readers.Full: lambda error: Problem(429, str(error), headers={"Retry-After": str(readers.RETRY_SECONDS)}),
    SuspiciousOperation: lambda error: Problem(400, f"the request cannot be understood: {error}"),
    DataError: lambda error: Problem(422, f"a value is out of range: {str(error).splitlines()[0]}"),
    OperationalError: lambda error: _database_problem(error),
    InterfaceError: lambda error: _database_unavailable(),
}
"""What services, Django and the database may raise at bad input or in bad times, as problems."""


class DocsPage(Swagger):
    """The page that shows the API, with its script from here: the library's own takes it from elsewhere where the
    library is no app (``settings.NINJA``)."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        settings = self.settings | {"url": self.get_openapi_url(api, kwargs)}
        return render(request, self.template, {"swagger_settings": json.dumps(settings, indent=1), "api": api})


class Described(OpenAPISchema):
    """A description in which each operation says who may call it, as its door has it."""

    def operation_details(self, operation: Operation) -> dict[str, Any]:
        details = super().operation_details(operation)
        (door,) = operation.auth_callbacks
        details["description"] = f"{details['description']}\n\n{door.in_words}"
        return details


class DeskAPI(NinjaAPI):
    """An API whose description says who may call an operation, and that each may answer with a problem.

    It is made once in a process, for it takes 1.4 s of CPU; whoever changes what they get changes a copy of it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._schemas: dict[str, OpenAPISchema] = {}

    def add_router(self, prefix: str, router: Router | str, **options: Any) -> None:
        """Add operations, each of which refuses query parameters that it does not know.

        What answers GET answers HEAD, too, with the same head (RFC 9110, 9.3.2); ``config.middleware`` leaves the body
        away.
        """
        assert isinstance(router, Router)
        refuse_unknown_parameters(router)
        for address in router.path_operations.values():
            for operation in address.operations:
                if operation.methods == ["GET"]:
                    operation.methods = ["GET", "HEAD"]
        super().add_router(prefix, router, **options)

    def validation_error_from_error_contexts(self, error_contexts: list[ValidationErrorContext]) -> ValidationError:
        """With the value of each fault as ``given``: the library leaves it out, and the problem is to name it."""
        error = super().validation_error_from_error_contexts(error_contexts)
        faults = (
            fault for context in error_contexts for fault in context.pydantic_validation_error.errors(include_url=False)
        )
        for fault, found in zip(error.errors, faults, strict=True):
            fault["given"] = found["input"]
        return error

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        if prefix not in self._schemas:
            schema = Described(self, prefix)
            for operations in schema["paths"].values():
                operations.pop("head", None)  # it would describe GET a second time, under the same id
            add_problems(schema)
            self._schemas[prefix] = schema
        return self._schemas[prefix]


def build() -> NinjaAPI:
    """The API with the routers of this app."""
    api = DeskAPI(
        title="Countersign",
        version="1",
        description=DESCRIPTION,
        urls_namespace="api",
        openapi_url=f"{ROOT}/openapi.json",
        docs_url=f"{ROOT}/docs",
        docs=DocsPage(),
        parser=BodyParser(),
    )
    api.add_exception_handler(Problem, lambda request, problem: problem.response())
    api.add_exception_handler(HttpError, _from_ninja)
    api.add_exception_handler(ValidationError, _from_validation)
    own = triggers.FAULTS | policies.FAULTS | outgoing_webhooks.FAULTS | state.FAULTS | retention.FAULTS | graph.FAULTS
    explain(api, FAULTS | own)
    for noun in (
        agents,
        sessions,
        events,
        approvals,
        approval_steps,
        policies,
        grants,
        stops,
        absences,
        triggers,
        outgoing_webhooks,
        usage,
        wallets,
        audit,
        oversight,
        files,
        reviews,
        saved_views,
        calls,
        finding_rules,
        cost,
        summary,
        overview,
        search,
        replay,
        state,
        retention,
        graph,
    ):
        api.add_router(ROOT, noun.router)
    for noun in (sessions, events, waiting):
        api.add_router(SEED_ROOT, noun.seed_router)
    return api


def explain(api: NinjaAPI, faults: dict[type[Exception], Callable[[Any], Problem]]) -> None:
    """Register handlers: each exception is answered with the problem that its function makes of it."""
    for raised, problem in faults.items():
        api.add_exception_handler(raised, _handler_of(problem))


def _handler_of(problem: Callable[[Any], Problem]) -> Callable[[HttpRequest, Any], HttpResponse]:
    return lambda request, error: problem(error).response()


def _from_ninja(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Answer to the router's own errors, which wrap what the parser raised: that one says more."""
    if isinstance(error.__cause__, Problem):
        return error.__cause__.response()
    return Problem(error.status_code, str(error)).response()


def _from_validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Answer to a body, form or parameter that is wrong: 422, but 404 first where the address is another's."""
    if request.method not in auth.SAFE_METHODS:  # those are never coroutines, which may not query here
        try:
            auth.hide_foreign(request, request.auth)
        except Problem as foreign:
            return foreign.response()
    if any(fault["loc"][0] == "file" for fault in error.errors) and request.content_type != "multipart/form-data":
        return Problem(415, f'send the file as "multipart/form-data", not as "{request.content_type}"').response()
    errors = [wrong_value(fault) for fault in error.errors[:MAX_ERRORS]]
    for wrong in errors:
        if wrong["in"] == "file" and (name := wrong["pointer"].removeprefix("/")) in request.POST:
            wrong["detail"] = AS_TEXT.format(name=name)
    count = len(error.errors)
    first = f"{errors[0]['pointer'] or 'the body'}: {errors[0]['detail']}"
    detail = first if count == 1 else f"{count} values are wrong, the first is {first}"
    return Problem(422, detail, errors=errors).response()


def _database_problem(error: OperationalError) -> Problem:
    """Problem for a database error. SQLSTATE class 54: more than an index row or the words of a text can hold."""
    if disk.is_full(error):
        return Problem(507, disk.REFUSED, headers={"Retry-After": "60"})
    if (getattr(error.__cause__, "sqlstate", None) or "").startswith("54"):
        return Problem(422, f"a value is more than the database can hold: {str(error).splitlines()[0]}")
    return _database_unavailable()


def _database_unavailable() -> Problem:
    return Problem(503, "the database does not answer; try again in a moment", headers={"Retry-After": "5"})
