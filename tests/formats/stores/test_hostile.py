"""Hostile databases: nothing in them is run, their sizes are bounded, and damage is told in words."""

from __future__ import annotations

import io
import random
import sqlite3

import pytest

from tests.formats.reads import assert_sound, read
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.sqlite import opening
from vcon_app.formats.common.sqlite.opening import open_store
from vcon_app.formats.stores import crush

from . import made


@pytest.mark.parametrize("name", made.STORES)
def test_bytes_that_are_flipped_end_in_events_or_in_words(name: str) -> None:
    data, format, chance = made.STORES[name], registry.get(name), random.Random(name)
    refused = 0
    for _ in range(120):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 3, 20))):
            # half of them where SQLite looks first: headers of the file and of its pages
            page = chance.randrange(len(data) // 4096) * 4096
            place = chance.choice((chance.randrange(100), page + chance.randrange(16), chance.randrange(len(data))))
            mutant[place] = chance.randrange(256)
        changed = bytes(mutant[: chance.choice((len(mutant), len(mutant), chance.randrange(len(mutant))))])
        registry.claims(Head(changed), registry.readers())
        try:
            assert_sound(read(format, changed))
        except FormatError as error:
            assert str(error)
            refused += 1
    assert refused


def test_a_view_in_the_place_of_a_table_is_not_read() -> None:
    data = made.database(
        made.CRUSH_TABLES[0],
        "CREATE VIEW messages AS SELECT id, id AS session_id, title AS role, title AS parts, title AS model"
        " FROM sessions",
    )
    assert not crush.detect(Head(data))
    with open_store(io.BytesIO(data)) as store:
        assert list(store.tables) == ["sessions"]


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH 'other.db' AS other", "SELECT load_extension('x')", "SELECT hex(id) FROM sessions",
        "INSERT INTO sessions (id, title) VALUES ('a', 'b')", "PRAGMA query_only = OFF", "CREATE TABLE a (b)",
        "DROP TABLE sessions", "WITH RECURSIVE a(b) AS (SELECT 1 UNION ALL SELECT b FROM a) SELECT * FROM a",
    ],
)  # fmt: skip
def test_a_store_lets_nothing_but_plain_columns_be_read(query: str) -> None:
    with open_store(io.BytesIO(made.crush())) as store:
        connection = store._connection  # what a fault in our own query could reach
        with pytest.raises(sqlite3.Error, match=r"not authorized|prohibited"):
            connection.execute(query).fetchall()


def test_a_generated_column_that_calls_a_function_is_an_error_in_words() -> None:
    data = made.database(
        made.CRUSH_TABLES[0].replace("title TEXT NOT NULL", "title TEXT AS (hex(zeroblob(1000)))"),
        made.CRUSH_TABLES[1],
        rows=[
            ("sessions", {"id": "s1", "cost": 0}),
            ("messages", {"id": "m", "session_id": "s1", "role": "user", "parts": []}),
        ],
    )
    for draft in read(crush, data):
        assert "0000" not in str(draft)


def test_a_database_that_points_at_its_pages_again_and_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SLACK", 0)
    monkeypatch.setattr(opening, "PASSES", 1)
    with pytest.raises(FormatError, match="repeats its pages"), open_store(io.BytesIO(made.crush())) as store:
        for _ in range(1000):
            store.all_numbers("messages", "parts")


def test_more_rows_than_there_may_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_ROWS", 3)
    with pytest.raises(FormatError, match="more than 3 rows"):
        read(crush, made.crush(5))


def test_a_query_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_TICKS", 0)
    monkeypatch.setattr(opening, "STEPS", 1)
    with pytest.raises(FormatError, match="interrupted"):
        read(crush, made.crush())


def test_pages_that_are_pointed_at_twice_show_by_the_order_of_their_rows() -> None:
    rows = [("messages", {"id": f"m{n}", "session_id": "s1", "role": "user", "parts": "[]" * 900}) for n in range(9)]
    data = bytearray(
        made.database(*made.CRUSH_TABLES, rows=[("sessions", {"id": "s1", "title": "", "cost": 0}), *rows])
    )
    with open_store(io.BytesIO(bytes(data))) as store:
        assert store.all_numbers("messages") == list(range(1, 10))
    inner = next(page for page in range(0, len(data), 4096) if data[page] == 5)  # an interior page of a table
    first = int.from_bytes(data[inner + 12 : inner + 14], "big")  # of its cells, each the number of a page and a row id
    second = int.from_bytes(data[inner + 14 : inner + 16], "big")
    data[inner + second : inner + second + 4] = data[inner + first : inner + first + 4]
    with pytest.raises(FormatError, match="in disorder"):
        read(crush, bytes(data))
