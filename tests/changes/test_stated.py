"""Changes that a recorder states beside the calls."""

from __future__ import annotations

import pytest

from sessions_app.changes.stated import failed, stated


def test_a_diff_is_read_as_one():
    (change,) = stated("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", {"type": "patch_apply_end", "path": "x"})
    assert (change.path, change.kind, change.how, change.counts()) == ("x", "edited", "stated", (1, 1))


def test_a_diff_without_a_head_is_of_the_file_that_the_event_names():
    (change,) = stated("@@ -1 +1 @@\n-a\n+b\n", {"path": "/w/x"}, "/w")
    assert (change.path, change.counts()) == ("x", (1, 1))


@pytest.mark.parametrize(("operation", "kind"), [("add", "created"), ("edit", "written"), (None, "written")])
def test_the_text_of_a_vcon_is_the_whole_file(operation, kind):
    (change,) = stated("print(1)\n", {"path": "a.py", "operation": operation})
    assert (change.kind, change.content) == (kind, "print(1)\n")


def test_a_deleted_file_and_files_without_contents():
    assert [change.kind for change in stated("", {"path": "a", "operation": "delete"})] == ["deleted"]
    found = stated("", {"type": "patch", "path": "a", "paths": ["a", "b"]})
    assert [(change.path, change.kind, change.is_known) for change in found] == [
        ("a", "stated", False),
        ("b", "stated", False),
    ]


def test_text_of_another_record_is_not_taken_for_the_file():
    (change,) = stated("part of it", {"type": "textEditGroup", "path": "a"})
    assert change.kind == "stated"


def test_a_change_that_was_not_made_says_so():
    assert failed({"success": False}) and failed({"status": "declined"}) and not failed({"success": True})
