"""Sessions, their turns, the messages to them and what is found in them: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from sessions_app import models
from sessions_app.models.session_order import ENDINGS
from sessions_app.queries.log.search import Hit
from sessions_app.queries.sessions import run_findings
from sessions_app.queries.sessions import session_list as queries
from sessions_app.queries.sessions.conditions import VERDICTS
from sessions_app.queries.sessions.provenance import UNSIGNED, Provenance
from sessions_app.queries.sessions.search import Result
from sessions_app.queries.sessions.turn_state import QueueAndContinuations

from ..paging import Page
from ..retention.schemas import RetentionPolicy
from .common import AgentName, Body, Cost, Id, Name, Signature, Since, Until, Usage, dollars


class SessionQuery(BaseModel):
    """What narrows a list of sessions down."""

    agent: str = Field("", max_length=500, description="id, slug or name")
    status: str = Field("", max_length=50)
    ended: str = Field("", max_length=50, description="how it ended or stands: " + ", ".join(ENDINGS))
    origin: str = Field("", max_length=50)
    tag: str = Field("", max_length=500)
    q: str = Field("", max_length=1000, description='words and operators: refund "order 4711" -test tool:search')
    from_: Since = Field(None, alias="from", description="started then or later; a day or a time")
    to: Until = Field(None, description="started before; a day counts to its end")
    min_cost: Decimal | None = Field(None, ge=0, le=10**9, decimal_places=10, description="US dollars")
    has_errors: bool | None = None
    needs_approval: bool | None = None
    verdict: str = Field("", max_length=50, description=", ".join(VERDICTS))
    assignee: str = Field("", max_length=50, description="id of a member, or none")
    finding: str = Field("", max_length=50, description="finding of the run: " + ", ".join(run_findings.CHOICES))
    sort: str = Field(
        queries.DEFAULT_SORT, max_length=50,
        description=", ".join(queries.SORTS) + '; "-" in front reverses; or relevance, where q has words',
    )  # fmt: skip

    def filter(self) -> queries.SessionFilter:
        return queries.SessionFilter(**self.model_dump())


class NewSession(Body):
    title: Annotated[str, Field(max_length=500)] | None = None
    message: str | None = None
    metadata: dict[str, Any] | None = None
    user_id: Id | None = None
    external_id: Id | None = None
    retention: RetentionPolicy | None = None

    def values(self) -> dict[str, Any]:
        """What was said, for the columns."""
        return self.model_dump(exclude_none=True, exclude={"message"})


class SessionChanges(Body):
    """Only what is to change."""

    tags: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=500)] | None = None
    retention: RetentionPolicy | None = Field(None, description="an admin's where it shortens, or lifts a hold")


class OpenedSession(Body):
    """A session in the words of who reports it: its agent's name, and the id that it has there."""

    agent: Name
    external_id: Id
    title: Annotated[str, Field(max_length=500)] | None = None
    metadata: dict[str, Any] | None = None
    user_id: Id | None = None
    retention: RetentionPolicy | None = None

    def values(self) -> dict[str, Any]:
        """What was said of a new one, for the columns."""
        return self.model_dump(exclude_none=True, exclude={"agent", "external_id"})


class NewMessage(Body):
    text: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
    interrupt: bool = False


class Continuation(Body):
    """A new session that knows this one: all of it, or up to the end of a turn."""

    agent_id: UUID
    after_turn: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    message: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")] | None = None
    handoff: bool = Field(False, description="the agent of this session stops, and the session is archived")


class ImportedFrom(BaseModel):
    import_id: UUID
    format: str


class SlackThread(BaseModel):
    """The thread that a session answers in."""

    conversation_key: str = Field(description="TEAM:CHANNEL:THREAD; one session of an agent for each")
    team_id: str
    channel_id: str
    thread_ts: str

    @classmethod
    def of(cls, key: str) -> SlackThread | None:
        """From the key of a session; None where it is in no thread."""
        team, channel, thread = [*key.split(":", 2), "", ""][:3]
        return cls(conversation_key=key, team_id=team, channel_id=channel, thread_ts=thread) if key else None


