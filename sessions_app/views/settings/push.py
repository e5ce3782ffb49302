"""Browsers that show notices: the service worker, and the two addresses by which a browser is added and removed."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from sessions_app.encryption import Unreadable
from sessions_app.models import PushSubscription
from sessions_app.services.notices import subscriptions

from .. import access

COOKIE, SALT, SECONDS = "push_subscription", "push subscription", 365 * 24 * 3600
"""Says which subscription is this browser's, so that signing out ends it. It opens nothing."""
POLICY = "default-src 'none'; frame-ancestors 'none'"


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """GET /service-worker.js: at the root, since it may open only what lies below its own address; the same for all."""
    answer = HttpResponse(_script(), content_type="text/javascript; charset=utf-8")
    answer.headers["Cache-Control"] = "no-cache"
    answer.headers["Content-Security-Policy"] = POLICY
    return answer


@cache
def _script() -> bytes:
    return (settings.BASE_DIR / "static" / "js" / "service-worker.js").read_bytes()


@require_POST
@access.reviewer
def subscribe(request: access.DeskRequest) -> HttpResponse:
    """Sent by the page: ``endpoint``, ``p256dh`` and ``auth`` of the browser, ``public_key`` that it was bound to. 201,
    or 422 with a sentence.
    """
    given = {name: request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth", "public_key")}
    try:
        made = subscriptions.subscribe(request.member, **given, agent=request.headers.get("User-Agent", ""))
    except subscriptions.Refused as refused:
        return HttpResponse(str(refused), content_type="text/plain; charset=utf-8", status=422)
    except Unreadable as unreadable:
        return HttpResponse(f"{unreadable}; tell the operator", content_type="text/plain; charset=utf-8", status=503)
    messages.success(request, f"{made.browser} shows notices from now on.")
    answer = HttpResponse(status=201)
    answer.set_signed_cookie(
        COOKIE, str(made.pk), salt=SALT, max_age=SECONDS, path=reverse("sign-out"),
        secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax",
    )  # fmt: skip
    return answer


@require_POST
@access.viewer
def remove(request: access.DeskRequest, subscription_id: UUID) -> HttpResponse:
    """Take a browser of one's own off the list."""
    mine = PushSubscription.objects.filter(member=request.member, pk=subscription_id).select_related("member__user")
    found = mine.first()
    if found is None:
        raise Http404("There is no such browser of yours.")
    subscriptions.remove(found)
    messages.success(request, f"{found.browser} shows no notices any more.")
    return redirect("notice-choice" if request.member.role != "viewer" else "settings")


def leave(request: HttpRequest, answer: HttpResponse) -> None:
    """The person of this request signs out: the browser shows nothing more in their name."""
    left = request.get_signed_cookie(COOKIE, default="", salt=SALT, max_age=SECONDS)
    if left and request.user.is_authenticated:
        subscriptions.leave(request.user, UUID(left))
        answer.delete_cookie(COOKIE, path=reverse("sign-out"), samesite="Lax")
