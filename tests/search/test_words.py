"""Words of a text, and what somebody typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.search import typed
from sessions_app.search.words import LONGEST, pieces, words


def said(text: str) -> list[str]:
    return sorted(word.decode() for word in words(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Read src/app/models.py:12", ["12", "app", "models", "py", "read", "src"]),
        ("getUserName", ["get", "getusername", "name", "user"]),
        ("HTTPServer2", ["2", "http", "httpserver2", "server"]),
        ("snake_case-and.dots@home", ["and", "case", "dots", "home", "snake"]),
        (r"{\"a\":\"one\ntwo\\three\"}", ["a", "one", "three", "two"]),
        ("日本語", ["日本", "本語", "語"]),
        ("v２だ", ["v2", "だ"]),
        ("Straße É", ["e", "strasse"]),
        ("12→def “ﬁnd”—│it│ ⅣⅤ x₂", ["12", "def", "find", "it", "ivv", "x2"]),
    ],
)
def test_the_words_of_a_text(text, found):
    assert said(text) == found


def test_no_sign_between_words_is_part_of_one():
    """What is taken out before a word is looked at by itself is what that look would leave out."""
    for place in (*range(0x2000, 0x2070), *range(0x2190, 0x2300), *range(0x2500, 0x2600)):
        text = f"a{chr(place)}b"
        assert pieces(text) == [("a", False), ("b", False)], hex(place)
        assert said(text) == ["a", "b"], hex(place)


def test_of_a_long_word_the_beginning_counts():
    assert said("x" * 500 + " " + "é" * 500) == ["e" * LONGEST, "x" * LONGEST]
    assert typed.read("x" * 300).is_met_by("a " + "x" * 500)
    assert typed.read('"a ' + "x" * 300 + '"').is_met_by("a " + "x" * 500)


@given(st.text(max_size=60))
def test_no_word_has_what_the_search_index_takes_for_something_else(text):
    for word in said(text):
        assert word and not set(word) & set(" '\\:@&|!()<>*\"\0") and len(word.encode()) <= max(LONGEST, 8)


@given(st.text(max_size=60))
def test_every_text_says_each_piece_of_itself(text):
    for piece in text.split():
        query = typed.read(f'"{piece}"')
        assert not query.alternatives or query.is_met_by(text)


@pytest.mark.parametrize(
    ("query", "text", "met"),
    [
        ("refund order", "the order, a refund", True),
        ('"refund order"', "the order, a refund", False),
        ("refund -order", "a refund", True),
        ("refund -order", "a refund order", False),
        ('refund -"order 4711"', "refund 4711 order", True),
        ("tea or coffee", "coffee", True),
        ("tea or coffee milk", "coffee", False),
        ("OR", "or", False),
        ("ref*", "refund", True),
        ("order ref*", "order my references", True),
        ('"order ref*"', "order reference", False),
        ("a@b.example", "mail a@b.example now", True),
        ("a@b.example", "mail b@a.example now", False),
        ("1,204.00", "$1,204.00", True),
    ],
)
def test_what_somebody_typed(query, text, met):
    assert typed.read(query).is_met_by(text) == met


LETTERS = st.text('aBc0 _-*\\n"é', max_size=12)


@given(LETTERS, LETTERS)
def test_a_text_in_ascii_is_met_as_one_that_has_another_word_besides(query, text):
    """It is looked at before its words are found, and that may not make a difference."""
    if "é" not in query:
        assert typed.read(query).is_met_by(text) == typed.read(query).is_met_by(f"{text} 界")


@pytest.mark.parametrize(
    ("query", "text", "met"),
    [("header", "parseHeader", True), ("eader", "parseHeader", False), ("x" * 61, "x" * 100, False)],
)
def test_a_word_is_met_by_its_parts_and_never_in_the_middle(query, text, met):
    assert typed.read(query).is_met_by(text) == met


@pytest.mark.parametrize("nothing", ["", "-", '"', "***", "- - -", '""', "or", "\0", "()&|!:"])
def test_without_a_word_there_is_nothing_to_look_for(nothing):
    assert typed.read(nothing).alternatives == ()
