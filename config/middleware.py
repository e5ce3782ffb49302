"""Middleware of the whole site: what a browser may load, and when a request gives its connection back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

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
