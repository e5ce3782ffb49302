"""Agents: made by people, or by the first file or event that names them; each change of a definition is a version."""

from __future__ import annotations

import copy
import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from sessions_app.models import Agent, AgentVersion
from sessions_app.policy.agent_rules import read_agent_policy

from . import audit
from .log.sanitise import storable, text
from .policies import grants

DEFINED = ("name", "description", "model", "instructions", "tools", "policy", "environment", "metadata")
"""What a version holds. The runtime stays what it was made with: the sessions of an agent live there."""
CHANGEABLE = (*DEFINED, "status")
OF_BUILT_IN = frozenset({"model", "environment", "status"})
"""What people choose of the assistant of the desk. The rest is what this release says that it is."""

LONGEST_NAME = 200
LONGEST_SLUG, HASHED = 100, 8
"""Characters of a name in its slug, and of its hash."""
GRANTING = ("policy", "tools", "environment")
"""What an agent may do without a person, with what, and where. Admins alone set it: who is reviewed by an agent's
policy must not be who writes it."""


class NotAllowed(PermissionError):
    """Somebody who is no admin tried to set what an agent may do."""


class BuiltIn(NotAllowed):
    """Somebody tried to change what the assistant of the desk is, beyond its model, environment and status."""


class NotActive(ValueError):
    """The agent is paused, archived or stopped: it begins no turns."""


class NameTaken(ValueError):
    """Another agent of the workspace has this name."""


class Stale(ValueError):
    """Somebody changed the definition meanwhile; ``changed`` names the fields, ``agent`` is what it is now."""

    def __init__(self, agent: Agent, changed: Sequence[str], by: str, *, seen: int) -> None:
        fields = ", ".join(changed) or "nothing that differs"
        said = f"version {agent.version} was made meanwhile{f' by {by}' if by else ''}, with changes: {fields}"
        if seen > agent.version:
            said = f"there is no version {seen}: the newest is {agent.version}; read it again"
        super().__init__(said)
        self.agent = agent
        self.changed = list(changed)


@transaction.atomic
def create(
    workspace_id: UUID, name: str, *, by: audit.Actor, may_grant: bool = True, slug: str = "", **fields: Any
) -> Agent:
    """A new agent, and version 1 of it. ``slug`` follows from the name, unless told.

    Raises ``NameTaken``, ``NotAllowed`` where one may not grant, ``policy.faults.Invalid``.
    """
    name, fields = text(name), storable(fields)
    _check_granting([field for field in GRANTING if fields.get(field)], may_grant)
    read_agent_policy(fields.get("policy") or {})
    if not slug and (taken := _called(workspace_id, name)):
        raise NameTaken(f'there is an agent "{taken.slug}" in this workspace already')
    slug = slug or slug_of(name)
    try:
        with transaction.atomic():
            agent = Agent.objects.create(workspace_id=workspace_id, name=name, slug=slug, **fields)
    except IntegrityError:
        raise NameTaken(f'there is an agent "{slug}" in this workspace already') from None
    _keep_version(agent, by.name)
    audit.record(workspace_id, by, "agent.created", subject=("agent", agent.id), name=name, runtime=agent.runtime)
    return agent


def get_or_create_agent(workspace_id: UUID, name: str) -> Agent:
    """The agent of this name, made as an external one when there is none; two callers get the same one."""
    agent = find_or_plan(workspace_id, name)
    if not agent._state.adding:
        return agent
    make_planned([agent])
    return Agent.objects.get(workspace_id=workspace_id, slug=agent.slug)  # as somebody else may have made it


def find_or_plan(workspace_id: UUID, name: str) -> Agent:
    """The agent of this name; where there is none, an external one for ``make_planned``.

    Its id follows from the workspace and the slug, neither of which ever changes, and agents are not deleted. So what
    two transactions plan at the same time is one agent, and neither waits for the other before it ends.
    """
    name = text(name)
    slug = slug_of(name)
    return _called(workspace_id, name) or Agent(
        id=uuid5(workspace_id, f"agent {slug}"), workspace_id=workspace_id, name=name[:LONGEST_NAME], slug=slug
    )


@transaction.atomic(savepoint=False)
def make_planned(planned: Sequence[Agent]) -> bool:
    """Make those that nobody else has made meanwhile; False where one was made under another id.

    Waits for transactions that have made one and are not committed, so it is the last thing that a long one does.
    """
    in_one_order = sorted(planned, key=lambda agent: agent.slug)  # or two would wait for each other
    Agent.objects.bulk_create(in_one_order, ignore_conflicts=True)
    there = set(Agent.objects.filter(pk__in=[agent.pk for agent in planned]).values_list("pk", flat=True))
    AgentVersion.objects.bulk_create(
        [_version_of(agent, "") for agent in in_one_order if agent.pk in there], ignore_conflicts=True
    )
    return len(there) == len(planned)


