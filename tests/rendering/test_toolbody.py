"""A tool call opened: each kind of argument and result in the shape a person reads."""

from __future__ import annotations

import pytest

from sessions_app.rendering import toolbody


def forms(parts: list[toolbody.Part]) -> list[str]:
    return [part.form for part in parts]


@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("Bash", {"command": "ls", "description": "List"}, ["command", "table"]),
    ("shell", {"command": ["bash", "-lc", "ls"]}, ["command"]),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, ["diff"]),
    ("TodoWrite", {"todos": [{"content": "a", "status": "completed"}]}, ["todos"]),
    ("update_plan", {"plan": [{"step": "a", "status": "in_progress"}]}, ["todos"]),
    ("lookup", {"order": 1}, ["table"]),
    ("lookup", {"command": "not a shell"}, ["table"]),
    ("odd", [1, 2], ["text"]),
    ("odd", "words", ["text"]),
    ("none", None, []),
    ("none", {}, []),
])  # fmt: skip
def test_arguments_have_the_shape_of_what_they_ask(name, arguments, expected):
    assert forms(toolbody.parts_of_arguments(name, arguments)) == expected


def test_a_plan_says_what_is_done_and_what_is_under_way():
    todos = [
        {"content": "a", "status": "completed"},
        {"step": "b", "status": "in_progress"},
        {"content": "c"},
        {"content": 7},
    ]
    part = toolbody.parts_of_arguments("TodoWrite", {"todos": todos})[0]
    assert part.value == [toolbody.Todo("done", "a"), toolbody.Todo("doing", "b"), toolbody.Todo("open", "c")]


def test_numbered_lines_are_code_with_the_numbers_of_the_file():
    part = toolbody.parts_of_result("Read", "    40→def f():\n    41→    return 1\nend", None)[0]
    assert part.form == "code"
    assert [(line.number, line.text) for line in part.value.lines] == [
        (40, "def f():"),
        (41, "    return 1"),
        (None, "end"),
    ]


def test_a_result_without_text_shows_its_structure():
    assert forms(toolbody.parts_of_result("x", "", {"status": "lost"})) == ["table"]
    assert forms(toolbody.parts_of_result("x", "", [1])) == ["json"]
    assert toolbody.parts_of_result("x", " \n", None) == []


def test_flags_that_are_off_and_what_the_text_says_already_are_left_out_beside_text():
    parts = toolbody.parts_of_result("Edit", "done", {"replaceAll": False, "structuredPatch": [1], "note": "kept"})
    assert forms(parts) == ["text", "table"]
    assert [pair.key for pair in parts[1].value] == ["note"]
    (alone,) = toolbody.parts_of_result("x", "", {"ok": False})
    assert [pair.key for pair in alone.value] == ["ok"]  # nothing else says it


def test_long_values_are_cut_and_say_how_long_they_are():
    pair = toolbody.parts_of_arguments("x", {"k": "v" * 5_000})[0].value[0]
    assert (len(pair.value.text), pair.value.characters, pair.value.cut) == (1_000, 5_000, True)
    whole = toolbody.parts_of_arguments("x", {"k": "v" * 5_000}, most=64_000)[0].value[0]
    assert not whole.value.cut


def test_hostile_objects_stay_small():
    parts = toolbody.parts_of_arguments("x", {f"key{number}" * 100: number for number in range(9_000)})
    assert len(parts[0].value) == toolbody.ROWS and len(parts[0].value[0].key) <= toolbody.KEY


def test_details_stated_by_a_recorder_are_shown_in_words():
    told = {
        "name": "Alex",
        "bot": False,
        "none": None,
        "tags": ["a", "b"],
        "seen": [{"at": 1, "by": {"id": 7}}, {"at": 2}],
    }
    assert [(pair.key, pair.value.text) for pair in toolbody.facts(told)] == [
        ("name", "Alex"), ("bot", "no"), ("none", "—"), ("tags", "a, b"), ("seen", "at 1 · by (id 7)\nat 2"),
    ]  # fmt: skip
