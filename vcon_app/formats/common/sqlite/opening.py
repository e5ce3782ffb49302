"""SQLite stores of strangers: read as a copy of their own, plain tables only, and no size in them is believed.

A database can hold far more than code that is read: views and generated columns that call functions, virtual tables,
pages that point at one another. Nothing of it is run (https://www.sqlite.org/security.html): an authorizer lets plain
columns of plain tables be read, and rows, bytes and steps are counted as they come.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

from ....drafts import FormatError

MAGIC = b"SQLite format 3\0"
MAX_CELL = 64 * 1024 * 1024
MAX_COLUMNS = 200
MAX_TABLES = 500
MAX_ROWS = 1_000_000
"""Of one table, whose row numbers are held in memory."""
SLACK = 16 * 1024 * 1024
"""Bytes that may be read beyond ``PASSES`` times the size of the file: pages that are pointed at twice show by that."""
PASSES = 4
STEPS = 10_000
MOST_TICKS = 4_000
"""Times ``STEPS`` instructions that one query may take: a million rows take some 15 million."""
_PLAIN = re.compile(r"\s*CREATE\s+TABLE\s", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WAL, _ROLLBACK = 2, 1
FAULTS = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""What a damaged file raises; the last one where its bytes stand in a message of SQLite."""
Tables = dict[str, tuple[str, ...]]
"""Names of the columns of each plain table."""
Row = dict[str, Any]
Place = tuple[list[tuple[int, Any]], int]
"""What a row is sorted by, and its id."""


def is_sqlite(source: BinaryIO) -> bool:
    """Whether a stream is a SQLite database by its first bytes; it is left at its start."""
    source.seek(0)
    magic = source.read(len(MAGIC))
    source.seek(0)
    return magic == MAGIC


