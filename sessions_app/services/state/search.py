"""Which values of a scope are about something: by vectors where the database has pgvector, else by their words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import ClassVar

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db import connection
from django.db.models import Field, FloatField, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from sessions_app.models import Session, StateValue

from .values import Embedding, values_of

PGVECTOR, FULL_TEXT = "pgvector", "full text"
MOST_WORDS = 32
"""Of a search; more are left out."""


@dataclass(frozen=True)
class Found:
    """A value, how it was found, and how well: the cosine of two vectors, or the rank of its words."""

    row: StateValue
    method: str
    score: float


class _Vector(Field):  # type: ignore[type-arg]
    """pgvector's type."""

    def db_type(self, connection: object) -> str:
        return "vector"


class _Distance(Func):
    """1 less the cosine of two vectors."""

    template, arg_joiner = "(%(expressions)s)", " <=> "
    output_field: ClassVar[FloatField] = FloatField()  # type: ignore[type-arg]


def has_vectors() -> bool:
    """Whether the database has pgvector (``config.database.vectors``)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')")
        return bool(cursor.fetchone()[0])


def about(
    session: Session, scope: str, words: str, limit: int, *, prefix: str = "", embedding: Embedding | None = None
) -> tuple[str, list[Found]]:
    """How it was searched, and the best values first, of keys that begin with ``prefix``.

    By vectors all are near in some degree; those that no vector of the same model and size was kept with follow, if
    they say any of the words. Raises ``Refused``.
    """
    rows = values_of(session, scope).filter(key__startswith=prefix)
    if embedding is None or not has_vectors():
        return FULL_TEXT, _saying(rows, words, limit)
    is_comparable = Q(vector_model=embedding.model, vector__len=len(embedding.vector))
    found = _nearest(rows.filter(is_comparable), embedding, limit)
    return PGVECTOR, [*found, *_saying(rows.exclude(is_comparable), words, limit - len(found))]


def _nearest(rows: QuerySet[StateValue], embedding: Embedding, limit: int) -> list[Found]:
    # All of them are compared: a scope has at most 1,000 keys.
    wanted = Cast(Value(str(embedding.vector)), _Vector())
    near = rows.annotate(distance=_Distance(Cast("vector", _Vector()), wanted)).order_by("distance", "key")
    return [Found(row, PGVECTOR, 1 - row.distance) for row in near[:limit]]


def _saying(rows: QuerySet[StateValue], words: str, limit: int) -> list[Found]:
    """Values that say any of the words, in English or as they stand."""
    if not words.strip():
        return []
    query = reduce(or_, (SearchQuery(word, config="english") for word in words.split()[:MOST_WORDS]))
    said = SearchVector("key", Cast("value", TextField()), config="english")
    found = rows.annotate(said=said, rank=SearchRank(said, query)).filter(said=query).order_by("-rank", "key")
    return [Found(row, FULL_TEXT, row.rank) for row in found[:limit]]
