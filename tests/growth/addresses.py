"""Every address that is read: of pages by the URL conf, of the API by its description, and some with filters."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver, reverse

from sessions_app.models import session_order
from sessions_app.queries.sessions import session_list

SESSION_LIST = (
    "agent=refund-agent", "status=idle", "origin=api", "tag=vip", "min_cost=0.01", "has_errors=true",
    "has_errors=false", "needs_approval=false", "needs_approval=true", "model=m-1", "tool=search", "from=2020-01-01",
    "to=2030-01-01", "verdict=none", "verdict=fail", "assignee=me",
    "assignee=none", "tag=nobody-has-it", "tool=nobody-has-it", "model=nobody-has-it",
    "used_from=2020-01-01", *(f"ended={word}" for word in session_order.ENDINGS),
)  # fmt: skip
TOGETHER = (
    "has_errors=true&model=m-1&tool=search", "agent=refund-agent&has_errors=true&sort=title", "status=idle&tag=vip",
    "status=archived&tag=vip", "agent=refund-agent&status=idle", "agent=refund-agent&tag=vip&sort=-cost",
    "tag=vip&sort=-tokens", "tool=search&sort=title", "model=m-1&min_cost=0.01",
    "origin=api&verdict=none&has_errors=true", "tag=nobody-has-it&model=m-1", "model=m-1&tool=nobody-has-it",
    "has_errors=true&tag=nobody-has-it&sort=-turns", "used_from=2020-01-01&tag=vip",
    "used_from=2020-01-01&agent=refund-agent&sort=-cost", "from=2020-01-01&tool=search&tag=vip", "finding=any",
    "finding=none&tag=vip", "finding=any&sort=-cost", "assignee=none&has_errors=true&tool=search",
    "verdict=any&model=m-1", "q=is:error+tool:search", "q=model:m-1+tag:vip+-tool:nobody",
    "q=cost%3E0+tool:search&sort=-errors", "ended=completed&tag=vip", "ended=idle&sort=-cost",
    "ended=error&tool=search",
)  # fmt: skip
"""Several filters at once, or one in an order that is not its own."""
SEARCHES = (
    "q=parcel", "q=parcel+timed", "q=never/came", "q=%22parcel+never%22", "q=par*", "q=nobody-says-it",
    "q=parcel+-look", "q=is:error", "q=ended:idle", "q=-ended:idle", "q=-status:idle", "q=-origin:api",
    "q=parcel+tool:search", "q=file:a/b",
    "q=parcel&sort=relevance", "q=parcel+timed&sort=relevance",
)  # fmt: skip
GROUPED = ("agent", "model", "tool")
NOBODYS = UUID(int=0)
"""The id in addresses that are not read, but posted to."""
WITH_QUERY: dict[str, tuple[str, ...]] = {
    "session-list": (
        *SESSION_LIST, *TOGETHER, *SEARCHES,
        *(f"sort=-{name}" for name in session_list.SORTS), "agent=refund-agent&sort=-cost",
    ),
    "call-list": (
        "tool=nobody-has-it", "provider=nobody-has-it", "status=error", "agent=refund-agent", "agent=nobody-has-it",
        "tool=search&status=denied",
    ),
    "audit-list": ("action=nobody.does", "action=approval", "from=2020-01-01&to=2020-01-02"),
    "import-list": ("status=open", "status=done", "status=failed"),
    "search": SEARCHES,
    "usage": (
        "by=session", "by=tool", "picture=latency", "picture=latency&origin=api&tag=vip",
        "agent=refund-agent&origin=api&tag=vip", "from=ever", *(f"from=ever&by={by}" for by in GROUPED),
    ),
    "retention-keep": ("keep_days=1",),
    "session-detail": ("turn=3", "event=20", "q=look"),
    "session-rows": ("after=20",),
    "session-outline": ("after=3",),
    "session-find": ("q=look", "q=nowhere"),
    "session-next": ("what=error&after=1", "what=approval&after=1"),
    "approval-list": ("show=high", "show=mine", "show=snoozed"),
    "trigger-runs": ("status=skipped",),
}  # fmt: skip
"""Name of a page to query strings that it is asked with besides none."""
WITH_QUERY_API: dict[str, tuple[str, ...]] = {
    "/api/v1/sessions": (
        *SEARCHES[:2],
        *SEARCHES[-2:],
        "has_errors=true&q=model:m-1+tool:search",
        "status=idle&tag=vip",
        "agent=refund-agent&has_errors=true&sort=title",
    ),
    "/api/v1/search": (*SEARCHES[:2], *SEARCHES[-2:]),
    "/api/v1/retention/over": ("days=1",),
    "/api/v1/approvals": ("status=pending", "status=denied"),
    "/api/v1/calls": ("tool=nobody-has-it", "status=error"),
    "/api/v1/usage": (
        "limit=50",
        "group_by=session",
        "group_by=session&limit=50",
        "group_by=session&agent=refund-agent&limit=50",
        "group_by=session&origin=api&tag=vip&limit=50",
        "group_by=tool&limit=50",
        "agent=refund-agent&limit=50",
    ),
}


def pages(things: dict[str, Any], skipped: Container[str]) -> Iterator[tuple[str, str]]:
    """Name and address of each page; which of them are read, only a request tells (405: it is not)."""
    for pattern in _patterns(get_resolver()):
        if pattern.name is None or pattern.name in skipped:
            continue
        known = things | ({"webhook_id": things["outgoing_webhook_id"]} if "outgoing" in pattern.name else {})
        named = {name: known.get(name, NOBODYS) for name in pattern.pattern.converters}
        address = reverse(pattern.name, kwargs=named)
        for query in ("", *WITH_QUERY.get(pattern.name, ())):
            yield (f"{pattern.name}?{query}" if query else pattern.name), f"{address}?{query}" if query else address


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name != "ninja":
                yield from _patterns(pattern)
        else:
            yield pattern


def operations(schema: dict[str, Any], things: dict[str, Any], skipped: Container[str]) -> Iterator[tuple[str, str]]:
    """Name and address of each operation of the API that reads."""
    for path, methods in schema["paths"].items():
        if "get" not in methods or path in skipped:
            continue
        address = path.format(**things)
        for query in ("", *WITH_QUERY_API.get(path, ())):
            yield (f"{path}?{query}" if query else path), f"{address}?{query}" if query else address


def names(schema: dict[str, Any]) -> set[str]:
    """Of all pages and operations, without queries."""
    return {pattern.name for pattern in _patterns(get_resolver()) if pattern.name} | schema["paths"].keys()
