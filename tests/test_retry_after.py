"""When a server wants to be asked again, as it says it, or nothing where it says nonsense."""

from __future__ import annotations

import pytest

from sessions_app import retry_after


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120), ("0", 0), ("0.5", 0.5), ("99999999", retry_after.MOST), ("9" * 400, retry_after.MOST),
        ("Wed, 01 Jan 2200 00:00:00 GMT", retry_after.MOST), ("Wed, 01 Jan 1200 00:00:00 GMT", 0),
        ("Wed, 01 Jan 2020 00:00:00 -0000", 0),
    ],
)  # fmt: skip
def test_seconds_from_now(said, seconds):
    assert retry_after.seconds(said) == seconds


@pytest.mark.parametrize(
    "said",
    [
        "", "soon", "-5", "²", "nan", "inf", "1e3", "1.", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2030 00:00:00 +99999999999999",
    ],
)  # fmt: skip
def test_nonsense_says_nothing(said):
    assert retry_after.seconds(said) is None
