"""How a member is told of approvals and mentions: their own choice."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from sessions_app.encryption import Unreadable
from sessions_app.models import NoticeChoice, PushSubscription
from sessions_app.queries.notices import gone_browsers
from sessions_app.rendering import numbers
from sessions_app.services.notices import choices, push_keys
from sessions_app.services.people import mail

from .. import access


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def choice(request: access.DeskRequest) -> HttpResponse:
    """The form, and what it says is kept; and the browsers that are told."""
    member, problem = request.member, ""
    if request.method == "POST":
        try:
            choices.choose(member, **_entered(request))
            messages.success(request, _("Saved."))
            return redirect("notice-choice")
        except choices.Refused as refused:
            problem = str(refused)
    chosen = NoticeChoice.objects.filter(member=member).first() or NoticeChoice(member=member)
    browsers = list(PushSubscription.objects.filter(member=member).order_by("made_at"))
    for browser in browsers:
        browser.service = urlsplit(browser.endpoint).hostname
    context = {
        "chosen": chosen, "risks": choices.LEAST, "problem": problem, "can_mail": mail.reaches(member.user),
        "email": member.user.email, "configured": settings.EMAIL_CONFIGURED,
        "digests": [(minutes, numbers.duration(minutes * 60_000)) for minutes in choices.DIGESTS],
        "browsers": browsers, "gone": gone_browsers(member, browsers), "public_key": _public_key(),
    }  # fmt: skip
    return render(request, "settings/notices.html", context, status=422 if problem else 200)


def _entered(request: HttpRequest) -> choices.Chosen:
    """Raises ``choices.Refused``."""
    minutes = request.POST.get("digest_minutes", "0")
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) < 6):
        raise choices.Refused(_('"%(given)s" is no number of minutes') % {"given": minutes[:20]})
    return {
        "mentions": request.POST.get("mentions") == "on",
        "push_mentions": request.POST.get("push_mentions") == "on",
        "mail": request.POST.get("mail") == "on", "push": request.POST.get("push") == "on",
        "least_risk": request.POST.get("least_risk", ""), "digest_minutes": int(minutes),
    }  # fmt: skip


def _public_key() -> str:
    """What browsers are bound to; empty on a host that cannot read the installation's key."""
    try:
        return push_keys.current().public
    except Unreadable:
        return ""
