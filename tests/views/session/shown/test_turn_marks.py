"""What the outline says of a turn beside its prompt: compactions, sub-agents, lines that it changed."""

from __future__ import annotations

import re

import pytest

from sessions_app.models import SessionOverview
from sessions_app.queries.log import outline
from sessions_app.rendering.overview import buckets
from sessions_app.services.log import file_changes, overview
from tests.html import on_one_line

from ..build import Page, asked, call, other, path_of, result, said, session_with


def edit(key: str, old: str, new: str, status: str = "ok") -> list:
    return [
        call(key, "Edit", {"file_path": "/w/a.py", "old_string": old, "new_string": new}), result(key, "", status),
    ]  # fmt: skip


@pytest.fixture
def busy(agent):
    return session_with(agent, [
        asked("p1", "Mend it"), *edit("e1", "one", "one\ntwo\nthree"), *edit("e2", "nowhere", "x", "error"),
        call("t1", "Task", {"description": "Look"}), said("n1", "Found", parent="t1", depth=1), result("t1", "Found"),
        call("t2", "Task", {"description": "Look again"}), result("t2", "Nothing"),
        asked("p2", "Go on"), other("c1", "compaction", "All of it, in short"), said("m2", "Yes"),
        asked("p3", "Tidy up"), *edit("e3", "three\nfour", "three"), call("b", "Bash", {"command": "ls"}), result("b"),
    ])  # fmt: skip


def told(session) -> dict[int, tuple]:
    return {mark.index: (mark.compactions, mark.sub_agents, mark.lines) for mark in outline.around(session, 1).marks}


def test_a_turn_says_what_was_compacted_delegated_and_changed_in_it(viewer, busy):
    assert told(busy) == {1: (0, 2, None), 2: (0, 0, None), 3: (0, 0, None)}, "nobody asked for files or overview yet"
    file_changes.read_on(busy.pk)
    overview.read_on(busy)
    assert told(busy) == {1: (0, 2, (2, 0)), 2: (1, 0, None), 3: (0, 0, (0, 1))}
    turns = re.findall(r'<li[^>]* data-turn="\d+">.*?</li>', on_one_line(viewer.get(path_of(busy))))
    words = [re.findall(r'<em class="quiet" title="([^"]*)"', turn) for turn in turns]
    assert words == [["2 sub-agents"], ["1 compaction"], []]
    assert "+2</span>" in turns[0] and "−" not in turns[0] and "−1</span>" in turns[2]


def test_turns_beyond_many_changes_say_nothing_of_theirs(busy, monkeypatch):
    file_changes.read_on(busy.pk)
    monkeypatch.setattr(outline, "CHANGES", 1)
    monkeypatch.setattr(outline, "_CHANGES", outline.Compiled(outline._changes))
    assert [lines for _, _, lines in told(busy).values()] == [(2, 0), None, None]


def test_the_outline_asks_once_more_when_files_and_overview_were_read(viewer, busy):
    page = Page(viewer.get(path_of(busy)).content)
    asks = page.all("ol", id="outline")[0]["hx-trigger"]
    for piece, event in (("files/link", "files-known"), ("strip", "cuts-known")):
        answer = viewer.get(f"{path_of(busy)}/{piece}", headers={"HX-Request": "true"})
        assert answer.headers["HX-Trigger"] == event and f"{event} from:body once" in asks, piece


def test_compactions_beyond_those_that_are_named_are_marked_too(agent, monkeypatch):
    """Of a session with very many the overview names the first; of the others it has a number in each bucket."""
    turns = [(1, 0), (2, 2), (3, 1), (4, 0), (5, 3), (6, 1)]
    busy = session_with(agent, [
        event for index, cuts in turns for event in (
            asked(f"p{index}", f"Part {index}"), said(f"m{index}", "Begun"),
            *(other(f"c{index}.{number}", "compaction", "In short") for number in range(cuts)),
        )
    ])  # fmt: skip
    for most in (buckets.MOST, 4):
        monkeypatch.setattr(buckets, "MOST", most)
        for module in (outline, overview):
            monkeypatch.setattr(module, "NAMED", 2)
        SessionOverview.objects.all().delete()
        overview.read_on(busy)
        assert {index: cuts for index, (cuts, _, _) in told(busy).items()} == dict(turns), most
        assert [mark.compactions for mark in outline.after(busy, 4).marks] == [3, 1]
