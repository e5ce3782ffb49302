"""Threads for database work outside of the event loop; each gives its connection back at once.

Django keeps a connection with the request's thread until the request ends, and a stream ends tomorrow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import connections

from . import visits

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def in_thread(function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Run it in a thread of the loop's pool, whose size bounds the connections that all readers take together.

    First give back what the request itself has taken (``release``): a request that holds one connection while it
    waits for a second would lock out all others as soon as there are as many of them as connections.
    """

    def call() -> Result:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await sync_to_async(call, thread_sensitive=False)()


async def release() -> None:
    """Give back the connection that the request took so far, its place at the gate, and the thread that Django keeps.

    The thread is made again when the request needs one. 1,000 readers that wait would be 1,000 threads.
    """
    visits.leave()
    await sync_to_async(connections.close_all)()
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if executor:
        executor.shutdown(wait=False)
