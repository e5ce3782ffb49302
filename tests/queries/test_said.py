"""The sessions of a search are the same whichever way they are found: by the rare word, one by one, or collected."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import EventText, SearchBacklog, Session
from sessions_app.queries.log.search import find
from sessions_app.queries.sessions import said, session_list
from sessions_app.queries.sessions.session_list import SessionFilter
from sessions_app.services import agents, audit, sessions, workspaces
from sessions_app.services.log import search_index
from tests.services.build import append, event, user

pytestmark = pytest.mark.django_db
NAMES = ("FEW", "FEW_TO_READ", "COMMON", "RECENT")
WAYS = {
    "rare": (500, 100, 20, 2), "asked one by one": (0, 0, 0, 2), "collected": (0, 0, 10**6, 10**6),
    "collected and walked": (0, 0, 10**6, 0),
}  # fmt: skip
"""Bounds by which a way is chosen, in the order of ``NAMES``."""


@pytest.fixture(params=WAYS)
def way(request, monkeypatch) -> str:
    for name, value in zip(NAMES, WAYS[request.param], strict=True):
        monkeypatch.setattr(said, name, value)
    return request.param


@pytest.fixture
def desk(agent) -> dict[str, Session]:
    """Sessions by what they say, and one of another workspace that says everything."""
    texts = {
        "a": ["refund of order 4711", "in src/app/models.py"], "b": ["refund", "order 4711"],
        "c": ["the app: src, models"], "d": ["日本語の注文"], "e": ["nothing"],
    }  # fmt: skip
    made = {name: sessions.create(agent, by=audit.SYSTEM, title=f"Title {name}x") for name in texts}
    for name, said_there in texts.items():
        append(made[name], *(user(text) for text in said_there))
    other = agents.get_or_create_agent(workspaces.create_workspace("other").id, "Agent")
    append(sessions.create(other, by=audit.SYSTEM), *(user(text) for one in texts.values() for text in one))
    return made


SAID_IN = {
    "refund": "ab", "refund 4711": "ab", '"refund of order"': "a", "src/app": "a", "app src models": "ac",
    "refund -models": "b", "-refund": "cde", '-"order 4711"': "cde", "nothing or models.py": "ae", "ref*": "ab",
    "日本語": "d", "注文": "d", "本文": "", "title": "abcde", '"title bx"': "b", "bx refund": "b", "absent": "",
    "refund absent": "", "...": "",
}  # fmt: skip
"""What is searched for, and the sessions of the desk that say it."""


def test_the_sessions_of_a_search(desk, agent, way):
    for words, names in SAID_IN.items():
        if words == "src/app" and way != "rare":
            names = "ac"  # many would have to be read: it is enough that the words stand near each other
        for sort in ("-started", "title", "-cost"):
            found = session_list.filtered(agent.workspace_id, SessionFilter(q=words))
            listed = session_list.page(found, sort, 50, None).items
            assert sorted(listed, key=lambda one: one.title) == [desk[name] for name in names], (words, sort)
            assert session_list.totals(found, 100)["sessions"] == len(names), words


def test_whoever_asks_one_by_one_stops_when_the_page_is_full(agent, monkeypatch):
    for name, value in zip(NAMES, WAYS["asked one by one"], strict=True):
        monkeypatch.setattr(said, name, value)
    for n in range(40):
        append(sessions.create(agent, by=audit.SYSTEM), user(f"refund {n}"))
    found = session_list.filtered(agent.workspace_id, SessionFilter(q="refund"))
    with CaptureQueriesContext(connection) as asked:
        session_list.page(found, "-created", 5, None)
    [query] = [one["sql"] for one in asked.captured_queries]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF) {query}")
        plan = cursor.fetchone()[0][0]["Plan"]
    assert sessions_of(plan) == 6


def sessions_of(plan: dict) -> int:
    """Sessions that a plan reads in all."""
    own = plan["Actual Rows"] * plan["Actual Loops"] if plan.get("Relation Name") == "sessions_app_session" else 0
    return int(own) + sum(map(sessions_of, plan.get("Plans", ())))


def test_a_session_that_an_older_version_indexed_is_found_until_it_is_moved(session):
    append(session, event(text="nothing"), event(text="the gauge is broken"))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM sessions_app_searchblock")
        cursor.execute("UPDATE sessions_app_session SET indexed_seq = 0")
        cursor.execute(
            "INSERT INTO sessions_app_eventtext (session_id, seq, words)"
            " SELECT session_id, seq, to_tsvector('simple', text) FROM sessions_app_event"
        )
        cursor.execute(
            "INSERT INTO sessions_app_searchbacklog (session_id, workspace_id, since)"
            " SELECT id, workspace_id, now() FROM sessions_app_session"
        )
    assert EventText.objects.count() == 2 and said.unsearchable(session.workspace_id) == 1
    listed = session_list.filtered(session.workspace_id, SessionFilter(q="broken gauge"))
    assert list(listed) == [session] and not session_list.filtered(session.workspace_id, SessionFilter(q="gasket"))
    assert [hit.seq for hit in find(session.pk, "broken gauge").hits] == [2]
    search_index.index(session.pk)
    assert not EventText.objects.exists() and not SearchBacklog.objects.exists()
    assert list(session_list.filtered(session.workspace_id, SessionFilter(q="broken gauge"))) == [session]
    assert [hit.seq for hit in find(session.pk, "broken gauge").hits] == [2]
