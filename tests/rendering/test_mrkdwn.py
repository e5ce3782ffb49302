"""Markdown as Slack's mrkdwn, and long texts in messages that Slack takes."""

from __future__ import annotations

import pytest

from sessions_app.rendering import mrkdwn


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** _slanted_ ~~gone~~ `a < b`", "*bold* _slanted_ ~gone~ `a &lt; b`"),
        ("# Head **line**", "*Head line*"),
        ("[the page](https://example.org/?a=1&b=2)", "<https://example.org/?a=1&amp;b=2|the page>"),
        ("[bad](javascript:alert)", "[bad](javascript:alert)"),
        ("[a|b>](https://example.org)", "<https://example.org|a¦b&gt;>"),
        ("![cat](https://example.org/cat.png)", "<https://example.org/cat.png|[image: cat]>"),
        ("see https://example.org/?a=1&b=2.", "see <https://example.org/?a=1&amp;b=2>."),
        ("[https://good.example](https://example.org)", "<https://example.org|https://good.example>"),
        ("`https://example.org`", "`https://example.org`"),
        ("<!channel> <@U1> & <b>", "&lt;!channel&gt; &lt;@U1&gt; &amp; &lt;b&gt;"),
        ("- one\n- two\n  - inner\n- three", "• one\n• two\n    • inner\n• three"),
        ("3. third\n4. fourth", "3. third\n4. fourth"),
        ("> said\n> so", "> said\n> so"),
        ("```py\nx < 1\n```", "```\nx &lt; 1\n```"),
        ("| a | b |\n|---|---|\n| 1 | **2** |", "a | b\n1 | *2*"),
        ("one\n\ntwo\nlines", "one\n\ntwo\nlines"),
        ("red \x1b[31mink\x1b[0m and \u202eturned", "red ink and ⟨U+202E⟩turned"),
        ("", ""),
    ],
)
def test_markdown_becomes_mrkdwn(markdown, shown):
    assert mrkdwn.from_markdown(markdown) == shown


def test_what_is_too_large_to_be_read_as_markdown_is_escaped():
    assert mrkdwn.from_markdown("<" + "[" * 20_000).startswith("&lt;[[")


def test_a_short_text_is_one_part():
    assert mrkdwn.split("hello") == ["hello"] and mrkdwn.split("") == [""]


def test_parts_end_with_a_line_and_hold_everything():
    text = "\n".join(f"line {number}" for number in range(3_000))
    parts = mrkdwn.split(text)
    assert "\n".join(parts) == text
    assert all(len(part) <= mrkdwn.LIMIT for part in parts)


def test_full_parts_stay_as_they_are_when_the_text_grows():
    text = "word " * 2_000
    assert mrkdwn.split(text)[:2] == mrkdwn.split(text + "more " * 500)[:2]


def test_a_fence_that_is_cut_is_closed_and_opened_again():
    parts = mrkdwn.split("```\n" + "\n".join("x" * 70 for _ in range(200)) + "\n```")
    assert len(parts) > 2 and all(part.count("```") == 2 and len(part) <= mrkdwn.LIMIT for part in parts)


@pytest.mark.parametrize("piece", ["&amp;", "<https://example.org/page|a-page>"])
def test_neither_an_entity_nor_a_link_is_cut(piece):
    parts = mrkdwn.split(piece * 2_000)
    assert all(part.replace(piece, "") == "" for part in parts) and "".join(parts) == piece * 2_000


def test_one_word_without_end_is_cut_all_the_same():
    parts = mrkdwn.split("a" * 10_000)
    assert "".join(parts) == "a" * 10_000 and max(map(len, parts)) <= mrkdwn.LIMIT
