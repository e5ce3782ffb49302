"""A session of the database as the drafts that writers take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast
from uuid import UUID

from sessions_app.models import Event, ModelRequest, Session
from sessions_app.queries.log import links
from sessions_app.queries.log.links import EventOrigin
from vcon_app.drafts import ActorKind, EventDraft, Kind, Origin, Phase, SessionDraft, ToolDraft, Usage

PAGE = 1_000


def session_draft(session: Session) -> SessionDraft:
    """What is known of a session as a whole."""
    return SessionDraft(
        external_id=session.external_id or str(session.id),
        title=session.title,
        agent_name=session.agent.name,
        started_at=session.started_at,
        ended_at=session.ended_at,
        phase=cast(Phase, session.phase),
        model=session.model_names[0] if len(session.model_names) == 1 else None,
        user_id=session.user_id,
        summary=session.summary,
        tags=tuple(session.tags),
        parent_external_id=session.metadata.get("parent_external_id"),
        metadata=session.metadata,
        record=session.source_record,
    )


class LogEvents:
    """The log of a session as event drafts, read in pages: memory holds one page however often it is walked.

    Tokens stand once, on the last event of each model response, as the projections count them.
    """

    def __init__(self, session: Session) -> None:
        self._session_id = session.id
        self._last_seq = session.last_seq

    def __len__(self) -> int:
        return self._last_seq

    def __iter__(self) -> Iterator[EventDraft]:
        after = 0
        while page := self._page(after):
            yield from self._drafts(page)
            after = page[-1].seq

    def at(self, seqs: Sequence[int]) -> Iterator[tuple[int, EventDraft]]:
        """Single events with their places, in their order; at most a page of them."""
        rows = list(Event.objects.filter(session_id=self._session_id, seq__in=seqs).order_by("seq"))
        return zip((row.seq for row in rows), self._drafts(rows), strict=True)

    def _page(self, after: int) -> list[Event]:
        rows = Event.objects.filter(session_id=self._session_id, seq__gt=after, seq__lte=self._last_seq)
        return list(rows.order_by("seq")[:PAGE])

    def _drafts(self, page: list[Event]) -> Iterator[EventDraft]:
        requests = _requests(self._session_id, page)
        parents = _parent_keys(self._session_id, page)
        origins = links.origins(self._session_id, [event.seq for event in page])
        for event in page:
            parent = parents.get(event.parent_seq or 0)
            yield draft_of(event, requests.get(event.seq), parent, origins.get(event.seq))


def draft_of(
    event: Event, request: ModelRequest | None, parent: str | None, origin: EventOrigin | None = None
) -> EventDraft:
    """One event row as a draft, with the tokens of ``request`` when it is the one that shows them."""
    return EventDraft(
        kind=cast(Kind, event.kind),
        key=event.client_key,
        at=event.at,
        actor_kind=cast(ActorKind, event.actor_kind),
        actor_name=event.actor_name,
        text=event.text,
        tool=_tool(event),
        model=event.model,
        usage=_usage(request) if request else None,
        request=event.request if request else None,
        cost=request.cost_recorded if request else None,
        parent=parent,
        depth=event.depth,
        data=event.data,
        pointer=event.pointer,
        offset=event.offset,
        length=event.length,
        origin=_origin(origin) if origin else None,
    )


def _origin(found: EventOrigin) -> Origin:
    return Origin(found.kind, found.reporter_kind, found.reported_by, found.received_at)


def _tool(event: Event) -> ToolDraft | None:
    parts = (event.call_id, event.tool_name, event.tool_server, event.arguments, event.result, event.tool_status)
    return ToolDraft(*parts) if any(part is not None for part in parts) else None


def _usage(request: ModelRequest) -> Usage | None:
    if request.total_tokens is None and request.reasoning_tokens is None:
        return None
    return Usage(
        request.input_tokens, request.cache_read_tokens, request.cache_write_tokens, request.output_tokens,
        request.reasoning_tokens, request.cache_write_1h_tokens, request.quality,
    )  # fmt: skip


def _requests(session_id: UUID, page: list[Event]) -> dict[int, ModelRequest]:
    rows = ModelRequest.objects.filter(session_id=session_id, seq__in=[event.seq for event in page])
    return {row.seq: row for row in rows}


def _parent_keys(session_id: UUID, page: list[Event]) -> dict[int, str]:
    seqs = {event.parent_seq for event in page if event.parent_seq}
    return dict(Event.objects.filter(session_id=session_id, seq__in=seqs).values_list("seq", "client_key"))
