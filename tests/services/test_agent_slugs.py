"""Slugs of agents: each name has one that a URL takes, and what was made once is found under its slug for good."""

from __future__ import annotations

import pytest
from django.core.validators import validate_slug
from django.utils.text import slugify

from sessions_app.models import Agent
from sessions_app.services import agents, audit

BY = audit.Actor("person", "1", "Ada")
LONG = "the agent that answers every question about parcels which went to another depot than the label says"


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("!!!", "???", "🙂", "☂", "—"), id="without a letter or digit"),
        pytest.param(("研究", "客服", "وكيل", "агент", "agent 研究"), id="of other scripts"),
        pytest.param((f"{LONG}, north", f"{LONG}, south"), id="alike for a hundred characters"),
    ],
)
def test_each_name_is_an_agent_of_its_own_at_an_address_of_its_own(workspace, names):
    made = [agents.get_or_create_agent(workspace.id, name) for name in names]
    assert [agent.name for agent in made] == list(names)
    for agent in made:
        validate_slug(agent.slug)
        assert agents.get_or_create_agent(workspace.id, agent.name) == agent
        assert agents.get_or_create_agent(workspace.id, agent.slug) == agent


def test_a_plain_name_keeps_a_plain_slug(workspace):
    assert agents.get_or_create_agent(workspace.id, "Refunds (EU)").slug == "refunds-eu"
    assert agents.get_or_create_agent(workspace.id, "agent").slug == "agent"


@pytest.mark.parametrize(("name", "slug"), [("!!!", "agent"), (f"{LONG}, north", f"{slugify(LONG)}-")])
def test_an_agent_of_before_keeps_its_slug_and_its_sessions(workspace, name, slug):
    before = Agent.objects.create(workspace=workspace, name=name, slug=slug)
    assert agents.get_or_create_agent(workspace.id, name) == before
    assert agents.is_called(before, name), "and a key for it reports in its name"
    other = agents.get_or_create_agent(workspace.id, f"{name}?")
    assert other != before and not agents.is_called(before, other.name)
    with pytest.raises(agents.NameTaken):
        agents.create(workspace.id, name, by=BY)
