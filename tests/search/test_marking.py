"""What is shown of a hit: a piece of the text with what was found marked, whatever way it was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.search import typed
from sessions_app.search.marking import LENGTH, snippet


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Refund the refunds", "refund", ["Refund"]),
        ("Refund the refunds", "refund*", ["Refund", "refund"]),
        ("in src/app/models.py, app", "app/models", ["app/models"]),
        ("parseHeader(x)", "header", ["Header"]),
        ("これは日本語です", "日本語", ["日本語"]),
        ("Größe und Café", "cafe grösse", ["Größe", "Café"]),
        ("مُحَمَّد طلب", "محمد", ["مُحَمَّد"]),
        ("order one of 4711", "4711 order -refund", ["order", "4711"]),
    ],
)
def test_found_words_are_marked(text, query, marked):
    pieces = snippet(text, typed.read(query))
    assert pieces[1::2] == marked
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        (r'"Look at\nthe \"log\"\u2026\nof the container"', "container", 'Look at\nthe "log"…\nof the container'),
        (r'Bash {"command": "cd a\nmake container", "cwd": "C:\\new"}', "container",
         'Bash {"command": "cd a\nmake container", "cwd": "C:\\new"}'),
        (r'Bash {"text": "half \ud83d of the container"}', "container",
         'Bash {"text": "half \ufffd of the container"}'),
        (r"It is in C:\new\test of the container", "container", r"It is in C:\new\test of the container"),
    ],
)  # fmt: skip
def test_escapes_that_nobody_wrote_are_not_shown(text, query, shown):
    pieces = snippet(text, typed.read(query))
    assert "".join(pieces) == shown and pieces[1::2] == ["container"]


def test_the_piece_begins_shortly_before_the_first_found_word():
    pieces = snippet("word " * 1_000 + "needle" + " word" * 1_000, typed.read("needle"))
    assert pieces[0].startswith("… word") and pieces[1] == "needle" and pieces[2].endswith(" …")
    assert len("".join(pieces)) < LENGTH + 10


@given(st.text(max_size=400), st.text(max_size=30))
def test_any_text_and_any_query_give_pieces(text, query):
    pieces = snippet(text, typed.read(query))
    assert len(pieces) % 2 == 1 and len("".join(pieces)) <= LENGTH + 4