class Session(BaseModel):
    """One run of an agent, with what it adds up to."""

    id: UUID
    agent: AgentName
    title: str
    status: Literal["idle", "running", "archived"]
    origin: Literal["chat", "slack", "schedule", "webhook", "import", "api", "otlp"]
    phase: Literal["active", "completed", "cancelled", "crashed", "timed_out"]
    ended: str = Field(description="how it ended or stands, of a file as its last events tell: " + ", ".join(ENDINGS))
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    turn_count: int
    event_count: int
    last_seq: int
    tool_call_count: int
    error_count: int
    tools_invoked: list[str]
    models: list[str]
    usage: Usage
    cost: Cost
    tool_cost: str | None = Field(description="the part of the cost that tool calls are, from the data wallet")
    copied_tokens: int = Field(description="repeated from an earlier session, and counted there")
    under_reported: int = Field(description="responses whose output the recorder did not count to the end")
    summary: str
    tags: list[str]
    metadata: dict[str, Any]
    user_id: str | None
    external_id: str | None
    parent_session_id: UUID | None
    agent_version: int = Field(description="of the definition that it runs under")
    runtime: str = Field(description="of its agent: managed, local, scripted or external")
    runtime_id: str | None = Field(description="what the runtime calls this session: the id at Managed Agents")
    slack: SlackThread | None
    trigger_run_id: UUID | None = Field(description="the fire that began it, of a schedule, a webhook or Slack")
    schedule_id: UUID | None = Field(description="the schedule that fired")
    delivery_id: UUID | None = Field(description="the webhook delivery that it was given")
    continues: UUID | None = Field(description="the session whose transcript is the context of this one")
    continues_seq: int | None = Field(description="up to this event of it")
    continued_by: list[UUID] = Field(description="sessions that go on from this one")
    pending_approvals: int
    queued_messages: int = Field(description="that wait behind the turn in flight")
    imported_from: ImportedFrom | None
    signature: Signature

    @classmethod
    def from_row(
        cls, session: models.Session, provenance: Provenance | None, others: QueueAndContinuations,
        begun_by: models.TriggerRun | None,
    ) -> Session:  # fmt: skip
        same = ("id", "title", "status", "origin", "phase", "ended", "started_at", "ended_at", "created_at",
                "turn_count", "event_count", "last_seq", "tool_call_count", "error_count", "tools_invoked", "summary",
                "tags", "metadata", "pending_approvals", "copied_tokens", "under_reported", "agent_version",
                "continues_seq")  # fmt: skip
        return cls(
            **{name: getattr(session, name) for name in same},
            agent=AgentName(id=session.agent_id, name=session.agent.name),
            models=session.all_models,
            usage=Usage.from_row(session),
            cost=Cost.with_tools(session),
            tool_cost=dollars(session.tool_cost),
            user_id=session.user_id or None,
            external_id=session.external_id or None,
            parent_session_id=session.parent_id,
            runtime=session.agent.runtime,
            runtime_id=session.runtime_id or None,
            slack=SlackThread.of(session.slack_conversation_key),
            trigger_run_id=begun_by and begun_by.id,
            schedule_id=begun_by and begun_by.schedule_id,
            delivery_id=begun_by and begun_by.delivery_id,
            continues=session.continues_id,
            continued_by=others.continued_by,
            queued_messages=others.queued,
            imported_from=ImportedFrom(import_id=provenance.import_id, format=provenance.format)
            if provenance
            else None,
            signature=Signature(**(provenance.signature if provenance else UNSIGNED)),
        )


