"""The page of a session: what its head and its turns say, and the ways that lead about in it."""

from __future__ import annotations

import re

import pytest

from sessions_app.models import Session
from sessions_app.queries.log import event_detail, outline
from sessions_app.queries.log.timeline import ROWS
from sessions_app.services import agents, sessions
from sessions_app.services.approvals import requests
from sessions_app.services.log import search_index
from sessions_app.services.turns import messages
from tests.services.build import append, event

from .build import BOT, Page, asked, call, other, path_of, priced, result, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def refund_session(agent) -> Session:
    return session_with(agent, [
        asked("p1", "Refund order 4711"),
        other("r1", "reasoning", "It was lost, so the rule applies"),
        said("m1", "I **look** first", **priced(
            "0.031", input_tokens=1_200, cache_read_tokens=38_000, cache_write_tokens=2_900, output_tokens=1_250)),
        call("c1", "lookup_shipment", {"order": 4711}), result("c1", "lost", seconds=2.8),
        call("c2", "Bash", {"command": "make refund"}), result("c2", "Exit code 2\nno such rule", "error"),
        asked("p2", "Try again\n" + "please " * 1_000, 60),
        other("u1", "unknown", data={"type": "hovercraft", "raw": {"eels": 12}}),
        said("m2", "Done", 61),
    ])  # fmt: skip


def test_the_head_says_what_it_is_how_it_stands_and_what_it_cost(viewer, refund_session):
    text = Page(viewer.get(path_of(refund_session)).content).text
    for words in (
        "Refund agent",
        "Order 4711",
        "2 turns",
        "43.4 k tokens",
        "90 % cached",
        "$0.031",
        "reported by the recorder",
        "1 error",
    ):
        assert words in text


def test_each_turn_has_its_tokens_apart_and_its_cost(viewer, refund_session):
    text = Page(viewer.get(path_of(refund_session)).content).text
    assert "1.2 k input 38.0 k cached 2.9 k cache write 1.2 k output $0.031" in text
    assert "tokens and cost not reported" in text  # of the second turn: not 0


def test_cost_with_an_unpriced_part_is_at_least_or_unknown(viewer, agent):
    known = priced("0.50", "r1", input_tokens=10, output_tokens=5)
    unknown = priced(None, "r2", input_tokens=70, output_tokens=7)
    session = session_with(
        agent, [asked("p", "Go"), said("a", "1", **known), said("b", "2", model="nobody-knows-it", **unknown)]
    )
    assert "≥ $0.50" in Page(viewer.get(path_of(session)).content).text
    session = session_with(agent, [asked("p", "Go"), said("b", "2", model="nobody-knows-it", **unknown)])
    text = Page(viewer.get(path_of(session)).content).text
    assert "no price known" in text and "$0.00" not in text


def test_messages_are_markdown_and_tool_calls_are_lines_that_open(viewer, refund_session):
    response = viewer.get(path_of(refund_session))
    page = Page(response.content)
    assert b"I <strong>look</strong> first" in response.content
    assert "lookup_shipment order=4711 lost 0.8 s" in page.text
    assert "run make refund failed" in page.text and "exit 2: no such rule" in page.text
    assert page.seqs == [1, 2, 3, 4, 6, 8, 9, 10]


def test_a_short_prompt_stands_in_the_head_of_its_turn_and_a_long_one_also_below(viewer, refund_session):
    page = Page(viewer.get(path_of(refund_session)).content)
    assert page.all("header", id="e-1") and page.all("article", id="e-8")
    assert "Show all 7.0 kB" in page.text


def test_unknown_events_show_their_raw_payload(viewer, refund_session):
    text = Page(viewer.get(path_of(refund_session)).content).text
    assert "hovercraft" in text and "eels 12" in text


def test_reasoning_that_is_not_there_says_why(viewer, agent):
    session = session_with(
        agent,
        [
            asked("p", "Go"),
            other("a", "reasoning", data={"encrypted": True}),
            other("b", "reasoning", data={"not_recorded": True}),
        ],
    )
    text = Page(viewer.get(path_of(session)).content).text
    assert "encrypted: the recorder kept it" in text and "not recorded" in text


