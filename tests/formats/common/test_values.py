"""Values of a transcript that are kept, cut or counted, whatever they are."""

from __future__ import annotations

from vcon_app.formats.common.values import FIELD_LIMIT, RESULT_LIMIT, bounded


def test_a_large_value_with_numbers_beyond_64_bits_is_kept() -> None:
    value = {"n": 10**70, "text": "x" * (FIELD_LIMIT + 3)}
    assert bounded(value, FIELD_LIMIT + 100) == {"n": 10**70, "text": "x" * FIELD_LIMIT + "… [cut: 3 more characters]"}


def test_a_value_that_is_too_large_altogether_says_its_size() -> None:
    value = ["x" * FIELD_LIMIT] * 17
    assert bounded(value, RESULT_LIMIT * 2) == {"cut": True, "bytes": 17 * (FIELD_LIMIT + 3) + 1}
