"""The band of a run: never more than 10 KB, whatever the session, and true to what lies where."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal

import pytest

from sessions_app.rendering.overview import drawing
from sessions_app.rendering.overview.buckets import COUNTED, MOST, Buckets, Mark, lanes_of
from sessions_app.rendering.overview.scale import scale_of

MINUTE = 60_000


def filled(events: int, seed: int = 1) -> Buckets:
    """Buckets with everything everywhere, by chance: what is hardest to draw in a few bytes."""
    chance = random.Random(seed)
    buckets = Buckets()
    buckets.grow(events)
    for name in COUNTED:
        buckets.counts[name] = [chance.choice((0, 0, 1, 2, 5)) for _ in range(len(buckets))]
    buckets.costs = [Decimal(chance.randrange(100)) for _ in range(len(buckets))]
    buckets.turns = list(range(1, len(buckets) + 1))
    buckets.began = [at * MINUTE for at in range(len(buckets))]
    buckets.ended = [at * MINUTE + 30_000 for at in range(len(buckets))]
    return buckets


def svg(picture: drawing.Picture) -> str:
    """As the template puts it together."""
    link = '<a href="?event={}" tabindex="-1"><path d="M{} 0h99v39h-99z"/></a>'
    links = "".join(link.format(seq, at) for at, seq in picture["slices"])
    return f'<svg viewBox="0 0 {picture["columns"]} {drawing.HEIGHT}">{picture["body"]}</svg>{links}'


@pytest.mark.parametrize("events", [1, 2, 40, 1_200, 1_201, 50_000, 2_000_000])
def test_no_picture_is_larger_than_10_kb(events):
    buckets = filled(events)
    assert len(buckets) <= MOST
    pictures = drawing.pictures(buckets)
    for name in ("events", "time"):
        if pictures[name]:
            assert len(svg(pictures[name])) < 10_000, name
            assert pictures[name]["columns"] <= 2_000 and len(pictures[name]["slices"]) <= 40
    assert len(pictures["small"]["body"]) < 2_500 and pictures["small"]["columns"] <= drawing.SMALL_COLUMNS
    assert not re.search(r"style=|<script|nan|inf", svg(pictures["events"]), re.I)


def test_what_lies_where_is_drawn_there():
    buckets = Buckets()
    buckets.grow(10)
    buckets.counts["person"][0] = buckets.counts["run"][4] = buckets.counts["run"][5] = 1
    buckets.counts["errors"][5] = 1
    buckets.costs[2], buckets.costs[9] = Decimal(1), Decimal(1)
    body = drawing.body(drawing.by_events(buckets))
    assert '<path class="lane-person" d="M0 8v-3h1v3z"/>' in body
    assert '<path class="lane-run" d="M0 31h4v-3h2v3z"/>' in body
    assert 'class="lane-error" d="M5.5 0V39"' in body
    assert "lane-write" not in body
    assert re.search(r'class="lane-cost" d="M0 39V39H2V20.5H9V2H10V39z"', body)


def test_of_many_errors_each_region_with_one_keeps_a_needle():
    places = drawing.needles_at([1] * 1_000, 80)
    assert 40 <= len(places) <= 80 and places == sorted(places)
    assert max(b - a for a, b in zip(places, places[1:], strict=False)) <= 25
    lone = [0] * 1_000
    lone[3] = lone[990] = 1
    assert drawing.needles_at(lone, 80) == [3, 990]


def test_joining_buckets_loses_nothing():
    small, large = filled(MOST), filled(MOST)
    large.grow(MOST + 1)
    assert large.step == 2 and len(large) == MOST // 2 + 1
    for name in COUNTED:
        assert sum(large.counts[name]) == sum(small.counts[name])
    assert large.running_costs()[-1] == small.running_costs()[-1]
    assert Buckets.of(large.kept()) == large


def test_long_pauses_are_short_and_work_keeps_its_proportions():
    night = 10 * 60 * MINUTE
    scale = scale_of([(0, MINUTE), (MINUTE + 30_000, 3 * MINUTE), (night, night + 3 * MINUTE)])
    assert scale is not None
    (pause,) = scale.pauses
    assert (pause.began, pause.ended) == (3 * MINUTE, night) and pause.end - pause.start < 0.05
    assert scale.place(0) == 0 and scale.place(night + 3 * MINUTE) == 1
    assert abs((scale.place(MINUTE) - scale.place(0)) * 3 - (1 - scale.place(night))) < 1e-9
    assert scale_of([]) is None and scale_of([(5, 5), (5, 5)]) is None


@pytest.mark.parametrize("spans", [[(5, 1), (9, 3)], [(0, 0), (10**15, 10**15)], [(0, 10**13)], [(7, 7), (8, 8)]])
def test_times_in_any_order_have_a_place(spans):
    scale = scale_of(spans)
    assert scale is not None
    for time in (-(10**18), 0, 5, 9, 10**18):
        assert 0 <= scale.place(time) <= 1
    assert list(scale.times) == sorted(set(scale.times))


def test_the_sentence_says_what_the_picture_shows():
    buckets = Buckets()
    buckets.grow(9)
    buckets.counts["errors"] = [1] * 9
    buckets.errors = [Mark(seq, "", False) for seq in range(1, 10)]
    buckets.turns = [1] * 9
    said = drawing.summary(drawing.facts(buckets))
    assert said == "9 events in 1 turn. 9 errors, at events 1, 2, 3, 4, 5 and 4 more."
    empty = Buckets()
    empty.grow(1)
    assert drawing.summary(drawing.facts(empty)) == "1 event. No errors."


def test_the_sentence_is_said_in_another_language():
    buckets = Buckets()
    buckets.grow(9)
    buckets.counts["errors"], buckets.counts["compactions"] = [1] + [0] * 8, [0, 1, 1] + [0] * 6
    buckets.errors, buckets.compactions, buckets.costs[8] = [Mark(1, "", False)], [2, 3], Decimal("1.5")
    in_german = {
        "%(n)s event": "%(n)s Ereignisse", "%(events)s.": "%(events)s!", "%(n)s error": "%(n)s Fehler",
        "%(counted)s, at event %(seq)s.": "%(counted)s bei %(seq)s!", "%(n)s compaction": "%(n)s Kürzungen",
        "%(counted)s, at events %(seqs)s and %(last)s.": "%(counted)s bei %(seqs)s und %(last)s!",
        "Cost %(cost)s.": "%(cost)s!",
    }  # fmt: skip
    facts = json.loads(json.dumps(drawing.facts(buckets)))
    said = drawing.summary(facts).said(lambda message, many, number: in_german.get(message, message))
    assert said == "9 Ereignisse! 1 Fehler bei 1! 2 Kürzungen bei 2 und 3! $1.50!"


def test_an_mcp_tool_is_not_believed_by_its_name():
    assert lanes_of("tool_call", "Read", is_nested=False) == ("read",)
    assert lanes_of("tool_call", "Read", is_nested=False, is_served=True) == ("other",)
    assert lanes_of("tool_call", "mcp__files__read", is_nested=True) == ("subagent", "other")
    assert lanes_of("tool_result", "", is_nested=True) == ()
