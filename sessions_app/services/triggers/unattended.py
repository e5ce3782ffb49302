"""Sessions that nobody attends: what becomes of a call in them where a person would have to be asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from sessions_app.models import Agent, Event, PolicyInForce, Schedule, Session, TriggerRun
from sessions_app.models import WebhookEndpoint as Webhook
from sessions_app.models.triggers import WhenAsking
from sessions_app.policy import asking
from sessions_app.policy.evaluation import RuleSet, Verdict
from sessions_app.queries import deciders
from sessions_app.services import audit
from sessions_app.services.policies import compiled

UNATTENDED = (Session.Origin.SCHEDULE, Session.Origin.WEBHOOK)


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a call that a person would be asked about is denied at once, and by what."""

    by: audit.Actor
    reason: str


class Rules:
    """The rules in force in a workspace and who may decide there, read when they are first needed, and once."""

    def __init__(self, workspace_id: UUID) -> None:
        self.workspace_id = workspace_id

    def what_asks(self, agent: Agent, kind: str) -> list[Verdict]:
        """Rules that could ask about calls of an agent in a session that such a trigger began."""
        return asking.verdicts(agent.slug, agent.name, kind, [*self._live, compiled.of_agent(agent)])

    def why_not_begun(self, agent: Agent, kind: str, when_asking: str) -> str:
        """Why a trigger that refuses to start where an agent could ask begins no session now; empty where it may."""
        if when_asking != WhenAsking.REFUSE or not (found := self.what_asks(agent, kind)):
            return ""
        return f"{agent.name} could ask a person ({_named(found)}), and this trigger begins nothing then"

    def warnings(self, agent: Agent | None, kind: str, when_asking: str) -> list[str]:
        """What whoever saves a trigger should know: that it will begin nothing, or that nobody could answer."""
        if agent is None or when_asking == WhenAsking.DENY or not (found := self.what_asks(agent, kind)):
            return []
        if when_asking == WhenAsking.REFUSE:
            return [f"As the rules are now it begins nothing: {agent.name} could ask a person ({_named(found)})."]
        alone = [verdict for verdict in found if not self._somebody_may_decide(verdict)]
        if not alone:
            return []
        return [
            f"{agent.name} could ask ({_named(alone)}), and nobody in this workspace may decide that: its calls would "
            "wait for ever. Add a reviewer, change the rule, or have them denied."
        ]

    @cached_property
    def _live(self) -> list[RuleSet]:
        live = PolicyInForce.objects.filter(workspace_id=self.workspace_id).exclude(live=None)
        return [compiled.of_version(version) for version in live.values_list("live", flat=True)]

    @cached_property
    def _deciders(self) -> list[deciders.Candidate]:
        return deciders.candidates(self.workspace_id)

    def _somebody_may_decide(self, verdict: Verdict) -> bool:
        return not deciders.why_undecidable(verdict.ask, self._deciders)


def denial_of(session: Session) -> Denial | None:
    """Why a call of this session is denied instead of asked; None where a person is asked.

    While a person goes on with the session by a message of theirs, somebody attends it, and is asked.
    """
    if session.origin not in UNATTENDED:
        return None
    runs = TriggerRun.objects.filter(session=session).select_related("schedule", "delivery__endpoint")
    run = runs.order_by("id").first()
    trigger = _trigger_of(run) if run else None
    if run is None or trigger is None or trigger.when_asking == WhenAsking.WAIT or _is_attended(session):
        return None
    by = audit.Actor("trigger", str(run.pk), f"{run.get_kind_display().lower()} {run.name}")
    return Denial(
        by,
        f"Nobody attends this session, which the {by.name} began, so what a person would have to decide is denied at "
        "once. Do not repeat this call.",
    )


def _trigger_of(run: TriggerRun) -> Schedule | Webhook | None:
    return run.schedule or (run.delivery.endpoint if run.delivery else None)


def _is_attended(session: Session) -> bool:
    """Whether a person, and not the trigger, began the turn that the agent is at."""
    said = Event.objects.filter(session=session, kind="user_message", depth=0).order_by("-seq")
    return said.values_list("actor_kind", flat=True).first() == "person"


def _named(verdicts: Iterable[Verdict]) -> str:
    names = list(dict.fromkeys(f'"{one.name}" of {one.source}' if one.source else one.name for one in verdicts))
    return "; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
