"""How rows of a session are read: texts as they were meant, paths, faults, edits, and times that are true."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from sessions_app.services.approvals import requests

from .build import BOT, Page, asked, at, call, other, path_of, priced, result, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}
WALL = json.dumps("<context>\nrepo x\n</context>\nMend the \u2192 fence.\n\n- First\n- Then\n" + "More words. " * 20)
CWD = {"environment": {"cwd": "/home/kim/shop"}}
EDIT = {"file_path": "/home/kim/shop/src/app.py", "old_string": "x = 1\n", "new_string": "x = 2\n"}


def shown(client, session, tail: str = "") -> Page:
    response = client.get(path_of(session) + tail, **(FETCHED if tail.startswith("/") else {}))
    assert response.status_code == 200
    return Page(response.content)


def test_a_prompt_that_was_escaped_twice_is_shown_as_it_was_meant_with_a_note(viewer, agent):
    session = session_with(agent, [asked("p", WALL), said("m", "Done")], title="")
    page = shown(viewer, session)
    assert "Shown unescaped" in page.text
    assert "Mend the → fence." in page.text
    assert "\\n- First" not in page.text
    assert page.words.count("Mend the → fence.") >= 2, "title, turn head or outline"
    whole = shown(viewer, session, "/events/1/whole?of=text&as=message").text
    assert "Shown unescaped" in whole and "- First" not in whole
    assert "\\n- First" in shown(viewer, session, "/events/1?tab=text").text, "the inspector shows what was recorded"


def test_a_title_that_was_escaped_twice_is_readable_in_the_list(viewer, agent):
    session_with(agent, [asked("p", "Go")], title=WALL[:120])
    page = Page(viewer.get("/sessions/").content)
    assert "Mend the → fence." in page.text
    assert "\\n" not in page.text


def test_a_long_prompt_is_folded_after_twelve_lines(viewer, agent):
    session = session_with(agent, [asked("p", "\n".join(f"Line {n}." for n in range(1, 41)))])
    text = shown(viewer, session).text
    assert "Line 12." in text and "Line 13." not in text
    assert "40 lines" in text


@pytest.mark.parametrize(
    ("said_by_tool", "fault"),
    [
        ("<tool_use_error>String not found</tool_use_error>", "String not found"),
        ("╭──────────╮\n│ No such remote │\n╰──────────╯", "No such remote"),
        ("Exit code 2\n======\n42\n\nfatal: not a repository", "exit 2: fatal: not a repository"),
        ("----\n12\n", "----"),
    ],
)
def test_the_fault_of_a_call_is_its_first_line_with_letters(viewer, agent, said_by_tool, fault):
    session = session_with(
        agent, [asked("p", "Go"), call("c", "Bash", {"command": "x"}), result("c", said_by_tool, "error")]
    )
    assert shown(viewer, session).all("span", **{"class": "fault untrusted"})
    assert fault in shown(viewer, session).text


def test_a_path_begins_at_the_working_directory_and_ends_with_its_name(viewer, agent):
    session = session_with(agent, [asked("p", "Go"), call("c", "Read", {"file_path": EDIT["file_path"]})], metadata=CWD)
    page = shown(viewer, session)
    assert page.all("code", title="/home/kim/shop/src/app.py")
    assert "src/" in page.words and "app.py" in page.words


def test_an_edit_is_a_diff_in_the_row_and_in_the_inspector_and_its_answer_is_folded(viewer, agent):
    answer = "The file has been updated. Here is the result:\n     1→x = 2\n"
    session = session_with(agent, [asked("p", "Go"), call("c", "Edit", EDIT), result("c", answer)])
    for tail in ("/events/2/body", "/events/2?tab=arguments"):
        page = shown(viewer, session, tail)
        assert len(page.all("mark")) == 2, tail
        assert "no line numbers recorded" in page.text
        assert "old_string" not in page.text
    assert "What the tool answered" in shown(viewer, session, "/events/2/body").text
    assert "old_string" in shown(viewer, session, "/events/2?tab=raw").text


def test_a_failed_edit_shows_what_the_tool_said(viewer, agent):
    session = session_with(agent, [asked("p", "Go"), call("c", "Edit", EDIT), result("c", "String not found", "error")])
    assert "What the tool answered" not in shown(viewer, session, "/events/2/body").text


def test_a_query_is_a_block_of_code_and_a_file_has_the_colours_of_its_name(viewer, agent):
    new = [
        asked("p", "Go"),
        call("q", "run_sql", {"query": "SELECT id FROM orders WHERE total > 10", "database": "shop"}),
        call("r", "Read", {"file_path": "a.py"}),
        result("r", "     1→def f():\n     2→    return 1\n"),
    ]
    session = session_with(agent, new)
    query = shown(viewer, session, "/events/2/body")
    assert query.all("pre", **{"class": "code command untrusted"}) and "SELECT" in query.words
    read = shown(viewer, session, "/events/3/body")
    assert [attributes for tag, attributes in read.tags if attributes.get("class") == "t-word"]
    assert "def" in read.words


def test_output_of_a_terminal_keeps_its_colours_and_its_last_state(viewer, agent):
    output = "\x1b[31mred\x1b[0m\n10 %\r90 %\r100 %\n"
    session = session_with(agent, [asked("p", "Go"), call("c", "Bash", {"command": "make"}), result("c", output)])
    page = shown(viewer, session, "/events/2/body")
    assert page.all("span", **{"class": "a-red"})
    assert "90 %" not in page.text and "100 %" in page.text
    assert "2 states of lines that were written over are left out" in " ".join(page.text.split())


def test_reasoning_is_markdown(viewer, agent):
    session = session_with(agent, [asked("p", "Go"), other("r", "reasoning", "**Switching to grep**\n\nIt is faster.")])
    page = shown(viewer, session)
    assert page.all("strong") and "Switching to grep" in page.words


def test_a_turn_does_not_last_beyond_the_next_one(viewer, agent):
    new = [
        asked("p1", "First", 0),
        said("m1", "Answer", 20),
        other("late", "system", data={"type": "resumed"}),
        asked("p2", "Second", 120),
        said("m2", "Answer", 130),
    ]
    new[2] = replace(new[2], at=at(18_000))
    session = session_with(agent, new)
    text = shown(viewer, session).text
    assert "≤ 2 m" in text
    assert "4 h" not in text.partition("Second")[0].rpartition("First")[2]


@pytest.mark.parametrize("tail", ["/rows?only=2", "?lens=tools"])
def test_a_call_whose_times_are_all_the_same_has_no_duration(viewer, agent, tail):
    session = session_with(
        agent, [asked("p", "Go"), call("c", "Bash", {"command": "x"}, 5), result("c", "ok", seconds=5)]
    )
    page = shown(viewer, session, tail)
    assert page.all("span", title="Call and result have the same time")
    of_rows = re.sub(r"events · \d+ ms", "", page.text)  # the session was written a moment ago, in a moment
    assert "0 ms" not in of_rows


def test_a_bracket_holds_the_rows_of_one_response(viewer, agent):
    """What it used stands on one of them only; a row alone has none, and neither has one of another response."""
    one, two = priced(request="r1", output_tokens=10), priced(request="r2", output_tokens=20)
    session = session_with(agent, [
        asked("p", "Go"), said("m", "I will look.", **one), call("c", "Read", {"path": "a.py"}, **one), result("c"),
        call("d", "Read", {"path": "b.py"}, **one), said("n", "Done.", **two), said("o", "Not of a response."),
    ])  # fmt: skip
    page = shown(viewer, session, "?show=everything")
    words = {"of-response", "is-first", "is-last"}
    rows = [found for _, found in page.tags if (found.get("id") or "").startswith("e-")]
    brackets = [" ".join(word for word in (row["class"] or "").split() if word in words) for row in rows]
    assert [row["id"] for row in rows] == ["e-1", "e-2", "e-3", "e-5", "e-6", "e-7"]
    assert brackets == ["", "of-response is-first", "of-response", "of-response is-last", "", ""]


SEVERAL = [
    asked("p", "A prompt that is too long for the head of its turn: " + "go on, " * 20), other("n", "system", "A note"),
    other("t", "reasoning", "A thought"), call("c", "Read", {"path": "a.py"}), result("c"), said("m", "An answer"),
    other("x", "error", "A fault"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("without", "seqs"),
    [
        ("", [1, 2, 3, 4, 6, 7]), ("notes", [1, 3, 4, 6, 7]), ("tools.reasoning", [1, 2, 6, 7]),
        ("notes.tools.reasoning.messages", [7]), ("nothing.error", [1, 2, 3, 4, 6, 7]),
    ],
)  # fmt: skip
def test_kinds_are_left_out_by_themselves_and_the_address_says_so(viewer, agent, without, seqs):
    """Whoever gets the link sees what its sender saw; an error is never left out."""
    session = session_with(agent, SEVERAL)
    page = shown(viewer, session, f"?show=everything&without={without}")
    assert page.seqs == seqs
    assert len([link for link in page.all("a") if "data-kind" in link]) == 4


def test_an_event_that_is_left_out_is_shown_where_a_link_leads_to_it(viewer, agent):
    session = session_with(agent, SEVERAL)
    assert 2 not in shown(viewer, session, "?show=everything&without=notes&event=3").seqs
    assert 2 in shown(viewer, session, "?show=everything&without=reasoning&event=2").seqs
    assert "A note" in shown(viewer, session, "?show=everything&without=notes&event=2").text


THREE = [
    asked("p1", "First, at some length: " + "go on, " * 40), said("m1", "One"),
    call("c", "Read", {"path": "a.py"}), result("c"),
    asked("p2", "Second", 60), said("m2", "Two", 61),
    asked("p3", "Third", 120), said("m3", "Three", 121),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tail", "seqs"),
    [
        ("?folded=1", [1, 5, 6, 7, 8]), ("?folded=1.2", [1, 5, 7, 8]), ("?folded=3.x.9.", [1, 2, 3, 5, 6, 7]),
        ("?show=everything&folded=1.3", [1, 5, 6, 7]), ("?show=conversation&folded=2", [1, 2, 5, 7, 8]),
        ("?folded=1.2&event=3", [1, 2, 3, 5, 7, 8]), ("/rows?after=1&folded=2", [2, 3, 5, 7, 8]),
        ("/rows?after=0&to=4&whole=1&folded=1", [1]), ("/rows?before=7&folded=1.2", [1, 5]),
        ("?lens=tools&folded=1", [3]),
    ],
)  # fmt: skip
def test_of_a_folded_turn_no_window_has_more_than_the_head(viewer, agent, tail, seqs):
    """The address says which are folded, and a link to an event opens the turn that it is in."""
    assert shown(viewer, session_with(agent, THREE), tail).seqs == seqs


def test_the_head_of_a_turn_folds_it_and_opens_it_again(viewer, agent):
    session = session_with(agent, THREE)
    links = shown(viewer, session, "?show=everything&folded=2").all("a", **{"class": "turn-fold"})
    assert [link["aria-expanded"] for link in links] == ["true", "false", "true"]
    assert [link["href"] for link in links] == [
        "?turn=1&show=everything&folded=1.2#t-1", "?turn=2&show=everything#t-2",
        "?turn=3&show=everything&folded=2.3#t-3",
    ]  # fmt: skip
    assert not shown(viewer, session, "?replay=5").all("a", **{"class": "turn-fold"})
    tabs = [link["href"] for link in shown(viewer, session, "?folded=2").all("a") if "data-lens" in link]
    assert len(tabs) == 4 and all(str(href).endswith("&folded=2") for href in tabs), (
        "they stay folded behind another lens"
    )


def test_a_turn_with_a_pending_approval_is_never_folded(viewer, agent):
    session = session_with(agent, THREE)
    requests.request(session, requests.Question("issue_refund", {"order": 4711}), by=BOT)
    page = shown(viewer, session, "?folded=1.3&from=0")
    assert {1, 5, 7, 8} <= set(page.seqs) and 2 not in page.seqs
