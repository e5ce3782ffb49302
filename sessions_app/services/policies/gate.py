"""The gate: what rules and grants make of one call of an agent.

``judge`` is asked for every call, over the API as well as by the runtimes here. What comes of it is written down by
``services.approvals.requests``; a use of a grant is counted here, in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Agent, Grant, PolicyInForce, Session
from sessions_app.policy import evaluation, terms
from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import Outcome, RuleSet
from sessions_app.policy.rules import TRIGGERS, Effect

from .. import agents
from ..audit import Actor
from ..log import heads
from ..log.heads import Head
from . import compiled, grants

ESCALATE = grants.ESCALATE
"""The tool by which every agent can ask a person a question; a person always answers it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The call that is judged. ``for_person``: its result is what a person answers, so that no rule can allow it."""

    tool: str
    arguments: Any
    server: str | None = None
    fingerprint: str = ""
    risk: str = ""
    """What the asker says."""
    sub_agent: bool = False
    for_person: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of a call, and all that is kept of why."""

    effect: Effect
    rule: str = ""
    """Names of the rules that led to it."""
    reason: str = ""
    terms: dict[str, Any] = field(default_factory=dict)
    risk: str = ""
    """The higher of what the asker and the rules say."""
    policy_version_id: UUID | None = None
    """Of the rules of the workspace that were in force."""
    grant: Grant | None = None
    shadow: dict[str, Any] | None = None
    faults: tuple[str, ...] = ()
    reasons: tuple[dict[str, str], ...] = ()
    """Of rules that ask and say why: ``rule``, ``source`` (which rules it is among), ``author``, ``reason``."""
    by: Actor | None = None
    """Who answered; None where a person is to."""
    by_agent_alone: bool = False
    """Whether nothing but the agent's own rules had a say in it."""


UNASKED = Judgement("ask")
"""Of a call that no rule is asked about: a stop denies it, and no grant is used up for it."""


def judge(session: Session, asked: Asked, *, agent: Agent | None = None, head: Head | None = None) -> Judgement:
    """What becomes of a call. Call it in the transaction that keeps the answer: a grant that is used is counted.

    ``agent`` is the session's agent with the definition that the session runs under, where the caller has it, and
    ``head`` that of the session where the caller has locked it.
    """
    judgement, agent = _by_rules(session, asked, agent, head)
    if judgement.effect != "ask" or asked.for_person or asked.tool == ESCALATE:
        return judgement
    if "always" not in terms.decisions_allowed(judgement.terms, judgement.risk):
        return judgement
    grant = grants.use(session, agent, asked.tool, asked.server, asked.arguments, asked.fingerprint, judgement.terms)
    return _granted(judgement, grant) if grant else judgement


def needs_no_record(session: Session, asked: Asked, *, agent: Agent) -> bool:
    """Whether the agent's own rules allow a call, and no rule of the workspace, live or in shadow, speaks of it."""
    judgement, _ = _by_rules(session, asked, agent)
    differs = judgement.shadow is not None and judgement.shadow["effect"] != "allow"
    return judgement.effect == "allow" and judgement.by_agent_alone and not judgement.faults and not differs


def why_denied(session: Session, asked: Asked) -> str:
    """Why rules deny a call, for who would approve it; empty where they do not."""
    judgement, _ = _by_rules(session, asked, None)
    if judgement.effect != "deny" or judgement.by is None:
        return ""
    why = f": {judgement.reason}" if judgement.reason else ""
    return f"{judgement.by.name} denies the call with these arguments{why}"


def is_governed(agent: Agent) -> bool:
    """Whether rules look at single calls of an agent, so that one word for a tool cannot stand for all its calls."""
    return (
        bool(agent.policy.get("rules"))
        or PolicyInForce.objects.filter(
            Q(live__isnull=False) | Q(shadow__isnull=False), workspace_id=agent.workspace_id
        ).exists()
    )


def call_of(asked: Asked, agent: Agent, now: Head) -> Call:
    """The call as rules see it, with what the session has cost so far as the desk knows it."""
    return Call(
        tool=asked.tool,
        arguments=asked.arguments,
        server=asked.server,
        agent_slug=agent.slug,
        agent_name=agent.name,
        trigger=now.origin if now.origin in TRIGGERS else None,
        sub_agent=asked.sub_agent or now.parent_id is not None,
        cost=(now.cost_recorded or Decimal(0)) + (now.cost_priced or Decimal(0)),
        cost_is_whole=now.unpriced_tokens == 0,
        now=timezone.now(),
    )


def _by_rules(
    session: Session, asked: Asked, agent: Agent | None, head: Head | None = None
) -> tuple[Judgement, Agent]:  # fmt: skip
    agent = agent or agents.as_of(session.agent, session.agent_version)
    call = call_of(asked, agent, head or heads.read(session.pk))
    in_force = PolicyInForce.objects.filter(workspace_id=session.workspace_id).values_list("live", "shadow").first()
    live_id, shadow_id = in_force or (None, None)
    own = compiled.of_agent(agent)
    live: list[RuleSet] = [compiled.of_version(live_id)] if live_id else []
    outcome = _outcome(call, [*live, own], asked)
    shadow = None
    if shadow_id:
        said = _outcome(call, [compiled.of_version(shadow_id), own], asked)
        shadow = {"policy_version": str(shadow_id), "effect": said.effect, "rule": said.rule}
    sources = {verdict.source for verdict in outcome.verdicts}
    judgement = Judgement(
        outcome.effect,
        rule=outcome.rule,
        reason=outcome.reason,
        terms=outcome.terms,
        risk=terms.higher(asked.risk, outcome.terms.get("risk", "")),
        policy_version_id=live_id,
        shadow=shadow,
        faults=outcome.faults,
        reasons=_reasons(outcome, [*live, own]),
        by=_actor(outcome, agent, live_id) if outcome.effect != "ask" else None,
        by_agent_alone=sources == {own.source},
    )
    return judgement, agent


def _outcome(call: Call, rule_sets: list[RuleSet], asked: Asked) -> Outcome:
    """What rules say; a question to a person is never allowed by them, and the tool for questions never denied."""
    outcome = evaluation.evaluate(call, rule_sets)
    asks_anyway = asked.tool == ESCALATE or (asked.for_person and outcome.effect == "allow")
    if asks_anyway and outcome.effect != "ask":
        return Outcome("ask", faults=outcome.faults)
    return outcome


def _reasons(outcome: Outcome, rule_sets: list[RuleSet]) -> tuple[dict[str, str], ...]:
    if outcome.effect != "ask":
        return ()
    authors = {rules.source: rules.author for rules in rule_sets}
    return tuple(
        {"rule": one.name, "source": one.source, "author": authors.get(one.source, ""), "reason": one.reason}
        for one in outcome.verdicts
        if one.reason
    )


def _actor(outcome: Outcome, agent: Agent, live_id: UUID | None) -> Actor:
    first = outcome.verdicts[0]
    own = first.source == compiled.of_agent(agent).source
    return Actor("policy", str(agent.pk if own else live_id), f"{first.source}: {outcome.rule}")


def _granted(judgement: Judgement, grant: Grant) -> Judgement:
    return Judgement(
        "allow",
        rule=judgement.rule,
        reason=f"{grant.made_by} allowed calls like this: {grant.reason}" if grant.reason else "",
        terms=judgement.terms,
        risk=judgement.risk,
        policy_version_id=judgement.policy_version_id,
        grant=grant,
        shadow=judgement.shadow,
        faults=judgement.faults,
        by=Actor("grant", str(grant.pk), f"grant of {grant.made_by}"),
    )
