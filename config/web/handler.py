"""Django behind ASGI: a request whose view is synchronous runs whole in one thread, in one go.

Django's handler makes two threads and two tasks for each request and hands it to the thread six times, since its
middleware and signals may block: half of the CPU of an event that is sent alone. Here the event loop reads the body
and sends the answer. What is asynchronous (streams, long polls) goes Django's way.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context

from asgiref.sync import ThreadSensitiveContext, iscoroutinefunction, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve, set_script_prefix

from config.web.asgi import Receive, Scope, Send

THREADS = 64
"""More than the gate lets in: passwords that wait for their hash have left their place to others."""


class Handler(ASGIHandler):
    """The application of Django."""

    def __init__(self) -> None:
        super().__init__()
        self._synchronous = _Synchronous()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _match(scope["path"])
        if match and iscoroutinefunction(match.func):
            return await super().__call__(scope, receive, send)
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            request, refusal = self.create_request(scope, body)
            if request is None:
                assert refusal is not None
                return await self.send_response(refusal, send)
            request.resolver_match = match
            context = copy_context()  # languages and zones that the view sets end with the request
            run = asyncio.get_running_loop().run_in_executor
            response = await run(self._threads, context.run, self._synchronous.respond, scope, request)
            if response.streaming:
                await asyncio.create_task(self._stream(response, receive, send), context=context)
            else:
                await self.send_response(response, send)

    async def _stream(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """Send a response until it ends or nobody reads it any more."""
        async with ThreadSensitiveContext():
            sending = asyncio.create_task(self.send_response(response, send))
            gone = asyncio.create_task(self.listen_for_disconnect(receive))
            try:
                await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
                for task in (gone, sending):
                    task.cancel()
                    with suppress(asyncio.CancelledError, RequestAborted):
                        await task
            finally:
                await sync_to_async(response.close)()


class _Synchronous(BaseHandler):
    """The middleware and the view of a request, called one after the other in one thread."""

    def __init__(self) -> None:
        self.load_middleware()

    def respond(self, scope: Scope, request: HttpRequest) -> HttpResponseBase:
        """The response, closed unless it is yet to be written; the connection to the database is given back."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=Handler, scope=scope)
        response = self.get_response(request)
        if response.streaming:
            connections.close_all()
        else:
            response.close()
        return response

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Which view it is for; that was looked up already."""
        return request.resolver_match or super().resolve_request(request)


def _match(path: str) -> ResolverMatch | None:
    try:
        return resolve(path)
    except Resolver404:
        return None
