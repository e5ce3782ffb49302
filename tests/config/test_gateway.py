"""Before Django: bodies are bounded, static files come with their headers."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from config.gateway import BodyLimit, StaticFiles

STYLE = b"body { color: black }\n" * 50


async def echo(scope, receive, send):
    """An application that reads the whole body and answers with it."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def call(application, *parts: bytes, path="/", method="POST", **headers: str):
    """One request: (status, headers, body)."""
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting += [{"type": "http.request", "body": b"", "more_body": False}]
    sent: list[dict] = []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    names = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": names}
    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def test_a_body_within_the_limit_passes():
    assert call(BodyLimit(echo, 6), b"abc", b"def") == (200, {}, b"abcdef")


@pytest.mark.parametrize("headers", [{}, {"content_length": "7"}])
def test_a_body_over_the_limit_is_a_problem_that_names_the_setting(headers):
    status, sent, body = call(BodyLimit(echo, 6), b"abc", b"defg", **headers)
    problem = json.loads(body)
    assert (status, sent[b"content-type"], problem["status"]) == (413, b"application/problem+json", 413)
    assert "COUNTERSIGN_MAX_UPLOAD_BYTES" in problem["detail"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "base.0123456789ab.css").write_bytes(STYLE)
    (tmp_path / "base.0123456789ab.css.gz").write_bytes(gzip.compress(STYLE))
    (tmp_path / "plain.js").write_text("void 0")
    return StaticFiles(echo, str(tmp_path), "/static/")


def test_a_file_with_a_hash_in_its_name_is_kept_for_ever(files):
    status, headers, body = call(files, path="/static/base.0123456789ab.css", method="GET")
    assert (status, body) == (200, STYLE)
    assert b"immutable" in headers[b"cache-control"]
    assert headers[b"x-content-type-options"] == b"nosniff"


def test_a_file_without_one_is_asked_for_again(files):
    _, headers, _ = call(files, path="/static/plain.js", method="GET")
    assert b"immutable" not in headers[b"cache-control"]
    status, _, body = call(files, path="/static/plain.js", method="GET", if_none_match=headers[b"etag"].decode())
    assert (status, body) == (304, b"")


def test_a_compressed_file_goes_to_those_who_take_it(files):
    _, headers, body = call(files, path="/static/base.0123456789ab.css", method="GET", accept_encoding="gzip")
    assert headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body) == STYLE


@pytest.mark.parametrize("path", ["/static/../secret_key", "/static/missing.css", "/"])
def test_everything_else_goes_to_the_application(files, path):
    assert call(files, b"asked", path=path) == (200, {}, b"asked")


def test_addresses_may_have_a_smaller_bound_of_their_own():
    """One limit stands in the other, as in ``config.asgi``; a body without a length is counted as it comes."""
    bounded = BodyLimit(BodyLimit(echo, 6, "/hooks/", "send a link"), 100)
    assert call(bounded, b"abc", b"defg", path="/imports/") == (200, {}, b"abcdefg")
    assert call(bounded, b"abc", b"def", path="/hooks/x") == (200, {}, b"abcdef")
    for headers in ({}, {"content_length": "7"}):
        status, _, body = call(bounded, b"abc", b"defg", path="/hooks/x", **headers)
        assert (status, json.loads(body)["detail"]) == (
            413, "The request is larger than the 6 bytes that this server takes: send a link.",
        )  # fmt: skip
