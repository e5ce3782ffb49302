"""Ids sort by the order in which they were made, also within a millisecond and in batches."""

from __future__ import annotations

import time
from uuid import UUID

from sessions_app.ids import uuid7, uuid7_bytes


def test_ids_made_one_by_one_are_in_order():
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_batch_larger_than_a_millisecond_holds_goes_on_in_order():
    before, batch, after = uuid7(), [UUID(bytes=one) for one in uuid7_bytes(10_000)], uuid7()
    made = [before, *batch, after]
    assert made == sorted(made)


def test_an_id_is_a_version_7_uuid_of_now():
    made = uuid7()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert abs((made.int >> 80) - time.time() * 1000) < 60_000
