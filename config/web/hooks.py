"""Hooks of Django's middleware, called where the request is instead of in a thread.

Where a view is asynchronous ``MiddlewareMixin`` hands each hook of each middleware to a thread, since it may block:
fourteen times a request. Those here read headers and set some; what may read or write the database, or a body, still
goes to a thread. (What is synchronous is in one from the beginning: ``config.web.handler``.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from sessions_app.api.problems import PATHS

READS = ("GET", "HEAD", "OPTIONS", "TRACE")


class InPlace(MiddlewareMixin):
    """Calls both hooks in the event loop, but for a ``process_response`` that ``blocks``."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        hooks: Any = self
        response = hooks.process_request(request) if hasattr(self, "process_request") else None
        if response is None:
            response = await hooks.get_response(request)
        if not hasattr(self, "process_response"):
            return response
        if self.blocks(request):
            return await sync_to_async(hooks.process_response, thread_sensitive=True)(request, response)
        return hooks.process_response(request, response)

    def blocks(self, request: HttpRequest) -> bool:
        """Whether ``process_response`` may wait for something."""
        return False


class Security(InPlace, SecurityMiddleware):
    """Headers."""


class Sessions(InPlace, SessionMiddleware):
    """Of a cookie; what was changed is saved in a thread."""

    def blocks(self, request: HttpRequest) -> bool:
        return bool(request.session.modified)


class Common(InPlace, CommonMiddleware):
    """No address of the API ends in a slash: the URL conf is not asked whether one does."""

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return not request.path_info.startswith("/api/") and super().should_redirect_with_slash(request)


class Language(InPlace):
    """Pages are in the language that the browser asks for, where there is a catalogue of it; the API is in English.

    Django's own would do this for every answer. It is not taken back at the end: under ASGI a request is a task, and
    ends with what it set; a page that is streamed is still written after the last middleware.
    """

    def process_request(self, request: HttpRequest) -> None:
        asked = translation.get_language_from_request(request) if _is_page(request) else settings.LANGUAGE_CODE
        translation.activate(asked)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if _is_page(request) and response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ["Accept-Language"])
            response.headers.setdefault("Content-Language", translation.get_language())
        return response


def _is_page(request: HttpRequest) -> bool:
    return not request.path_info.startswith(PATHS)


class Authentication(InPlace, AuthenticationMiddleware):
    """Who is signed in is looked up when a view asks."""


class Messages(InPlace, MessageMiddleware):
    """Notes for the next page; where there are some, they are stored in a thread."""

    def blocks(self, request: Any) -> bool:
        return bool(request._messages.used or request._messages.added_new)


class FrameOptions(InPlace, XFrameOptionsMiddleware):
    """A header."""


class Csrf(InPlace, CsrfViewMiddleware):
    """Looks at a token in a cookie; a body, which may have to be read to its end, is read in a thread."""

    def __init__(self, get_response: Callable[..., Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            self.process_view = self.check_view  # type: ignore[assignment]

    async def check_view(self, request: HttpRequest, callback: Any, args: Any, kwargs: Any) -> Any:
        """As ``process_view``."""
        check = super().process_view
        if request.method in READS or getattr(callback, "csrf_exempt", False):
            return check(request, callback, args, kwargs)
        return await sync_to_async(check, thread_sensitive=True)(request, callback, args, kwargs)
