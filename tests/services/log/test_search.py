"""The words of a session: found as soon as it is appended, whatever they are."""

from __future__ import annotations

import pytest
from django.db import connection

from sessions_app.drafts import ToolDraft
from sessions_app.models import SearchBacklog, SearchBlock, Session
from sessions_app.queries.log import links as link_queries
from sessions_app.queries.log.search import find
from sessions_app.queries.log.search_text import TEXT, text_of_row
from sessions_app.queries.sessions.session_list import SessionFilter, filtered
from sessions_app.services import audit, sessions
from sessions_app.services.log import events, projections, search_index

from ..build import append, event, forget_search, user

pytestmark = pytest.mark.django_db


def found(session: Session, words: str) -> list[int]:
    """Events that the page finds; the list of sessions has to agree."""
    hits = [hit.seq for hit in find(session.pk, words).hits]
    assert bool(hits) == (session in filtered(session.workspace_id, SessionFilter(q=words))), words
    return hits


def rows(session: Session) -> list[tuple[int, int]]:
    return list(SearchBlock.objects.filter(session=session).order_by("first_seq").values_list("first_seq", "last_seq"))


def test_a_word_is_found_after_the_append(session):
    append(session, user("The gauge is broken"), event(text="so it is"))
    assert found(session, "GAUGE") == [1]
    assert found(session, "gasket") == []


def test_arguments_results_and_names_of_tools_are_found(session):
    append(session, event("tool_call", tool=ToolDraft(name="grep", arguments={"pattern": "needle"}), text=""))
    append(session, event("tool_result", tool=ToolDraft(result={"stdout": "haystack"})))
    assert [found(session, word) for word in ("grep", "needle", "haystack")] == [[1], [1], [2]]


def test_words_are_not_stemmed(session):
    append(session, event(text="running"))
    assert (found(session, "run"), found(session, "run*")) == ([], [1])


@pytest.mark.parametrize(
    "words",
    [
        "src/app/models.py",
        "app/models",
        "models.py",
        "app",
        "MODELS",
        '"app models"',
        "/srv/src/app",
        "mod*",
        "app/mod*",
    ],
)
def test_parts_of_a_path_are_found(session, words):
    append(session, event(text="models of an app in src"), event(text="see /srv/src/app/models.py:12, please"))
    assert 2 in found(session, words)


@pytest.mark.parametrize("words", ["app/models", "models.py", '"please order"'])
def test_words_that_do_not_stand_side_by_side_are_not_found_as_such(session, words):
    append(session, event(text="models of the app are in py, order this please"))
    assert found(session, words) == []


@pytest.mark.parametrize("words", ["parseHeader", "parseheader", "header", "parse", "test_parse", "http", "httpserver"])
def test_parts_of_identifiers_are_found(session, words):
    append(session, event(text="parseHeader(x) calls test_parse_header of HTTPServer"))
    assert found(session, words) == [1]


def test_words_in_json_are_found_behind_a_line_break(session):
    append(session, event("tool_result", tool=ToolDraft(result={"out": 'one\nrefund\tthis "order" 4711'})))
    assert [found(session, words) for words in ("refund", '"refund this order 4711"', "nrefund")] == [[1], [1], []]


def test_words_may_stand_in_any_order_and_alternatives_are_told_by_or(session):
    append(session, user("refund of order 4711"), user("a chargeback"), user("nothing"))
    assert found(session, "4711 refund") == [1]
    assert found(session, "chargeback or 4711") == [1, 2]
    assert found(session, '"order 4711" or "refund order"') == [1]


def test_a_session_is_listed_when_different_events_say_the_words_and_none_what_is_excluded(session):
    append(session, user("refund"), user("order"))
    listed = [
        bool(filtered(session.workspace_id, SessionFilter(q=q))) for q in ("refund order", "refund -order", "-tea")
    ]
    assert listed == [True, False, True]
    assert [hit.seq for hit in find(session.pk, "refund -order").hits] == [1]


def test_nul_neither_hides_a_text_nor_breaks_a_query(session):
    append(session, event(text="left \0 right"))
    assert found(session, "left right") == [1]
    assert found(session, "left\0right") == [1]


