"""What is out of sight on the page of a session: one line that says so and by which rule, and opens."""

from __future__ import annotations

import pytest

from sessions_app.queries.retention import strategies
from sessions_app.services.retention import policies, pruning, sweeping
from tests.views.session.build import BOT, asked, call, path_of, result, said, session_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def long(agent):
    turns = [
        [asked(f"p{n}", f"Question-{n}"), said(f"m{n}", f"Answer-{n}"), call(f"c{n}", "Read", {}), result(f"c{n}")]
        for n in range(30)
    ]
    return session_with(agent, [event for turn in turns for event in turn])


def prune(session, name, **numbers):
    pruning.prune(session.pk, strategies.read(name, **numbers), by=BOT)


def shown(client, session, place=""):
    answer = client.get(path_of(session) + place)
    assert answer.status_code == 200
    page = answer.content.decode()
    return page[page.index('id="timeline"') :] if 'id="timeline"' in page else page


def test_one_line_stands_for_what_is_out_of_sight_and_opens(reviewer, long):
    assert "Answer-24<" in shown(reviewer, long) and "pruned:" not in shown(reviewer, long)
    prune(long, "keep_last_10")
    prune(long, "sliding_window", window_size=8)
    page = shown(reviewer, long)
    assert page.count("pruned:") == 1 and "all but the last 8, all but the last 10" in page and "52 messages" in page
    assert "Answer-24<" not in page and "Answer-26<" in page and "Question-29" in page
    opened = shown(reviewer, long, "/rows?run=1&to=104")
    assert "Answer-3<" in opened and "More of this run" in opened
    assert "Answer-24<" in shown(reviewer, long, "?show=everything")


def test_a_line_stands_where_its_events_stood_whichever_way_one_comes(reviewer, long):
    prune(long, "keep_important", window_size=10)
    whole = shown(reviewer, long)
    first = whole.count("pruned:")
    assert first > 5
    seqs = lambda page: [int(one.split('"')[0]) for one in page.split('id="r-')[1:]]  # noqa: E731
    forth = seqs(whole)
    last = long.last_seq
    back = seqs(shown(reviewer, long, f"/rows?before={last + 1}"))
    assert len(set(forth)) == len(forth) and len(set(back)) == len(back)
    following = seqs(shown(reviewer, long, f"/rows?after={forth[-1] + 3}"))
    assert not set(following) & set(forth)


def test_a_link_to_an_event_that_is_out_of_sight_shows_it(reviewer, long):
    prune(long, "keep_last_4")
    page = shown(reviewer, long, "?event=6")
    assert 'id="e-6"' in page and "Answer-1<" in page


def test_a_session_all_of_which_is_out_of_sight_says_so(reviewer, long):
    pruning.prune(long.pk, strategies.after_days(3), by=BOT)
    page = shown(reviewer, long)
    assert "60 messages" in page and "older than 3 days" in page and 'id="e-' not in page
    assert reviewer.get(path_of(long) + f"/rows?after={long.last_seq}&tail").status_code == 204


def test_it_costs_no_more_queries_where_nothing_is_pruned(reviewer, long, django_assert_max_num_queries):
    with django_assert_max_num_queries(52):
        shown(reviewer, long)


def test_the_facts_say_what_will_go_when_and_by_which_rule(reviewer, long):
    assert "Retention" not in shown(reviewer, long, "/facts")
    said = {"ttl_days": 30, "max_messages": 50, "auto_prune": True}
    policies.set_policy(long.pk, said, by=BOT)
    facts = " ".join(shown(reviewer, long, "/facts").split())
    assert "10 messages: all but the last 50" in facts and "within 10 minutes" in facts and "refund-bot" in facts
    sweeping.sweep()
    policies.set_policy(long.pk, {"immutable": True, "max_messages": 8}, by=BOT)
    facts = " ".join(shown(reviewer, long, "/facts").split())
    assert "42 messages: all but the last 8" in facts and "the session is on hold" in facts
    assert "10 messages: all but the last 50" in facts and "Countersign · rules" in facts
