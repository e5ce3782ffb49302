"""What happened in a session, as the API answers it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sessions_app.models import Session
from sessions_app.queries.sessions.run_findings import RuleState
from sessions_app.queries.sessions.run_summaries import Happened
from sessions_app.summary import findings
from sessions_app.summary.failures import Group
from sessions_app.summary.findings import NAMES
from sessions_app.summary.state import Summary

from .common import Body


class Quote(BaseModel):
    """Words of the transcript: anybody may have written them."""

    seq: int = Field(description="the event")
    text: str


class Count(BaseModel):
    count: int
    first_seq: int


class Calls(BaseModel):
    """Calls by kind; null where there is none."""

    command: Count | None = None
    edit: Count | None = None
    agent: Count | None = Field(None, description="calls of sub-agents")
    page: Count | None = Field(None, description="web pages that were fetched")
    search: Count | None = Field(None, description="searches of the web")
    other: Count | None = None


class ErrorKind(BaseModel):
    """Errors that are alike: of one tool, for one reason."""

    tool: str | None = Field(description="empty: not of a call; null: several kinds, which are not told apart any more")
    reason: str = Field(description="quoted from the transcript")
    count: int
    first_seq: int
    last_seq: int
    recovered: bool | None = Field(
        description="whether the same tool succeeded later with every same file, command or address; null: not known"
    )

    @classmethod
    def from_group(cls, group: Group) -> ErrorKind:
        return cls(
            tool=group.tool, reason=group.line, count=group.count, first_seq=group.first, last_seq=group.last,
            recovered=group.is_recovered,
        )  # fmt: skip


class TestRun(BaseModel):
    """The last test run that was seen among the commands."""

    seq: int
    runner: str
    command: str = Field(description="quoted from the transcript")
    outcome: Literal["passed", "failed", "unknown", "no result"]
    result_seq: int | None
    line: str = Field(description="what the runner says of it, quoted; may be empty")
    runs: int = Field(description="test runs of the session")


class FindingPlace(BaseModel):
    """An event that a finding stands on."""

    seq: int
    words: str = Field(description="in the desk's own words; may be empty")
    text: str = Field(description="quoted from the transcript, without what looks like a secret; may be empty")


class Finding(BaseModel):
    """What a rule of the desk found in the run. Not a finding of an import, which is about a file."""

    rule: str = Field(description=", ".join(NAMES))
    label: str
    count: int = Field(description="how many events; `places` has the first three")
    places: list[FindingPlace]

    @classmethod
    def from_found(cls, found: findings.Finding) -> Finding:
        places = [FindingPlace(seq=place.seq, words=place.words, text=place.quoted) for place in found.places]
        return cls(rule=found.rule, label=found.label, count=found.count, places=places)


class FindingRule(BaseModel):
    """A rule. Its name is a value of the filter ``finding`` of sessions."""

    name: str
    label: str
    about: str
    on: bool
    sessions: int = Field(description="sessions in which it found something, counted also while it is off")

    @classmethod
    def from_state(cls, state: RuleState) -> FindingRule:
        rule = state.rule
        return cls(name=rule.name, label=rule.label, about=rule.about, on=state.is_on, sessions=state.sessions)


class FindingRules(BaseModel):
    items: list[FindingRule]


class RulesOff(Body):
    off: list[str] = Field(max_length=100, description="names of the rules that are to be off; all others are on")


class RunSummary(BaseModel):
    """What happened in a session, counted by rules from its events. ``lines`` is the card of the page as text."""

    session_id: str
    read_to_seq: int = Field(description="the last event that was taken into account")
    last_seq: int
    lines: list[str]
    prompts: list[Quote] = Field(description="first sentences of the first five")
    prompt_count: int
    calls: Calls
    recordings: Count | None = Field(description="recordings of a conversation, as vCons hold them")
    artifacts: Count | None = Field(description="all other artifacts")
    files_edited: int = Field(description="at most 256 are told apart")
    last_message: Quote | None
    errors: list[ErrorKind]
    tests: TestRun | None
    findings: list[Finding] = Field(description="what the rules that are on in the workspace found")
    open_calls: list[Quote] = Field(description="calls without a result, the latest last; at most 12")
    pending_approvals: int

    @classmethod
    def of(cls, session: Session, happened: Happened) -> RunSummary:
        summary = happened.summary
        calls = {kind: Count(count=count, first_seq=seq) for kind, (count, seq) in summary.counts.items()}
        return cls(
            session_id=str(session.pk), read_to_seq=happened.read_to, last_seq=session.last_seq,
            lines=[line.plain for line in happened.lines],
            prompts=[Quote(seq=seq, text=text) for seq, text in summary.prompts], prompt_count=summary.asked,
            calls=Calls(**calls), recordings=_artifacts(summary, "recording"), artifacts=_artifacts(summary, "other"),
            files_edited=summary.edited()[1],
            last_message=Quote(seq=summary.said[0], text=summary.said[1]) if summary.said else None,
            errors=[ErrorKind.from_group(group) for group in summary.failures.in_order()],
            tests=_tests(happened), findings=[Finding.from_found(found) for found in happened.findings],
            open_calls=[Quote(seq=call.seq, text=f"{call.tool} {call.named()}".strip()) for call in summary.open],
            pending_approvals=session.pending_approvals,
        )  # fmt: skip


def _artifacts(summary: Summary, kind: str) -> Count | None:
    count, first_seq, _ = summary.artifacts.get(kind, (0, 0, ""))
    return Count(count=count, first_seq=first_seq) if count else None


def _tests(happened: Happened) -> TestRun | None:
    found = happened.summary.tests
    if found is None:
        return None
    same = {name: found[name] for name in ("seq", "command", "outcome", "line", "runs")}
    return TestRun(runner=found["with"], result_seq=found["result"], **same)