@pytest.mark.parametrize("text", ["\0word\0", "“word”", "7→word", "—word…", "「word」"])
def test_a_word_is_found_beside_any_sign(session, text):
    append(session, event(text=text))
    assert found(session, "word") == [1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("größe", "GRÖSSE"), ("café", "cafe"), ("Привет, мир", "привет"),
        ("これは日本語の文章です", "日本語"), ("これは日本語の文章です", "本"), ("これは日本語の文章です", "文章です"),
        ("退款已经完成", "退款"), ("退款已经完成", "完成"), ("환불이 완료되었습니다", "환불"),
        ("مُحَمَّد طلب أموالاً", "محمد"), ("طلب أموالاً", "اموالا"), ("المدرسة", "المدرسه"), ("शिपमेंट भेजा गया", "भेजा"),
        ("การคืนเงินเสร็จแล้ว", "คืนเงิน"),
    ],
)  # fmt: skip
def test_every_script_is_found(session, text, words):
    append(session, event(text="something else"), event(text=text))
    assert found(session, words) == [2]
    assert found(session, "日語 語日") == []


def test_a_megabyte_of_text_is_taken_and_its_beginning_found(session):
    words = " ".join(f"w{i:06}" for i in range(130_000))
    append(session, event(text=words, tool=ToolDraft(name="n" * 100_000, arguments={"a": words}, result=[words])))
    assert found(session, "w000001") == [1]


def test_events_of_many_different_long_words_are_taken(session):
    texts = (" ".join(f"{chr(0x4E00 + n)}{i:x}" * 6 for i in range(1_500)) for n in range(40))
    append(session, *(event(text=text, tool=ToolDraft(arguments={"a": text}, result=text)) for text in texts))
    assert rows(session) == [(n, n) for n in range(1, 41)]


def test_a_megabyte_that_is_one_word_is_taken(session):
    append(session, event(text="x" * 1_000_000 + " behind"))
    assert found(session, "x") == []


def test_an_event_that_says_nothing_has_no_row(session):
    append(session, event())
    append(session, event(text="word"))
    assert (rows(session), session.indexed_seq) == ([(2, 2)], 2)


def test_rows_of_single_events_are_merged(session):
    for n in range(1, 131):
        append(session, event(text=f"word{n}"))
    assert rows(session) == [(1, 64), (65, 128), (129, 129), (130, 130)]
    for n in (131, 132, 133, 134, 135, 136, 137):
        append(session, event(text=f"word{n}"))
    assert rows(session) == [(1, 64), (65, 128), (129, 136), (137, 137)]
    assert [found(session, f"word{n}") for n in (1, 64, 65, 130, 137)] == [[1], [64], [65], [130], [137]]


def test_a_bulk_append_is_searchable_with_its_commit_in_the_rows_that_a_rebuild_writes(session, monkeypatch):
    monkeypatch.setattr(events, "BATCH", 70)
    monkeypatch.setattr(search_index, "SMALL", 3)
    append(
        session, *(event(text=f"word{i} in parseHeader", tool=ToolDraft(arguments={"n": [i, 0.5]})) for i in range(9))
    )
    append(session, *(event(text=f"word{i}", tool=ToolDraft(result={"out": f"a\nb{i}"})) for i in range(9, 200)))
    assert (session.indexed_seq, search_index.sessions_behind()) == (200, [])
    assert rows(session) == [(1, 64), (65, 128), (129, 192), (193, 200)]
    assert [found(session, f"word{i}") for i in (0, 69, 199)] == [[1], [70], [200]]
    before = list(SearchBlock.objects.filter(session=session).order_by("first_seq").values_list("first_seq", "words"))
    projections.rebuild(session.pk)
    after = SearchBlock.objects.filter(session=session).order_by("first_seq").values_list("first_seq", "words")
    assert list(after) == before