class Turn(BaseModel):
    """Everything from one message of a person or trigger until before the next; turn 0 is what came before."""

    index: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    prompt: str
    first_seq: int
    last_seq: int
    event_count: int
    usage: Usage
    cost: Cost
    tool_cost: str | None = Field(description="the part of the cost that tool calls are, from the data wallet")
    models: list[str]
    tool_calls: int
    errors: int
    runtime_ms: int | None = Field(description="that its runtime was at work; null where it ran elsewhere")
    runtime_id: str | None = Field(description="what the runtime calls its session")

    @classmethod
    def from_row(cls, turn: models.Turn, session: models.Session) -> Turn:
        same = (
            "index",
            "started_at",
            "ended_at",
            "prompt",
            "first_seq",
            "last_seq",
            "event_count",
            "tool_calls",
            "errors",
            "runtime_ms",
        )
        known = turn.started_at and turn.ended_at
        return cls(
            **{name: getattr(turn, name) for name in same},
            duration_ms=(turn.ended_at - turn.started_at) // timedelta(milliseconds=1) if known else None,
            usage=Usage.from_row(turn),
            cost=Cost.with_tools(turn),
            tool_cost=dollars(turn.tool_cost),
            models=turn.model_names,
            runtime_id=session.runtime_id or None,
        )


class Accepted(BaseModel):
    """A message that was taken in. ``queued``: a turn is in flight; the message waits behind it and has no ``seq``."""

    seq: int | None
    queued: bool


class Waiting(BaseModel):
    """A message that is not in the log yet."""

    id: UUID
    text: str
    by: str
    interrupts: bool = Field(description="it stands before those that do not")
    created_at: datetime

    @classmethod
    def from_row(cls, message: models.QueuedMessage) -> Waiting:
        fields = {name: getattr(message, name) for name in ("id", "text", "by", "created_at")}
        return cls(**fields, interrupts=bool(message.data.get("interrupts")))


class Piece(BaseModel):
    text: str
    is_match: bool


class SearchHit(BaseModel):
    """An event, with the piece of its text around what was found."""

    seq: int
    kind: str
    turn: int
    tool: str | None = Field(description="of a tool call its name")
    snippet: list[Piece]

    @classmethod
    def of(cls, hit: Hit) -> SearchHit:
        return cls(seq=hit.seq, kind=hit.kind, turn=hit.turn, tool=hit.tool_name, snippet=pieces(hit.snippet))


class SearchResult(BaseModel):
    """A session that was found, and where in it."""

    session: Session
    title: list[Piece] = Field(description="its title, with what was found in it")
    hits: list[SearchHit] = Field(description="the first ones, in order of seq")
    more: bool = Field(description="it may be said elsewhere in the session, too")
    strict: bool = Field(description="the hits are what operators like tool: ask for, and not of the words alone")
    in_file: list[Piece] = Field(description="where no event says it: what its file says beside its events")

    @classmethod
    def of(cls, result: Result, session: Session) -> SearchResult:
        hits = result.hits
        return cls(
            session=session, title=pieces(result.title), hits=[SearchHit.of(hit) for hit in hits.shown],
            more=hits.more, strict=hits.strict, in_file=pieces(hits.in_file),
        )  # fmt: skip


class RankedAmong(BaseModel):
    """Relevance ranks the newest sessions that say the words."""

    candidates: int = Field(description="so many were ranked")
    is_all: bool = Field(description="no older ones say the words; else they are found in another order")

    @classmethod
    def of(cls, ranked: queries.Ranked | None) -> RankedAmong | None:
        return cls(candidates=ranked.candidates, is_all=ranked.is_all) if ranked else None


IS_CUT = "the page ended, maybe empty, since enough sessions were looked at for its filters: ask on with next_cursor"


class SessionPage(Page[Session]):
    """One page of a list of sessions."""

    ranked: RankedAmong | None = Field(None, description="where they are sorted by relevance")
    is_cut: bool = Field(False, description=IS_CUT)


class SearchPage(BaseModel):
    """One page of results."""

    items: list[SearchResult]
    next_cursor: str | None = Field(description="cursor of the next page; null at the end")
    ranked: RankedAmong | None = Field(None, description="where they are sorted by relevance")
    is_cut: bool = Field(False, description=IS_CUT)
    unknown: list[str] = Field(description="what looks like an operator, is none, and was looked for as words")


def pieces(snippet: list[str]) -> list[Piece]:
    """Pieces of a text, every second one found; empty ones are left out."""
    return [Piece(text=text, is_match=bool(place % 2)) for place, text in enumerate(snippet) if text]
