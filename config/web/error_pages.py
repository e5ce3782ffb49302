"""Pages of 400, 404 and 405, also where the form that was sent cannot be read."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeGuard, cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.decorators import sync_and_async_middleware
from django.views.defaults import bad_request, page_not_found

from config.middleware import Handler, SyncHandler


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """As Django's."""
    forget_form_that_cannot_be_read(request)
    return bad_request(request, exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """As Django's."""
    forget_form_that_cannot_be_read(request)
    return page_not_found(request, exception)


@sync_and_async_middleware
def page_of_405(get_response: Handler) -> Handler:
    """Middleware: who opens the address of a form's answer again, as from the history, finds a page that says so."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            response = await get_response(request)
            return await sync_to_async(_explained)(request, response) if _is_bare(response, request) else response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        response = cast(SyncHandler, get_response)(request)
        return _explained(request, response) if _is_bare(response, request) else response

    return synchronous


def _is_bare(response: HttpResponseBase, request: HttpRequest) -> TypeGuard[HttpResponseNotAllowed]:
    """Whether a browser would show an empty page of its own."""
    is_asked = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
    return is_asked and isinstance(response, HttpResponseNotAllowed) and not response.content


def _explained(request: HttpRequest, response: HttpResponseNotAllowed) -> HttpResponseNotAllowed:
    response.content = render_to_string("405.html", request=request)
    return response


def forget_form_that_cannot_be_read(request: HttpRequest) -> None:
    """Make an empty form of one in another charset than UTF-8.

    Django looks for the token of a form before it writes a page of an error, and raises ``BadRequest`` each time that
    such a form is looked at: nobody would catch the second one.
    """
    with suppress(BadRequest):
        request.POST  # noqa: B018 (it is read when it is looked at)
        return
    request.POST = QueryDict()
