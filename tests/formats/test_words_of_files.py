"""No string of a file is lost: each is in an event, a fact of the session or a part that the page shows.

Every ninth file of other people, where they are present; ``python -m bench.seeds.words`` tries all of them.
"""

from __future__ import annotations

import json

import pytest

from bench.seeds import file_rows, words
from tests.formats.vcon.clean import CLEAN
from vcon_app.formats.rest_of_file import Rest

from .vcon_tools import needs_corpus

SAMPLE = [path for path in words.files()[::9] if path.stat().st_size < 200_000]


@needs_corpus
@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_every_string_of_a_file_is_shown_somewhere(path):
    assert words.lost(path.read_bytes()) in ([], None)


def test_a_string_that_no_reader_keeps_is_found_out(monkeypatch):
    """Else the test above could not fail."""
    secret = "a string that only the parts of the file show"
    data = json.dumps(CLEAN | {"zqmember": secret}).encode()
    assert words.lost(data) == []
    monkeypatch.setattr(words, "parts_of", lambda name, record: [])
    monkeypatch.setattr(words, "rest_of", lambda source, shown, alone: Rest())
    assert ("/zqmember", secret) in (words.lost(data) or [])


def test_every_row_of_the_seeds_that_a_file_tells_works():
    assert {name for name, row in file_rows.ROWS.items() if file_rows.state_of(*row) != "works"} == set()


def test_a_row_that_does_not_work_is_told_apart():
    assert (file_rows.state_of(lambda: ["a"], ["a", "b"]), file_rows.state_of(lambda: None, "x")) == (
        "partly",
        "missing",
    )
