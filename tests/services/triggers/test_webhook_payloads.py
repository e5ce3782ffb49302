"""Bodies of webhooks: unpacked within bounds, and what would not be kept as it is stays text."""

from __future__ import annotations

import gzip

import pytest

from sessions_app.services.triggers import webhook_payloads

PLAIN = b'{"order": 4711}'
PACKED = gzip.compress(PLAIN, mtime=0)


@pytest.mark.parametrize("encoding", ["gzip", " GZIP ", "x-gzip"])
def test_a_packed_body_is_unpacked(encoding):
    assert webhook_payloads.unpacked(PACKED, encoding, 1_000) == PLAIN


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (PACKED, ""),
        (PACKED, "br"),
        (PLAIN, "gzip"),
        (PACKED[:-9], "gzip"),
        (gzip.compress(b"0" * 1_001, mtime=0), "gzip"),
        (gzip.compress(b"0" * 100_000_000, mtime=0), "gzip"),
        (b"", "gzip"),
    ],
)
def test_body_that_cannot_be_unpacked_within_the_limit_is_kept_packed(body, encoding):
    assert webhook_payloads.unpacked(body, encoding, 1_000) == body


def test_a_number_that_is_too_large_is_not_lost():
    assert webhook_payloads.parsed(b'{"n": 1e400}', "application/json") == {"raw": '{"n": 1e400}'}
    assert webhook_payloads.parsed(b'{"n": 1.5e3}', "application/json") == {"n": 1500.0}
