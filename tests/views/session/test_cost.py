"""The bill of a session: short for the overview, whole on its page, with its places as links to events."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from sessions_app.drafts import Usage
from sessions_app.models import ModelRequest, Session
from sessions_app.templatetags.timeline import heat

from .build import Page, asked, call, path_of, result, said, session_with

OPUS = "claude-opus-4-5"


def shown(client, session: Session, **headers: str) -> Page:
    answer = client.get(f"{path_of(session)}/cost", headers=headers)
    assert answer.status_code == 200
    return Page(answer.content)


@pytest.fixture
def spent(agent):
    return session_with(
        agent,
        [
            asked("p", "Go"),
            call("r", "Read<b>", {}, request="1"),
            said("a", "Read", request="1", model=OPUS, usage=Usage(input_tokens=100, cache_write_tokens=60_000)),
            result("r", "x" * 4_000),
            said("b", "Done", seconds=400, request="2", model=OPUS,
                 usage=Usage(cache_write_tokens=61_000, output_tokens=900)),
            said("c", "More", seconds=401, request="3", model="house-model", usage=Usage(input_tokens=2_000)),
        ],
    )  # fmt: skip


def test_the_page_divides_the_cost_and_says_why(viewer, spent):
    page = shown(viewer, spent)
    for words in ("≥ $0.77", "Cache write", "By model", "By sub-agent", "By tool", "the agent itself", "Read<b>"):
        assert words in page.text
    assert "Cache lost after a pause of 6 m 39 s: 60.0 k tokens sent again" in page.text
    places = [link["href"] for link in page.all("a") if "?event=" in link.get("href", "")]
    assert f"{path_of(spent)}?event=5#e-5" in places


def test_what_it_cost_with_the_sessions_that_it_started(viewer, agent, spent):
    usage = Usage(input_tokens=1_000_000)
    said_by_child = said("x", "Found", request="9", model=OPUS, usage=usage)
    child = session_with(agent, [asked("q", "Look"), said_by_child])
    Session.objects.filter(pk=child.pk).update(parent=spent)
    for headers in ({}, {"HX_Request": "true"}):
        assert "≥ $5.77 together with the session that it started" in shown(viewer, spent, **headers).text


def test_of_one_request_it_speaks_of_one(viewer, agent, spent):
    other = session_with(agent, [asked("p", "Go")])
    rows = ModelRequest.objects.filter(session=spent).order_by("seq")
    first, second = rows.values_list("key", flat=True)[:2]
    rows.filter(key=first).update(counted_in=other)
    rows.filter(key=second).update(cost_within=1)
    text = shown(viewer, spent).text
    assert "1 more request stands in an earlier session as well and is counted there." in text
    assert "1 request has no amount of its own: one that the recorder states for several covers it." in text


def test_what_at_least_means_is_told_with_a_key(viewer, spent):
    page = shown(viewer, spent)
    assert page.all("summary")
    assert "2.0 k tokens of house-model" in page.text and "never that of another" in page.text


def test_the_overview_is_given_the_short_bill(viewer, spent):
    page = shown(viewer, spent, HX_Request="true")
    assert "Most expensive places" in page.text and "By tool" not in page.text and "<html" not in page.text
    assert f"{path_of(spent)}/cost" in [link["href"] for link in page.all("a")]


def test_the_card_is_told_why_by_the_bill(viewer, spent):
    answer = viewer.get(f"{path_of(spent)}/cost", headers={"HX-Request": "true"})
    card = Page(answer.content.partition(b'id="card-cost" hx-swap-oob="true"')[2])
    assert "Cache write 97.0 %" in card.text and "Beginning of a context: 60.1 k tokens" in card.text
    assert "≥ $0.77" in Page(viewer.get(path_of(spent)).content.partition(b'id="card-cost"')[2]).text


def test_a_card_without_a_cost_is_told_none(viewer, agent):
    session = session_with(agent, [asked("p", "Go")])
    for path in (path_of(session), f"{path_of(session)}/cost"):
        assert b"card-cost" not in viewer.get(path, headers={"HX-Request": "true"}).content


def test_a_stated_cost_is_not_divided(viewer, agent):
    usage = Usage(input_tokens=10, output_tokens=3)
    session = session_with(agent, [asked("p", "Go"), said("a", "Hi", request="1", cost=Decimal("0.25"), usage=usage)])
    page = shown(viewer, session)
    assert "reported by the recorder" in page.text and "no division is made up here" in page.text


def test_a_session_without_tokens_is_not_free(viewer, agent):
    page = shown(viewer, session_with(agent, [asked("p", "Go")]))
    assert "That is not the same as free" in page.text


def test_the_page_asks_as_often_for_many_requests_as_for_few(viewer, agent, django_assert_max_num_queries):
    usage = Usage(input_tokens=10)
    session = session_with(agent, [said(f"a{n}", "Hi", request=f"{n}", model=OPUS, usage=usage) for n in range(60)])
    with django_assert_max_num_queries(16):
        shown(viewer, session)


@pytest.mark.parametrize(
    ("cost", "step"), [(None, ""), ("0.009", "heat-1"), ("0.01", "heat-2"), ("0.05", "heat-3"), ("0.9", "heat-5")]
)
def test_a_row_is_as_hot_as_its_response_is_dear_beside_the_average_event(cost, step):
    request = ModelRequest(cost_priced=cost and Decimal(cost))
    assert heat(request, Session(cost_priced=Decimal("1"), event_count=100)) == step
    assert heat(request, Session(event_count=100)) == ""


def test_rows_carry_their_heat(viewer, spent):
    page = viewer.get(path_of(spent)).content.decode()
    assert re.search(r'class="event [^"]* heat-2"', page) and "data-heat" in page
