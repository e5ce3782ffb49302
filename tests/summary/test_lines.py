"""One line of a text: the first sentence of a prompt, and why something failed."""

from __future__ import annotations

import pytest

from sessions_app.summary import lines
from sessions_app.summary.outcomes import outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please mend the gate. It is broken.", "Please mend the gate."),
        ("# Task\n\nMend the gate\n\nnow", "Mend the gate"),
        ("<context>\nmany words\n</context>\nMend the gate", "Mend the gate"),
        ("<task>Mend the gate</task>", "Mend the gate"),
        ('"<context>\\nYour repository is a/b.\\n</context>\\nMend the gate\\u0021"', "Mend the gate!"),
        ("1 • CONTEXT\nYou mend gates", "You mend gates"),
        ("門を直してください。急いで。", "門を直してください。"),
        (
            "<context>\na/b\n</context>\n<system>\nRules.\n</system><task>\nMend the gate.\n</task>",
            "Mend the gate.",
        ),
        ("Mend the gate of\nthe garden, and\nthe fence\n- soon", "Mend the gate of the garden, and the fence"),
        ("**Mend** the gate", "Mend the gate"),
        ("**Task:** mend **/*.gate", "Task: mend **/*.gate"),
        ("Mend this\n```bash\nmake gate\n```", "Mend this"),
        ("<context>\nYour repository is a/b", "Your repository is a/b"),
        ("Mend this:\nTraceback (most recent call last)\n", "Mend this: Traceback (most recent call last)"),
        ("Context:\nYou mend gates.", "You mend gates."),
        ("<git-context>\nBranch: main\n</git-context>\n\nMend the gate.", "Mend the gate."),
        (
            "<uploaded_files>\n/w/gate\n</uploaded_files>\nI've uploaded a repository in gate. Consider this:\n\n"
            "<issue_description>\nThe gate sticks.\nIt should not.\n</issue_description>\nCan you help me?",
            "The gate sticks.",
        ),
        ("<uploaded_files>\n/w\n</uploaded_files>\nMend the gate.", "Mend the gate."),
        (
            "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n"
            "The gate sticks\n\nINSTRUCTIONS:\nMend it.",
            "The gate sticks",
        ),
        ("The ISSUE: a gate\nsticks", "The ISSUE: a gate sticks"),
        ("???", "???"),
        ("", ""),
    ],
)
def test_the_first_sentence_says_what_was_asked(text, expected):
    assert lines.first_sentence(text, 200) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Try again:\n\n```bash\nmake gate\n```", "make gate"),
        ("It is done:\n\\`\\`\\`json\n{}\n\\`\\`\\`\nThe gate opens", "The gate opens"),
        ("The gate opens.\n\n## Summary\n\n- **Hinge**: `a.c` oiled", "The gate opens. Hinge: a.c oiled"),
        ("The gate opens.\n\n**Summary**\nOiled", "The gate opens. Oiled"),
        ("Looked for `**/*.gate` and **/*.hinge", "Looked for **/*.gate and **/*.hinge"),
        ("**Summary**", "Summary"),
        ("```make gate``` opens it", "make gate opens it"),
    ],
)
def test_the_first_lines_of_a_message_are_no_headings_and_no_fences(text, expected):
    assert lines.first_lines(text, 2, 200) == expected


