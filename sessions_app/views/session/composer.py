"""The place at the foot of a session where people say something: what a message would do, and what else can be done."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app.models import Agent, Member, Role, Session
from sessions_app.phrases import gettext as phrase
from sessions_app.queries.sessions import turn_state
from sessions_app.rendering import text
from sessions_app.rendering.marks import Mark
from sessions_app.services.money import budgets
from sessions_app.services.turns import messages

from ..labels import label

ARCHIVED, IMPORTED, EXTERNAL, STOPPED = "archived", "imported", "external", "stopped"
WAITS, RUNNING, IDLE = "waits", "running", "idle"
TAKE_MESSAGES = (EXTERNAL, WAITS, RUNNING, IDLE)
MARKS = {
    ARCHIVED: Mark(phrase("archived"), "quiet", "archived"),
    IMPORTED: Mark(phrase("imported"), "quiet", "file"),
    EXTERNAL: Mark(phrase("external"), "quiet", "plug"),
    WAITS: Mark(phrase("needs approval"), "waits", "waits"),
    RUNNING: Mark(phrase("running"), "note", "running"),
    IDLE: Mark(phrase("idle"), "quiet", "idle"),
}
STOPPING = Mark(phrase("stopping"), "note", "running")
NO_MONEY = Mark(phrase("budget exceeded"), "waits", "waits")
ENDED_WITH_AN_ERROR = Mark(phrase("the last turn ended with an error"), "wrong", "wrong")
INTERRUPTED = Mark(phrase("the last turn was interrupted"), "quiet", "close")


@dataclass(frozen=True, slots=True)
class Composer:
    """``mode``: archived, imported, external, stopped (its agent is paused or archived), waits, running or idle."""

    mode: str
    agent: Agent
    turn_state: turn_state.TurnState
    spent: str
    """Why there is no money for another turn; empty when there is."""
    may_act: bool

    @property
    def takes_messages(self) -> bool:
        return self.may_act and self.mode in TAKE_MESSAGES

    @property
    def is_running(self) -> bool:
        return self.mode == RUNNING

    @property
    def waits(self) -> bool:
        return self.mode == WAITS

    @property
    def is_in_a_turn(self) -> bool:
        return self.mode in (RUNNING, WAITS)

    @property
    def is_held_back(self) -> bool:
        """Messages wait although nothing runs: for money, or for an agent that was paused."""
        return bool(self.mode in (IDLE, STOPPED) and self.turn_state.queued)

    @property
    def may_retry(self) -> bool:
        return bool(self.may_act and self.mode == IDLE and self.turn_state.ended and not self.spent)

    @property
    def may_send_held_back(self) -> bool:
        return bool(self.may_act and self.mode == IDLE and self.turn_state.queued and not self.spent)

    @property
    def may_resume(self) -> bool:
        """Whether the way on is to let the agent work again."""
        return self.may_act and self.mode == STOPPED and self.agent.status == Agent.Status.PAUSED

    @property
    def mark(self) -> Mark:
        """State of the session, in a word or two."""
        if self.mode == STOPPED:
            status = label(self.agent.get_status_display().lower())
            words = _("%(agent)s is %(status)s") % {"agent": self._agent_name, "status": status}
            return Mark(words, "waits", "waits")
        if self.mode == RUNNING and self.turn_state.flight and self.turn_state.flight.interrupted_at:
            return STOPPING
        if self.mode == IDLE:
            return self._idle_mark
        return MARKS[self.mode]

    @property
    def _idle_mark(self) -> Mark:
        if self.spent:
            return NO_MONEY
        if self.turn_state.ended == "error":
            return ENDED_WITH_AN_ERROR
        return INTERRUPTED if self.turn_state.ended else MARKS[IDLE]

    @property
    def awaits_retry(self) -> bool:
        """Whether the turn is to be tried again at a time that is known."""
        flight = self.turn_state.flight
        return bool(self.mode == RUNNING and flight and flight.retry_at and not flight.interrupted_at)

    @property
    def words(self) -> str:
        """What follows from it for who would say something; empty where the hint says so."""
        if self.mode == RUNNING and (place := self.turn_state.place) and place.before:
            return _place_words(place.before, is_exact=place.is_exact)
        return {
            ARCHIVED: _("It can be read and exported, and no message reaches its agent."),
            IMPORTED: _("Read-only."),
            EXTERNAL: _("A message goes into the log; %(agent)s reads it there when it looks.")
            % {"agent": self._agent_name},
            STOPPED: _("It begins no turns."),
        }.get(self.mode, "")

    @property
    def way_on(self) -> str:
        """The words of the link to a session that continues this one; empty where this one goes on itself."""
        if not self.may_act:
            return ""
        return {
            ARCHIVED: _("Continue in a new session…"),
            IMPORTED: _("Continue in a new session…"),
            STOPPED: _("continue with another agent…"),
        }.get(self.mode, "")

    @property
    def hint(self) -> str:
        """What becomes of a message that is sent now."""
        if not self.takes_messages or self.spent:
            return ""
        if self.mode == IDLE:
            return (
                _("Your message will be sent after those that are queued.")
                if self.is_held_back
                else _("Your message is sent at once.")
            )
        return {
            WAITS: _("Messages are queued until the approval is decided."),
            RUNNING: _("Your message will be sent after this turn."),
        }.get(self.mode, "")

    @property
    def queued_word(self) -> str:
        return _("held back") if self.is_held_back else _("next")

    @property
    def _agent_name(self) -> str:
        return text.first_line(self.agent.name, 60)


def _place_words(before: int, *, is_exact: bool) -> str:
    if is_exact:
        words = ngettext(
            "Waits for a worker behind %(number)s other of the same sender.",
            "Waits for a worker behind %(number)s others of the same sender.",
            before,
        )
    else:
        words = ngettext(
            "Waits for a worker behind at least %(number)s other of the same sender.",
            "Waits for a worker behind at least %(number)s others of the same sender.",
            before,
        )
    return words % {"number": f"{before:,}"}


def composer_of(session: Session, member: Member) -> Composer:
    """The composer of a session for a member, in a number of queries that does not depend on either."""
    mode = _mode(session)
    may_act = Role(member.role).covers(Role.REVIEWER)
    state = turn_state.turn_state_of(session, tells_end=mode == IDLE)
    return Composer(mode, session.agent, state, _spent(session, mode), may_act)


def _mode(session: Session) -> str:
    if session.status == Session.Status.ARCHIVED:
        return ARCHIVED
    if session.origin == Session.Origin.IMPORT:
        return IMPORTED
    if not messages.runs_here(session.agent):
        return EXTERNAL
    if session.status == Session.Status.RUNNING and session.pending_approvals:
        return WAITS
    if session.agent.status != Agent.Status.ACTIVE:
        return STOPPED
    return RUNNING if session.status == Session.Status.RUNNING else IDLE


def _spent(session: Session, mode: str) -> str:
    if mode != IDLE:
        return ""
    try:
        budgets.check(session)
    except budgets.Spent as spent:
        return str(spent)
    return ""
