"""One view for a whole page and for the part of it that htmx asks for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext

from sessions_app.search.operators import QUOTED


def wants_fragment(request: HttpRequest) -> bool:
    """htmx asked for a part; a boosted link and the back button want the page."""
    htmx = request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def page_or_fragment(
    request: HttpRequest, page: str, fragment: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """``fragment`` (a template beginning with ``_``) to htmx, else ``page``, which includes it.

    With a page a browser is told to ask for what a row leads to while the button of the mouse is still down.
    """
    is_fragment = wants_fragment(request)
    response = render(request, fragment if is_fragment else page, context, status=status)
    if not is_fragment:
        response.headers["Speculation-Rules"] = f'"{static("opening.speculationrules")}"'
    patch_vary_headers(response, ["HX-Request"])
    return response


def chosen(query: QueryDict, name: str, among: Collection[str], otherwise: str = "") -> str:
    """A value of an address that is one of a few; ``otherwise`` where there is none. Raises 404 that names them: a page
    that left the value out would show something else than was asked for.
    """
    value = query.get(name, "") or otherwise
    if value != otherwise and value not in among:
        told = {"value": value[:QUOTED], "name": name, "among": ", ".join(among)}
        raise Http404(gettext('"%(value)s" is no %(name)s; use one of %(among)s.') % told)
    return value
