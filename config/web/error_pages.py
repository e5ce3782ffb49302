"""Pages of 400 and 404, also where the form that was sent cannot be read."""

from __future__ import annotations

from contextlib import suppress

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.defaults import bad_request, page_not_found


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """As Django's."""
    forget_form_that_cannot_be_read(request)
    return bad_request(request, exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """As Django's."""
    forget_form_that_cannot_be_read(request)
    return page_not_found(request, exception)


def forget_form_that_cannot_be_read(request: HttpRequest) -> None:
    """Make an empty form of one in another charset than UTF-8.

    Django looks for the token of a form before it writes a page of an error, and raises ``BadRequest`` each time that
    such a form is looked at: nobody would catch the second one.
    """
    with suppress(BadRequest):
        request.POST  # noqa: B018 (it is read when it is looked at)
        return
    request.POST = QueryDict()
