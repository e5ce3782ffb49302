"""Agreement between reviewers: shares of pairs, and kappas beside published examples."""

from __future__ import annotations

import pytest

from sessions_app.queries.reviews.agreement import ENOUGH, agreement


def two(both_pass: int, only_first: int, only_second: int, both_fail: int) -> list[list[tuple[str, str]]]:
    words = [("pass", "pass")] * both_pass + [("pass", "fail")] * only_first
    words += [("fail", "pass")] * only_second + [("fail", "fail")] * both_fail
    return [[("ada", first), ("rosa", second)] for first, second in words]


def test_the_share_is_of_pairs_and_sessions_with_one_verdict_have_none():
    found = agreement([
        [("a", "pass")],
        [("a", "pass"), ("b", "pass"), ("c", "fail")],
        [("a", "unsure"), ("b", "unsure")],
    ])  # fmt: skip
    assert (found.sessions, found.pairs, found.share) == (2, 4, 0.5)
    assert found.kappa is None, "two sessions are not enough"


def test_nothing_to_compare_has_no_share():
    assert agreement([]).share is None
    assert agreement([[("a", "pass")]]).share is None


def test_cohens_kappa_of_two_reviewers_is_that_of_the_textbook():
    """Fifty grant proposals: 20 both yes, 5 and 10 split, 15 both no give 0.4."""
    found = agreement(two(20, 5, 10, 15))
    assert (found.kind, found.share) == ("Cohen", 0.7)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_waits_for_enough_sessions():
    assert agreement(two(ENOUGH - 2, 1, 0, 0)).kappa is None
    assert agreement(two(ENOUGH - 2, 1, 0, 1)).kappa is not None


def test_fleiss_kappa_is_that_of_his_method():
    """Ten subjects, fourteen raters, five categories: the worked example of the method gives 0.210."""
    table = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    words = [[str(n) for n, count in enumerate(row) for _ in range(count)] for row in table]
    found = agreement([[(f"rater {n}", word) for n, word in enumerate(each)] for each in words])
    assert found.kind == "Fleiss"
    assert found.kappa == pytest.approx(0.210, abs=0.0005)


def test_where_all_say_the_same_kappa_says_nothing():
    found = agreement(two(12, 0, 0, 0))
    assert (found.share, found.kappa) == (1.0, None)
