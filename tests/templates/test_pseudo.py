"""Pages in a language that brackets each message: what stands outside of the brackets was not translated."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Agent, Role
from sessions_app.services import agents, audit, workspaces
from sessions_app.services.people import members
from tests.views.build import asks, session_of

from . import pseudo

WHOLE = [
    "/approvals/reasons/", "/settings/policies/", "/settings/policies/edit/", "/settings/grants/",
    "/sessions/SESSION/delete/", "/sessions/compare/", "/nowhere/",
]  # fmt: skip
"""Pages on which everything is translated."""
IN_PART = [
    "/", "/agents/", "/agents/AGENT/", "/agents/AGENT/edit/", "/agents/AGENT/versions/", "/agents/+/", "/approvals/",
    "/approvals/CARD/", "/audit/", "/imports/", "/oversight/",
]  # fmt: skip
"""Pages on which words stand that come from Python, or from a template of a session; one without them moves up."""


@pytest.fixture
def agent(db) -> Agent:
    workspace = workspaces.create_workspace("greek", "Τράπεζα")
    return agents.get_or_create_agent(workspace.id, "Πράκτορας")


@pytest.fixture
def reader(agent) -> Client:
    member, _ = members.add_member(agent.workspace, "a@b.example", "Άννα", Role.ADMIN, by=audit.COMMAND)
    client = Client(headers={"Accept-Language": pseudo.LANGUAGE})
    client.force_login(member.user)
    return client


def test_pages_are_whole_sentences_of_the_catalogue(reader, agent):
    session = session_of(agent, "Το δέμα", errors=1)
    card = asks(session, tool="δέμα", arguments={"ποσό": 4}, context="Λόγος")
    found = {}
    with pseudo.spoken():
        for page in (*WHOLE, *IN_PART):
            path = page
            for place, value in (("CARD", card.pk), ("SESSION", session.pk), ("AGENT", agent.slug)):
                path = path.replace(place, str(value))
            html = reader.get(path).content.decode()
            assert "⟦" in html and '<html lang="de"' in html, page
            assert "%(" not in html, page
            found[page] = sorted(set(pseudo.outside_of_brackets(html)))
    assert {page: words for page, words in found.items() if words and page in WHOLE} == {}
    assert [page for page in IN_PART if not found[page]] == [], "these are whole now"


def test_words_out_of_brackets_are_found():
    page = '<p title="Go ⟦home⟧">⟦A ⟦b⟧ c⟧ left <code>x.py</code> <b class="untrusted">data <i>all</i></b> Τράπεζα</p>'
    assert sorted(pseudo.outside_of_brackets(page)) == ["Go", "left"]
