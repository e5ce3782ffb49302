"""Text of strangers: harmless, and nothing in it invisible."""

from __future__ import annotations

import pytest

from sessions_app.rendering import text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("größe 日本 🍝", "größe 日本 🍝"),
        ("\x1b[1;31mred\x1b[0m \x9b32mgreen", "red green"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never closed, so the rest is shown", "␛]0;never closed, so the rest is shown"),
        ("\x1bPhidden\x1b\\", ""),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("nul\0bell\x07del\x7f", "nul␀bell␇del␡"),
        ("invoice\u202efdp.exe", "invoice⟨U+202E⟩fdp.exe"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("pass\u200bword\ufeff", "pass⟨U+200B⟩word⟨U+FEFF⟩"),
        ("a\u200db \u200cc", "a⟨U+200D⟩b ⟨U+200C⟩c"),
        ("👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"),
        ("tag\U000e0041s", "tag⟨U+E0041⟩s"),
        ("line\u2028end \x85", "line⟨U+2028⟩end ⟨U+0085⟩"),
        ("half \ud83d pair", "half \ufffd pair"),
    ],
)
def test_cleaning_takes_out_escapes_and_shows_the_invisible(given: str, shown: str) -> None:
    assert text.clean(given) == shown


def test_escaping_is_safe_in_text_and_in_attributes() -> None:
    assert text.escape("<a href=\"x\" id='y'>&\u202e") == "&lt;a href=&quot;x&quot; id=&#x27;y&#x27;&gt;&amp;⟨U+202E⟩"


@pytest.mark.parametrize("unit", ["\x1b[", "\x1b]", "\x1bP", "\x9b", "\u202e", "\x1b[0;", "\x1b]8;;x", "\r"])
def test_a_text_of_nothing_but_escapes_takes_no_time_to_speak_of(unit: str) -> None:
    assert len(text.clean(unit * (200_000 // len(unit)))) > 0


def test_the_first_line_is_what_says_something() -> None:
    assert text.first_line("\n\n  Mend   the fence \n then rest") == "Mend the fence"
    assert text.first_line("x" * 300, 10) == "xxxxxxxxx…"
    assert text.first_line("") == ""


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Fails with `KeyError: rate` since **today**", "Fails with KeyError: rate since today"),
        ("``a ` b`` and ```c```", "``a ` b`` and c"),
        ("Look for `**/*.py`, **/*.js and 2**3**4", "Look for **/*.py, **/*.js and 2**3**4"),
        ("an open ` and an open ** stay", "an open ` and an open ** stay"),
    ],
)
def test_a_title_has_no_marks_of_markdown(written: str, shown: str) -> None:
    assert text.unmarked(written) == shown


def test_clamping_tells_how_much_there_is() -> None:
    long = "line\n" * 100
    clamped = text.clamp(long, characters=1_000, lines=3)
    assert clamped == text.Clamped("line\nline\nline", 500, 101, True)
    assert text.clamp("short") == text.Clamped("short", 5, 1, False)
    assert text.clamp("x" * 9_000).text == "x" * 4_000
