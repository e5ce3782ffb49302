"""What an exported feed says of where it came from holds: its address replays the session, for programs and people."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from django.test import AsyncClient

from sessions_app.services.log import events, links
from tests.services.build import call, user
from vcon_app.services.imports import import_jobs

from ..client import ok
from ..test_exports import body, fetch
from .live import stream

pytestmark = pytest.mark.django_db(transaction=True)
FEED = {"feed_type": "mcp", "metadata": {"title": "Shop", "origin": "https://shop.example"}, "capabilities": ["sell"]}


def test_the_endpoint_of_an_exported_feed_replays_the_session(api, session, settings):
    settings.SITE_URL = "https://desk.example/"
    events.append(session.id, [user(text="Polish it")], origin=links.RUNTIME)
    feed = json.loads(body(fetch(api, session.id, "llmfeed")))
    assert feed["replay_endpoint"] == f"https://desk.example/api/v1/sessions/{session.id}/stream?after=0"
    assert feed["editable_blocks"] == ["/context/user_input", "/conversation_trace/0"]

    async def run():
        async with stream(api, feed["replay_endpoint"].removeprefix("https://desk.example")) as opened:
            return await opened.next()

    assert asyncio.run(run()).data["text"] == "Polish it"


def test_a_browser_is_led_to_the_page_of_the_session(api, session):
    async def run():
        headers = {**api.headers, "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        return await AsyncClient().get(f"/api/v1/sessions/{session.id}/stream?after=0", headers=headers)

    answer = asyncio.run(run())
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/dashboard/sub-agents/{session.agent_id}/chat/{session.id}"


def test_a_graph_links_to_the_page_and_can_be_made_for_an_older_catalog(api, session, settings):
    settings.SITE_URL = "https://desk.example"
    events.append(session.id, [user(), call()], origin=links.RUNTIME)
    (node,) = [
        one for one in json.loads(body(fetch(api, session.id, "upg")))["nodes"] if one["type"] == "agent_session"
    ]
    assert node["external_ref"] == f"https://desk.example/dashboard/sub-agents/{session.agent_id}/chat/{session.id}"

    async def older():
        query = {"format": "upg", "target_version": "0.11.0"}
        answer = await AsyncClient().get(f"/api/v1/sessions/{session.id}/export", query, headers=api.headers)
        return b"".join([piece async for piece in answer]) if answer.streaming else answer.content

    (node,) = [one for one in json.loads(asyncio.run(older()))["nodes"] if one["type"] == "agent_session"]
    assert node["properties"]["tools_invoked"]


@pytest.mark.parametrize(("format", "status"), [("auto", "failed"), ("llmfeed", "done")])
def test_another_kind_of_feed_is_read_when_its_format_was_chosen(api, format, status):
    source = io.BytesIO(json.dumps(FEED).encode())
    source.name = "shop.llmfeed.json"
    taken = ok(api.upload(source, {"format": format}), 202)
    import_jobs.run(taken["id"])
    assert ok(api.get(f"imports/{taken['id']}"))["status"] == status
