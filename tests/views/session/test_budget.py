"""What a page of a session costs: no more queries for more rows, and never more than 300 KB."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.services.approvals import requests

from .build import BOT, asked, call, other, path_of, priced, result, said, session_with

PAGE = 300_000


def busy(turns: int, start: int = 0) -> list:
    """Turns with everything in them: tokens, failing calls, sub-agents, notes."""
    events = []
    for n in range(start, start + turns):
        usage = priced("0.01", f"r{n}", input_tokens=10, output_tokens=5)
        events += [
            asked(f"p{n}", f"Question {n}", n * 60),
            other(f"t{n}", "reasoning", "Let me think"),
            said(f"m{n}", f"Answer {n}", n * 60 + 1, **usage),
            call(f"c{n}", "Task", {"description": "Look"}),
            said(f"s{n}", "Inside", parent=f"c{n}", depth=1, actor_name="scout"),
            result(f"c{n}", "boom", "error"),
            other(f"n{n}", "system", data={"type": "noise"}),
        ]
    return events


def queries(client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


@pytest.mark.parametrize(
    "place",
    [
        "",
        "?turn=2",
        "?event=3&q=answer",
        "?show=conversation",
        "/rows?after=4",
        "/outline?after=0",
        "/facts",
        "/events/3/body",
    ],
)
def test_queries_do_not_grow_with_the_session(reviewer, agent, place):
    small, large = (session_with(agent, busy(turns)) for turns in (2, 40))
    for session in (small, large):
        requests.request(session, requests.Question("issue_refund", {"order": 1}), by=BOT)
    before = queries(reviewer, path_of(small) + place)
    # The window of the small one shows the card, which asks for reasons in store, for who else could decide, and for
    # whom it was told to. That of the large one is read on once where what was read joins to fewer rows than a window.
    assert before - 3 <= queries(reviewer, path_of(large) + place) <= before + 1
    # What happened: one query; the lenses: two; the overview strip: one; the hash on paper: one; what turns changed and
    # where the context was compacted: two.
    assert before <= 53


def test_queries_do_not_grow_with_the_cards_in_a_window(reviewer, agent):
    few, many = session_with(agent, [asked("p", "Go")]), session_with(agent, [asked("p", "Go")])
    for session, count in ((few, 1), (many, 8)):
        for number in range(count):
            requests.request(session, requests.Question("issue_refund", {"order": number}), by=BOT)
    assert queries(reviewer, path_of(few)) == queries(reviewer, path_of(many))


HOSTILE = {
    "messages of ampersands": lambda n: said(f"k{n}", "&" * 20_000),
    "messages of list items": lambda n: said(f"k{n}", "- *a*\n" * 3_000),
    "arguments": lambda n: call(f"k{n}", "x" * 5_000, {f"{key}" * 20: "&" * 5_000 for key in range(100)}),
    "small arguments": lambda n: call(f"k{n}", "odd", {"a": '"' * 500}),
    "notes": lambda n: other(f"k{n}", "system", "'" * 20_000, data={f"key{key}": "<" * 400 for key in range(60)}),
    "unknown events": lambda n: other(
        f"k{n}", "unknown", data={"raw": {f"key{key}": "<" * 5_000 for key in range(60)}}
    ),
    "reasoning": lambda n: other(f"k{n}", "reasoning", "'" * 20_000),
    "errors": lambda n: other(f"k{n}", "error", '"' * 20_000),
    "prompts": lambda n: asked(f"k{n}", "&" * 20_000),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_page_is_larger_than_300_kb(viewer, agent, kind):
    session = session_with(agent, [asked("p", "Go"), *map(HOSTILE[kind], range(60))])
    for place in ("", "?event=30"):
        assert len(viewer.get(path_of(session) + place).content) < PAGE


def test_the_first_page_of_a_very_long_session_is_hardly_larger_than_a_short_one(viewer, agent):
    short, long = (session_with(agent, busy(turns)) for turns in (8, 1_000))
    for session in (short, long):
        type(session).objects.filter(pk=session.pk).update(phase="completed")
    sizes = [len(viewer.get(path_of(session)).content) for session in (short, long)]
    assert sizes[1] < 1.2 * sizes[0] < PAGE


def test_cards_with_hostile_arguments_stay_within_the_page(reviewer, agent):
    session = session_with(agent, [asked("p", "Go")])
    for number in range(12):
        arguments = {f"key{key}": "&" * (150 if number % 2 else 5_000) for key in range(45)}
        requests.request(session, requests.Question("odd", arguments, context="<" * 20_000), by=BOT)
    assert len(reviewer.get(path_of(session)).content) < PAGE
