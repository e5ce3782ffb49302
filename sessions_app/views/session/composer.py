"""The place at the foot of a session where people say something: what a message would do, and what else can be done."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import Agent, Member, Role, Session
from sessions_app.queries.sessions import turn_state
from sessions_app.services.money import budgets
from sessions_app.services.turns import messages


@dataclass(frozen=True, slots=True)
class Composer:
    """``mode``: archived, imported, external, stopped (its agent is paused or archived), waits, running or idle."""

    mode: str
    stands: turn_state.Standing
    spent: str
    """Why there is no money for another turn; empty when there is."""
    may_act: bool

    @property
    def takes_messages(self) -> bool:
        return self.may_act and self.mode in ("external", "waits", "running", "idle")

    @property
    def may_retry(self) -> bool:
        return bool(self.may_act and self.mode == "idle" and self.stands.ended)

    @property
    def is_held_back(self) -> bool:
        """Messages wait although nothing runs: for money, or for an agent that was paused."""
        return bool(self.mode in ("idle", "stopped") and self.stands.queued)


def of(session: Session, member: Member) -> Composer:
    """The composer of a session for a member, in a number of queries that does not depend on either."""
    mode = _mode(session)
    return Composer(
        mode, turn_state.of(session), _spent(session, mode), may_act=Role(member.role).covers(Role.REVIEWER)
    )


def _mode(session: Session) -> str:
    if session.status == Session.Status.ARCHIVED:
        return "archived"
    if session.origin == Session.Origin.IMPORT:
        return "imported"
    if not messages.runs_here(session.agent):
        return "external"
    if session.status == Session.Status.RUNNING and session.pending_approvals:
        return "waits"
    if session.agent.status != Agent.Status.ACTIVE:
        return "stopped"
    return "running" if session.status == Session.Status.RUNNING else "idle"


def _spent(session: Session, mode: str) -> str:
    if mode != "idle":
        return ""
    try:
        budgets.check(session)
    except budgets.Spent as spent:
        return str(spent)
    return ""
