"""Prepared statements, parsed and planned once for a connection: the few that every append runs, and what Django asks
for pages that are little but planning.

Django binds parameters on this side, into the text, so that PostgreSQL plans each statement again: 2 to 4 ms for the
largest ones here, which run in less than one. psycopg prepares what runs through its own cursor for the
``prepare_threshold``-th time (``settings.DATABASES``), and forgets it where a connection's state is reset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import psycopg
from django.db import connection
from django.db.backends.postgresql.base import Cursor
from psycopg.adapt import Transformer
from psycopg.types.string import BytesBinaryDumper

Values = Mapping[str, Any] | Sequence[Any]
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
PLACE = re.compile("%[s%]")
LOG = re.compile(r"\bsessions_app_(event|turn|toolcall|modelrequest)\b")
"""Tables of which one session has ten rows and another 50,000: planned for any of them, a page of the longest would be
put in order after all of it was read (94 ms in place of 18)."""


class Statement(str):
    """A statement that is the same text each time it runs."""

    __slots__ = ()


NO_LOOPS, LOOPS = Statement("SET LOCAL enable_nestloop = off"), Statement("SET LOCAL enable_nestloop TO DEFAULT")


def fetch(statement: Statement, values: Values, *, keep: bool = True) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows. Raises Django's database errors.

    Not to ``keep`` its plan is for much data at once: a plan for any values knows nothing of these.
    """
    cursor = _run(statement, values, keep=keep)
    return cursor.fetchall() if cursor.description else []


def fetch_of_many(statement: Statement, values: Values) -> list[tuple[Any, ...]]:
    """The same, planned for these values and for many rows, in a transaction.

    Statistics that do not know a session yet promise one row of it, and PostgreSQL joins in nested loops: 106 s for
    50,000 events instead of 6 s, measured on PostgreSQL 18.
    """
    run(NO_LOOPS, ())
    rows = fetch(statement, values, keep=False)
    run(LOOPS, ())
    return rows


def run(statement: Statement, values: Values, *, keep: bool = True) -> None:
    """The same without rows."""
    _run(statement, values, keep=keep)


def fetch_binary(statement: Statement, values: Values) -> list[list[bytes | None]]:
    """Run a statement and return the fields of its rows in the binary form of their types, as ``COPY`` sends them."""
    result = _run(statement, values, binary=True).pgresult
    assert result is not None
    return [[result.get_value(row, n) for n in range(result.nfields)] for row in range(result.ntuples)]


def _run(statement: Statement, values: Values, *, keep: bool = True, binary: bool = False) -> psycopg.Cursor[Any]:
    connection.ensure_connection()
    with connection.wrap_database_errors:
        if connection.connection.closed:  # as psycopg says it where Django opens a cursor
            raise psycopg.OperationalError("the connection is closed")
    connection.validate_no_broken_transaction()
    cursor: psycopg.Cursor[Any] = psycopg.Cursor(connection.connection)
    if not keep:  # values in the text: with parameters it could be planned for any values (plan_cache_mode)
        cursor = psycopg.ClientCursor(connection.connection)

    def execute(sql: str, params: Values, many: bool, context: dict[str, Any]) -> object:
        return cursor.execute(sql, params, prepare=None if keep else False, binary=binary)

    wrapped: Callable[..., object] = execute
    for wrapper in reversed(connection.execute_wrappers):
        wrapped = partial(wrapper, wrapped)
    began = monotonic()
    with connection.wrap_database_errors:
        wrapped(statement, values, False, {"connection": connection, "cursor": cursor})
    if connection.queries_logged:  # tests count what a request runs
        connection.queries_log.append({"sql": statement, "time": f"{monotonic() - began:.3f}"})
    return cursor


@contextmanager
def copy_in(statement: str, types: Sequence[str]) -> Iterator[psycopg.Copy]:
    """Write rows by ``COPY ... (FORMAT binary)``, of values of these types. Raises Django's database errors.

    For ``bytea`` psycopg takes a class in Python, because of ``Binary`` of the DB-API, which is not sent here; with its
    own for bytes alone 50,000 events are written out in 0.05 CPU seconds and not in 0.10.
    """
    with connection.wrap_database_errors, connection.cursor() as cursor:
        cursor.adapters.register_dumper(bytes, BytesBinaryDumper)
        with cursor.copy(statement) as copy:
            copy.set_types(types)
            yield copy


def by_ids(ask: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Have the statements of Django that a function runs prepared, too, for whatever ids they name.

    Ids alone are sent beside the text. Any other value stays in it: a status that a partial index is made for, how many
    rows are wanted, a moment that PostgreSQL has statistics of. A statement that names the time or a word is planned
    each time, as everywhere else, and so is one that reads the log of a session.

    For pages whose lists have an index for their order. A plan for any workspace knows nothing of a large one: it would
    find the sessions of a common tag, all of them, before it puts them in order.
    """

    @wraps(ask)
    def asks(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        with connection.execute_wrapper(_by_ids):
            return ask(*args, **kwargs)

    return asks


def _by_ids(execute: Callable[..., object], sql: str, params: Any, many: bool, context: dict[str, Any]) -> object:
    wrapped = context["cursor"]
    if params and not many and type(wrapped.cursor) is Cursor and not LOG.search(sql):
        text, ids = _apart(sql, params)
        if ids:
            wrapped.cursor = psycopg.Cursor(connection.connection)
            return execute(text, ids, many, context)
    return execute(sql, params, many, context)


def _apart(sql: str, params: Sequence[Any]) -> tuple[str, list[Any]]:
    """A statement with all values but the ids in its text, and the ids."""
    values, ids = iter(params), []
    literal = Transformer.from_context(connection.connection).as_literal

    def written(place: re.Match[str]) -> str:
        if place[0] == "%%":
            return "%%"
        value = next(values)
        if isinstance(value, UUID) or isinstance(value, list) and value and isinstance(value[0], UUID):
            ids.append(value)
            return "%s"
        return literal(value).decode().replace("%", "%%")

    return PLACE.sub(written, sql), ids