def test_many_tool_calls_in_a_row_are_folded_and_say_how_many_failed(viewer, agent):
    calls = [
        event
        for number in range(6)
        for event in (call(f"c{number}", "Read", {}), result(f"c{number}", status="error" if number == 3 else "ok"))
    ]
    session = session_with(agent, [asked("p", "Go"), *calls, call("e", "Edit", {}), result("e")])
    page = Page(viewer.get(f"{path_of(session)}?show=everything").content)
    assert "7 tool calls 6 Read, 1 Edit 1 failed" in page.text
    assert len(page.all("details", **{"class": "group has-failed"})) == 1
    page = Page(viewer.get(path_of(session)).content)
    assert "7 tool calls Read ×6, Edit ×1 1 failed" in page.text
    assert len(page.all("details", **{"class": "group joined has-failed"})) == 1 and page.seqs == [1, 2]


def test_an_address_of_an_event_opens_the_page_there_and_inspects_it(viewer, agent):
    session = session_with(agent, [asked("p", "Go"), *(said(f"m{number}", f"line {number}") for number in range(300))])
    page = Page(viewer.get(f"{path_of(session)}?event=200").content)
    assert 200 in page.seqs and 1 not in page.seqs
    assert "Event 200 agent_message" in page.text
    assert page.all("div", id="timeline")[0]["data-target"] == "200"


def test_an_address_of_a_nested_event_opens_the_way_to_it(viewer, agent):
    session = session_with(agent, [
        asked("p", "Go"), call("t", "Task", {"description": "Count"}), said("s", "Deep inside", parent="t", depth=1),
        result("t", "7"),
    ])  # fmt: skip
    assert 3 not in Page(viewer.get(path_of(session)).content).seqs
    page = Page(viewer.get(f"{path_of(session)}?event=3").content)
    assert 3 in page.seqs and [found for found in page.all("details", **{"class": "nested"}) if "open" in found]


def test_an_address_of_a_result_leads_to_its_call(viewer, refund_session):
    page = Page(viewer.get(f"{path_of(refund_session)}?event=5").content)
    assert page.all("div", id="timeline")[0]["data-target"] == "4"


def test_a_turn_opens_at_its_prompt(viewer, agent):
    long = [event for n in range(60) for event in (asked(f"p{n}", f"Question {n}"), said(f"m{n}", "…"))]
    page = Page(viewer.get(f"{path_of(session_with(agent, long))}?turn=30").content)
    assert page.seqs[0] == 59 and "data-opens" not in page.all("div", id="timeline")[0]


@pytest.mark.parametrize("lens", ["story", "story&show=everything", "raw"])
def test_a_short_last_turn_has_what_comes_before_it_on_its_page(viewer, agent, lens):
    """It stood alone under "Load earlier" on a page that was half empty."""
    long = [event for n in range(60) for event in (asked(f"p{n}", f"Question {n}"), said(f"m{n}", "…"))]
    page = Page(viewer.get(f"{path_of(session_with(agent, long))}?turn=60&lens={lens}").content)
    assert page.seqs == list(range(120 - ROWS + 1, 121))
    assert page.all("div", id="timeline")[0]["data-opens"] == "119", "the reader still begins at the turn"
    assert page.all("section", id="t-60")


def test_a_depth_is_kept_in_the_links(viewer, refund_session):
    page = Page(viewer.get(f"{path_of(refund_session)}?show=conversation").content)
    assert page.seqs == [1, 3, 8, 10]
    assert page.all("a", href="?event=3&show=conversation#e-3")
    assert (
        4 in Page(viewer.get(f"{path_of(refund_session)}?show=prompts&event=4").content).seqs
    )  # a link to an event shows it


@pytest.mark.parametrize("query", [
    "event=x", "event=99999999999999", "event=0", "event=500", "turn=-1", "turn=9999999", "show=nothing", "from=1e9",
    "until=0", "q=%00", "q=%22", "q=%3A%26%7C", "tab=none&event=1", "at=%00", "at=/nowhere", "event=%D9%A3",
    "q=" + "x" * 5_000,
])  # fmt: skip
def test_nonsense_in_the_address_is_never_a_fault(viewer, refund_session, query):
    assert viewer.get(f"{path_of(refund_session)}?{query}").status_code in (200, 302)


