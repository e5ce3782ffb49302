"""Django behind ASGI: what is synchronous runs in a thread, what streams ends when nobody reads, nothing is left."""

from __future__ import annotations

import asyncio

import orjson
import pytest
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, URLPattern, get_resolver, include, path, resolve
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt

from config import urls
from config.web import routes
from config.web.handler import Handler
from sessions_app.models import Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members

from .asgi import acall, call

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "tests.config.web.test_handler"
seen: list[str] = []


@csrf_exempt
def noted(request):
    """Says its language, and leaves another and a connection behind."""
    connection.ensure_connection()
    seen.append(translation.get_language())
    translation.activate("de")
    return HttpResponse(request.body)


def broken(request):
    raise RuntimeError("a fault of ours")


urlpatterns = [path("noted", noted), path("api/broken", broken), *urls.urlpatterns]


@pytest.fixture
def handler(settings) -> Handler:
    settings.ROOT_URLCONF = HERE
    seen.clear()
    return Handler()


def test_a_view_gets_the_body_and_nothing_of_the_request_before(handler):
    async def twice():
        return [await acall(handler, b"a=", b"1", path="/noted", host="localhost") for _ in range(2)]

    assert [body for _, _, body in asyncio.run(twice())] == [b"a=1", b"a=1"]
    assert seen == ["en", "en"]


def test_a_connection_is_given_back_before_the_answer(handler):
    async def left():
        await acall(handler, path="/noted", host="localhost")
        run = asyncio.get_running_loop().run_in_executor
        return await run(handler._threads, lambda: connection.connection)

    assert asyncio.run(left()) is None


def test_a_fault_and_an_address_of_nothing_are_answered(handler):
    status, headers, body = call(handler, method="GET", path="/api/broken", host="localhost")
    assert status == 500 and orjson.loads(body)["detail"] == "a fault of ours; it is in the server's log"
    assert headers[b"X-Frame-Options"] == b"DENY"
    assert call(handler, method="GET", path="/api/nowhere", host="localhost")[0] == 404


def test_events_are_appended_and_a_stranger_is_refused(workspace, agent):
    _, secret = api_keys.create_api_key(workspace, "k", Role.ADMIN, by=audit.COMMAND)
    session = Session.objects.create(workspace=workspace, agent=agent, origin="api")
    sent = orjson.dumps({"events": [{"client_id": "1", "kind": "agent_message", "text": "said"}]})
    headers = {"host": "localhost", "content_type": "application/json"}
    at = f"/api/v1/sessions/{session.pk}/events"
    status, _, body = call(Handler(), sent, path=at, authorization=f"Bearer {secret}", **headers)
    assert status == 200 and orjson.loads(body)["accepted"] == 1
    assert call(Handler(), sent, path=at, **headers)[0] == 401


def test_a_stream_of_a_synchronous_view_ends_when_its_reader_is_gone(workspace):
    member, _ = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)
    browser = Client()
    browser.force_login(member.user)
    assert SESSION_KEY in browser.session
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    scope = {
        "type": "http", "method": "GET", "path": "/approvals/stream", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"cookie", cookies.encode())], "client": ("192.0.2.1", 4711),
    }  # fmt: skip
    begun = asyncio.Event()
    sent: list[dict] = []

    async def receive():
        if not sent:
            return {"type": "http.request", "body": b"", "more_body": False}
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        begun.set()

    async def read():
        await asyncio.wait_for(Handler()(scope, receive, send), 20)

    asyncio.run(read())
    assert sent[0]["status"] == 200 and (b"Content-Type", b"text/event-stream") in sent[0]["headers"]


def leaves(resolver):
    for route in resolver.url_patterns:
        yield from [route] if isinstance(route, URLPattern) else leaves(route)


def test_an_address_leads_to_the_first_route_that_matches_and_no_other_is_tried():
    def view(request): ...

    first, second, third = path("a/<slug:b>/c", view), path("a/<str:b>/c", lambda request: ...), path("a/", view)
    known = routes.quick([first, path("", include(([second, third], "inner"), namespace="inner"))])
    assert known.resolve("a/x/c").func is view and known.resolve("a/x/c").kwargs == {"b": "x"}
    assert known.resolve("a/x y/c").func is second.callback and known.resolve("a/").func is view
    for nowhere in ("", "a", "a/x/", "a/x/c/", "b/x/c"):
        with pytest.raises(Resolver404):
            known.resolve(nowhere)
    with pytest.raises(routes.ImproperlyConfigured):
        routes.quick([path("files/<path:name>", view)]).resolve("files/a/b")


def test_every_route_of_the_desk_is_found():
    values = {"uuid": "0190a6a0-7d4f-7aaa-8bbb-123456789abc", "int": "7", "slug": "a-word", "str": "a word"}
    for leaf in leaves(get_resolver("config.urls")):
        address = "/" + str(leaf.pattern)
        for name, converter in leaf.pattern.converters.items():
            kind = next((kind for kind in values if type(converter).__name__.lower().startswith(kind)), "slug")
            for said in (f"<{kind}:{name}>", f"<{kind}str:{name}>", f"<{name}>"):
                address = address.replace(said, values[kind])
        assert "<" not in address
        assert resolve(address).route.count("/") == address.count("/") - 1
