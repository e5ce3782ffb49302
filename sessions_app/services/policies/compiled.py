"""Rules ready to be evaluated, remembered by what they were made of: neither can change, so none is ever stale."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

import orjson

from sessions_app.models import Agent, PolicyVersion
from sessions_app.policy.agent_rules import AgentRules
from sessions_app.policy.evaluation import RuleSet
from sessions_app.policy.reading import compile_rules

KEPT = 200
"""Versions, and definitions of agents, that a process keeps ready: some 200 KB for one of 200 rules."""


@lru_cache(KEPT)
def of_version(version_id: UUID) -> RuleSet:
    """The rules of a version; versions are append-only. Raises ``PolicyVersion.DoesNotExist``."""
    version = PolicyVersion.objects.only("number", "rules", "made_by").get(pk=version_id)
    return RuleSet(compile_rules(version.rules), f"policy {version.number}", author=version.made_by)


def of_agent(agent: Agent) -> AgentRules:
    """The rules in an agent's definition."""
    return _of_definition(orjson.dumps(agent.policy), f"rules of {agent.name}, version {agent.version}")


@lru_cache(KEPT)
def _of_definition(policy: bytes, source: str) -> AgentRules:
    read = orjson.loads(policy)
    return AgentRules(read if isinstance(read, dict) else {"default": "ask"}, source)
