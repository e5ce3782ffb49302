"""One picture, one table under it, and both wallets apart from what ran elsewhere."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.drafts import EventDraft, Usage
from sessions_app.models import ModelRequest, Session, Turn, TurnInFlight
from sessions_app.services import agents
from sessions_app.services.log import events, links, turn_usage
from tests.services.build import answer, event, user

from ..build import session_of, words
from ..test_strict_pages import HOSTILE, complaints
from .spending import ran

MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)


def table(client, query: str = "") -> list[list[str]]:
    """The rows of the table as people read them, without its head."""
    html = client.get(f"/usage/{query}").content.decode()
    body = html.split('<table class="table usage"', 1)[1].split("</thead>", 1)[1].split("</table>", 1)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)]
    return [[" ".join(unescape(re.sub(r"<[^>]+>", "", cell)).split()) for cell in row] for row in rows]


def download(client, query: str = "") -> list[list[str]]:
    answer = client.get(f"/usage/table.csv{query}")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.content.decode())))


def days(client, query: str = "") -> dict[str, dict]:
    """What the picture is drawn from, by day."""
    data = re.search(r'data-points="([^"]*)"', client.get(f"/usage/{query}").content.decode()).group(1)
    return {point["day"]: point for point in json.loads(unescape(data))}


def test_both_wallets_and_what_ran_elsewhere_stand_apart(viewer, agent):
    ran(agent, "0.50", tool="lookup", price="0.02")
    ran(agent, "0.25", here=False, origin="import")
    (row, total) = table(viewer)
    assert row[1:] == ["2", "2", "2.0 k", "—", "—", "400", "1.5 s", "$0.50", "$0.020", "$0.25", "$0.77"]
    assert row[1:] == total[1:]
    today = days(viewer)[f"{timezone.now():%Y-%m-%d}"]
    assert (today["amounts"], today["texts"]) == ([0.5, 0.02, 0.25], ["$0.50", "$0.020", "$0.25"])


@pytest.mark.parametrize("by", ["day", "agent", "model", "tool", "session"])
def test_every_grouping_adds_up_to_the_same(viewer, agent, by):
    ran(agent, "0.50", tool="lookup", price="0.02", model="m-1")
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), "0.25", here=False, title="Elsewhere", model="m-2")
    rows = download(viewer, f"?by={by}")
    money = [[Decimal(cell or 0) for cell in row[-5:-1]] for row in rows[1:]]
    assert [sum(column) for column in zip(*money[:-1], strict=True)] == money[-1]
    assert money[-1] == [Decimal("0.5"), Decimal("0.02"), Decimal("0.25"), Decimal("0.77")]
    assert len(rows) == {"day": 3, "tool": 4}.get(by, 4)


def test_a_turn_that_is_still_running_is_one_of_ours(viewer, agent):
    session = ran(agent, "0.25", here=False)
    TurnInFlight.objects.create(session=session, turn=1)
    assert table(viewer)[-1][-4:] == ["$0.25", "—", "", "$0.25"]


def test_a_failed_call_costs_nothing(viewer, agent):
    ran(agent, tool="lookup", price="0.02", status="error")
    assert table(viewer)[-1][-3] == "—"


def test_a_response_that_another_session_repeats_counts_once(viewer, agent):
    first, copy = ran(agent, "0.50", here=False), ran(agent, "0.50", here=False)
    ModelRequest.objects.filter(session=copy).update(counted_in=first)
    turn_usage.write_all(copy.pk)
    rows = table(viewer, "?by=model")
    assert (rows[0][3], rows[0][-1]) == ("1.0 k", "$0.50")


def test_a_cost_that_lacks_a_part_is_at_least_and_an_unknown_one_is_a_dash(viewer, agent):
    ran(agent, None, title="Unpriced", here=False)
    assert table(viewer)[-1][-1] == "—"
    ran(agent, "0.50", title="Priced")
    assert table(viewer)[-1][-1] == "≥ $0.50"
    assert {row[0]: row[-1] for row in table(viewer, "?by=session")} == {
        "Unpriced": "—", "Priced": "$0.50", "Total": "≥ $0.50",
    }  # fmt: skip
    assert download(viewer)[-1][-2:] == ["0.5000000000", "yes"]


def test_output_that_was_not_counted_to_the_end_is_at_least(viewer, agent):
    session = ran(agent)
    Turn.objects.filter(session=session).update(under_reported=1)
    turn_usage.write_all(session.pk)
    assert table(viewer)[-1][6] == "≥ 200"


def test_a_day_begins_at_midnight_utc(viewer, agent):
    ran(agent, "1", at=MIDNIGHT - timedelta(microseconds=1))
    ran(agent, "2", at=MIDNIGHT)
    assert [(row[0], row[-1]) for row in table(viewer, "?from=2026-03-01&to=2026-03-31")[:-1]] == [
        ("3 Mar 2026", "$2.00"), ("2 Mar 2026", "$1.00"),
    ]  # fmt: skip
    assert table(viewer, "?from=2026-03-03&to=2026-03-03")[-1][-1] == "$2.00"
    assert table(viewer, "?from=2026-03-03T01:00%2B02:00")[-1][-1] == "$3.00", "23:00 UTC of the day before"


def test_without_a_period_the_last_thirty_days_count(viewer, agent):
    first = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=29)
    ran(agent, "1", at=first)
    ran(agent, "2", at=first - timedelta(microseconds=1))
    assert table(viewer)[-1][-1] == "$1.00"
    picture = days(viewer)
    assert (len(picture), min(picture)) == (30, f"{first:%Y-%m-%d}")
    assert table(viewer, "?from=ever")[-1][-1] == "$3.00"


QUARTER = "from=2026-01-30&to=2026-05-01"


def over_a_quarter(agent) -> None:
    """92 days with usage in four of them, in three months, one session going on in the next."""
    for day, cost in ((datetime(2026, 1, 30, tzinfo=UTC), "1"), (datetime(2026, 2, 28, tzinfo=UTC), "2"),
                      (datetime(2026, 5, 1, 23, 59, tzinfo=UTC), "4")):  # fmt: skip
        session = ran(agent, cost, at=day, model=f"m-{cost}", tool="lookup", price="0.02")
    later = [user(at=datetime(2026, 5, 2, 1, tzinfo=UTC)), answer("later", "m-4", output_tokens=5, cost=Decimal("8"))]
    events.append(session.pk, later, origin=links.RUNTIME)


def test_a_quarter_is_drawn_by_day_and_a_longer_period_by_month(viewer, agent):
    over_a_quarter(agent)
    assert len(days(viewer, f"?{QUARTER}")) == 92
    longer = f"?{QUARTER.replace('05-01', '05-02')}"
    months = days(viewer, longer)
    assert list(months) == ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01"]
    assert [round(sum(point["amounts"]), 2) for point in months.values()] == [1.02, 2.02, 0, 0, 12.02]
    assert [point["sessions"] for point in months.values()] == [1, 1, 0, 0, 1]
    rows = table(viewer, longer)
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("May 2026", "1", "$12.02"), ("Feb 2026", "1", "$2.02"), ("Jan 2026", "1", "$1.02"), ("Total", "3", "$15.06"),
    ]  # fmt: skip
    page = words(viewer.get(f"/usage/{longer}"))
    assert "Cost a month from 30 Jan 2026 to 2 May 2026, which are more than 92 days" in page
    assert "By month" in page and "CSV by day" in page and "Highest: May 2026 , $12.02." in page
    assert [row[0] for row in download(viewer, longer)[1:]] == [
        "2026-05-02", "2026-05-01", "2026-02-28", "2026-01-30", "Total",
    ]  # fmt: skip


def test_a_month_leads_to_its_days_within_the_period(viewer, agent):
    over_a_quarter(agent)
    longer = f"?{QUARTER.replace('05-01', '05-02')}&by=model&picture=tokens"
    urls = [point["url"] for point in days(viewer, longer).values()]
    assert urls[0] == "/usage/?by=model&picture=tokens&from=2026-01-30&to=2026-01-31"
    assert urls[1].endswith("from=2026-02-01&to=2026-02-28") and urls[-1].endswith("from=2026-05-01&to=2026-05-02")
    assert [day for day, point in days(viewer, urls[-1].removeprefix("/usage/")).items() if any(point["amounts"])] == [
        "2026-05-01", "2026-05-02",
    ]  # fmt: skip


def test_all_time_begins_with_its_first_usage_and_is_short_while_that_is(viewer, agent):
    ran(agent, at=timezone.now() - timedelta(days=20))
    assert 21 <= len(days(viewer, "?from=ever")) <= 51
    ran(agent, at=timezone.now() - timedelta(days=200))
    assert list(days(viewer, "?from=ever")) == sorted({f"{timezone.now() - timedelta(days=back):%Y-%m-01}"
                                                       for back in range(201)})  # fmt: skip


PICTURES = ("cost", "tokens", "savings", "calls", "errors", "latency", "runtime", "accepted")


@pytest.mark.parametrize("by", ["day", "agent", "model", "tool"])
def test_months_of_each_picture_are_the_sums_of_their_days(viewer, agent, by):
    over_a_quarter(agent)
    usage = Usage(cache_read_tokens=1_000_000)
    for at in (datetime(2026, 2, 2, tzinfo=UTC), datetime(2026, 2, 3, tzinfo=UTC)):
        session = session_of(agent, errors=1, model_names=[OPUS], cost="2", verdict="pass")
        began(session, at)
        answered = EventDraft(
            "agent_message",
            "b",
            at=at + timedelta(seconds=2),
            model=OPUS,
            request=f"{at}",
            usage=usage,
            cost=Decimal(1),
        )
        events.append(session.pk, [user(at=at), answered], origin=links.RUNTIME)
    for picture in PICTURES:
        query = f"by={by}&picture={picture}"
        february = days(viewer, f"?from=2026-02-01&to=2026-02-28&{query}")
        month = days(viewer, f"?from=2026-02-01&to=2026-06-30&{query}")["2026-02-01"]
        by_day = [sum(point["amounts"]) for point in february.values()]
        if picture in ("latency", "accepted"):  # of all sessions together, which are alike here
            assert sum(month["amounts"]) == max(by_day) > 0, picture
        else:
            assert sum(month["amounts"]) == pytest.approx(sum(by_day)) and sum(by_day) > 0, picture


def test_filters_are_those_of_the_session_list(viewer, agent):
    ran(agent, "1", origin="slack", tags=["late"])
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), "2", origin="chat")
    for query, cost in (("agent=refund-agent", 1), ("agent=other", 2), ("origin=chat", 2), ("tag=late", 1)):
        assert table(viewer, f"?{query}")[-1][-1] == f"${cost}.00"
        assert sum(point["amounts"][0] for point in days(viewer, f"?{query}").values()) == cost


@pytest.mark.parametrize("by", ["day", "agent", "model", "tool"])
def test_every_row_leads_to_its_sessions(viewer, agent, by):
    long_ago = timezone.now() - timedelta(days=40)
    ran(agent, title="Meant", tool="lookup", model="m-1")
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), title="Older", tool="other", model="m-2", at=long_ago)
    html = viewer.get(f"/usage/?by={by}").content.decode()
    link = unescape(re.search(r'data-row (?:class="untrusted" )?href="([^"]*)"', html).group(1))
    page = words(viewer.get(link))
    assert "Meant" in page and "1 session" in page and "Older" not in page


def test_a_row_of_a_session_leads_to_it_and_a_bar_to_its_day(viewer, agent):
    session = ran(agent)
    path = f"/dashboard/sub-agents/{agent.id}/chat/{session.id}"
    assert f'href="{path}"' in viewer.get("/usage/?by=session").content.decode()
    bar = days(viewer)[f"{timezone.now():%Y-%m-%d}"]
    assert "Order 4711" in words(viewer.get(bar["url"]))


def test_the_csv_is_the_table(viewer, agent):
    for number in range(3):
        ran(agent, f"0.1{number}", title=f"Session {number}")
    shown, written = table(viewer, "?by=session"), download(viewer, "?by=session")
    assert [row[0] for row in shown] == [row[0] for row in written[1:]]
    assert [row[2] for row in shown] == [row[2] for row in written[1:]]
    assert written[-1][3] == "3000"


@pytest.mark.parametrize(
    "title", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "\uff1d1+1", '=HYPERLINK("http://x.example")']
)
def test_a_spreadsheet_runs_no_name_of_a_stranger(viewer, agent, title):
    ran(agent, title=title)
    assert download(viewer, "?by=session")[1][0] == f"'{title.strip()}" or title.startswith(("\t", "\n"))
    assert not download(viewer, "?by=session")[1][0].startswith(("=", "+", "-", "@", "\t", "\n", "\uff1d"))


def test_hostile_names_stay_text(viewer, agent):
    evil = HOSTILE.replace("\0", "")
    ran(agents.get_or_create_agent(agent.workspace_id, evil), tool=evil, model=evil, title=evil, price="0.01")
    for by in ("agent", "tool", "model", "session"):
        page = viewer.get(f"/usage/?by={by}")
        html = page.content.decode()
        assert complaints(html) == [] and "<script>alert" not in html and "<img" not in html
        row = re.search(r'data-row class="untrusted" href="([^"]*)"', html).group(1)
        assert viewer.get(unescape(row)).status_code == 200


@pytest.mark.parametrize(
    "query",
    ["by=mood", "from=tomorrow", "to=2026-13-01", "origin=dream", "from=2026-03-02&to=2026-03-01", "agent=%00",
     "tag=" + "x" * 1001, "to=9999-12-31", "from=0001-01-01T00:00%2B23:00"],
)  # fmt: skip
def test_invalid_filter_value_is_reported(viewer, agent, query):
    ran(agent)
    page = viewer.get(f"/usage/?{query}")
    assert page.status_code == 400
    assert 'role="alert"' in page.content.decode()
    assert viewer.get(f"/usage/table.csv?{query}").status_code == 400


def test_period_without_usage_says_so(viewer, workspace):
    assert "No usage in this period" in words(viewer.get("/usage/"))
    assert "No usage in this period" in words(viewer.get("/usage/?from=ever&by=tool"))


def test_other_workspaces_are_not_counted(charlie, agent):
    ran(agent, title="Secret")
    for query in ("", "?by=session", "?by=agent&from=ever", "?agent=refund-agent"):
        assert "No usage in this period" in words(charlie.get(f"/usage/{query}"))
    assert len(download(charlie, "?by=session")) == 2


def test_queries_do_not_grow(viewer, agent):
    def count(by: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert viewer.get(f"/usage/?by={by}").status_code == 200
        return len(captured)

    for number in range(2):
        ran(
            agents.get_or_create_agent(agent.workspace_id, f"A{number}"),
            tool=f"t{number}",
            price="0.01",
            title=f"S{number}",
        )
    before = {by: count(by) for by in ("day", "agent", "model", "tool", "session")}
    for number in range(2, 20):
        ran(
            agents.get_or_create_agent(agent.workspace_id, f"A{number}"),
            tool=f"t{number}",
            price="0.01",
            title=f"S{number}",
        )
    assert {by: count(by) for by in before} == before
    assert max(before.values()) <= 13  # two of them: what lies outside the range, and what Sessions shows


def test_a_long_table_says_how_many_rows_it_leaves_out(viewer, agent, monkeypatch):
    monkeypatch.setattr("sessions_app.views.money.usage.ROWS", 2)
    for cost in ("1", "3", "2"):
        ran(agent, cost, title=f"For {cost}")
    page = words(viewer.get("/usage/?by=session"))
    assert "These are the 2 that cost most of 3." in page and "For 1" not in page
    rows = table(viewer, "?by=session")
    assert [row[0] for row in rows] == ["For 3", "For 2", "All 3"]
    assert rows[-1][-1] == "$6.00"
    assert len(table(viewer, "?by=session&all=1")) == 4


def total_line(client, path: str) -> str:
    return words(client.get(path))


def test_what_lies_outside_the_range_is_told(viewer, agent):
    ran(agent, "0.50", here=False)
    ran(agent, "1173.40", here=False, at=timezone.now() - timedelta(days=90))
    assert "… $1,173.40 outside this range, in 1 turn: show all" in total_line(viewer, "/usage/")
    everything = total_line(viewer, "/usage/?from=ever")
    assert "outside this range" not in everything and "$1,173.90 total" in everything


@pytest.mark.parametrize("query", ["", "agent=refund-agent", "origin=import"])
def test_usage_and_sessions_show_the_same_for_the_same_filter(viewer, agent, query):
    ran(agent, "0.50", here=False, origin="import")
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), "0.25", here=False)
    usage = total_line(viewer, f"/usage/?from=ever&{query}")
    sessions = total_line(viewer, f"/sessions/?{query}")
    amount = re.search(r"([$][0-9.,]+) total", usage).group(1)
    assert f" tokens {amount}" in sessions
    assert "Sessions shows" not in usage


def test_where_a_session_goes_beyond_the_range_the_difference_is_explained(viewer, agent):
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    session = ran(agent, "0.50", here=False, at=began)
    events.append(
        session.pk,
        [user(at=began + timedelta(days=5)), answer("later", cost=Decimal("0.25"))],
        origin=links.RUNTIME,
    )
    usage = total_line(viewer, "/usage/?from=2026-03-01&to=2026-03-02")
    assert "$0.50 total" in usage
    assert "Sessions shows $0.75 for the same sessions" in usage
    assert "whole sessions, with the turns that they had outside this range" in usage


def test_of_too_many_sessions_to_add_up_it_is_told_why_the_list_may_differ(viewer, agent, monkeypatch):
    monkeypatch.setattr("sessions_app.views.money.reconciling.ADDED_UP", 1)
    ran(agent, "0.50", here=False)
    assert "Why Sessions" not in total_line(viewer, "/usage/")
    ran(agent, "0.25", here=False)
    usage = total_line(viewer, "/usage/")
    assert "Why Sessions may show another amount" in usage and "Sessions shows" not in usage
    assert "whole sessions, with the turns that they had outside this range" in usage


def drawn(client, query: str) -> tuple[list[str], dict[str, list[str]]]:
    """Names of the series of a picture, and what each day with an amount says."""
    html = client.get(f"/usage/{query}").content.decode()
    series, points = (
        json.loads(unescape(re.search(f'data-{name}="([^"]*)"', html).group(1))) for name in ("series", "points")
    )
    return [one["label"] for one in series], {each["day"]: each["texts"] for each in points if any(each["amounts"])}


OPUS = "claude-opus-4-5"


@pytest.mark.parametrize(
    ("query", "labels", "texts"),
    [
        ("picture=tokens", ["input", "cache read", "cache write", "output"], ["2.0 k", "1.0 M", "—", "400"]),
        ("by=model", [OPUS, "m-2"], ["$0.52", "$0.25"]),
        ("by=agent", ["Refund agent", "Other"], ["$0.52", "$0.25"]),
        ("by=model&picture=tokens", [OPUS, "m-2"], ["1.0 M", "1.2 k"]),
        ("picture=savings", [OPUS], ["$4.50"]),
        ("picture=calls", ["lookup"], ["1"]),
        ("picture=errors", ["sessions with errors", "sessions without errors"], ["1", "1"]),
        ("picture=runtime", ["runtime"], ["1.5 s"]),
    ],
)
def test_each_picture_says_the_numbers_of_its_day(viewer, agent, query, labels, texts):
    first = ran(agent, "0.50", tool="lookup", price="0.02", model=OPUS)
    usage = Usage(cache_read_tokens=1_000_000)
    events.append(first.pk, [EventDraft("agent_message", "b", at=first.started_at, model=OPUS, request="q", usage=usage,
                             cost=Decimal(0)), event("error")], origin=links.RUNTIME)  # fmt: skip
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), "0.25", here=False, model="m-2")
    shown, by_day = drawn(viewer, f"?{query}")
    assert (shown, list(by_day.values())) == (labels, [texts])
    page = viewer.get(f"/usage/?{query}")
    assert "The chart as a table" in words(page) and not complaints(page.content.decode())


def test_the_day_with_most_errors_is_the_highest_not_the_one_with_most_sessions(viewer, agent):
    yesterday = timezone.now() - timedelta(days=1)
    for number in range(2):
        ran(agent, title=f"S{number}")
    assert "Highest" not in words(viewer.get("/usage/?picture=errors"))
    failed = ran(agent, at=yesterday)
    events.append(failed.pk, [event("error")], origin=links.RUNTIME)
    assert f"Highest: {yesterday:%-d %b} , 1." in words(viewer.get("/usage/?picture=errors"))


def test_a_picture_that_is_none_is_refused_by_name(viewer, workspace):
    answer = viewer.get("/usage/?picture=pie")
    assert answer.status_code == 400 and "&quot;pie&quot; is no chart" in answer.content.decode()


def test_the_sixth_and_further_of_a_grouping_are_drawn_together(viewer, agent):
    for number in range(7):
        ran(agent, "0.10", here=False, model=f"m-{number}", title=f"S{number}")
    labels, by_day = drawn(viewer, "?by=model")
    assert labels == ["m-0", "m-1", "m-2", "m-3", "m-4", "others"]
    assert list(by_day.values()) == [["$0.10"] * 5 + ["$0.20"]]


def test_errors_of_a_tag_are_not_made_up(viewer, agent):
    ran(agent)
    labels, by_day = drawn(viewer, "?picture=errors&tag=night")
    assert by_day == {}
    assert "take the filters of origin and tag away" in words(viewer.get("/usage/?picture=errors&tag=night"))


def began(session: Session, at: datetime) -> None:
    Session.objects.filter(pk=session.pk).update(started_at=at)


def test_what_an_accepted_session_costs_is_what_all_reviewed_ones_cost(viewer, agent):
    day = timezone.now() - timedelta(days=2)
    for verdict, cost in (("pass", "1.00"), ("pass", "2.00"), ("fail", "3.00"), ("", "50.00")):
        began(session_of(agent, cost=cost, verdict=verdict), day)
    labels, texts = drawn(viewer, "?picture=accepted")
    assert labels == ["cost per accepted session"] and list(texts.values()) == [["$3.00, 2 of 3 accepted"]]
    page = viewer.get("/usage/?picture=accepted").content.decode()
    assert f"verdict=pass&amp;from={day:%Y-%m-%d}&amp;to={day:%Y-%m-%d}" in page
    assert drawn(viewer, "?picture=accepted&tag=x")[1] == {}


def test_errors_are_drawn_by_model(viewer, agent):
    day = timezone.now() - timedelta(days=1)
    for errors, models in ((2, ["m-1", "m-2"]), (1, ["m-2"]), (1, []), (0, ["m-1"])):
        began(session_of(agent, errors=errors, model_names=models), day)
    labels, texts = drawn(viewer, "?picture=errors&by=model")
    assert labels == ["m-2", "no model stated", "m-1"] and list(texts.values()) == [["2", "1", "1"]]
