"""Diffs as HTML: colours by the name of the file, and marks on the words that were changed."""

from __future__ import annotations

import re
from html import unescape

from sessions_app.rendering import code_html, diff, words


def edit(path: str, old: str, new: str) -> list[code_html.DiffLine]:
    file = diff.diffs_of_call("Edit", {"file_path": path, "old_string": old, "new_string": new})[0]
    return code_html.diff_lines(file.rows, file.path)


def test_changed_words_are_marked_in_both_lines() -> None:
    gone, came = edit("notes", "the old fence stands", "the new fence stands")
    assert gone.html == 'the <mark class="w">old</mark> fence stands'
    assert came.html == 'the <mark class="w">new</mark> fence stands'


def test_lines_with_little_in_common_and_runs_of_other_lengths_are_not_marked() -> None:
    assert all("<mark" not in line.html for line in edit("n", "abc def", "uvw xyz"))
    assert all("<mark" not in line.html for line in edit("n", "a b\nc d", "a b c"))


def test_marks_lie_around_pieces_of_coloured_tokens() -> None:
    gone, came = edit("x.py", 'say("good morning all")', 'say("good evening all")')
    assert '<mark class="w"><span class="t-string">evening</span></mark>' in came.html
    for line, text in ((gone, 'say("good morning all")'), (came, 'say("good evening all")')):
        assert unescape(re.sub(r"<[^<>]*>", "", line.html)) == text


def test_a_string_over_several_lines_is_coloured_in_each_and_ends_with_its_hunk() -> None:
    rows = [
        diff.Row("@", "@@"),
        diff.Row(" ", '"""open'),
        diff.Row("+", "inside"),
        diff.Row("@", "@@"),
        diff.Row(" ", "x = 1"),
    ]
    html = [line.html for line in code_html.diff_lines(rows, "x.py")]
    assert html[2] == '<span class="t-string">inside</span>'
    assert "t-string" not in html[4]


def test_every_text_is_escaped_and_shown_on_its_line() -> None:
    rows = [diff.Row("-", "<b>\r\u202e one two"), diff.Row("+", "<i>\r\u202e one two")]
    for path in ("x.html", "x"):
        for line in code_html.diff_lines(rows, path):
            assert "<b>" not in line.html and "<i>" not in line.html
            assert "⟨U+202E⟩" in line.html and "\n" not in line.html


def test_hostile_pairs_of_lines_are_compared_up_to_a_bound() -> None:
    rows = [diff.Row("-", "a b " * 90) for _ in range(500)] + [diff.Row("+", "b a " * 90) for _ in range(500)]
    assert len(words.changed_words(rows)) <= 2 * words.PAIRS
    assert len(code_html.diff_lines(rows, "x.py")) == 1_000


def test_lines_of_a_replaced_text_have_no_numbers_of_the_file() -> None:
    arguments = {"file_path": "a", "old_string": "x\ny", "new_string": "x\nz"}
    assert not diff.diffs_of_call("Edit", arguments)[0].is_numbered
    patch = {"structuredPatch": [{"oldStart": 7, "newStart": 7, "lines": [" x", "-y", "+z"]}]}
    (file,) = diff.diffs_of_call("Edit", arguments, patch)
    assert file.is_numbered
    assert [(row.old, row.new) for row in file.rows[1:]] == [(7, 7), (8, None), (None, 8)]
