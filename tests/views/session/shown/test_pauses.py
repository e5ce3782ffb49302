"""Time that passed between two turns, told in a line above the later one."""

from __future__ import annotations

import re

import pytest

from tests.html import on_one_line

from ..build import asked, other, path_of, said, session_with

HOUR, DAY = 3_600, 86_400


def pauses(content: str) -> list[str]:
    return re.findall(r'<p class="pause small"><time[^>]*>([^<]*)</time></p>', content)


@pytest.fixture
def resumed(agent):
    """Turn 2 begins 6 h 12 m after the end of turn 1, turn 3 at once, turn 4 two days later."""
    second, fourth = 6 * HOUR + 12 * 60 + 10, 2 * DAY + 10 * HOUR
    return session_with(agent, [
        asked("a", "Go"), said("a1", "Done", 10), asked("b", "Go on", second), said("b1", "Done", second + 5),
        asked("c", "And?", second + 60), said("c1", "Done", second + 65), asked("d", "Still there?", fourth),
        said("d1", "Yes", fourth + 9),
    ])  # fmt: skip


def test_hours_and_days_between_turns_are_told_and_minutes_are_not(viewer, resumed):
    content = on_one_line(viewer.get(path_of(resumed)))
    assert pauses(content) == ["6 h 12 m later", "2 d 3 h later · Wed 4 Mar 2026"]
    heads = re.split(r'<section class="turn', content)
    assert [bool(pauses(head)) for head in heads[1:]] == [False, True, False, True]


def test_the_day_is_another_by_the_clock_of_the_reader(viewer, agent):
    late = 14 * HOUR + 40 * 60  # from 09:12 UTC on: 23:52
    session = session_with(agent, [
        asked("a", "Go", late), said("a1", "Done", late + 60), asked("b", "Go on", late + 20 * 60),
    ])  # fmt: skip
    assert pauses(on_one_line(viewer.get(path_of(session)))) == ["Tue 3 Mar 2026"]
    viewer.cookies["zone"] = "America%2FNew_York"
    assert pauses(on_one_line(viewer.get(path_of(session)))) == []


def test_a_turn_that_began_before_the_one_above_it_had_ended_has_no_pause(viewer, agent):
    session = session_with(agent, [
        asked("a", "Go"), said("a1", "Done", 3 * DAY), asked("b", "Go on", 2 * DAY), other("n", "note", "no time"),
        asked("c", "And?", 2 * DAY + 5),
    ])  # fmt: skip
    assert pauses(on_one_line(viewer.get(path_of(session)))) == []
