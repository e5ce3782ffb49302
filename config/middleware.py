"""Middleware of the whole site: what a browser may load, its zone, what HEAD gets, and when a request gives its
connection back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

from sessions_app.views import zones

SyncHandler = Callable[[HttpRequest], HttpResponseBase]
Handler = SyncHandler | Callable[[HttpRequest], Awaitable[HttpResponseBase]]

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "style-src 'self'",
        "script-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    )
)


@sync_and_async_middleware
def content_security_policy(get_response: Handler) -> Handler:
    """No script, style or frame from elsewhere, and none inline: transcripts are hostile.

    A view that sets a policy of its own keeps it.
    """
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            response = await get_response(request)
            response.headers.setdefault("Content-Security-Policy", POLICY)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        response = cast(SyncHandler, get_response)(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return synchronous


@sync_and_async_middleware
def head_alone(get_response: Handler) -> Handler:
    """HEAD is answered with the head that GET has (RFC 9110, 9.3.2): what GET would stream is not begun.

    The body of any other answer is left away by the server, which sends its length.
    """
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            return _without_stream(request, await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        return _without_stream(request, cast(SyncHandler, get_response)(request))

    return synchronous


def _without_stream(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if request.method != "HEAD" or not response.streaming:
        return response
    response.close()
    bare = HttpResponse(status=response.status_code, headers=response.headers)
    bare.cookies = response.cookies
    return bare


ZONE_COOKIE = "zone"


@sync_and_async_middleware
def reader_zone(get_response: Handler) -> Handler:
    """Times of a page are in the zone that the browser says in a cookie; without one, and for programs, in UTC."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            with timezone.override(_zone_of(request)):
                return await get_response(request)

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        with timezone.override(_zone_of(request)):
            return cast(SyncHandler, get_response)(request)

    return synchronous


def _zone_of(request: HttpRequest) -> ZoneInfo | None:
    """None, which is UTC, for a name that is none."""
    named = unquote(request.COOKIES.get(ZONE_COOKIE, ""))
    return zones.zone_named(named) if named else None


@sync_and_async_middleware
def release_database(get_response: Handler) -> Handler:
    """Give the connection back before a stream begins.

    Django gives it back at the end of the response: ten open streams would hold the whole pool.
    """
    if not iscoroutinefunction(get_response):
        return get_response

    async def asynchronous(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if getattr(response, "is_async", False):
            await sync_to_async(connections.close_all)()
        return response

    return asynchronous
