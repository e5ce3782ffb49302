"""Changes are read from the calls of each dialect."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.changes.calls import Call, changes_of
from sessions_app.changes.change import Edit

from .build import one

PATCH = """*** Begin Patch
*** Add File: docs/new.md
+# New
+
*** Update File: src/old.py
*** Move to: src/renamed.py
@@ def total():
 keep
-gone
+come
*** Delete File: tmp/rest.txt
*** End Patch"""


@pytest.mark.parametrize(
    ("name", "arguments", "old", "new"),
    [
        ("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "x", "y"),
        ("edit", {"filePath": "/w/a.py", "oldString": "x", "newString": "y"}, "x", "y"),
        ("replace", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y", "instruction": "?"}, "x", "y"),
        ("str_replace_editor", {"command": "str_replace", "path": "/w/a.py", "old_str": "x", "new_str": "y"}, "x", "y"),
        ("str_replace_editor", {"command": "str_replace", "path": "/w/a.py", "old_str": "x"}, "x", ""),
        ("search_replace", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "x", "y"),
        ("mcp__files__edit_file", {"path": "/w/a.py", "edits": [{"oldText": "x", "newText": "y"}]}, "x", "y"),
        ("multi_replace_string_in_file",
         {"replacements": [{"filePath": "/w/a.py", "oldString": "x", "newString": "y"}]}, "x", "y"),
    ],
)  # fmt: skip
def test_replaced_text_is_one_edit_whatever_its_arguments_are_called(name: str, arguments: Any, old: str, new: str):
    change = one(name, arguments, cwd="/w")
    assert (change.path, change.kind, change.edits) == ("a.py", "edited", (Edit(old, new),))
    assert change.counts() == (bool(new), 1)


@pytest.mark.parametrize(
    ("name", "arguments", "more", "kind"),
    [
        ("Write", {"file_path": "a.py", "content": "1\n2\n"}, {}, "written"),
        ("Write", {"file_path": "a.py", "content": "1\n2\n"}, {"result": {"type": "create"}}, "created"),
        ("Write", {"file_path": "a.py", "content": "1\n2\n"}, {"text": "File created successfully at: a"}, "created"),
        ("Write", {"file_path": "a.py", "content": "1\n2\n"}, {"text": "The file a.py has been updated."}, "written"),
        ("write_file", {"path": "a.py", "content": "1\n2\n"}, {"text": "Successfully created and wrote to new file"},
         "created"),
        ("write_file", {"path": "a.py", "content": "1\n2\n"}, {"text": "Successfully overwrote file: a.py"}, "written"),
        ("write", {"filePath": "a.py", "content": "1\n2\n"}, {}, "written"),
        ("create_file", {"filePath": "a.py", "content": "1\n2\n"}, {}, "created"),
        ("Write", {"path": "a.py", "contents": "1\n2\n"}, {}, "written"),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "1\n2\n"}, {}, "created"),
        ("replace", {"file_path": "a.py", "old_string": "", "new_string": "1\n2\n"}, {}, "created"),
    ],
)  # fmt: skip
def test_a_file_that_is_written_whole_is_created_only_where_that_is_said(name, arguments, more, kind):
    change = one(name, arguments, **more)
    assert (change.path, change.kind, change.content, change.counts()) == ("a.py", kind, "1\n2\n", (2, 0))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", PATCH), ("apply_patch", {"input": PATCH}), ("apply_patch", {"patchText": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]}),
    ],
)  # fmt: skip
def test_a_patch_is_one_change_for_each_of_its_files(name: str, arguments: Any):
    new, renamed, gone = changes_of(Call(name, arguments))
    assert (new.path, new.kind, new.content) == ("docs/new.md", "created", "# New\n\n")
    assert (renamed.path, renamed.kind, renamed.was) == ("src/renamed.py", "renamed", "src/old.py")
    assert renamed.edits == (Edit("keep\ngone\n", "keep\ncome\n", whole_lines=True),)
    assert (gone.path, gone.kind, gone.counts()) == ("tmp/rest.txt", "deleted", (0, 0))


def test_hunks_of_a_unified_diff_are_numbered_as_they_are_applied_one_after_the_other():
    text = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n+more\n two\n@@ -9,2 +10,1 @@\n nine\n--- ten\n"
        "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+1\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    )
    x, y, z = changes_of(Call("apply_patch", {"patch": text}))
    assert [(edit.line, edit.old, edit.new) for edit in x.edits] == [
        (1, "one\ntwo\n", "one\nmore\ntwo\n"), (10, "nine\n-- ten\n", "nine\n"),
    ]  # fmt: skip
    assert (y.path, y.kind, y.content) == ("y", "created", "1\n")
    assert (z.path, z.kind, z.counts()) == ("z", "deleted", (0, 1))


def test_edits_of_one_call_follow_each_other_and_say_which_is_everywhere():
    edits = [{"old_string": "a", "new_string": "b", "replace_all": True}, {"old_string": "c", "new_string": "d"}]
    change = one("MultiEdit", {"file_path": "a.py", "edits": edits})
    assert change.edits == (Edit("a", "b", everywhere=True), Edit("c", "d"))


def test_a_cell_of_a_notebook_is_new_text_whose_old_one_is_not_told():
    change = one("NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "1 + 1"})
    assert (change.path, change.edits) == ("n.ipynb", (Edit("", "1 + 1\n", whole_lines=True),))


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "was"),
    [
        ("delete_file", {"target_file": "b"}, "deleted", ""),
        ("move_file", {"source": "a", "destination": "b"}, "renamed", "a"),
        ("edit_file", {"target_file": "b", "code_edit": "// ... existing code ..."}, "edited", ""),
        ("str_replace_editor", {"command": "undo_edit", "path": "b"}, None, ""),
        ("apply_patch", {"operation": {"type": "delete_file", "path": "b"}}, "deleted", ""),
    ],
)
def test_other_tools_say_only_which_file(name, arguments, kind, was):
    found = changes_of(Call(name, arguments))
    assert [(change.path, change.kind, change.was, change.is_known) for change in found] == (
        [("b", kind, was, False)] if kind else []
    )


def test_an_edit_of_the_open_file_is_of_the_file_that_its_result_names():
    command = {"command": "edit 3:4\nnew line\nend_of_edit"}
    change = one("edit", command, text="[File: /r/x.py (12 lines total)]\n1:a")
    assert (change.path, change.edits[0].new) == ("/r/x.py", "new line\n")
    assert changes_of(Call("edit", command, text="Your proposed edit has introduced new syntax error(s).")) == []


@pytest.mark.parametrize(
    ("arguments", "more", "content"),
    [
        ({"file_path": "a"}, {"text": "     1→one\n     2→\n     3→three\n\n<system-reminder>"}, "one\n\nthree\n"),
        ({"file_path": "a"}, {"text": "1\tone\n2\ttwo", "result": {"file": {"totalLines": 2}}}, "one\ntwo\n"),
        ({"file_path": "a"}, {"text": "1\tone\n2\ttwo", "result": {"file": {"totalLines": 9}}}, None),
        ({"file_path": "a"}, {"text": "7\tone"}, None),
        ({"file_path": "a"}, {"text": "\n".join(f"{n}\tx" for n in range(1, 2001))}, None),
        ({"file_path": "a"}, {"text": "no numbers"}, None),
    ],
)
def test_a_file_is_seen_whole_only_where_its_numbers_show_that(arguments, more, content):
    (seen,) = changes_of(Call("Read", arguments, **more))
    assert (seen.kind, seen.content, seen.counts()) == ("seen", content, (0, 0))


@pytest.mark.parametrize("part", [{"offset": 1}, {"limit": 5}, {"view_range": [1, 2]}, {"start_line": 3}])
def test_a_part_that_was_asked_for_is_not_the_file(part):
    assert changes_of(Call("Read", {"file_path": "a"} | part, text="1\tone")) == []


@pytest.mark.parametrize(
    ("path", "cwd", "normal"),
    [
        ("/w/p/a.py", "/w/p", "a.py"), ("/w/p/a.py", "/w/p/", "a.py"), ("./x/../a.py", "/w", "a.py"),
        ("/w/other/a.py", "/w/p", "/w/other/a.py"), ("../a", "/w", "../a"), ("/../../etc/passwd", "/", "/etc/passwd"),
        ("C:\\w\\a.py", "C:\\w", "a.py"), ("file:///w/a.py", "/w", "a.py"), ("//w//a", "/w", "a"),
    ],
)  # fmt: skip
def test_paths_are_relative_to_the_working_directory(path: str, cwd: str, normal: str):
    assert one("delete_file", {"path": path}, cwd=cwd).path == normal


@pytest.mark.parametrize("name", ["Bash", "Read", None, "search", "edit", "apply_patch", "Write", "shell", "rename"])
@pytest.mark.parametrize(
    "arguments", [None, [], 7, "text", {}, {"command": 7}, {"content": "x"}, {"path": ["x"]}, {"command": ["x", 1]},
                  {"path": "", "content": ""}, {"edits": [1]}, {"replacements": [None, {}]}, {"operation": {"type": 1}}]
)  # fmt: skip
def test_other_calls_change_nothing(name: str | None, arguments: Any):
    assert changes_of(Call(name, arguments)) == []
