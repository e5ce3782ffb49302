"""Code in colours: every character stays, and what is hostile has none."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.conf import settings

from sessions_app.rendering import colours

LANGUAGES = sorted(colours._NAMES)


def words(html: str) -> str:
    """What a person reads of HTML."""
    return unescape(re.sub(r"<[^<>]*>", "", html))


TEXTS = [
    "",
    "\n",
    "a",
    "\n\n  x = '\\n' # <b>&amp;\n/* { } */\n\n",
    "<?php echo \"$a\" ?>\n\t<p class='x'>é 日本\n",
    '{"a": [1, null]}\r\nx\ry',
]


@pytest.mark.parametrize("text", TEXTS, ids=["nothing", "a line", "a letter", "code", "markup", "ends of lines"])
def test_no_character_is_lost_or_added(text: str) -> None:
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    for language in LANGUAGES:
        assert words(colours.coloured(text, language)) == shown, language
        lines = [words(line) for line in colours.lines_of(text, language)]
        assert lines == shown.splitlines(keepends=True) + ([""] if shown.endswith("\n") or not shown else []), language


def test_kinds_of_tokens_become_classes() -> None:
    html = colours.coloured("def f():  # why\n    return 'x' + 1\n", "python")
    for kind, word in (("word", "def"), ("name", "f"), ("comment", "# why"), ("number", "1")):
        assert f'<span class="t-{kind}">{word}</span>' in html
    assert '<span class="t-name">&quot;key&quot;</span>' in colours.coloured('{"key": 1}', "json")


def test_every_kind_has_a_rule_in_css() -> None:
    css = (settings.BASE_DIR / "static/css/parts.css").read_text()
    assert [kind for kind in colours.KINDS if f".t-{kind}" not in css] == []


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("src/app.py", "python"), ("C:\\x\\App.TSX", "typescript"), ("Dockerfile", "docker"), ("a/Makefile", "make"),
        ("x.unknown", ""), ("README", ""), ("", ""), (".py/", ""), ("uv.lock", "toml"),
    ],
)  # fmt: skip
def test_the_language_of_a_file_is_told_by_its_name(name: str, language: str) -> None:
    assert colours.language_of_path(name) == language


@pytest.mark.parametrize(
    ("info", "language"), [("py", "python"), ("JS title=x", "javascript"), ("{.sql}", "sql"), ("../x", ""), (" ", "")]
)
def test_the_language_of_a_block_is_what_it_says(info: str, language: str) -> None:
    assert colours.language_of(info) == language


def test_long_texts_and_long_lines_have_no_colours() -> None:
    assert colours.tokens_of("x = 1\n" * 10_000, "python") is None
    assert colours.tokens_of("x" * (colours.LINE + 1), "python") is None
    assert colours.coloured("1 <" * 400, "python") == "1 &lt;" * 400


def test_what_takes_too_long_is_shown_without_colours() -> None:
    assert colours.tokens_of("return 1", "python", patience=-1) == [("", "return 1")]


def test_colours_never_make_more_of_a_text_than_markup_does() -> None:
    html = colours.coloured("1 " * 400, "python")
    assert len(html) <= colours.GROWTH * 800
    assert words(html) == "1 " * 400


@pytest.mark.parametrize("unit", ['"', "/*", "<a ", "${", "#{", "'''", "(", '@"', 'r#"', "\n---\n"])
def test_hostile_texts_keep_all_their_characters(unit: str) -> None:
    text = f"{(unit * 990)[:990]}\n" * 2
    for language in LANGUAGES:
        assert words(colours.coloured(text, language)) == text, language
