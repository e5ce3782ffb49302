"""Decisions and evidence: what is sent and what is answered. Fields are named as in a product graph."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.queries.graph import runs
from sessions_app.services.graph import recording
from sessions_app.services.graph.fields import LONGEST, LONGEST_TITLE, MOST_ITEMS, OF_DECISION, OF_EVIDENCE

from ..schemas.common import Body

Status = Literal["proposed", "reviewing", "approved", "rejected", "deprecated"]
Seq = Annotated[int, Field(ge=1, le=2**31 - 1)]
Title = Annotated[str, Field(max_length=LONGEST_TITLE)]
Words = Annotated[str, Field(max_length=LONGEST)]
Items = Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=MOST_ITEMS)]
ClientId = Annotated[
    str, Field(max_length=200, description="your own id: sent again with the same one, nothing is recorded again")
]


class _New(Body):
    title: Title
    first_seq: Seq | None = Field(None, description="the first event that it was drawn from")
    last_seq: Seq | None = None
    client_id: ClientId = ""

    @property
    def events(self) -> tuple[int, int] | None:
        first = self.last_seq if self.first_seq is None else self.first_seq
        return None if first is None else (first, first if self.last_seq is None else self.last_seq)

    def recorded(self, known: dict[str, Any], **more: Any) -> recording.Recorded:
        fields = {name: getattr(self, name) for name in known}
        return recording.Recorded(self.title, fields, self.events, client_id=self.client_id, **more)


class NewDecision(_New):
    status: Status = Field("proposed", description="a key with the role agent can only send `proposed`")
    layer: Literal["", "strategic", "product", "engineering", "design", "business", "other"] = ""
    context: Words = ""
    options_considered: Items = []
    rationale: Words = ""
    date: Words = ""
    decision_outcome: Words = ""
    consequences: Words = ""
    decision_makers: Items = []
    decision_drivers: Items = []

    def values(self) -> recording.Recorded:
        return self.recorded(OF_DECISION, status=self.status)


class NewEvidence(_New):
    decision_id: UUID | None = Field(None, description="the decision of this session that it is about")
    direction: Literal["", "supports", "refutes", "neutral"] = ""
    evidence_rigor: Literal["", "quantitative", "qualitative", "anecdotal", "expert_opinion"] = ""
    evidence_source: Literal[
        "", "experiment_run", "observation", "quote", "metric_change", "market_data", "interview"
    ] = ""  # fmt: skip
    summary: Words = ""
    quote: Words = ""
    source: Words = ""
    observed_at: Words = ""

    def values(self) -> recording.Recorded:
        return self.recorded(OF_EVIDENCE, about=self.decision_id)


class StatusChange(Body):
    status: Status


class GraphNode(BaseModel):
    """A decision or a piece of evidence, with the way back to what allowed it."""

    id: UUID
    kind: Literal["decision", "evidence"]
    title: str
    status: str = Field(description="of a decision, or what the event that tells it says; empty for evidence")
    fields: dict[str, Any] = Field(description="all other fields, named as in the Unified Product Graph")
    seq: int | None = Field(description="the event that tells of it; null: it was recorded here")
    first_seq: int | None = Field(description="the first event that it was drawn from")
    last_seq: int | None
    decision_id: UUID | None = Field(description="of evidence: the decision that it is about")
    by: str = Field(description="who recorded it; empty: an event tells of it")
    made_at: datetime
    changed_at: datetime | None
    session_id: UUID
    agent_id: UUID
    agent_version: int = Field(description="version of the agent's definition that the session ran under")
    policy_versions: list[int] = Field(
        description="numbers of the versions of the workspace's rules that judged its calls"
    )

    @classmethod
    def from_row(cls, row: models.GraphNode, agent_version: int, policies: list[int]) -> GraphNode:
        kept = ("id", "kind", "title", "status", "seq", "first_seq", "last_seq", "by", "made_at", "changed_at",
                "session_id", "agent_id")  # fmt: skip
        return cls(
            fields=row.told, decision_id=row.about_id, agent_version=agent_version, policy_versions=policies,
            **{name: getattr(row, name) for name in kept},
        )  # fmt: skip


class GraphRun(BaseModel):
    """A session with the first twenty decisions and pieces of evidence that it led to."""

    session_id: UUID
    title: str
    started_at: datetime | None
    phase: str
    agent_version: int
    policy_versions: list[int]
    nodes: list[GraphNode]
    more: bool

    @classmethod
    def from_run(cls, run: runs.Run) -> GraphRun:
        session, version = run.session, run.session.agent_version
        found = [node for one in run.decisions for node in (one.node, *one.evidence)] + run.evidence
        return cls(
            session_id=session.pk, title=session.title, started_at=session.started_at, phase=session.phase,
            agent_version=version, policy_versions=run.policies, more=run.more,
            nodes=[GraphNode.from_row(node, version, run.policies) for node in found],
        )  # fmt: skip