def test_an_event_that_does_not_exist_is_said_so(viewer, refund_session):
    assert (
        "There is no event 500 in this session; it has 10."
        in Page(viewer.get(f"{path_of(refund_session)}?event=500").content).text
    )


def test_an_empty_session_says_what_will_come(viewer, agent):
    assert "Nothing happened yet" in Page(viewer.get(path_of(session_with(agent, []))).content).text


def test_a_finished_session_opens_at_its_start_and_a_running_one_at_its_end(viewer, agent):
    session = session_with(agent, [asked("p", "Go"), *(said(f"m{number}", "…") for number in range(100))])
    assert Page(viewer.get(path_of(session)).content).seqs[-1] == 101
    Session.objects.filter(pk=session.pk).update(phase="completed")
    assert Page(viewer.get(path_of(session)).content).seqs[0] == 1


def test_a_session_opens_where_it_waits(viewer, agent):
    session = session_with(agent, [asked("p", "Go")])
    requests.request(session, requests.Question("issue_refund", {"order": 1}), by=BOT)
    append(session, *(event(text=f"{number}") for number in range(4)))  # a message of a person would end the question
    Session.objects.filter(pk=session.pk).update(phase="completed")
    page = Page(viewer.get(path_of(session)).content)
    assert "Needs approval" in page.text and page.all("div", id="e-2")[0]["data-waits"] is None


@pytest.mark.parametrize("piece", [
    "rows?after=2", "rows?before=8", "rows?only=4", "outline?after=0", "outline?before=9", "head", "facts",
    "find?q=refund", "events/3", "events/4?tab=result", "events/4/body", "events/8/whole?of=text&as=message",
    "events/4/whole?of=arguments",
])  # fmt: skip
def test_each_piece_comes_alone_to_htmx_and_as_a_page_to_everybody_else(viewer, refund_session, piece):
    part, whole = (viewer.get(f"{path_of(refund_session)}/{piece}", **headers) for headers in (FETCHED, {}))
    assert (part.status_code, whole.status_code) == (200, 200)
    assert b"<html" not in part.content and b"<html" in whole.content
    assert b'href="?' not in whole.content  # that would lead to the piece again, not to the session


def test_nothing_new_leaves_the_end_of_the_timeline_as_it_is(viewer, refund_session):
    assert (
        viewer.get(f"{path_of(refund_session)}/rows?tail=1&after={refund_session.last_seq}", **FETCHED).status_code
        == 204
    )
    messages.submit(refund_session.pk, "One more thing", by=BOT)
    tail = viewer.get(f"{path_of(refund_session)}/rows?tail=1&after={refund_session.last_seq}", **FETCHED)
    assert Page(tail.content).seqs == [11] and b'after=11"' in tail.content


def test_the_outline_of_a_long_session_is_read_in_pieces(viewer, agent):
    session = session_with(agent, [asked(f"p{number}", f"Question {number}") for number in range(600)])
    page = Page(viewer.get(f"{path_of(session)}?turn=300").content)
    marks = [int(found["data-turn"]) for found in page.all("li") if "data-turn" in found]
    assert 300 in marks and len(marks) < 50
    more = Page(viewer.get(f"{path_of(session)}/outline?after={marks[-1]}", **FETCHED).content)
    assert more.all("li")[0]["data-turn"] == str(marks[-1] + 1) and len(more.all("li")) >= outline.MORE


def test_the_outline_marks_errors_and_what_waits_and_the_dearest_turn(viewer, refund_session):
    requests.request(refund_session, requests.Question("issue_refund", {"order": 1}), by=BOT)
    page = Page(viewer.get(path_of(refund_session)).content)
    assert page.all("b", **{"class": "cost-bar w-20"}) and page.all("b", **{"class": "cost-bar w-0"})
    assert [found["title"] for found in page.all("a") if found.get("title", "").startswith("Cost: ")]
    assert page.all("p", **{"class": "rail-legend small quiet"})
    assert page.all("em", **{"class": "is-wrong", "title": "1 error"}) and page.all("em", **{"class": "is-waits"})


