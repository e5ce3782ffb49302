"""Queries of Django whose SQL is written once for a process.

To write a statement takes Python as long as to run it: a quarter of the CPU of a session's page, for thirty statements
that differ from those of the page before in an id or two. For what many pages ask; it has to be the same statement
whatever the values are: none of them is None or a number of rows, and a list is looked for by ``any_of``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime, timedelta
from random import randrange
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.db import connections
from django.db.models import Field, Lookup, QuerySet
from django.utils import timezone

Row = TypeVar("Row")
Value = UUID | str | int | datetime | list[Any]
STAND_INS: dict[type, Callable[[], Value]] = {
    UUID: uuid4,
    str: lambda: uuid4().hex,
    int: lambda: randrange(10**8, 10**9),
    datetime: lambda: timezone.now() + timedelta(seconds=randrange(10**8)),
    list: lambda: [uuid4()],
}
"""What the statement is written with: values that nothing else in it is equal to."""


@Field.register_lookup
class AnyOf(Lookup):
    """``seq__any_of=[1, 2]``: what ``__in`` finds, by a statement that is the same for any number of values."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """SQL and parameters."""
        column, params = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.cast_db_type(connection)
        return f"{column} = ANY(%s::{kind}[])", [*params, self.rhs]


class Compiled(Generic[Row]):
    """The rows of ``build(*values)``, whose SQL is written when it is asked for first.

    What else ``build`` reads, as a limit of its module, stays as it was then: what may change has to be a value.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]]) -> None:
        self._build = build
        self._written: _Written | None = None

    def __call__(self, *values: Value) -> list[Row]:
        """The rows for these values, none where one is an empty list. Raises Django's database errors."""
        if [] in values:
            return []
        written = self._written = self._written or _Written(self._build, [type(value) for value in values])
        return list(written.asking(values))

    def first(self, *values: Value) -> Row | None:
        """The first of them; ``build`` has to want no more than one."""
        return next(iter(self(*values)), None)


class _Written:
    """A query set with its statement, and which of its parameters stand for which value."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], kinds: Sequence[type]) -> None:
        stand_ins = [STAND_INS[kind]() for kind in kinds]
        self.queryset = build(*stand_ins)
        self.compiler: Any = self.queryset.query.get_compiler(self.queryset.db)
        self.sql, self.params = self.compiler.as_sql()
        self.places = [
            (place, stand_ins.index(param)) for place, param in enumerate(self.params) if param in stand_ins
        ]  # fmt: skip
        if {of for _, of in self.places} != set(range(len(kinds))):
            raise TypeError("a value of a compiled query is no parameter of its statement")

    def asking(self, values: Sequence[Value]) -> QuerySet[Any, Any]:
        params = [*self.params]
        for place, of in self.places:
            kind = type(params[place])  # psycopg's own for a whole number
            params[place] = values[of] if kind is type(values[of]) else kind(values[of])
        compiler = copy(self.compiler)  # with what is selected, and how it is read
        compiler.connection = connections[self.queryset.db]
        compiler.as_sql = lambda *_, **__: (self.sql, tuple(params))
        found = self.queryset.all()
        found.query.get_compiler = lambda *_, **__: compiler  # type: ignore[method-assign]
        return found