def tables_in(head: bytes) -> Tables:
    """Tables of the database that begins so; none where it is no database, or its schema lies further behind."""
    if not head.startswith(MAGIC) or len(head) < 512:
        return {}
    page = int.from_bytes(head[16:18], "big")
    page = 65_536 if page == 1 else page
    if page < 512 or len(head) < page:
        return {}
    cut = bytearray(head[: len(head) // page * page])
    cut[28:32] = (len(cut) // page).to_bytes(4, "big")  # else SQLite misses the pages behind the head
    _without_wal(cut)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(bytes(cut))
            return _guarded(connection)
        except FAULTS:
            return {}


@contextmanager
def open_store(source: BinaryIO) -> Iterator[Store]:
    """The store in a copy that goes away afterwards. Raises ``FormatError``, also where a row cannot be read later."""
    with NamedTemporaryFile(prefix="store-", suffix=".db") as copy:
        source.seek(0)
        copyfileobj(source, copy, 1024 * 1024)
        size = copy.tell()
        copy.seek(0)
        header = bytearray(copy.read(20))
        _without_wal(header)
        copy.seek(0)
        copy.write(header)
        copy.flush()
        try:
            uri = f"file:{copy.name}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
                yield Store(connection, size)
        except FAULTS as error:
            raise FormatError(f"it is a SQLite database that cannot be read: {str(error)[:200]}") from None


class Store:
    """Plain tables, row by row. Its functions raise ``sqlite3.Error``, which ``open_store`` puts into words."""

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        """``size`` of the file in bytes bounds what is read of it."""
        self._connection = connection
        self._left = PASSES * size + SLACK
        self.tables = _guarded(connection)

    def numbers(self, table: str, group: str, *order: str) -> dict[str, list[int]]:
        """Row ids of a table by what stands in the column ``group``, each list in the order of the given columns.

        Columns that the table does not have are left out. Nothing is sorted in SQLite: its sorter would write what a
        hostile file repeats to the disk before the first row comes out.
        """
        if group not in self.tables.get(table, ()):
            return {}
        columns = [name for name in order if name in self.tables[table]]
        found: dict[str, list[Place]] = {}
        for number, name, *keys in self.places(table, [group, *columns]):
            if isinstance(name, (str, int)):
                found.setdefault(str(name)[:200], []).append(([_sortable(key) for key in keys], number))
        return {name: [number for _, number in sorted(places)] for name, places in found.items()}

    def all_numbers(self, table: str, *order: str) -> list[int]:
        """Row ids of a whole table in the order of the given columns."""
        columns = [name for name in order if name in self.tables.get(table, ())]
        found = self.places(table, columns) if table in self.tables else ()
        return [number for _, number in sorted(([_sortable(key) for key in keys], number) for number, *keys in found)]

    def places(self, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """The row id of each row, and these columns."""
        before: int | None = None
        for count, row in enumerate(self._select(table, ["_rowid_", *columns])):
            if count >= MAX_ROWS:
                raise FormatError(f"its table {table} has more than {MAX_ROWS:,} rows; export its sessions instead")
            # A table is stored by ascending ids, so that a page that is pointed at twice shows at once.
            if not isinstance(row[0], int) or (before is not None and row[0] <= before):
                raise FormatError(f"it is a damaged SQLite database: the rows of its table {table} are in disorder")
            before = row[0]
            yield row

    def row(self, table: str, number: int, skip: frozenset[str] = frozenset()) -> Row:
        """One row by its id, empty where there is none."""
        columns = [name for name in self.tables[table] if name not in skip]
        found = next(self._select(table, columns, number), None)
        return dict(zip(columns, found, strict=True)) if found else {}

    def rows(self, table: str, numbers: list[int], skip: frozenset[str] = frozenset()) -> Iterator[tuple[int, Row]]:
        """Rows by their ids, one in memory at a time."""
        for number in numbers:
            if row := self.row(table, number, skip):
                yield number, row

    def _select(self, table: str, columns: list[str], number: int | None = None) -> Iterator[tuple[Any, ...]]:
        ticks = 0

        def too_long() -> bool:
            nonlocal ticks
            ticks += 1
            return ticks > MOST_TICKS

        self._connection.set_progress_handler(too_long, STEPS)
        names = ", ".join(f'"{name}"' if name != "_rowid_" else name for name in columns)
        query = f'SELECT {names} FROM main."{table}" NOT INDEXED'  # noqa: S608 - names of the schema that are plain words
        where, values = (" WHERE _rowid_ = ?", (number,)) if number is not None else ("", ())
        with closing(self._connection.execute(query + where, values)) as cursor:
            for row in cursor:
                self._left -= sum(len(cell) if isinstance(cell, (str, bytes)) else 8 for cell in row)
                if self._left < 0:
                    raise FormatError("it is a SQLite database that repeats its pages, as only bombs do")
                yield row


def _guarded(connection: sqlite3.Connection) -> Tables:
    """Close a connection to all but reading plain tables, which it returns."""
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL), (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS), (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 20),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0), (sqlite3.SQLITE_LIMIT_VDBE_OP, 25_000),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1), (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 2),
    ):  # fmt: skip
        connection.setlimit(limit, most)
    connection.text_factory = _text
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "cache_size=-8000", "query_only=ON"):
        connection.execute(f"PRAGMA {pragma}")
    plain: set[str] = {"sqlite_master"}

    def authorize(action: int, first: str | None, second: str | None, place: str | None, by: str | None) -> int:
        reads = action == sqlite3.SQLITE_READ and first in plain and by is None
        asks = action == sqlite3.SQLITE_PRAGMA and first == "table_info"
        return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_SELECT or reads or asks else sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    names = []
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 5000"):
        is_plain = kind == "table" and isinstance(sql, str) and _PLAIN.match(sql)
        if is_plain and isinstance(name, str) and _NAME.fullmatch(name) and not name.startswith("sqlite_"):
            names.append(name)
    tables: Tables = {}
    for name in names[:MAX_TABLES]:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        tables[name] = tuple(text for text in columns if isinstance(text, str) and _NAME.fullmatch(text))
    plain.update(tables)
    return tables


def _text(cell: bytes) -> str:
    return cell.decode("utf-8", "replace")


def _sortable(key: Any) -> tuple[int, Any]:
    """Numbers before texts, in two kinds that compare; long texts by their beginning."""
    if isinstance(key, (int, float)):
        return 0, key
    return (1, key[:100]) if isinstance(key, str) else (-1, 0)


def _without_wal(data: bytearray) -> None:
    """Say that the database needs no log beside it, which is not there (https://www.sqlite.org/fileformat2.html)."""
    if data[18:20] == bytes((_WAL, _WAL)):
        data[18:20] = bytes((_ROLLBACK, _ROLLBACK))
