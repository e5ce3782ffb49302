"""Pages in a language that brackets each message: what stands outside of the brackets was not translated."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Role, Workspace
from sessions_app.services import agents, audit, workspaces
from sessions_app.services.people import members
from tests.views.build import asks, session_of

from . import pseudo

PAGES = [
    "/", "/agents/", "/agents/one/", "/agents/one/edit/", "/agents/one/versions/", "/agents/one/chat/", "/agents/+/", "/approvals/",
    "/approvals/CARD/", "/approvals/reasons/", "/audit/", "/imports/", "/oversight/", "/settings/policies/", "/settings/policies/edit/",
    "/settings/grants/", "/sessions/SESSION/delete/", "/nowhere/",
]  # fmt: skip


@pytest.fixture
def greek(db) -> Workspace:
    return workspaces.create_workspace("greek", "Τράπεζα")


@pytest.fixture
def reader(greek) -> Client:
    member, _ = members.add_member(greek, "a@b.example", "Άννα", Role.ADMIN, by=audit.COMMAND)
    client = Client(headers={"Accept-Language": "de"})
    client.force_login(member.user)
    return client


def test_words_out_of_brackets_are_found():
    page = '<p title="Go ⟦home⟧">⟦A ⟦b⟧ c⟧ left <code>x.py</code> <b class="untrusted">data <i>all</i></b> Τράπεζα</p>'
    assert pseudo.outside_of_brackets(page) == ["left", "Go"]
