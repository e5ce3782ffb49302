"""The rows of the table: pages and routes of the API, by the names that the figures go by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Session, Workspace
from sessions_app.queries.sessions import session_list

from .conversations import CHINESE, CHINESE_PART, COMMON, PATH, RARE, SECOND, SELDOM, most_said
from .templates import AGENTS, COMMON_TAG, RARE_TAG

NONE = "quagganonesuch"
LENGTHS = {"50": (45, 55), "5k": (4_900, 5_200), "50k": (49_000, 51_000)}
"""Events of the sessions whose pages are asked for."""
GROUPS = ("day", "agent", "model", "tool", "session")


@dataclass(frozen=True, slots=True)
class Route:
    """What is asked for under a name, and at most how many milliseconds of the database it may take at 100 %."""

    name: str
    url: str
    most_ms: float | None = None


def all_routes(workspace: Workspace) -> Iterator[Route]:
    """Every row of the table."""
    yield Route("home", "/", 20)
    yield from _list()
    yield from _searches()
    yield Route("agents", "/agents/", 10)
    yield Route("agent page", f"/agents/{workspace.agents.get(name=AGENTS[2]).slug}/", 20)
    yield from _usage()
    yield from _queues()
    for name, bounds in LENGTHS.items():
        session = Session.objects.filter(workspace=workspace, event_count__range=bounds).order_by("id").first()
        if session:
            yield from _session_page(name, session)
    yield from _api(workspace)
    yield from _deep(workspace)


def _list() -> Iterator[Route]:
    week = f"{(timezone.now() - timedelta(days=7)).date()}"
    agent = AGENTS[2].lower().replace(" ", "-")
    filters = {
        "sessions": {}, "sessions?agent": {"agent": agent}, "sessions?status_running": {"status": "running"},
        "sessions?status_archived": {"status": "archived"}, "sessions?origin_chat": {"origin": "chat"},
        "sessions?tag_common": {"tag": COMMON_TAG}, "sessions?tag_rare": {"tag": RARE_TAG},
        "sessions?has_errors": {"has_errors": "true"}, "sessions?needs_approval": {"needs_approval": "true"},
        "sessions?min_cost": {"min_cost": "0.5"}, "sessions?model": {"model": "claude-sonnet-4-5"},
        "sessions?tool": {"tool": "issue_refund"}, "sessions?from_7d": {"from": week},
        "sessions?used_7d": {"used_from": week}, "sessions?ended_completed": {"ended": "completed"},
        "sessions?ended_error": {"ended": "error"}, "sessions?ended_no_reply": {"ended": "no_reply"},
    }  # fmt: skip
    filters |= {
        f"sort {sort}": {"sort": sort}
        for sort in ("-created", "started", "-cost", "-tokens", "-turns", "-errors", "title")
    }
    for name, query in filters.items():
        yield Route(name, f"/sessions/?{urlencode(query)}", 20)


def _searches() -> Iterator[Route]:
    words = {
        "rare": (RARE, 20), "none": (NONE, 20), "common": (COMMON, 100), "two words": (f"{COMMON} {SECOND}", 100),
        "three words": (f"{COMMON} {SECOND} {most_said()}", 100),
        "CJK": (CHINESE, 100), "CJK part": (CHINESE_PART, 100), "path": (PATH, 100), "2.4% word": (SELDOM, 100),
    }  # fmt: skip
    for name, (query, most) in words.items():
        yield Route(f"q {name}", f"/sessions/?{urlencode({'q': query})}", most)
        yield Route(f"hits {name}", f"/search/?{urlencode({'q': query})}", most)
        yield Route(f"relevance {name}", f"/search/?{urlencode({'q': query, 'sort': 'relevance'})}", most)
        yield Route(f"palette {name}", f"/api/v1/sessions?{urlencode({'q': query, 'limit': 8})}", most)
    narrowed = {"tool": f"{COMMON} tool:issue_refund", "errors": "is:error", "file": f"file:{PATH}"}
    for name, query in narrowed.items():
        yield Route(f"hits {name}", f"/search/?{urlencode({'q': query})}", 100)


def _usage() -> Iterator[Route]:
    for period, since in (("30d", ""), ("ever", "ever")):
        for by in GROUPS:
            name = "usage 30d" if (period, by) == ("30d", "day") else f"usage {period} {by}"
            yield Route(name, f"/usage/?{urlencode({'by': by, 'from': since})}", 60)
    yield Route("usage csv ever session", "/usage/table.csv?by=session&from=ever", 60)


def _queues() -> Iterator[Route]:
    yield Route("calls", "/usage/calls/", 20)
    yield Route("approvals", "/approvals/", 10)
    yield Route("approvals/count", "/approvals/count", 10)
    yield Route("audit", "/audit/", 20)
    yield Route("imports", "/imports/", 20)
    yield Route("reviews", "/reviews/", 20)
    yield Route("wallets", "/usage/wallets/", 20)
    yield Route("trigger runs", "/triggers/runs/", 20)
    yield Route("retention", "/settings/retention/", 20)
    yield Route("retention, 365 days tried", "/settings/retention/keep/?keep_days=365", 20)


def _session_page(name: str, session: Session) -> Iterator[Route]:
    middle, last = session.event_count // 2, session.last_turn
    page = reverse("session-detail", args=[session.agent_id, session.pk])
    asked = {
        "first": "?from=0", "middle": f"?event={middle}", "last turn": f"?turn={last}",
        "rows middle": f"rows?after={middle}", "find common": f"find?q={COMMON}", "find none": f"find?q={NONE}",
        "next error": f"next?what=error&after={middle}", "outline": "outline?after=0", "facts": "facts",
    }  # fmt: skip
    for what, query in asked.items():
        address = f"{page}{query}" if query.startswith("?") else f"{page.rstrip('/')}/{query}"
        yield Route(f"page {name} {what}", address, 10 if what.startswith("find") else None)


def _api(workspace: Workspace) -> Iterator[Route]:
    for noun in ("sessions", "agents", "approvals", "imports", "audit", "calls"):
        yield Route(f"api {noun}", f"/api/v1/{noun}", 20)
    yield Route("api search", f"/api/v1/search?{urlencode({'q': COMMON})}", 100)
    yield Route("api search by relevance", f"/api/v1/search?{urlencode({'q': COMMON, 'sort': 'relevance'})}", 100)
    yield Route("api sessions over 365 days", "/api/v1/retention/over?days=365", 20)
    yield Route("api usage", "/api/v1/usage", 60)
    yield Route("api usage by session", "/api/v1/usage?group_by=session", 60)
    longest = Session.objects.filter(workspace=workspace).order_by(F("event_count").desc()).first()
    if longest:
        at = f"/api/v1/sessions/{longest.pk}"
        yield Route("api events 50k after=25000", f"{at}/events?after={longest.event_count // 2}", 20)
        yield Route("api turns 50k", f"{at}/turns", 20)
        yield Route("api exports 50k", f"{at}/exports", 20)


def _deep(workspace: Workspace) -> Iterator[Route]:
    """Pages behind a cursor nine tenths of the way, made by the list itself of the two rows that are there."""
    found, order = Session.objects.filter(workspace=workspace), session_list.DEFAULT_SORT
    began = session_list.SORTS[order.removeprefix("-")]
    skipped = int(found.count() * 0.9)
    rows = found.annotate(began=began).order_by("-began", "-id").values_list("pk", flat=True)[skipped : skipped + 2]
    cursor = session_list.page(found.filter(pk__in=list(rows)), order, 1, None).next_cursor
    yield Route("sessions deep cursor 90%", f"/sessions/?{urlencode({'cursor': cursor})}", 20)
    yield Route("api sessions deep", f"/api/v1/sessions?{urlencode({'cursor': cursor})}", 20)
