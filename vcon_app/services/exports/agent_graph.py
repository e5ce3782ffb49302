"""All runs of an agent with what they led to, as one product graph, written while it is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Agent, GraphNode, Session, ToolCall
from vcon_app.drafts import EventDraft, Losses
from vcon_app.formats import upg
from vcon_app.formats.html.totals import COUNTED, Total
from vcon_app.formats.upg.stream import Part
from vcon_app.queries.log_reader import LogEvents, session_draft

from . import recorded

AT_ONCE = 100
MEDIA_TYPE, SUFFIX = upg.SPEC.media_type, upg.SPEC.suffix


def chunks(agent: Agent) -> Iterator[bytes]:
    """The file, in pieces. Totals are those of the desk; of a log only what tells decisions and evidence is read.

    Approvals are not in it: the exports of single sessions have them.
    """
    options = {
        "created_at": timezone.now(), "product_version": settings.VERSION, "origin": settings.SITE_URL,
        "product": {"id": str(agent.pk), "title": agent.name},
    }  # fmt: skip
    return upg.write_stream(_parts(agent), Losses(), options=options)


def _parts(agent: Agent) -> Iterator[Part]:
    after: UUID | None = None
    while page := _page(agent, after):
        yield from _parts_of(page)
        after = page[-1].pk


def _page(agent: Agent, after: UUID | None) -> list[Session]:
    found = Session.objects.filter(agent=agent).select_related("agent")
    return list((found.filter(pk__gt=after) if after else found).order_by("pk")[:AT_ONCE])


def _parts_of(page: Sequence[Session]) -> Iterator[Part]:
    tools, told = _tools(page), _seqs_of_nodes(page)
    extra, traced = recorded.recorded_of(page), recorded.traced_of(page)
    for session in page:
        page_url = reverse("session-detail", args=[session.agent_id, session.pk])
        own: dict[str, Any] = {
            "tally": (_tally(session, tools[session.pk]), session.turn_count),
            "recorded": extra[session.pk], "traced": traced[session.pk],
            "session_url": f"{settings.SITE_URL.rstrip('/')}{page_url}",
            "archived": session.status == Session.Status.ARCHIVED,
        }  # fmt: skip
        yield session_draft(session), _events(session, told[session.pk]), own


def _events(session: Session, seqs: list[int]) -> Iterable[EventDraft]:
    for start in range(0, len(seqs), AT_ONCE):
        yield from (event for _, event in LogEvents(session).at(seqs[start : start + AT_ONCE]))


def _seqs_of_nodes(page: Sequence[Session]) -> dict[UUID, list[int]]:
    found: dict[UUID, list[int]] = defaultdict(list)
    rows = GraphNode.objects.filter(session__in=page, seq__isnull=False)
    for session_id, seq in rows.order_by("session", "seq").values_list("session_id", "seq"):
        if seq is not None:
            found[session_id].append(seq)
    return found


def _tools(page: Sequence[Session]) -> dict[UUID, dict[str, int]]:
    found: dict[UUID, dict[str, int]] = defaultdict(dict)
    rows = ToolCall.objects.filter(session__in=page).values_list("session_id", "name").annotate(calls=Count("seq"))
    for session_id, name, calls in rows.order_by("session_id", "name"):
        found[session_id][name or "unnamed"] = calls
    return found


def _tally(session: Session, tools: dict[str, int]) -> Total:
    return Total(
        errors=session.error_count, tool_calls=session.tool_call_count, cost=session.cost_amount,
        uncosted=bool(session.unpriced_tokens), models=dict.fromkeys(session.model_names), tools=tools,
        **{name: getattr(session, name) for name in COUNTED},
    )  # fmt: skip
