"""Browsers that show notices: service worker, manifest, and where a browser is added, tried and removed."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from sessions_app.encryption import Unreadable
from sessions_app.models import PushSubscription
from sessions_app.services.notices import push as pushes
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


@require_safe
def manifest(request: HttpRequest) -> HttpResponse:
    """GET /manifest.webmanifest: what a phone needs to keep the desk among its apps (W3C Web Application Manifest).

    Safari on iOS sends pushes to installed pages alone.
    """
    icons = [
        {"src": static("icon.svg"), "type": "image/svg+xml", "sizes": "any"},
        {"src": static("icon-512.png"), "type": "image/png", "sizes": "512x512", "purpose": "maskable"},
        {"src": static("icon-512.png"), "type": "image/png", "sizes": "512x512"},
    ]
    about = {
        "name": "Countersign", "short_name": "Countersign", "id": "/", "start_url": "/", "scope": "/",
        "display": "standalone", "icons": icons,
    }  # fmt: skip
    answer = JsonResponse(about, content_type="application/manifest+json")
    answer.headers["Cache-Control"] = "no-cache"
    return answer


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
        told = _("%(why)s; tell the operator") % {"why": unreadable}
        return HttpResponse(told, content_type="text/plain; charset=utf-8", status=503)
    messages.success(request, _("%(browser)s shows notices from now on.") % {"browser": made.browser})
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
    found = _own(request, subscription_id)
    subscriptions.remove(found)
    messages.success(request, _("%(browser)s shows no notices any more.") % {"browser": found.browser})
    return redirect("notice-choice" if request.member.role != "viewer" else "settings")


@require_POST
@access.reviewer
def test(request: access.DeskRequest, subscription_id: UUID) -> HttpResponse:
    """Have a browser of one's own show a line, so that nobody learns by a missed approval that pushes do not arrive."""
    found = _own(request, subscription_id)
    if why := pushes.tell(found, pushes.TEST):
        told = _("%(browser)s was not reached: %(why)s") % {"browser": found.browser, "why": why}
        messages.error(request, told)
    else:
        told = _("The push service of %(browser)s took a notice: it should be shown there now.")
        messages.success(request, told % {"browser": found.browser})
    return redirect("notice-choice")


def _own(request: access.DeskRequest, subscription_id: UUID) -> PushSubscription:
    mine = PushSubscription.objects.filter(member=request.member, pk=subscription_id).select_related("member__user")
    if (found := mine.first()) is None:
        raise Http404(_("There is no such browser of yours."))
    return found


def leave(request: HttpRequest, answer: HttpResponse) -> None:
    """The person of this request signs out: the browser shows nothing more in their name."""
    left = request.get_signed_cookie(COOKIE, default="", salt=SALT, max_age=SECONDS)
    if left and request.user.is_authenticated:
        subscriptions.leave(request.user, UUID(left))
        answer.delete_cookie(COOKIE, path=reverse("sign-out"), samesite="Lax")