SAID = [
    None, True, 0, -0.0, 1.10, 1e22, 1e-7, 2**63 - 1, "", "plain", 'quoted "\n" and\ttab', "\x1b[31mred", "größe", [],
    {}, {"b": 1, "a": {"日本語": [None, "x\\ny"]}, "ccc": "\x7f"}, "long " * 9_000, "長い文" * 9_000,
    {"k": "é" * 19_990 + "cut here"}, {"k" * 19_996: 1}, [[["deep"]]],
]  # fmt: skip


def test_what_is_searched_of_a_row_in_hand_is_what_postgresql_says_of_it(session):
    texts = ("", "a text", "t" * 20_000 + " behind", "日" * 20_001)
    append(
        session,
        *(
            event(text=texts[n % 4], tool=ToolDraft(name="grep" * (n % 3), arguments=value, result=SAID[-n]))
            for n, value in enumerate(SAID)
        ),
        event(text="no tool"),
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {TEXT} FROM sessions_app_event e WHERE session_id = %s ORDER BY seq", [session.pk])
        stored = [text.split() for (text,) in cursor.fetchall()]
    assert [text_of_row(row).decode().split() for row in link_queries.rows(session.pk, 1, len(stored))] == stored


def test_the_task_of_what_an_older_version_indexed_may_run_twice(session, monkeypatch):
    monkeypatch.setattr(search_index, "BLOCKS_AT_ONCE", 1)
    append(session, *(event(text=f"word{i}") for i in range(150)))
    forget_search(session)
    search_index.index(session.pk)
    search_index.index(session.pk)
    assert rows(session) == [(1, 64), (65, 128), (129, 150)]
    assert search_index.sessions_behind() == []


def test_events_left_by_a_lost_index_task_are_indexed_with_the_next_append(session, monkeypatch):
    monkeypatch.setattr(search_index, "SMALL", 3)
    append(session, *(event(text=f"word{i}") for i in range(5)))
    forget_search(session)
    append(session, event(text="late"))
    assert (session.indexed_seq, search_index.sessions_behind()) == (0, [session.pk])
    monkeypatch.setattr(search_index, "SMALL", 10)
    append(session, event(text="later"))
    assert (found(session, "word0"), found(session, "later")) == ([1], [7])
    search_index.index(session.pk)
    assert search_index.sessions_behind() == []


def test_whoever_indexes_what_another_has_indexed_meanwhile_writes_nothing(session):
    append(session, event(text="word"))
    forget_search(session)
    late = search_index._read(session.pk)
    search_index.index(session.pk)
    search_index._index(late, 1)
    assert rows(session) == [(1, 1)]


def test_a_title_is_found_and_a_new_one_takes_its_place(agent):
    session = sessions.create(agent, by=audit.SYSTEM, title="Quarterly figures")
    append(session, user("hello"))
    assert filtered(agent.workspace_id, SessionFilter(q="quarterly hello")).get() == session
    Session.objects.filter(pk=session.pk).update(title="Monthly figures")
    search_index.index_title(session.pk)
    assert not filtered(agent.workspace_id, SessionFilter(q="quarterly"))
    assert filtered(agent.workspace_id, SessionFilter(q='"monthly figures"')).get() == session
    assert rows(session) == [(0, 0), (1, 1)]


SCANS = """
SELECT pg_stat_get_xact_numscans('sessions_app_searchblock'::regclass),
       pg_stat_get_xact_numscans('search_block_in_order'::regclass)
"""


def test_one_walk_of_the_index_answers_for_one_workspace_or_session(session):
    append(session, *(event(text=f"word{i}") for i in range(200)))
    with connection.cursor() as cursor:
        cursor.execute(SCANS)
        [before] = cursor.fetchall()
        for mark in (f"@w{session.workspace_id.hex}", f"@s{session.pk.hex}"):
            cursor.execute("SELECT first_seq FROM countersign_search_rows(%s::tsquery, 10)", [f"'word70' & '{mark}'"])
            assert cursor.fetchall() == [(65,)]
        cursor.execute(SCANS)
        [after] = cursor.fetchall()
    assert (after[0] - before[0], after[1] - before[1]) == (0, 2)


def test_a_backlog_goes_with_its_session(session):
    append(session, event(text="word"))
    forget_search(session)
    assert SearchBacklog.objects.get().session_id == session.pk