def test_a_text_with_real_line_breaks_is_not_unescaped():
    assert lines.unescaped("print('a\\nb')\nand more") == "print('a\\nb')\nand more"
    assert lines.unescaped("half of a pair: \\ud800\\n") == "half of a pair: \\ud800\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
         "String to replace not found in file."),
        ("╭──────╮\n│ pre-commit │\n│ ruff failed: E501 │\n╰──────╯", "ruff failed: E501"),
        ("Exit code 2\nmake: *** No rule to make target 'x'.  Stop.", "make: *** No rule to make target 'x'. Stop."),
        ("Exit code 1", "Exit code 1"),
        ("go\nTraceback (most recent call last):\n  File 'a.py', line 3\nValueError: no gate", "ValueError: no gate"),
        ("Chunk ID: a1\nWall time: 1 s\nProcess exited with code 127\nOutput:\nrg: not found", "rg: not found"),
        ("Chunk ID: a1\nProcess exited with code 1\nOutput:\n", "Process exited with code 1"),
        ("% Total    % Received\n\r100 1306k  0 0\nthe gate is shut", "the gate is shut"),
        ("one\ntwo\nfatal: not a git repository", "fatal: not a git repository"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_reason_of_a_failure_is_a_line_with_words(text, expected):
    assert lines.reason(text, None, 160) == expected


def test_a_reason_stands_in_a_structure_where_there_is_no_text():
    assert lines.reason("", {"stdout": "", "stderr": "no such gate"}, 160) == "no such gate"
    assert lines.reason("", "timeout", 160) == "timeout"
    assert lines.reason("", ["odd"], 160) == ""


def test_reasons_are_alike_but_for_names_and_numbers():
    assert lines.alike("cannot open /srv/a.py: line 3") == lines.alike("cannot open /tmp/b/c.py: line 44")
    assert lines.alike("cannot open 'a'") != lines.alike("cannot close 'a'")


def test_what_is_kept_is_short_and_shows_what_hides():
    assert len(lines.cut("門" * 1_000, 160).encode()) <= 160
    assert "\u202e" not in lines.cut("abc\u202edef", 160)
    assert lines.cut("\ud800\0", 160).isprintable()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("..F\n===== 1 failed, 12 passed in 0.31s =====", "failed"),
        ("===== 13 passed, 2 warnings in 0.31s =====", "passed"),
        ("3 failed, 1 passed in 2.0s", "failed"),
        ("Tests:       1 failed, 5 passed, 6 total", "failed"),
        ("Tests:       6 passed, 6 total", "passed"),
        ("      Tests  4 passed (4)", "passed"),
        ("test result: ok. 4 passed; 0 failed; 0 ignored", "passed"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored", "failed"),
        ("test result: FAILED. 3 passed; 1 failed\ntest result: ok. 4 passed; 0 failed", "failed"),
        ("ok  \texample.org/gate\t0.3s", "passed"),
        ("--- FAIL: TestGate (0.00s)\nFAIL\texample.org/gate\t0.3s\nFAIL", "failed"),
        ("[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", "failed"),
        ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", "passed"),
        ("5 examples, 0 failures", "passed"),
        ("5 examples, 2 failures", "failed"),
        ("OK (5 tests, 7 assertions)", "passed"),
        ("Tests: 5, Assertions: 7, Failures: 1.", "failed"),
        ("Passed!  - Failed:     0, Passed:     5, Skipped:     0", "passed"),
        ("Failed!  - Failed:     1, Passed:     4, Skipped:     0", "failed"),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1)", "failed"),
        ("Ran 5 tests in 0.1s\n\nOK", "passed"),
        ("\x1b[32m  5 passing\x1b[0m (2s)\n  1 failing", "failed"),
        ("words", "unknown"),
    ],
)
def test_what_runners_print_tells_how_tests_ended(output, expected):
    assert outcome(output, "ok", exit_code_is_its_own=False)[0] == expected


def test_without_a_summary_the_exit_code_tells():
    assert outcome("words", "ok", exit_code_is_its_own=True) == ("passed", "")
    assert outcome("words", "error", exit_code_is_its_own=True) == ("failed", "")
    assert outcome("words", None, exit_code_is_its_own=True) == ("unknown", "")
    assert outcome("5 passed in 1s", "error", exit_code_is_its_own=True)[0] == "failed"


def test_an_output_that_is_like_a_summary_in_very_many_ways_is_none():
    """Each more of its 70 counts doubled what there was to try, in the transaction that appends it."""
    assert outcome("1 " + "x111 " * 70, "ok", exit_code_is_its_own=True) == ("passed", "")
    assert outcome("1 xfailed, 2 xpassed, 3 passed in 1.2s", "ok", exit_code_is_its_own=True)[1].startswith("1 xfailed")
