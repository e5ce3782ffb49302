"""How well sessions say something, by what the index knows of them."""

from __future__ import annotations

from sessions_app.search.ranking import Said, scores


def order(**said: Said) -> list[str]:
    found = scores(said)
    return sorted(found, key=lambda name: -found[name])


def test_a_title_counts_more_than_any_number_of_times():
    assert order(often=Said(10, [10]), titled=Said(10, [1], in_title=1)) == ["titled", "often"]


def test_words_that_stand_together_count_more_than_words_apart():
    assert order(apart=Said(4, [2, 2]), together=Said(4, [1, 1], are_together=True)) == ["together", "apart"]


def test_more_often_is_better_and_each_further_time_counts_less():
    found = scores({str(times): Said(20, [times]) for times in (1, 2, 10, 20)})
    assert found["1"] < found["2"] < found["10"] < found["20"]
    assert found["2"] - found["1"] > found["20"] - found["10"]


def test_a_long_session_has_to_say_it_more_often():
    assert order(long=Said(100, [2]), short=Said(2, [2])) == ["short", "long"]
    assert order(long=Said(100, [90]), short=Said(2, [1])) == ["long", "short"]


def test_nothing_and_sessions_without_events_have_scores():
    assert scores({}) == {}
    assert scores({"empty": Said(0, [0.0])})["empty"] == 0
