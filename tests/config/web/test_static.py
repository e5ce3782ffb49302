"""Static files come with their headers, before Django."""

from __future__ import annotations

import gzip

import pytest

from config.web.static import StaticFiles

from .asgi import call, echo

STYLE = b"body { color: black }\n" * 50


@pytest.fixture
def files(tmp_path):
    (tmp_path / "base.0123456789ab.css").write_bytes(STYLE)
    (tmp_path / "base.0123456789ab.css.gz").write_bytes(gzip.compress(STYLE))
    (tmp_path / "plain.js").write_text("void 0")
    (tmp_path / "opening.speculationrules").write_text("{}")
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


def test_rules_of_what_to_ask_for_early_have_the_type_that_browsers_want(files):
    _, headers, _ = call(files, path="/static/opening.speculationrules", method="GET")
    assert headers[b"content-type"] == b"application/speculationrules+json"


def test_a_compressed_file_goes_to_those_who_take_it(files):
    _, headers, body = call(files, path="/static/base.0123456789ab.css", method="GET", accept_encoding="gzip")
    assert headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body) == STYLE


@pytest.mark.parametrize("path", ["/static/../secret_key", "/static/missing.css", "/"])
def test_everything_else_goes_to_the_application(files, path):
    assert call(files, b"asked", path=path) == (200, {}, b"asked")
