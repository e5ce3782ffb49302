"""Policies: what is sent and what is answered. What a rule is, stands in docs/policies.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.policy.evaluation import Outcome
from sessions_app.queries import policies as queries
from sessions_app.services.policies import preview as previews
from sessions_app.services.policies.versions import MAX_NOTE

from .common import Body

Note = Annotated[str, Field(max_length=MAX_NOTE)]
Effect = Literal["allow", "ask", "deny"]
Seen = Annotated[
    int | None, Field(ge=0, description="number of the version in force as you know it, 0: none; null: not checked")
]


class NewPolicy(Body):
    rules: list[Any]
    note: Note = Field("", description="what changed, and why")
    seen: Seen = None


class NewVersion(Body):
    rules: list[Any]
    note: Note = ""


class Publication(Body):
    seen: Seen = None
    reason: Note = ""


class PreviewOf(Body):
    """Rules to try out. They are not kept."""

    rules: list[Any]


class VersionName(BaseModel):
    id: UUID
    number: int
    digest: str = Field(description="SHA-256 of the canonical JSON (RFC 8785) of the rules")
    note: str
    made_by: str
    made_at: datetime

    @classmethod
    def of(cls, row: models.PolicyVersion | None) -> VersionName | None:
        return cls(**{name: getattr(row, name) for name in cls.model_fields}) if row else None


class Version(VersionName):
    rules: list[Any]

    @classmethod
    def from_row(cls, row: models.PolicyVersion) -> Version:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class Policy(BaseModel):
    """The rules of a workspace. Without rules every call is asked about."""

    rules: list[Any]
    live: VersionName | None
    shadow: VersionName | None
    newest: VersionName | None
    warnings: list[str] = Field(description="rules in force that ask about calls that nobody here could approve")

    @classmethod
    def of_state(cls, state: queries.State, warnings: list[str]) -> Policy:
        named = {name: VersionName.of(getattr(state, name)) for name in ("live", "shadow", "newest")}
        return cls(rules=state.live.rules if state.live else [], warnings=warnings, **named)


class RuleChange(BaseModel):
    kind: Literal["added", "removed", "changed"]
    name: str
    before: Any
    after: Any


class Difference(BaseModel):
    before: int
    after: int
    changes: list[RuleChange]

    @classmethod
    def between(cls, before: models.PolicyVersion, after: models.PolicyVersion) -> Difference:
        found = queries.changes(before.rules, after.rules)
        made = [RuleChange(kind=one.kind, name=one.name, before=one.before, after=one.after) for one in found]
        return cls(before=before.number, after=after.number, changes=made)


class Counts(BaseModel):
    allow: int
    ask: int
    deny: int


class Answer(BaseModel):
    effect: Effect
    rule: str

    @classmethod
    def of(cls, outcome: Outcome) -> Answer:
        return cls(effect=outcome.effect, rule=outcome.rule)


class PastCall(BaseModel):
    session_id: UUID
    agent: str
    tool: str
    server: str | None
    at: datetime | None
    live: Answer
    draft: Answer


class Preview(BaseModel):
    """What a draft would decide for the last calls, and what the rules in force would decide for the same ones."""

    calls: int
    since: datetime | None
    draft: Counts
    live: Counts
    matched: dict[str, int] = Field(description="for each rule of the draft, how many calls it decided")
    unmatched: list[str]
    undecidable: int = Field(description="calls for which a rule cannot tell whether it matches: those are asked about")
    differing: int
    calls_differing: list[PastCall] = Field(description="the newest 100 of them")
    warnings: list[str] = Field(description="rules of the draft that ask about calls that nobody here could approve")

    @classmethod
    def of(cls, made: previews.Preview, warnings: list[str]) -> Preview:
        return cls(
            calls=made.calls, since=made.since, draft=_counts(made.draft), live=_counts(made.live),
            matched=dict(made.matched), unmatched=made.unmatched, undecidable=made.undecidable,
            differing=made.differing, calls_differing=[_past_call(one) for one in made.shown], warnings=warnings,
        )  # fmt: skip


class ShadowedCall(BaseModel):
    approval_id: UUID
    session_id: UUID
    agent: str
    tool: str
    server: str | None
    at: datetime
    live: Answer
    shadow: Answer


class Shadowed(BaseModel):
    """Of the last calls that the version in shadow judged, those that it would have decided otherwise."""

    version: VersionName | None
    calls: int
    differing: list[ShadowedCall]

    @classmethod
    def of(cls, version: models.PolicyVersion | None, calls: int, rows: Sequence[models.Approval]) -> Shadowed:
        return cls(version=VersionName.of(version), calls=calls, differing=[_shadowed_call(row) for row in rows])


def _counts(counted: dict[str, int]) -> Counts:
    return Counts(**{name: counted.get(name, 0) for name in Counts.model_fields})


def _past_call(one: previews.Differing) -> PastCall:
    return PastCall(
        session_id=one.session.pk, agent=one.session.agent.name, tool=one.tool, server=one.server, at=one.at,
        live=Answer.of(one.live), draft=Answer.of(one.draft),
    )  # fmt: skip


def _shadowed_call(row: models.Approval) -> ShadowedCall:
    said = row.shadow or {}
    return ShadowedCall(
        approval_id=row.pk, session_id=row.session_id, agent=row.session.agent.name, tool=row.tool_name,
        server=row.tool_server, at=row.requested_at, live={"effect": queries.effect_of(row), "rule": row.rule or ""},
        shadow={"effect": said.get("effect"), "rule": said.get("rule") or ""},
    )  # fmt: skip
