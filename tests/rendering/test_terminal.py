"""Output of terminals: colours as classes, nothing hidden, nothing that acts."""

from __future__ import annotations

import pytest

from sessions_app.rendering import terminal


@pytest.mark.parametrize(
    ("given", "html"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("\x1b[1;31mred\x1b[0m on", '<span class="a-bold a-red">red</span> on'),
        ("\x1b[92mbright\x1b[39m on", '<span class="a-green">bright</span> on'),
        ("\x1b[38;5;196mx\x1b[m", '<span class="a-red">x</span>'),
        ("\x1b[38;5;21mx", '<span class="a-blue">x</span>'),
        ("\x1b[38;5;244mx", '<span class="a-white">x</span>'),
        ("\x1b[38;2;10;200;10mx", '<span class="a-green">x</span>'),
        ("\x1b[38:2:200:200:10mx", '<span class="a-yellow">x</span>'),
        ("\x1b[4mu\x1b[24m", '<span class="a-underline">u</span>'),
        ("\x1b[41;30mblack on red", '<span class="a-black">black on red</span>'),
        ("\x1b[8mhidden\x1b[28m", "hidden"),
        ("\x1b[48;5;196;1mx", '<span class="a-bold">x</span>'),
        ("\x1b[38;5mx \x1b[38mx \x1b[999;;mx", "x x x"),
        ("\x1b[2J\x1b[Hcleared \x1b]0;title\x07", "cleared "),
        ("\x1b[31m\x1b[0m", ""),
        ("\x9b32mc1", '<span class="a-green">c1</span>'),
        ("\x1b[31mopen", '<span class="a-red">open</span>'),
        ("a\u202eb\x1b[31m\0", 'a⟨U+202E⟩b<span class="a-red">␀</span>'),
    ],
)
def test_colours_become_classes_and_everything_else_goes(given: str, html: str) -> None:
    assert terminal.html_of(given) == html


@pytest.mark.parametrize(
    ("given", "shown", "left_out"),
    [
        ("10 %\r50 %\r100 %\ndone\n", "100 %\ndone\n", 2),
        ("one\r\ntwo\r\n", "one\ntwo\n", 0),
        ("rm -rf /\rls", "ls", 1),
        ("100 %\r", "100 %", 0),
        ("no return", "no return", 0),
    ],
)
def test_lines_that_were_written_over_stand_as_they_did_last_and_are_counted(given, shown, left_out) -> None:
    assert terminal.last_states(given) == (shown, left_out)


@pytest.mark.parametrize("unit", ["\x1b[31m", "\x1b[", "\x1b[38;5;", "\r", "\x1b[1;2;3;4;5;6;7;8;9m", "\x9b"])
def test_a_text_of_nothing_but_escapes_ends(unit: str) -> None:
    text = unit * (50_000 // len(unit))
    assert "\x1b" not in terminal.html_of(terminal.last_states(text)[0])
