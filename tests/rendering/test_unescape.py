"""Walls of escapes shown as they were meant, and titles made of prompts."""

from __future__ import annotations

import json

import pytest

from sessions_app.rendering import titles
from sessions_app.rendering.titles import asked_in, title_of_prompt
from sessions_app.rendering.unescape import unescaped

MEANT = (
    'Look at the parser → it drops "quotes".\n\n- Mend it 🍝\n- Test it\n\tthen C:\\dev stays\n' + "word " * 20 + "."
)


@pytest.mark.parametrize("wrapped", [json.dumps(MEANT), json.dumps(MEANT)[1:-1]], ids=["quoted", "bare"])
def test_a_text_that_was_escaped_twice_is_shown_as_it_was_meant(wrapped: str) -> None:
    assert unescaped(wrapped) == MEANT


def test_a_cut_text_is_shown_as_far_as_it_goes() -> None:
    wrapped = json.dumps(MEANT)
    for end in range(wrapped.index("\\n") + 2, len(wrapped)):
        shown = unescaped(wrapped[:end])
        assert shown is not None
        assert MEANT.startswith(shown.rstrip("\ufffd"))


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines with \\n in them",
        "C:\\new\\notes\\nothing and \\d, which is a path and no JSON, however long it is, or how often it says \\n",
        "Replace `\\n` by `\\r\\n` in all files and `\\n` again where it was, which is a long sentence of its own.",
        '"quoted" at the beginning, and then \\n goes on',
        "short\\n\\n\\n",
        "",
    ],
)
def test_a_text_that_only_has_backslashes_is_left_alone(text: str) -> None:
    assert unescaped(text) is None


@pytest.mark.parametrize("unit", ["\\n", "\\\\", '\\"', "\\u0041", "\\", '"', "\\ud83c"])
def test_hostile_escapes_end(unit: str) -> None:
    for text in (f'"\\n{unit * 20_000}', f"\\n\\n\\n{unit * 20_000}"):
        assert unescaped(text) != ""


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Mend the fence\n\nThen rest.", "Mend the fence"),
        ("Hi. Can you mend it?", "Hi. Can you mend it?"),
        (
            "<context>\nrepo x\n</context>\n<task>\n# Task\nMend the fence in the yard. Then rest.\n</task>",
            "Mend the fence in the yard.",
        ),
        ("<system-reminder>Be brief.</system-reminder>\n\nMend the fence", "Mend the fence"),
        ("<git-context>\nWorking directory: /x\n</git-context>\n\nMend the fence", "Mend the fence"),
        ("<environment_context>\ncwd /x\n</environment_context>", "cwd /x"),
        ("<task>\n1 • CONTEXT\n──────\nThe repository is yours\n</task>", "The repository is yours"),
        (json.dumps("<context>\nrepo x\n</context>\nMend the fence\n"), "Mend the fence"),
        ("<system>never closed", "never closed"),
        ("<task>\n1 • CONTEXT\n───\nThe repo is a/b\n\n## 2. GOAL\n───\n- Mend the fence in the yard.\n</task>",
         "Mend the fence in the yard."),
        ("<instructions>Be brief.</instructions>\nMend the fence", "Mend the fence"),
        ('"<context>\\nThe repository is yours\\n</context>\\n<', "The repository is yours"),
        ("We're currently solving the following issue within our repository. Here's the issue text: ISSUE: "
         "The gate sticks",
         "The gate sticks"),
        ("You are an expert in gates.\n\nMend the fence in the yard.", "Mend the fence in the yard."),
        ("You are an expert, tasked with mending gates.\nBe quick.", "You are an expert, tasked with mending gates."),
        ("You're a carpenter (v1.2). You have tools. You know wood! Is the fence in the yard sound?",
         "Is the fence in the yard sound?"),
        ("<task>You are a carpenter\nMend the fence in the yard</task>", "Mend the fence in the yard"),
        ("You are a carpenter; your task: mend it.", "You are a carpenter; your task: mend it."),
        ("Act as a carpenter: mend it", "Act as a carpenter: mend it"),
        ("You are a carpenter.", "You are a carpenter."),
        ("You are right. Please go on.", "You are right. Please go on."),
        ("<<<>>>", "<<<>>>"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_title_is_the_first_sentence_of_the_task(prompt: str, title: str) -> None:
    assert title_of_prompt(prompt) == title


@pytest.mark.parametrize("unit", ["<context>", "<a ", "<system>x</system>", "\\n", "<task", ". A"])
def test_a_hostile_prompt_has_a_title_of_one_line(unit: str) -> None:
    title = title_of_prompt("<" + unit * 4_000, 80)
    assert len(title) <= 80 and "\n" not in title


def test_of_a_thousand_files_before_a_prompt_some_are_taken_off(monkeypatch) -> None:
    taken, unwrap = [], titles._unwrapped
    monkeypatch.setattr(titles, "_unwrapped", lambda text: taken.append(text) or unwrap(text))
    assert asked_in("<file>a</file>" * 20 + "Mend the fence") == "Mend the fence"
    taken.clear()
    assert asked_in("<file>a</file>" * 1_000 + "Mend the fence").startswith("<file>")
    assert len(taken) == titles.DEEPEST


def test_what_is_asked_behind_a_role_begins_without_the_mark_of_its_list():
    assert asked_in("- You are an expert.") == "- You are an expert."
    assert asked_in("You are an expert.\n- Mend the fence.\n- Be quick.") == "Mend the fence.\n- Be quick."
