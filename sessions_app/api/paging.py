"""Lists in pages that stay where they are while rows are added: the cursor names the last row that was seen."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

import orjson
from django.db.models import Model, QuerySet
from ninja import Query
from pydantic import BaseModel, Field

from .problems import invalid

DEFAULT, MOST = 50, 500
Limit = Annotated[int, Query(DEFAULT, ge=1, le=MOST, description=f"most rows of a page, 1 to {MOST}")]
Cursor = Annotated[
    str | None, Query(None, max_length=2000, description="`next_cursor` of the page before; left out: the first page")
]
Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)


class Page(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(None, description="`cursor` of the next page; null at the end")


def encode(position: list[Any]) -> str:
    """An opaque cursor of JSON values."""
    return base64.urlsafe_b64encode(orjson.dumps(position, default=str)).decode().rstrip("=")


def decode(cursor: str, read: Callable[[list[Any]], Any]) -> Any:
    """What ``read`` makes of a cursor's values; a cursor that is none of ours is invalid input."""
    try:
        return read(orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
    except (ValueError, TypeError, LookupError, AttributeError, binascii.Error):
        raise invalid("/cursor", "this cursor does not belong to this list; begin again without one") from None


def keyset(
    rows: QuerySet[Row],
    key: str,
    limit: int,
    cursor: str | None,
    read: Callable[[Any], Any],
    *,
    ascending: bool = False,
    within: str = "",
) -> tuple[list[Row], str | None]:
    """``limit`` rows in order of a unique column, newest first unless ``ascending``, and the next cursor.

    ``within`` is a column that is the same in all rows and stands first in the index that has this order.
    """
    if cursor:
        last = decode(cursor, lambda position: read(position[0]))
        rows = rows.filter(**{f"{key}__{'gt' if ascending else 'lt'}": last})
    order = [within] if within else []
    found = list(rows.order_by(*order, key if ascending else f"-{key}")[: limit + 1])
    more = len(found) > limit
    return found[:limit], encode([getattr(found[limit - 1], key)]) if more else None


def behind(
    items: Sequence[Item], key: Callable[[Item], str], limit: int, cursor: str | None
) -> tuple[list[Item], str | None]:
    """``limit`` items of a list that is short and read whole, behind the one that a cursor names, and the next cursor.

    Where that one is gone, from the beginning: lists of what waits lose their first ones.
    """
    keys = [key(item) for item in items]
    last = decode(cursor, lambda position: str(position[0])) if cursor else None
    start = keys.index(last) + 1 if last in keys else 0
    end = start + limit
    return list(items[start:end]), encode([keys[end - 1]]) if end < len(items) else None
