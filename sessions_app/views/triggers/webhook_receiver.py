"""The door that webhooks come through: no sign-in, the address and the signature are what a sender has."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from sessions_app.api.problems import Problem
from sessions_app.services.triggers import webhook_deliveries, webhook_payloads, webhook_signatures


@csrf_exempt
def receive(request: HttpRequest, hook_id: str) -> HttpResponse:
    """Keep what is posted and start a session with it; the same again is answered alike and starts nothing."""
    try:
        return _received(request, hook_id)
    except Problem as problem:
        return problem.response()
    except webhook_deliveries.Unknown as unknown:
        return Problem(404, str(unknown)).response()
    except webhook_signatures.Wrong as wrong:
        return Problem(401, str(wrong), headers={"WWW-Authenticate": 'Signature realm="webhook"'}).response()
    except webhook_deliveries.Unready as unready:
        return Problem(503, str(unready), headers={"Retry-After": "600"}).response()
    except webhook_payloads.TooLarge as large:
        return Problem(413, str(large)).response()
    except UnreadablePostError:
        return Problem(400, "the body ended too early").response()


def _received(request: HttpRequest, hook_id: str) -> HttpResponse:
    if request.method != "POST":
        raise Problem(405, f"a webhook is sent by POST, not by {request.method}", headers={"Allow": "POST"})
    received = webhook_deliveries.receive(hook_id, _posted(request, _body(request)))
    if received.challenge:
        return JsonResponse({"challenge": received.challenge})
    ids = {"delivery": received.delivery.pk, "session": received.session_id}
    return JsonResponse(ids | {"duplicate": not received.is_new})


def _body(request: HttpRequest) -> bytes:
    """At most one byte more than is allowed is read."""
    most = settings.MAX_WEBHOOK_BYTES
    body = request.read(most + 1)
    if len(body) > most:
        raise Problem(413, f"a delivery has at most {most:,} bytes; send a link to what is larger")
    return body


def _posted(request: HttpRequest, body: bytes) -> webhook_deliveries.Posted:
    return webhook_deliveries.Posted(
        body=body,
        content_type=request.headers.get("Content-Type", ""),
        headers={name.lower(): value for name, value in request.headers.items()},
        url=(settings.PUBLIC_URL or request.build_absolute_uri("/")).rstrip("/") + request.get_full_path(),
        source_ip=_address(request.META.get("REMOTE_ADDR", "")),
    )


def _address(value: str) -> str | None:
    try:
        return str(ip_address(value))
    except ValueError:  # a socket of a proxy on the same machine has none
        return None