def test_bars_of_the_outline_compare_turns_of_a_stretch(agent, monkeypatch):
    monkeypatch.setattr(outline, "STRETCH", 3)
    drafts = []
    for turn, tokens in enumerate((10, 40, 20, 5, 100)):
        used = priced(request=f"r{turn}", output_tokens=tokens)
        drafts += [asked(f"p{turn}", "Go"), said(f"a{turn}", "Done", **used)]
    session = session_with(agent, drafts)
    bars = {mark.index: mark.bar for mark in outline.around(session, 1).marks}
    assert bars == {1: 5, 2: 20, 3: 4, 4: 1, 5: 20}, "turns 0 to 2 have 40 tokens at most, 3 to 5 have 100"
    assert {mark.index: mark.bar for mark in outline.after(session, 3).marks} == {4: 1, 5: 20}, "and anywhere so"


def test_search_finds_folded_and_nested_text_and_marks_it(viewer, refund_session):
    search_index.index(refund_session.pk)
    page = Page(viewer.get(f"{path_of(refund_session)}?q=rule").content)
    assert "2 events say" in page.text
    assert [link["href"] for link in page.all("a") if "data-hit" in link] == [
        f"?event={seq}&q=rule#e-{seq}" for seq in (2, 7)
    ]
    assert len(page.all("mark")) == 2
    assert "No event says" in Page(viewer.get(f"{path_of(refund_session)}/find?q=zebra", **FETCHED).content).text


def test_the_next_error_and_the_next_approval_are_found_by_the_server(viewer, refund_session):
    following = lambda what, seq: viewer.get(f"{path_of(refund_session)}/next?what={what}&after={seq}").url  # noqa: E731
    assert following("error", 0) == following("error", 9) == f"{path_of(refund_session)}?event=6#e-6"
    assert following("approval", 0) == path_of(refund_session)
    requests.request(refund_session, requests.Question("issue_refund", {"order": 1}), by=BOT)
    assert following("approval", 0) == f"{path_of(refund_session)}?event=11#e-11"


def test_the_inspector_tells_tokens_and_cost_and_where_they_come_from(viewer, refund_session):
    text = Page(viewer.get(f"{path_of(refund_session)}/events/3?tab=usage", **FETCHED).content).text
    assert "38,000" in text and "$0.0310000000 reported by the recorder" in text
    assert (
        "states no tokens" in Page(viewer.get(f"{path_of(refund_session)}/events/4?tab=usage", **FETCHED).content).text
    )


def test_a_card_opens_to_arguments_and_result(viewer, refund_session):
    text = Page(viewer.get(f"{path_of(refund_session)}/events/6/body", **FETCHED).content).text
    assert "make refund" in text and "no such rule" in text


def test_all_of_a_long_text_is_one_click_away(viewer, refund_session):
    assert (
        Page(viewer.get(f"{path_of(refund_session)}/events/8/whole?of=text&as=message", **FETCHED).content).text.count(
            "please"
        )
        == 1_000
    )


def test_facts_count_tools_and_name_children(viewer, refund_session, agent):
    child = session_with(agent, [asked("p", "Inner")], title="Helper", parent_id=refund_session.pk)
    text = Page(viewer.get(f"{path_of(refund_session)}/facts", **FETCHED).content).text
    assert "Bash 1 1" in text and "lookup_shipment 1 0" in text and "Helper" in text
    assert "Order 4711" in Page(viewer.get(path_of(child)).content).text  # the way back


def test_facts_of_many_calls_count_them_when_they_are_asked_to(viewer, refund_session, monkeypatch):
    monkeypatch.setattr(event_detail, "COUNTED", 1)
    text = Page(viewer.get(f"{path_of(refund_session)}/facts", **FETCHED).content).text
    assert "Bash 1 1" not in text and "Bash" in text and "Count 2 calls by tool" in text
    assert "Bash 1 1" in Page(viewer.get(f"{path_of(refund_session)}/facts?tools=all", **FETCHED).content).text