@transaction.atomic
def change(
    agent: Agent, changes: dict[str, Any], *, by: audit.Actor, seen: int | None = None, may_grant: bool = True,
    of_release: bool = False,
) -> Agent:  # fmt: skip
    """Apply changes: of the definition as a new version, of the status as they are. A new name keeps the slug.

    ``seen`` is the version that the changes were made to. Raises ``Stale`` when it is not the newest any more, and
    ``NotAllowed`` where one may not grant, ``BuiltIn`` for what only a release changes (``of_release``), and
    ``policy.faults.Invalid`` for a policy that cannot be used.
    """
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    if seen is not None and seen != agent.version:
        raise Stale(agent, *_since(agent, seen), seen=seen)
    changes = storable(changes)
    before = {name: getattr(agent, name) for name in CHANGEABLE if name in changes}
    changed = {name: value for name, value in changes.items() if name in before and before[name] != value}
    if not changed:
        return agent
    if agent.is_built_in and not of_release:
        _check_built_in(changed)
    _check_granting([field for field in GRANTING if field in changed], may_grant)
    if "policy" in changed:
        read_agent_policy(changed["policy"])
    for name, value in changed.items():
        setattr(agent, name, value)
    if changed.keys() & set(DEFINED):
        agent.version += 1
        _keep_version(agent, by.name)
        grants.void_of_agent(agent, by=by)
    agent.save()
    audit.record(
        agent.workspace_id, by, "agent.changed", subject=("agent", agent.id), version=agent.version,
        before={name: before[name] for name in changed}, after=changed,
    )  # fmt: skip
    return agent


def definition_of(agent: Agent) -> dict[str, Any]:
    """Definition of an agent: the fields that a version keeps."""
    return {name: getattr(agent, name) for name in DEFINED}


def as_of(agent: Agent, version: int) -> Agent:
    """The agent with the definition that a version had, for reading: it must not be saved.

    A session runs to its end under the definition that it began with, as at Managed Agents, so that an edit in the
    middle of a conversation takes neither tools nor decisions from under it. What stops an agent is no part of a
    definition and holds at once: its status and its budgets.
    """
    if version == agent.version:
        return agent
    kept = AgentVersion.objects.filter(agent=agent, version=version).values_list("definition", flat=True).first()
    if kept is None:
        return agent
    then = copy.copy(agent)
    for name in DEFINED[1:]:  # a new name holds at once: it is what people call the agent
        setattr(then, name, kept.get(name, getattr(agent, name)))
    then.version = version
    return then


def differing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Names of the fields in which two definitions differ, in the order of ``DEFINED``."""
    return [name for name in DEFINED if old.get(name) != new.get(name)]


@transaction.atomic
def note_runtime_ref(agent: Agent, more: dict[str, Any]) -> None:
    """Add to the ids that the runtime gave. Under a lock: other sessions of the agent do this at the same time."""
    row = Agent.objects.select_for_update().get(pk=agent.pk)
    for key, value in more.items():
        row.runtime_ref[key] = row.runtime_ref.get(key, {}) | value if isinstance(value, dict) else value
    Agent.objects.filter(pk=row.pk).update(runtime_ref=row.runtime_ref)
    agent.runtime_ref = row.runtime_ref


def forget_runtime_ref(agent: Agent) -> None:
    """Drop the ids that the runtime gave: they are of another key."""
    Agent.objects.filter(pk=agent.pk).update(runtime_ref={})
    agent.runtime_ref = {}


def slug_of(name: str) -> str:
    """The name for URLs. Where ASCII letters and digits do not tell it, it keeps a hash of itself: "客服" and "退款",
    or "!!!" and "???", must not be one agent, nor two long names that begin alike. A slug is its own.
    """
    slug, own = slugify(name), hashlib.sha256(name.encode()).hexdigest()[:HASHED]
    if _has_foreign_letters(name):
        return f"{slug[:LONGEST_SLUG] or 'agent'}-{own}"
    if len(slug) > LONGEST_SLUG:
        return f"{slug[: LONGEST_SLUG - HASHED - 1].rstrip('-')}-{own}"
    return slug or f"agent-{own}"


def _slug_before(name: str) -> str:
    """What ``slug_of`` made of a name before 2026-11-28: a slug stays for good, so its agent is still found by it."""
    return slug_of(name) if _has_foreign_letters(name) else slugify(name)[:LONGEST_SLUG] or "agent"


def _has_foreign_letters(name: str) -> bool:
    return any(char.isalnum() and not char.isascii() for char in unicodedata.normalize("NFKD", name))


def is_called(agent: Agent, name: str) -> bool:
    """Whether sessions of this agent are reported under this name."""
    return agent.slug == slug_of(name) or (agent.slug == _slug_before(name) and agent.name == name[:LONGEST_NAME])


def _called(workspace_id: UUID, name: str) -> Agent | None:
    """The agent that is called so."""
    here = Agent.objects.filter(workspace_id=workspace_id)
    found = here.filter(slug=slug_of(name)).first()
    if found is None and _slug_before(name) != slug_of(name):
        found = here.filter(slug=_slug_before(name), name=name[:LONGEST_NAME]).first()
    return found


def _check_granting(fields: list[str], may_grant: bool) -> None:
    if fields and not may_grant:
        raise NotAllowed(f"{' and '.join(fields)} of an agent say what it may do, and only an admin sets that")


def _check_built_in(changed: dict[str, Any]) -> None:
    if fixed := [field for field in changed if field not in OF_BUILT_IN]:
        raise BuiltIn(
            f"this agent is built in, so its {' and '.join(fixed)} cannot be changed; its model, environment and "
            "status can"
        )


def _keep_version(agent: Agent, by: str) -> None:
    _version_of(agent, by).save(force_insert=True)


def _version_of(agent: Agent, by: str) -> AgentVersion:
    return AgentVersion(agent=agent, version=agent.version, definition=definition_of(agent), changed_by=text(by))


def _since(agent: Agent, seen: int) -> tuple[list[str], str]:
    """Names of the fields that changed since a version, and who made the newest."""
    if seen > agent.version:
        return [], ""
    kept = AgentVersion.objects.filter(agent=agent, version=seen).values_list("definition", flat=True).first()
    newest = AgentVersion.objects.filter(agent=agent, version=agent.version).values_list("changed_by", flat=True)
    return differing(kept or {}, definition_of(agent)), newest.first() or ""
