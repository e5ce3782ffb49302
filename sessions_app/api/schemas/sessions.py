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
from sessions_app.queries.sessions.conditions import CHOICES, VERDICTS
from sessions_app.queries.sessions.provenance import UNSIGNED, Provenance
from sessions_app.queries.sessions.search import Result
from sessions_app.queries.sessions.turn_state import QueueAndContinuations
from sessions_app.services.reviews.bulk import MOST_TAG, MOST_TAGS
from sessions_app.services.turns.messages import MAX_MESSAGE

from ..paging import Page
from ..retention.schemas import RetentionPolicy
from .common import AgentName, Body, Cost, Id, Name, Signature, Since, Until, Usage, dollars


class SessionQuery(BaseModel):
    """Filters of a list of sessions."""

    agent: str = Field("", max_length=500, description="id, slug or name")
    status: str = Field("", max_length=50, description=", ".join(CHOICES["status"]))
    ended: str = Field("", max_length=50, description="how it ended or stands: " + ", ".join(ENDINGS))
    origin: str = Field("", max_length=50, description=", ".join(CHOICES["origin"]))
    tag: str = Field("", max_length=500, description="only sessions with this tag")
    q: str = Field("", max_length=1000, description='words and operators: refund "order 4711" -test tool:search')
    from_: Since = Field(None, alias="from", description="started at or after this day or time (UTC)")
    to: Until = Field(None, description="started before this time (UTC), or by the end of this day")
    min_cost: Decimal | None = Field(None, ge=0, le=10**9, decimal_places=10, description="at least so many US dollars")
    has_errors: bool | None = Field(None, description="true: with errors; false: without; left out: both")
    needs_approval: bool | None = Field(
        None, description="true: with pending approvals; false: without; left out: both"
    )
    verdict: str = Field("", max_length=50, description=", ".join(VERDICTS))
    assignee: str = Field("", max_length=50, description="id of the member it is assigned to, or none")
    finding: str = Field(
        "", max_length=50, description="what a rule found in the run: " + ", ".join(run_findings.CHOICES)
    )
    sort: str = Field(
        queries.DEFAULT_SORT, max_length=50,
        description=", ".join(queries.SORTS) + ', with "-" in front descending; or relevance, where `q` has words',
    )  # fmt: skip

    def filter(self) -> queries.SessionFilter:
        return queries.SessionFilter(**self.model_dump())


USER = "your own id of the person whom the agent works for: state of the scope `user` is kept for it"


class NewSession(Body):
    title: Annotated[str, Field(max_length=500)] | None = None
    message: str | None = Field(None, description="the first message; without it the session waits for one")
    metadata: dict[str, Any] | None = None
    user_id: Id | None = Field(None, description=USER)
    external_id: Id | None = Field(None, description="your own id of the session; not unique")
    retention: RetentionPolicy | None = None

    def values(self) -> dict[str, Any]:
        """What was said, for the columns."""
        return self.model_dump(exclude_none=True, exclude={"message"})


class SessionChanges(Body):
    """Only the fields that change."""

    tags: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=500)] | None = Field(
        None, description=f"all tags that it is to have, in this order: at most {MOST_TAGS} of {MOST_TAG} characters"
    )
    retention: RetentionPolicy | None = Field(
        None, description="only an admin may shorten it, or change anything while the session is on hold"
    )


class OpenedSession(Body):
    """A session as its reporter calls it: by the name of its agent, and an id of the reporter's own."""

    agent: Name
    external_id: Id
    title: Annotated[str, Field(max_length=500)] | None = None
    metadata: dict[str, Any] | None = None
    user_id: Id | None = Field(None, description=USER)
    retention: RetentionPolicy | None = None

    def values(self) -> dict[str, Any]:
        """What was said of a new one, for the columns."""
        return self.model_dump(exclude_none=True, exclude={"agent", "external_id"})


class NewMessage(Body):
    text: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")] = Field(
        description=f"at most {MAX_MESSAGE:,} characters"
    )
    interrupt: bool = Field(
        False, description="stop the turn in flight first, and put this message before those that wait"
    )


class Continuation(Body):
    """A new session whose agent is given the transcript of this one: all of it, or up to the end of a turn."""

    agent_id: UUID = Field(description="the agent of the new session; it has to run here")
    after_turn: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="index of the last turn that it is given; null: all of them"
    )
    message: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")] | None = Field(
        None, description="begins its first turn"
    )
    handoff: bool = Field(
        False,
        description="the agent of this session stops, its waiting messages go to the new session, and this one is "
        "archived; not with `after_turn`",
    )


class ImportedFrom(BaseModel):
    import_id: UUID
    format: str