def test_a_stranger_and_a_wrong_agent_find_nothing(charlie, viewer, refund_session, agent):
    other_agent = type(agent).objects.create(workspace=agent.workspace, name="Other", slug="other")
    for path in (
        "",
        "/rows",
        "/outline",
        "/head",
        "/facts",
        "/find?q=a",
        "/next",
        "/events/1",
        "/events/1/body",
        "/events/1/whole",
    ):
        assert charlie.get(path_of(refund_session) + path).status_code == 404
        assert viewer.get(path_of(refund_session).replace(str(agent.pk), str(other_agent.pk)) + path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/events/999",
        "/events/99999999999999999999",
        "/events/999/body",
        "/events/1/whole?of=arguments",
        "/events/1/whole?of=words",
    ],
)
def test_events_that_are_not_there_are_404(viewer, refund_session, path):
    assert viewer.get(path_of(refund_session) + path).status_code == 404


def test_reviewers_archive_and_viewers_do_not(reviewer, viewer, refund_session):
    assert b"/archive" not in viewer.get(path_of(refund_session)).content
    assert viewer.post(f"{path_of(refund_session)}/archive").status_code == 403
    told = b"It is read-only for good. What waits for a person in it is cancelled"
    assert told in reviewer.get(path_of(refund_session)).content, "before the button that does it"
    assert reviewer.post(f"{path_of(refund_session)}/archive").url == path_of(refund_session)
    page = reviewer.get(path_of(refund_session))
    assert "Archived" in Page(page.content).text and b"/message" not in page.content


def test_a_message_is_added_to_the_end_and_refused_once_archived(reviewer, viewer, refund_session):
    assert viewer.post(f"{path_of(refund_session)}/message", {"text": "Hello"}).status_code == 403
    assert reviewer.post(f"{path_of(refund_session)}/message", {"text": "Hello"}).status_code == 302
    assert refund_session.events.order_by("-seq").values_list("text", "actor_name").first() == ("Hello", "Rosa")
    sessions.archive(refund_session, by=BOT)
    refused = reviewer.post(f"{path_of(refund_session)}/message", {"text": "Too late"}, **FETCHED)
    assert refused.status_code == 409 and "archived" in Page(refused.content).text


def test_no_link_lies_in_what_opens_a_row(viewer, refund_session):
    html = viewer.get(path_of(refund_session)).content.decode()
    rows = [found for found in re.findall(r"<summary.*?</summary>", html, flags=re.S) if 'class="who"' in found]
    assert len(rows) >= 3 and not [found for found in rows if "<a " in found]
    assert html.count('data-inspect="') == len(Page(html.encode()).seqs)


def test_what_a_runtime_here_states_is_not_said_of_a_recorder(viewer, workspace):
    parrot = agents.create(workspace.id, "Parrot", by=BOT, runtime="scripted")
    session = session_with(
        parrot, [asked("p", "Go"), said("m", "1", **priced("0.01", input_tokens=9, output_tokens=5))]
    )
    assert "reported by its runtime" in Page(viewer.get(path_of(session)).content).text


def test_the_inspector_shows_no_empty_data(viewer, refund_session):
    shown = Page(viewer.get(f"{path_of(refund_session)}/events/1?tab=text", **FETCHED).content).text
    assert "Text" in shown and "Data" not in shown
    assert "hovercraft" in Page(viewer.get(f"{path_of(refund_session)}/events/9?tab=text", **FETCHED).content).text


def test_the_head_of_a_turn_says_whose_prompt_it_is_where_that_is_known(viewer, agent):
    session = session_with(
        agent, [asked("a", "Refund it", actor_name="Kim <b>Ritter"), said("b", "Done"), asked("c", "Thanks", 9)]
    )
    page = viewer.get(path_of(session)).content.decode()
    assert '<span class="turn-by untrusted">Kim &lt;b&gt;Ritter</span>' in page and page.count("turn-by") == 1
