"""The stream that keeps the inbox and Home as things stand."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from sessions_app.live import follow, inbox, readers

from .. import access


@require_safe
@access.viewer
def stream(request: access.DeskRequest) -> HttpResponseBase:
    """Server-sent events about the approvals of the workspace (``live.inbox``); 429 when somebody reads too many."""
    caller, address = f"member:{request.member.pk}", request.META.get("REMOTE_ADDR", "")
    try:
        readers.check(caller, address)
    except readers.Full as full:
        return HttpResponse(str(full), status=429, headers={"Retry-After": str(readers.RETRY_SECONDS)})
    frames = inbox.stream(request.member.workspace_id, caller, address)
    return StreamingHttpResponse(frames, content_type="text/event-stream", headers=follow.HEADERS)
