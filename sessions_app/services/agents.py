"""Agents: made by people, or by the first file or event that names them."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from sessions_app.models import Agent

from . import audit
from .columns import storable, text

CHANGEABLE = ("name", "model", "instructions", "tools", "policy", "metadata", "status")


class NameTaken(ValueError):
    """Another agent of the workspace has this name."""


@transaction.atomic
def create(workspace_id: UUID, name: str, *, by: audit.Actor, **fields: Any) -> Agent:
    """A new agent. Raises ``NameTaken``."""
    name, fields = text(name), storable(fields)
    slug = slug_of(name)
    if Agent.objects.filter(workspace_id=workspace_id, slug=slug).exists():
        raise NameTaken(f'there is an agent "{slug}" in this workspace already')
    agent = Agent.objects.create(workspace_id=workspace_id, name=name, slug=slug, **fields)
    audit.record(workspace_id, by, "agent.created", subject=("agent", agent.id), name=name, runtime=agent.runtime)
    return agent


def named(workspace_id: UUID, name: str) -> Agent:
    """The agent of this name, made as an external one when there is none; two callers get the same one."""
    name = text(name)
    slug = slug_of(name)
    found = Agent.objects.filter(workspace_id=workspace_id, slug=slug).first()
    if found:
        return found
    try:
        with transaction.atomic():
            return Agent.objects.create(workspace_id=workspace_id, name=name[:200], slug=slug)
    except IntegrityError:
        return Agent.objects.get(workspace_id=workspace_id, slug=slug)


@transaction.atomic
def change(agent: Agent, changes: dict[str, Any], *, by: audit.Actor) -> Agent:
    """Apply changes as a new version of the definition; the audit log keeps what it was before."""
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    changes = storable(changes)
    before = {name: getattr(agent, name) for name in CHANGEABLE if name in changes}
    changed = {name: value for name, value in changes.items() if name in before and before[name] != value}
    if not changed:
        return agent
    for name, value in changed.items():
        setattr(agent, name, value)
    agent.version += 1
    agent.save()
    audit.record(
        agent.workspace_id, by, "agent.changed", subject=("agent", agent.id), version=agent.version,
        before={name: before[name] for name in changed}, after=changed,
    )  # fmt: skip
    return agent


def slug_of(name: str) -> str:
    """The name for URLs. One in another script keeps a hash of itself: "客服" and "退款" must not be one agent."""
    slug = slugify(name)[:100]
    if any(char.isalnum() and not char.isascii() for char in unicodedata.normalize("NFKD", name)):
        slug = f"{slug or 'agent'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return slug or "agent"
