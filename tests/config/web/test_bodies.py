"""Before Django: bodies are bounded, each address as it needs."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from config.web import admission, disk_room
from config.web.bodies import MIB, BodyLimits, Limit, limits

from .asgi import call, echo

SIX = BodyLimits(echo, [Limit(re.compile("/"), 6, "send a link")])


def test_a_body_within_the_limit_passes():
    assert call(SIX, b"abc", b"def") == (200, {}, b"abcdef")


@pytest.mark.parametrize("headers", [{}, {"content_length": "7"}])
def test_a_body_over_the_limit_is_a_problem_that_says_what_to_do(headers):
    """With its length said before, and counted as it comes."""
    status, sent, body = call(SIX, b"abc", b"defg", path="/api/v1/agents", **headers)
    problem = json.loads(body)
    assert (status, sent[b"content-type"], problem["status"]) == (413, b"application/problem+json", 413)
    assert problem["detail"] == "the request is larger than the 6 bytes that this address takes: send a link"


def test_a_page_says_it_in_a_sentence():
    status, sent, body = call(SIX, b"abc", b"defg", path="/agents/")
    assert (status, sent[b"content-type"]) == (413, b"text/html; charset=utf-8")
    assert b"The request is larger than the 6 bytes" in body


@pytest.mark.parametrize("path", ["/v1/traces", "/api/v1/otlp/v1/traces"])
def test_an_exporter_of_spans_is_told_in_its_own_encoding(path):
    """Protobuf has the message as member 2: its number and type, its length, its text."""
    sentence = b"the request is larger than the 6 bytes that this address takes: send a link"
    for kind, told in (
        (b"application/x-protobuf", bytes([0x12, len(sentence)]) + sentence),
        (b"application/json; charset=utf-8", b'{"message": "' + sentence + b'"}'),
    ):
        status, sent, body = call(SIX, b"abc", b"defg", path=path, content_type=kind.decode())
        assert (status, sent[b"content-type"], body) == (413, kind.partition(b";")[0], told)


def test_a_full_disk_and_a_busy_server_let_spans_wait_where_they_are():
    sent_as = "application/x-protobuf"
    for refusal, status in ((disk_room.FULL, 503), (admission.BUSY, 503), (admission.BUSY_CALLER, 429)):
        code, headers, _ = refusal.answer("/v1/traces", sent_as)
        assert code == status and int(dict(headers)[b"retry-after"]) > 0
    assert disk_room.FULL.answer("/api/v1/imports", sent_as)[0] == 507


def test_the_rest_of_a_refused_body_is_read_so_that_the_answer_is_seen():
    """A client that is cut off while it sends is told of a reset connection, and not of the limit."""
    left = [b"x" * MIB] * 3

    async def run():
        async def receive():
            return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

        async def send(message):
            assert left == []

        headers = [(b"content-length", b"%d" % (3 * MIB))]
        await SIX({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send)

    asyncio.run(run())
    assert left == []


@pytest.mark.parametrize(
    ("path", "mebibytes"),
    [
        ("/api/v1/approvals", 4),
        ("/api/v1/approvals/0198/decision", 4),
        ("/api/v1/sessions/0198/events", 32),
        ("/api/v1/otlp/v1/traces", 32),
        ("/hooks/abc", 1),
        ("/agents/+/", 4),
        ("/sign-in/", 1 / 16),
    ],
)
def test_each_address_takes_what_it_needs(path, mebibytes):
    """31 MB were read whole and parsed for a question that has a few kilobytes."""
    found = next(limit for limit in limits() if limit.path.match(path))
    assert found.most == mebibytes * MIB


@pytest.mark.parametrize("path", ["/api/v1/imports", "/imports/"])
def test_files_have_the_limit_of_the_setting(path, settings):
    settings.MAX_UPLOAD_BYTES = 3
    found = next(limit for limit in limits() if limit.path.match(path))
    assert found.most == 6 + MIB and "COUNTERSIGN_MAX_UPLOAD_BYTES" in found.now
