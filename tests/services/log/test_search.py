"""The words of a session: found as soon as it is appended, whatever they are."""

from __future__ import annotations

import pytest
from django.contrib.postgres.search import SearchQuery
from django.db import connection

from sessions_app.drafts import ToolDraft
from sessions_app.models import EventText, Session
from sessions_app.queries.sessions.session_list import SessionFilter, filtered
from sessions_app.services.log import events, links, search_index

from ..build import append, event, user

pytestmark = pytest.mark.django_db


def found(session: Session, words: str) -> list[int]:
    query = SearchQuery(words, config="simple", search_type="websearch")
    return list(EventText.objects.filter(session=session, words=query).order_by("seq").values_list("seq", flat=True))


def test_a_word_is_found_after_the_append(session):
    append(session, user("The gauge is broken"), event(text="so it is"))
    assert found(session, "GAUGE") == [1]
    assert list(filtered(session.workspace_id, SessionFilter(q="gauge"))) == [session]
    assert list(filtered(session.workspace_id, SessionFilter(q="gasket"))) == []


def test_arguments_results_and_names_of_tools_are_found(session):
    append(session, event("tool_call", tool=ToolDraft(name="grep", arguments={"pattern": "needle"}), text=""))
    append(session, event("tool_result", tool=ToolDraft(result={"stdout": "haystack"})))
    assert [found(session, word) for word in ("grep", "needle", "haystack")] == [[1], [1], [2]]


def test_words_are_not_stemmed_and_identifiers_stay_whole(session):
    append(session, event(text="running test_parse_header in src/parser.py"))
    assert found(session, "run") == []
    assert found(session, "test_parse_header") == [1]


def test_nul_neither_hides_a_text_nor_breaks_a_query(session):
    append(session, event(text="left \0 right"))
    assert found(session, "left right") == [1]
    assert list(filtered(session.workspace_id, SessionFilter(q="left\0right"))) == [session]


@pytest.mark.parametrize("text", ["\0word\0", "“word”", "7→word", "—word…", "「word」"])
def test_a_word_is_found_beside_any_sign(session, text):
    if _character_type() == "C":
        pytest.skip("in a database with LC_CTYPE C, PostgreSQL takes every character beyond ASCII for a letter")
    append(session, event(text=text))
    assert found(session, "word") == [1]


def _character_type() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datctype FROM pg_database WHERE datname = current_database()")
        return cursor.fetchone()[0]


def test_every_script_is_found(session):
    append(session, event(text="größe 日本語 привет"))
    assert [found(session, word) for word in ("GRÖSSE", "größe", "日本語", "Привет")] == [[], [1], [1], [1]]


def test_a_megabyte_of_text_is_taken_and_its_beginning_found(session):
    words = " ".join(f"w{i:06}" for i in range(130_000))
    append(session, event(text=words, tool=ToolDraft(name="n" * 100_000, arguments={"a": words}, result=[words])))
    assert found(session, "w000001") == [1]


def test_a_megabyte_that_is_one_word_is_taken(session):
    append(session, event(text="x" * 1_000_000 + " behind"))
    assert found(session, "x") == []


def test_an_event_that_says_nothing_has_no_row(session):
    append(session, event(), event(text="word"))
    assert list(EventText.objects.filter(session=session).values_list("seq", flat=True)) == [2]
    assert session.indexed_seq == 2


def test_a_bulk_append_is_left_to_a_task_and_the_task_may_run_twice(session, monkeypatch):
    monkeypatch.setattr(search_index, "SMALL", 3)
    monkeypatch.setattr(search_index, "CHUNK", 2)
    append(session, *(event(text=f"word{i}") for i in range(5)))
    assert (session.indexed_seq, search_index.sessions_behind()) == (0, [session.pk])
    search_index.index(session.pk)
    search_index.index(session.pk)
    assert EventText.objects.filter(session=session).count() == 5
    assert search_index.sessions_behind() == []


def test_events_left_by_a_lost_index_task_are_indexed_with_the_next_append(session, monkeypatch):
    monkeypatch.setattr(search_index, "SMALL", 3)
    append(session, *(event(text=f"word{i}") for i in range(5)))
    append(session, event(text="late"))
    assert search_index.sessions_behind() == [session.pk]
    monkeypatch.setattr(search_index, "SMALL", 10)
    append(session, event(text="later"))
    assert search_index.sessions_behind() == [] and found(session, "word0") == [1]


def test_the_index_is_used(session):
    events.append(session.pk, [event(text=f"word{i}") for i in range(200)], origin=links.RUNTIME)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT seq FROM sessions_app_eventtext WHERE words @@ websearch_to_tsquery('simple', 'word7')"
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "event_words" in plan
