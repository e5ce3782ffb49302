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
        (b"", "gzip"),
    ],
)
def test_body_that_is_not_packed_is_kept_as_it_is(body, encoding):
    assert webhook_payloads.unpacked(body, encoding, 1_000) == body


@pytest.mark.parametrize("size", [1_001, 100_000_000])
def test_the_limit_counts_what_is_unpacked(size):
    """48 kB became a delivery of 50 MB."""
    with pytest.raises(webhook_payloads.TooLarge, match="1,000 bytes, also unpacked"):
        webhook_payloads.unpacked(gzip.compress(b"0" * size, mtime=0), "gzip", 1_000)


def test_a_number_that_is_too_large_is_not_lost():
    assert webhook_payloads.parsed(b'{"n": 1e400}', "application/json") == {"raw": '{"n": 1e400}'}
    assert webhook_payloads.parsed(b'{"n": 1.5e3}', "application/json") == {"n": 1500.0}
