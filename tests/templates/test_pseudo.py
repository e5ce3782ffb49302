"""Pages in a language that brackets each message: what stands outside of the brackets was not translated."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from sessions_app.models import Agent, AgentVersion, Member, Role, Session
from sessions_app.services import agents, audit, workspaces
from sessions_app.services.approvals import decisions
from sessions_app.services.people import members
from sessions_app.services.reviews import queues
from sessions_app.views import access
from tests.views.build import asks, session_of
from vcon_app import registry
from vcon_app.models import Import, SourceDocument

from . import pseudo

PAGES = [
    "/", "/agents/", "/agents/AGENT/", "/agents/AGENT/chat/", "/agents/AGENT/build/", "/agents/AGENT/edit/",
    "/agents/AGENT/versions/", "/agents/AGENT/versions/?from=1&to=2", "/agents/AGENT/versions/1/", "/agents/+/",
    "/approvals/", "/approvals/CARD/", "/approvals/CARD/always",
    "/approvals/reasons/", "/approvals/DECIDED/", "/audit/", "/audit/?from=x", "/oversight/", "/stops/",
    "/sessions/", "/sessions/?status=idle&origin=api&verdict=none&from=x", "/sessions/compare/",
    "/sessions/compare/?session=SESSION", "/sessions/compare/?session=SESSION&session=OTHER",
    "/sessions/SESSION/delete/", "/sessions/SESSION/redact/",
    "/search/", "/search/?q=xx", "/reviews/", "/reviews/queues/QUEUE/", "/imports/", "/imports/?status=done",
    "/usage/", "/usage/?by=agent", "/usage/?picture=errors", "/usage/?by=x", "/usage/wallets/", "/usage/calls/",
    "/triggers/", "/triggers/runs/", "/triggers/schedules/new/", "/triggers/webhooks/new/",
    "/settings/", "/settings/findings/", "/settings/rubrics/", "/settings/notices/", "/settings/webhooks/",
    "/settings/absences/", "/settings/retention/",
    "/settings/policies/", "/settings/policies/new", "/settings/grants/", "/settings/slack/", 
    
    "PAGE", "PAGE?lens=tools", "PAGE?lens=requests", "PAGE?lens=raw", "PAGE?lens=timeline", "PAGE/facts", "PAGE/cost",
    "PAGE/files", "PAGE/review", "PAGE/waterfall", "PAGE/overview", "PAGE/strip", "PAGE?show=everything",
    "PAGE/events/1", "PAGE/continue", "PAGE/retention", "PAGE/retention?window=1",
    "PAGE?lens=tools&took=1.5&cost=0.25", "PAGE?replay=2",
    "/nowhere/",
]  # fmt: skip
"""As an admin sees them."""
NAMES = {
    "names of formats, of senders, of operators": {
        "AI", "Claude", "Open", "Lines", "Markdown", "Transcript", "in", "jsonl", "line", "one", "event", "FRI", "MON",
        "exists", "glob", "regex", "Shopify", "Standard", "Stripe", "Twilio", "Webhooks", "by",
    },
    "examples of what is typed": {
        "op", "path", "value", "BEGIN", "CERTIFICATE", "Bearer", "Ed", "ant", "shop", "sk", "token", "xoxb",
    },
    "refusals that the API answers, too": {
        "Started", "as", "date", "from", "is", "it", "no", "or", "write",
    },
}  # fmt: skip
"""Words that no message brings, and why."""
MAY_HAVE = {
    "/approvals/CARD/always": ["examples of what is typed"],
    "/sessions/?status=idle&origin=api&verdict=none&from=x": ["refusals that the API answers, too"],
    "/triggers/schedules/new/": ["names of formats, of senders, of operators"],
    "/triggers/webhooks/new/": ["names of formats, of senders, of operators"],
    "/usage/?by=x": ["names of formats, of senders, of operators"],
    "/settings/": ["examples of what is typed"],
    "/settings/policies/new": ["names of formats, of senders, of operators"],
    "/settings/slack/": ["examples of what is typed"],
}


COMMA = re.compile(r' (?!title|aria-label)[\w-]+="-?\d+,\d+"')
"""A number in an attribute as German writes it: neither a browser nor a script reads it."""


def from_elsewhere(page: str) -> set[str]:
    """What a page may say outside of messages: names of formats stand in the menus of imports and exports."""
    words = {word for reason in MAY_HAVE.get(page, ()) for word in NAMES[reason]}
    if page.startswith("/imports/") or page == "PAGE" or page.startswith("PAGE?"):
        words |= NAMES["names of formats, of senders, of operators"]
        for name, format in registry.all_formats().items():
            words |= set(re.findall(r"[A-Za-z]{2,}", f"{name} {format.SPEC.title}"))
    return words


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


@pytest.fixture
def address(reader, agent):
    """The address of a page, its capitals filled in."""
    session = session_of(agent, "Το δέμα", errors=1)
    other = session_of(agent, "Άλλο")
    AgentVersion.objects.create(agent=agent, version=2, definition=agents.definition_of(agent))
    Session.objects.filter(pk=other.pk).update(agent_version=2)
    card = asks(session, tool="δέμα", arguments={"ποσό": 4}, context="Λόγος")
    decided = asks(other, tool="δέμα")
    member = Member.objects.get()
    decider = access.decider_of(member)
    digest = decided.digest
    decisions.decide(decided, decider, decisions.Decision("deny", decided.version, digest, reason="Όχι"))
    queue = queues.make(member, queues.Rules(name="Ουρά", filter="has_errors=true"), by=audit.COMMAND)
    document = SourceDocument.objects.create(workspace=agent.workspace, sha256="0" * 64, size=1)
    Import.objects.create(workspace=agent.workspace, document=document, filename="α", status="running", progress=0.25)
    places = {
        "PAGE": f"/dashboard/sub-agents/{agent.pk}/chat/{session.pk}", "CARD": card.pk, "DECIDED": decided.pk,
        "SESSION": session.pk, "OTHER": other.pk, "AGENT": agent.slug, "QUEUE": queue.pk,
    }  # fmt: skip

    def filled(page: str) -> str:
        for place, value in places.items():
            page = page.replace(place, str(value))
        return page

    return filled


def test_pages_are_whole_sentences_of_the_catalogue(reader, address):
    found, missing = {}, []
    with pseudo.spoken():
        for page in PAGES:
            answer = reader.get(address(page))
            html = answer.content.decode()
            missing += [page] if answer.status_code == 404 and page != "/nowhere/" else []
            assert "⟦" in html and '<html lang="de"' in html, page
            assert "%(" not in html, page
            assert COMMA.findall(html) == [], page
            found[page] = set(pseudo.outside_of_brackets(html)) - from_elsewhere(page)
    assert missing == []
    assert {page: sorted(words) for page, words in found.items() if words} == {}


def test_words_out_of_brackets_are_found():
    page = '<p title="Go ⟦home⟧">⟦A ⟦b⟧ c⟧ left <code>x.py</code> <b class="untrusted">data <i>all</i></b> Τράπεζα</p>'
    assert sorted(pseudo.outside_of_brackets(page)) == ["Go", "left"]


def test_an_amount_that_is_confirmed_is_no_text_of_a_language(reader):
    with pseudo.spoken():
        html = reader.post("/usage/wallets/ai/credit/", {"source": "purchased", "amount": "2.5"}).content.decode()
    assert 'name="amount" value="2.5' in html and COMMA.findall(html) == []
