"""Nothing in a call makes the work long, or says that a file is another one."""

from __future__ import annotations

import pytest

from sessions_app.changes import change as changes
from sessions_app.changes.calls import Call, changes_of
from sessions_app.changes.history import MOST_LINES, History
from sessions_app.changes.paths import MOST, is_outside, normal
from sessions_app.changes.shell import MOST_WRITES
from sessions_app.changes.stated import stated

from .build import edit, history, write

LONG = 2_000_000


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"command": "{" * LONG}), ("Bash", {"command": "cat <<A\n" * (LONG // 8)}),
        ("Bash", {"command": "echo '" * (LONG // 6)}), ("Bash", {"command": "bash -c " * (LONG // 8)}),
        ("Bash", {"command": ["x"] * 100_000}), ("Bash", {"command": "\\" * LONG}),
        ("apply_patch", "*** Update File: a\n" * 100_000), ("apply_patch", "*** Begin Patch\n" + "+\n" * LONG),
        ("apply_patch", {"patch": "--- a\n+++ b\n@@ -1,999999999 +1,999999999 @@\n" + "-\n" * 500_000}),
        ("apply_patch", "@@ " * LONG),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "a", "new_string": "b"}] * 100_000}),
        ("Write", {"file_path": "a" * LONG, "content": "x" * LONG}),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "a", "oldString": "b"}] * 100_000}),
    ],
)  # fmt: skip
def test_huge_calls_are_read_up_to_a_limit(name, arguments):
    found = changes_of(Call(name, arguments, text="1\t" * LONG))
    assert len(found) <= changes.MOST_CHANGES
    assert all(len(change.path) <= MOST and len(change.edits) <= 1_000 for change in found)


def test_a_command_names_so_many_files_and_no_more():
    assert len(changes_of(Call("Bash", {"command": "rm " + " ".join(f"f{n}" for n in range(9_000))}))) == MOST_WRITES


def test_a_file_beyond_the_limit_is_not_put_together():
    made = history(write("x\n" * (MOST_LINES + 1)), edit("x", "y"))
    assert made.is_too_much


def test_many_edits_of_a_large_file_end_at_a_limit_of_work():
    made = History()
    made.see("\n".join(f"line {n}" for n in range(20_000)))
    for number in range(5_000):
        made.apply(edit("line 19999", f"line {number} of many\nline 19999"), number + 1)
        if made.is_too_much:
            break
    assert made.is_too_much and made.diff().added == number + 1


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "~/x", "a/../../../b", "C:\\Windows\\x", "\\\\h\\x"]
)
def test_a_path_outside_stays_outside(path: str):
    assert is_outside(normal(path, "/w/p"))


def test_what_cannot_be_stored_or_seen_stays_one_path():
    assert normal("a\0b\ud800") == "a\ufffdb\ufffd"
    assert normal("a\u202etxt.py") != normal("atxt.py")
    assert normal("\n") == normal(".") == normal("") == ""


@pytest.mark.parametrize("data", [{}, {"path": 7}, {"paths": [None, {}]}, {"path": "\0"}, {"operation": []}])
@pytest.mark.parametrize("text", ["", "--- \n+++ \n", "@@ ", "*** Update File: ", "\ud800"])
def test_odd_statements_are_no_fault(text: str, data):
    assert all(change.path for change in stated(text, data))
