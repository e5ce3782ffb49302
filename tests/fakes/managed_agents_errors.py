"""What the Managed Agents API says when it refuses, and how it turns pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

_numbers = count(1)


class ApiError(Exception):
    """A refusal: HTTP status, the type of the error, its words."""

    def __init__(self, status: int, kind: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def bad(message: str) -> ApiError:
    return ApiError(400, "invalid_request_error", message)


def missing(what: str, id_: str) -> ApiError:
    return ApiError(404, "not_found_error", f"{what} {id_} not found")


def new_id(prefix: str) -> str:
    """Ids sort in the order they were made."""
    return f"{prefix}_{next(_numbers):08d}"


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def only(body: Any, *allowed: str) -> dict[str, Any]:
    """A body with these fields alone."""
    if not isinstance(body, dict):
        raise bad("the request body must be a JSON object")
    if extra := sorted(set(body) - set(allowed)):
        raise bad(f"{extra[0]}: Extra inputs are not permitted")
    return body


def metadata_of(value: Any) -> dict[str, str]:
    """At most 16 pairs, keys of 64 and values of 512 characters."""
    told = value or {}
    if not isinstance(told, dict) or len(told) > 16:
        raise bad("metadata: at most 16 pairs")
    for key, item in told.items():
        if not isinstance(item, str) or len(key) > 64 or len(item) > 512:
            raise bad(f"metadata.{key}: keys have at most 64 characters, values are strings of at most 512")
    return told


def page_of(
    rows: list[dict[str, Any]], query: Mapping[str, str], *, order: str = "asc", limit: int = 20, most: int = 1000,
    both_ways: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A page of rows that are in ascending order. The cursor holds the order: with another one it is refused."""
    order, begin = query.get("order", order), 0
    size = int(query.get("limit", limit))
    if order not in ("asc", "desc") or not 1 <= size <= most:
        raise bad(f"limit: 1 to {most}; order: asc or desc")
    if cursor := query.get("page"):
        try:
            kept, begin = json.loads(base64.urlsafe_b64decode(cursor))
        except ValueError:
            raise bad("page: invalid cursor") from None
        if kept != order:
            raise bad("page: the cursor was made with another order")
    rows = rows if order == "asc" else rows[::-1]
    page = {"data": rows[begin : begin + size], "next_page": _cursor(order, begin + size, len(rows))}
    return page | ({"prev_page": _cursor(order, begin - size, len(rows))} if both_ways else {})


def _cursor(order: str, begin: int, rows: int) -> str | None:
    return base64.urlsafe_b64encode(json.dumps([order, begin]).encode()).decode() if 0 <= begin < rows else None


def within(value: str | None, query: Mapping[str, str]) -> bool:
    """Whether a time passes the filters ``created_at[gt|gte|lt|lte]``. What has no time yet passes none."""
    tests = {"gt": lambda a, b: a > b, "gte": lambda a, b: a >= b, "lt": lambda a, b: a < b, "lte": lambda a, b: a <= b}
    wanted = [(test, query[f"created_at[{name}]"]) for name, test in tests.items() if f"created_at[{name}]" in query]
    return all(value is not None and test(_time(value), _time(limit)) for test, limit in wanted)


def _time(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        raise bad(f"created_at: {value} is no RFC 3339 time") from None
