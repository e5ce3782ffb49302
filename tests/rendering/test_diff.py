"""Edits as diffs, whatever the recorder kept of them."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.rendering import diff
from sessions_app.rendering.diff import Row


def test_old_and_new_text_become_rows_without_numbers_of_the_file() -> None:
    (file,) = diff.diffs_of_call("Edit", {"file_path": "/a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"})
    assert file.path == "/a.py"
    assert list(file.rows) == [Row(" ", "a"), Row("-", "b"), Row("+", "B"), Row(" ", "c")]
    assert (file.added, file.removed) == (1, 1)


def test_a_patch_of_the_recorder_beats_the_arguments_for_its_line_numbers() -> None:
    patch = {"structuredPatch": [{"oldStart": 40, "newStart": 41, "lines": [" x", "-y", "+z"]}]}
    (file,) = diff.diffs_of_call("Edit", {"file_path": "/a", "old_string": "y", "new_string": "z"}, patch)
    assert list(file.rows)[1:] == [Row(" ", "x", 40, 41), Row("-", "y", 41), Row("+", "z", None, 42)]


def test_several_edits_of_one_file_follow_each_other() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    (file,) = diff.diffs_of_call("MultiEdit", {"file_path": "/a", "edits": edits})
    assert (file.added, file.removed) == (2, 2)


def test_a_written_file_is_all_new() -> None:
    (file,) = diff.diffs_of_call("Write", {"file_path": "/a", "content": "1\n2\n"})
    assert list(file.rows) == [Row("+", "1", None, 1), Row("+", "2", None, 2)]


@pytest.mark.parametrize(
    "arguments",
    [
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n keep\n-old\n+new\n*** End Patch",
        {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n keep\n-old\n+new\n*** End Patch"},
        {"patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -3,2 +3,2 @@ def f():\n keep\n-old\n+new\n"},
    ],
)
def test_patches_in_text_are_read(arguments: Any) -> None:
    (file,) = diff.diffs_of_call("apply_patch", arguments)
    assert file.path == "src/a.py"
    assert [(row.mark, row.text) for row in file.rows[1:]] == [(" ", "keep"), ("-", "old"), ("+", "new")]


def test_a_patch_of_several_files_is_several_diffs() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+3\n"
    assert [(file.path, file.added, file.removed) for file in diff.from_unified(text)] == [("x", 1, 1), ("y", 1, 0)]


@pytest.mark.parametrize("name", ["Bash", "Read", None, "read_file"])
@pytest.mark.parametrize(
    "arguments", [None, [], 7, "text", {}, {"command": "ls"}, {"content": "x"}, {"path": "/a", "content": "x"}]
)
def test_other_calls_are_no_edits(name: str | None, arguments: Any) -> None:
    assert diff.diffs_of_call(name, arguments) == []


@pytest.mark.parametrize(
    "value", [None, 7, "x", [], {}, [None], [{"lines": 7}], [{"lines": [None, 7], "oldStart": "x"}], {"edits": [7]}]
)
def test_nothing_in_a_hostile_call_raises(value: Any) -> None:
    for arguments in (
        value,
        {"file_path": value, "old_string": "a", "new_string": value, "edits": value},
        {"patch": value},
    ):
        diff.diffs_of_call("Edit", arguments, {"structuredPatch": value, "filePath": value})


def test_a_large_edit_is_cut_and_says_so() -> None:
    old, new = ("\n".join(f"{mark}{line}" for line in range(4_000)) for mark in "ab")
    (file,) = diff.diffs_of_call("Edit", {"file_path": "/a", "old_string": old, "new_string": new})
    assert file.cut
    assert len(file.rows) == diff.MAX_ROWS


def test_a_line_separator_inside_a_line_does_not_break_it() -> None:
    assert [row.text for row in diff.added("a\u2028b\x0cc")] == ["a\u2028b\x0cc"]


def test_far_apart_changes_are_hunks() -> None:
    old = [str(number) for number in range(100)]
    new = [*old[:10], "x", *old[11:80], "y", *old[81:]]
    rows = list(diff.between("\n".join(old), "\n".join(new)))
    assert [row.text for row in rows if row.mark == "@"] == ["@@ -8 +8 @@", "@@ -78 +78 @@"]
