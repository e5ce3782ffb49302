"""Search over all transcripts: hits in context under each session, operators, pages, and what is refused."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.drafts import ToolDraft
from sessions_app.models import FileText, Session
from sessions_app.services import agents
from sessions_app.services.log import file_texts
from sessions_app.services.money import totals
from sessions_app.views import search
from tests.html import on_one_line
from tests.services.build import answer, append, call, event, result, user

from ..build import session_of, words


def titles(response) -> list[str]:
    found = re.findall(r'<a class="untrusted" data-row[^>]*>(.*?)</a>', response.content.decode(), re.S)
    return [re.sub(r"<[^>]+>|\s+", " ", title).strip() for title in found]


def hits(response) -> list[str]:
    return re.findall(r"\?event=(\d+)", response.content.decode())


def said_by(response) -> list[str]:
    return re.findall(r'<span class="result-what[^"]*">([^<]*)</span>', response.content.decode())


@pytest.fixture
def desk(agent) -> dict[str, Session]:
    """Three sessions: one that read a file and failed, one that talks of the file, one of another agent in Chinese."""
    clerk = agents.get_or_create_agent(agent.workspace_id, "Invoice clerk")
    made = {
        "Reads": session_of(agent, "Reads", cost="0.10"), "Talks": session_of(agent, "Talks", cost="7.00"),
        "Chinese": session_of(clerk, "Chinese", cost="0.50"),
    }  # fmt: skip
    append(
        made["Reads"], user("look at the parcel header"),
        event("tool_call", tool=ToolDraft(call_id="c1", name="Bash", arguments={"path": "src/app/models.py"})),
        result("c1", status="error", text="no such parcel header"), event("agent_message", text="The header is wrong"),
    )  # fmt: skip
    append(made["Talks"], user("what is in src/app/models.py?"), event("agent_message", text="A header"), call("d1"))
    append(made["Chinese"], user("日本語の注文を確認"), user("مرحبا بالعالم"))
    return made


def test_a_prompt_in_tags_is_a_title_as_in_the_list(viewer, agent):
    made = session_of(agent, '"<context>\\nrepo at 2ee6\\n</context>\\n<task>Mend the parcel gate.</task>"')
    append(made, user("look at the parcel gate"))
    assert titles(viewer.get("/search/?q=parcel")) == ["Mend the  parcel  gate."]


def test_a_model_is_found_by_the_beginning_of_its_name(viewer, agent):
    for name in ("claude-opus-4-5", "gpt-5"):
        append(session_of(agent, name), answer("r1", name, input_tokens=10))
    totals.fold()
    assert titles(viewer.get("/search/?q=model:claude")) == ["claude-opus-4-5"]
    assert titles(viewer.get("/search/?q=model:gpt-5")) == ["gpt-5"]
    assert titles(viewer.get("/search/?q=-model:claude")) == ["gpt-5"]


FOUND = {
    "header": (["Talks", "Reads"], ["4", "3", "5", "6"]), "wrong header": (["Reads"], ["6"]),
    "header tool:bash": (["Reads"], ["5"]), "tool:Bash": (["Reads"], ["4", "5"]),
    "is:error header": (["Reads"], ["5"]), "is:error": (["Reads"], ["4"]),
    "file:app/models.py": (["Talks", "Reads"], ["4"]), "header -file:models.py": ([], []),
    "header cost>1": (["Talks"], ["4"]), 'agent:"invoice clerk"': (["Chinese"], []),
    "agent:invoice-clerk 注文": (["Chinese"], ["3"]), "مرحبا": (["Chinese"], ["4"]), "talks": (["Talks"], []),
    "on:2001-01-01": ([], []), "head*": (["Talks", "Reads"], ["4", "3", "5", "6"]),
}  # fmt: skip
"""What is typed, the sessions that are found, and the events that their hits lead to."""


def test_sessions_are_found_with_hits_that_lead_to_their_events(viewer, desk):
    for typed, (found, seqs) in FOUND.items():
        answer = viewer.get("/search/", {"q": typed})
        assert (sorted(titles(answer)), sorted(hits(answer))) == (sorted(found), sorted(seqs)), typed


def test_a_hit_is_marked_and_leads_to_its_event(viewer, desk):
    page = on_one_line(viewer.get("/search/?q=wrong"))
    at = desk["Reads"]
    assert f"chat/{at.pk}?event=6&amp;q=wrong#e-6" in page
    assert "The header is <mark>wrong</mark>" in page
    assert "<mark>Talks</mark>" in on_one_line(viewer.get("/search/?q=talks"))


def test_words_that_stand_in_different_events_are_shown_where_each_is(viewer, desk):
    assert hits(viewer.get("/search/?q=wrong+look")) == ["2", "3", "6"]


def test_where_no_event_is_what_the_operators_ask_for_the_page_says_so(viewer, desk):
    answer = viewer.get("/search/?q=came+tool:Bash")
    assert "not where the operators ask for it" in words(answer) and hits(answer) == ["1"]


def test_operators_are_chips_and_go_along_with_the_fields(viewer, desk):
    page = on_one_line(viewer.get("/search/", {"q": "header cost>1", "agent": "refund-agent"}))
    assert 'href="?agent=refund-agent&amp;q=header" aria-current="true">cost&gt;1' in page
    assert 'value="header cost&gt;1"' in page and titles(viewer.get("/search/?q=header+cost>1&tool=Bash")) == []


STANDS_FOR_NOTHING = (
    ("q=is:purple", 400, "Search: is: “"), ("q=cost>x", 400, "is no amount of dollars"),
    ("q=status:gone", 400, '"gone" is no status; use one of'), ("status=gone", 400, "is no status"),
    ("mood=good", 400, "no such filter"), ("q=header&cursor=x", 400, "begin again without one"),
    ("q=colour:red", 200, "“colour:” is no operator and is looked for as a word"),
    ("q=agent:nobody", 200, "There is no agent “nobody” in this workspace"),
    ("q=absent", 200, "Nothing was found"), ("", 200, "What can be searched for"), ("q=...", 200, "Nothing was"),
)  # fmt: skip


def test_what_stands_for_nothing_is_told_and_nothing_gets_lost(viewer, desk):
    for query, status, says in STANDS_FOR_NOTHING:
        for path in ("/search/", "/sessions/"):
            answer = viewer.get(f"{path}?{query}")
            if path == "/search/":
                assert says.replace("“", "").split(":")[-1].strip() in words(answer).replace("“", ""), query
            assert answer.status_code == status, (path, query)
        assert 'role="search"' in answer.content.decode(), query


def test_more_sessions_follow_without_a_gap(viewer, agent, monkeypatch):
    monkeypatch.setattr(search, "SESSIONS", 2)
    for number in range(5):
        session_of(agent, f"Number {number}")
    page = viewer.get("/search/?q=parcel&sort=title")
    assert titles(page) == ["Number 0", "Number 1"]
    more = re.search(r'href="(\?[^"]*cursor=[^"]*)"', page.content.decode())[1].replace("&amp;", "&")
    session_of(agent, "Number 00")
    fragment = viewer.get(f"/search/{more}", headers={"HX-Request": "true"})
    assert titles(fragment) == ["Number 2", "Number 3"] and "<html" not in fragment.content.decode()


@pytest.mark.parametrize("address", ["/search/", "/sessions/"])
def test_the_most_relevant_first_says_among_how_many_and_how_it_ranks(viewer, desk, address):
    Session.objects.filter(pk=desk["Talks"].pk).update(started_at="2020-01-01T00:00Z")
    plain = viewer.get(address, {"q": "header"})
    assert "Most relevant first" in words(plain) and "are ranked" not in words(plain)
    page = viewer.get(address, {"q": "header", "sort": "relevance"})
    assert "All 2 sessions that match are ranked: words in the title count most" in words(page)
    assert 'aria-current="true">Most relevant first' in page.content.decode()
    assert "Most relevant first" not in words(viewer.get(address, {"q": "is:error"})), "no words: nothing to rank by"
    refused = viewer.get(address, {"q": "is:error", "sort": "relevance"})
    assert refused.status_code in (200, 400) and "relevance ranks where words are found" in words(refused)


def test_nothing_of_another_workspace_is_found(charlie, desk):
    for typed in ("header", "tool:Bash", "is:error", "file:models.py", "agent:refund-agent"):
        assert titles(charlie.get("/search/", {"q": typed})) == []


def test_what_was_said_is_text(viewer, agent):
    append(session_of(agent, "<b>bold</b>"), user("<script>alert(1)</script> \u202egnp.exe needle"))
    page = viewer.get("/search/?q=needle").content.decode()
    assert "<script>alert" not in page and "<b>bold" not in page and "\u202e" not in page


def test_a_page_costs_the_same_however_many_it_shows(viewer, agent):
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get("/search/?q=parcel+tool:search+is:error").status_code == 200
        return len(queries)

    def one_more(number: int) -> None:
        made = session_of(agent, f"Number {number}", cost=Decimal("0.1"))
        append(made, user("the parcel"), call("c"), result("c", status="error", text="parcel"))

    one_more(0)
    before = asked()
    for number in range(1, 5):
        one_more(number)
    assert asked() <= before


def test_a_session_whose_file_alone_says_it_shows_the_value_and_leads_to_it(viewer, desk):
    talks = desk["Talks"]
    file_texts.put_off(talks.workspace_id, [talks.pk])
    file_texts.keep(talks.pk, "zqamber <b>tower</b>", FileText.objects.get().due_at)
    page = viewer.get("/search/?q=zqamber")
    assert titles(page) == ["Talks"]
    assert "In its file zqamber <b>tower</b>" in words(page).replace("&lt;", "<").replace("&gt;", ">")
    assert f'href="/sessions/{talks.pk}/file-parts?q=zqamber"' in page.content.decode()
    assert "<mark>zqamber</mark>" in page.content.decode() and "<b>tower" not in page.content.decode()


def test_a_hit_says_who_said_it_as_its_row_does(viewer, desk):
    assert set(said_by(viewer.get("/search/?q=parcel+header"))) == {"User", "Agent", "Tool"}
    assert set(said_by(viewer.get("/search/?q=models.py+file:models.py"))) == {"User", "Bash"}