class SlackThread(BaseModel):
    """The Slack thread that a session answers in."""

    conversation_key: str = Field(description="TEAM:CHANNEL:THREAD; an agent has one session for each")
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
    ended: str = Field(
        description="how it ended or stands; of an imported one, as its last events tell: " + ", ".join(ENDINGS)
    )
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
    tool_cost: str | None = Field(
        description="the part of `cost` that tool calls cost, in US dollars; null: none known"
    )
    copied_tokens: int = Field(description="tokens of responses that an earlier session has, too, and that count there")
    under_reported: int = Field(description="responses whose output tokens the recorder did not count to the end")
    summary: str
    tags: list[str]
    metadata: dict[str, Any]
    user_id: str | None
    external_id: str | None
    parent_session_id: UUID | None
    agent_version: int = Field(description="version of the agent's definition that it runs under")
    runtime: str = Field(description="of its agent: managed, local, scripted, external or built_in")
    runtime_id: str | None = Field(description="the runtime's own id of this session (Managed Agents); null: none")
    slack: SlackThread | None
    trigger_run_id: UUID | None = Field(
        description="the run of a schedule, a webhook or Slack that began it; null: none"
    )
    schedule_id: UUID | None = Field(description="the schedule of that run")
    delivery_id: UUID | None = Field(description="the webhook delivery of that run")
    continues: UUID | None = Field(
        description="the session that this one continues: its agent was given that transcript"
    )
    continues_seq: int | None = Field(description="the last event of it that was given")
    continued_by: list[UUID] = Field(description="sessions that continue this one")
    pending_approvals: int
    queued_messages: int = Field(description="messages that wait behind the turn in flight, or were held back")
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
    """Everything from one message of a person or a trigger to the next; turn 0 is what came before the first."""

    index: int = Field(description="from 0")
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    prompt: str
    first_seq: int
    last_seq: int
    event_count: int
    usage: Usage
    cost: Cost
    tool_cost: str | None = Field(
        description="the part of `cost` that tool calls cost, in US dollars; null: none known"
    )
    models: list[str]
    tool_calls: int
    errors: int
    runtime_ms: int | None = Field(description="how long its runtime was at work; null: it ran elsewhere")
    runtime_id: str | None = Field(description="the runtime's own id of the session; null: none")

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
    """A message that was accepted."""

    seq: int | None = Field(description="of its event; null while it waits behind other messages or a turn")
    queued: bool = Field(description="whether a turn is in flight or other messages come first")


class Waiting(BaseModel):
    """A message that waits: it is not in the log yet."""

    id: UUID
    text: str
    by: str
    interrupts: bool = Field(description="sent with `interrupt`: it comes before those that were not")
    created_at: datetime

    @classmethod
    def from_row(cls, message: models.QueuedMessage) -> Waiting:
        fields = {name: getattr(message, name) for name in ("id", "text", "by", "created_at")}
        return cls(**fields, interrupts=bool(message.data.get("interrupts")))


class Piece(BaseModel):
    text: str
    is_match: bool


class SearchHit(BaseModel):
    """An event, with the part of its text around what was found."""

    seq: int
    kind: str
    turn: int
    tool: str | None = Field(description="name of the tool, of a tool call")
    snippet: list[Piece]

    @classmethod
    def of(cls, hit: Hit) -> SearchHit:
        return cls(seq=hit.seq, kind=hit.kind, turn=hit.turn, tool=hit.tool_name, snippet=pieces(hit.snippet))


class SearchResult(BaseModel):
    """A session that was found, and where in it."""

    session: Session
    title: list[Piece] = Field(description="the title in pieces, with what was found marked")
    hits: list[SearchHit] = Field(description="the first hits, in order of `seq`")
    more: bool = Field(description="whether there may be more hits in the session")
    strict: bool = Field(description="whether the hits also fit operators such as tool:, not the words alone")
    in_file: list[Piece] = Field(description="what its file says beside the events, where no event says it")

    @classmethod
    def of(cls, result: Result, session: Session) -> SearchResult:
        hits = result.hits
        return cls(
            session=session, title=pieces(result.title), hits=[SearchHit.of(hit) for hit in hits.shown],
            more=hits.more, strict=hits.strict, in_file=pieces(hits.in_file),
        )  # fmt: skip


class RankedAmong(BaseModel):
    """How far the order by relevance reaches: only the newest sessions with the words are ranked."""

    candidates: int = Field(description="how many sessions were ranked")
    is_all: bool = Field(description="whether these are all; else older ones are found with another `sort`")

    @classmethod
    def of(cls, ranked: queries.Ranked | None) -> RankedAmong | None:
        return cls(candidates=ranked.candidates, is_all=ranked.is_all) if ranked else None


IS_CUT = (
    "the page ended early, perhaps empty, as so many sessions were looked at for its filters: go on with `next_cursor`"
)


class SessionPage(Page[Session]):
    """One page of a list of sessions."""

    ranked: RankedAmong | None = Field(None, description="where `sort` is relevance; else null")
    is_cut: bool = Field(False, description=IS_CUT)


class SearchPage(BaseModel):
    """One page of results."""

    items: list[SearchResult]
    next_cursor: str | None = Field(description="`cursor` of the next page; null at the end")
    ranked: RankedAmong | None = Field(None, description="where `sort` is relevance; else null")
    is_cut: bool = Field(False, description=IS_CUT)
    unknown: list[str] = Field(description="what looks like an operator but is none, and was searched for as words")


def pieces(snippet: list[str]) -> list[Piece]:
    """Pieces of a text, every second one found; empty ones are left out."""
    return [Piece(text=text, is_match=bool(place % 2)) for place, text in enumerate(snippet) if text]
