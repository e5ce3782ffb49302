"""How a member is told of approvals: their own choice."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from sessions_app.models import NoticeChoice
from sessions_app.services.notices import choices
from sessions_app.services.people import mail

from .. import access


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def choice(request: access.DeskRequest) -> HttpResponse:
    """The form, and what it says is kept."""
    member, problem = request.member, ""
    if request.method == "POST":
        try:
            choices.choose(member, mail=request.POST.get("mail") == "on", least_risk=request.POST.get("least_risk", ""))
            messages.success(request, "Kept.")
            return redirect("notice-choice")
        except choices.Refused as refused:
            problem = str(refused)
    chosen = NoticeChoice.objects.filter(member=member).first()
    context = {
        "chosen": chosen, "risks": choices.LEAST, "problem": problem, "can_mail": mail.reaches(member.user),
        "email": member.user.email, "configured": settings.EMAIL_CONFIGURED,
    }  # fmt: skip
    return render(request, "settings/notices.html", context, status=422 if problem else 200)
