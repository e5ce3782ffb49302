"""Trust anchors, as a part of the settings page. Everybody sees them; admins change them."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from sessions_app.views import access
from sessions_app.views.settings import workspace
from vcon_app.models import TrustAnchor
from vcon_app.services.trust import anchors
from vcon_app.signing.keys import LONGEST_PEM


class AnchorForm(forms.Form):
    """A PEM text, pasted or as a file."""

    name = forms.CharField(max_length=100, required=False, label=gettext_lazy("Name"))
    origin = forms.CharField(max_length=200, required=False, label=gettext_lazy("Origin"))
    pem = forms.CharField(max_length=LONGEST_PEM, required=False, label=gettext_lazy("Certificate or public key"))
    file = forms.FileField(required=False, label=gettext_lazy("File"))

    def clean(self) -> dict[str, object]:
        entered = super().clean()
        if not self.errors and not entered.get("pem") and not entered.get("file"):
            self.add_error("pem", _("Paste a certificate or a public key, or choose its file."))
        return entered


@require_POST
@access.admin
def add(request: access.DeskRequest) -> HttpResponse:
    form = AnchorForm(request.POST, request.FILES)
    if not form.is_valid():
        return workspace.page(request, 422, anchor_form=form)
    entered = form.cleaned_data
    pem = _text(entered["file"]) if entered["file"] else entered["pem"]
    try:
        anchor = anchors.add(
            request.member.workspace, pem, name=entered["name"], origin=entered["origin"], by=access.actor(request)
        )
    except anchors.Refused as refused:
        form.add_error("pem", str(refused))
        if "PRIVATE KEY" in pem:
            form.data = form.data | {"pem": ""}  # it is not sent back either
        return workspace.page(request, 422, anchor_form=form)
    told = _('"%(anchor)s" is trusted now. Signatures of imported files are being checked again.') % {"anchor": anchor}
    messages.success(request, told)
    return redirect("settings")


@require_POST
@access.admin
def remove(request: access.DeskRequest, anchor_id: UUID) -> HttpResponse:
    anchor = access.one(TrustAnchor.objects.all(), request, anchor_id)
    anchors.remove(anchor, by=access.actor(request))
    told = _('"%(anchor)s" is not trusted any more. What hung on it is being checked again.') % {"anchor": anchor}
    messages.success(request, told)
    return redirect("settings")


def _text(file: UploadedFile) -> str:
    return file.read(LONGEST_PEM + 1).decode("ascii", "replace")
