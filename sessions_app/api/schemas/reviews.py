"""Verdicts, comments, rubrics and review queues: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints, model_validator

from sessions_app import models
from sessions_app.queries.reviews import agreement as agreement_queries
from sessions_app.services.reviews import comments, queues, rubrics, saved_views, verdicts

from .common import Body

Seq = Annotated[int, Field(ge=0, le=2**31 - 1)]


class NewVerdict(Body):
    verdict: Literal["pass", "fail", "unsure"]
    scores: dict[str, StrictInt | StrictBool] = Field(
        {}, description="by the name of a rubric: 1 to 5, or true or false"
    )
    note: Annotated[str, Field(max_length=verdicts.MOST_NOTE)] = ""
    last_seq: Seq | None = Field(None, description="the last event that you looked at; null: the last one there is")


class Score(BaseModel):
    name: str
    kind: Literal["scale", "yes_no"]
    value: int | bool


class Verdict(BaseModel):
    """What a person said of a session."""

    id: UUID
    session_id: UUID
    by: str
    verdict: Literal["pass", "fail", "unsure", "withdrawn"]
    scores: list[Score]
    note: str
    last_seq: int = Field(description="the last event that it is about")
    at: datetime
    is_current: bool

    @classmethod
    def from_row(cls, row: models.Verdict) -> Verdict:
        kept = ("id", "session_id", "by", "scores", "note", "last_seq", "at", "is_current")
        return cls(verdict=row.says or "withdrawn", **{name: getattr(row, name) for name in kept})


class Agreement(BaseModel):
    """How far the verdicts of people who reviewed the same sessions agree."""

    sessions: int = Field(description="sessions with at least two verdicts")
    pairs: int
    share: float | None = Field(description="share of pairs of verdicts that agree, 0 to 1; null: there are none")
    kappa: float | None = Field(description="agreement beyond chance, at most 1; null: too little to tell")
    kind: Literal["Cohen", "Fleiss"]

    @classmethod
    def from_value(cls, value: agreement_queries.Agreement) -> Agreement:
        return cls(**{name: getattr(value, name) for name in cls.model_fields})


class Comment(BaseModel):
    id: UUID
    parent_id: UUID | None
    by: str
    text: str = Field(description="Markdown; empty: the comment was deleted")
    first_seq: int | None
    last_seq: int | None
    made_at: datetime
    edited_at: datetime | None
    deleted_at: datetime | None
    resolved_at: datetime | None
    resolved_by: str

    @classmethod
    def from_row(cls, row: models.Comment) -> Comment:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class NewComment(Body):
    text: Annotated[str, StringConstraints(min_length=1, max_length=comments.MOST_TEXT, pattern=r"\S")]
    first_seq: Seq | None = Field(None, description="the first event that it is about; null: the whole session")
    last_seq: Seq | None = Field(None, description="the last of them; null: the first alone")
    parent_id: UUID | None = Field(None, description="the comment that it replies to; it is about the same events then")


class CommentChange(Body):
    """What changes of a comment: at least one of the two."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=comments.MOST_TEXT, pattern=r"\S")] | None = None
    resolved: bool | None = None

    @model_validator(mode="after")
    def says_something(self) -> CommentChange:
        if self.text is None and self.resolved is None:
            raise ValueError('say what changes: "text", "resolved" or both')
        return self


class SavedView(BaseModel):
    """A saved view: a query of the session list under a name."""

    id: UUID
    name: str
    query: str
    shared: bool
    own: bool = Field(description="whether it is your own")
    made_by: str
    made_at: datetime

    @classmethod
    def from_row(cls, row: models.SavedView, member_id: UUID | None) -> SavedView:
        same = {name: getattr(row, name) for name in ("id", "name", "query", "made_by", "made_at")}
        return cls(**same, shared=row.is_shared, own=member_id is not None and row.member_id == member_id)


class NewSavedView(Body):
    name: Annotated[str, Field(min_length=1, max_length=saved_views.MOST_NAME)]
    query: Annotated[str, Field(max_length=2 * saved_views.MOST_QUERY)] = Field(
        "", description=f"query string; at most {saved_views.MOST_QUERY:,} characters, without `cursor` and `totals`"
    )
    shared: bool = Field(False, description="whether all members of the workspace may use it")


class SavedViewChange(Body):
    name: Annotated[str, Field(min_length=1, max_length=saved_views.MOST_NAME)]


class Review(BaseModel):
    """Everything that people say of a session."""

    session_id: UUID
    verdict: Literal["pass", "fail", "unsure", "mixed", ""] = Field(
        description="of all its verdicts together; empty: there are none"
    )
    assignee_id: UUID | None
    verdicts: list[Verdict] = Field(description="the current verdict of each person")
    earlier: list[Verdict] = Field(description="replaced and withdrawn verdicts, newest first")
    agreement: Agreement
    comments: list[Comment]


class NewRubric(Body):
    name: Annotated[str, Field(min_length=1, max_length=rubrics.MOST_NAME)]
    kind: Literal["scale", "yes_no"]


class Rubric(BaseModel):
    id: UUID
    name: str
    kind: Literal["scale", "yes_no"]
    made_by: str
    made_at: datetime

    @classmethod
    def from_row(cls, row: models.Rubric) -> Rubric:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class NewQueue(Body):
    name: Annotated[str, Field(min_length=1, max_length=queues.MOST_NAME)]
    filter: Annotated[str, Field(max_length=queues.MOST_FILTER)] = Field(
        "", description="query string of the session list, such as has_errors=true&agent=refunds; empty: all sessions"
    )
    percent: Annotated[Decimal, Field(gt=0, le=100, decimal_places=2)] = Field(
        Decimal(100), description="the share of these sessions that is in the queue"
    )
    wanted: Annotated[int, Field(ge=1, le=queues.MOST_WANTED)] = Field(
        1, description="how many people are to review each session"
    )
    seed: Annotated[str, Field(max_length=queues.MOST_SEED)] = Field(
        "", description="the same seed picks the same share; empty: a new one"
    )

    def rules(self) -> queues.Rules:
        return queues.Rules(**self.model_dump())


class Queue(BaseModel):
    """A queue of sessions to review. The same filter, percent and seed always pick the same sessions."""

    id: UUID
    name: str
    filter: str
    percent: Decimal
    seed: str
    wanted: int
    made_by: str
    made_at: datetime
    closed_at: datetime | None

    @classmethod
    def from_row(cls, row: models.ReviewQueue, **more: Any) -> Queue:
        return cls(**{name: getattr(row, name) for name in Queue.model_fields}, **more)


class QueueProgress(Queue):
    sessions: int
    left: int
    more: bool = Field(description="whether there are more sessions than were counted")
    agreement: Agreement

    @classmethod
    def from_row(cls, row: models.ReviewQueue, **more: Any) -> QueueProgress:
        return cls(**{name: getattr(row, name) for name in Queue.model_fields}, **more)


class ReviewAssignment(Body):
    assignee_id: UUID | None = Field(description="id of a reviewer or an admin; null: nobody")
