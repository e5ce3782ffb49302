"""Tools of the session list: saved views, columns, filters by review, and what is done to many sessions."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.models import AuditEntry, Member, SavedView, Session
from sessions_app.services import audit
from sessions_app.services.reviews import seen, verdicts
from tests.services.build import append, user

from ..build import session_of, words


def member(name: str) -> Member:
    return Member.objects.get(user__first_name=name)


def titles(client, query: str) -> set[str]:
    page = words(client.get(f"/sessions/?{query}"))
    return {title for title in ("First", "Second", "Third") if title in page}


@pytest.fixture
def three(agent) -> list[Session]:
    return [session_of(agent, title=title) for title in ("First", "Second", "Third")]


def test_the_list_is_filtered_by_verdict_and_by_who_is_to_review(reviewer, three):
    first, second, _ = three
    verdicts.give(first.pk, member("Rosa"), verdicts.Said("fail"), by=audit.COMMAND)
    Session.objects.filter(pk=second.pk).update(assignee=member("Rosa"))
    assert titles(reviewer, "verdict=fail") == titles(reviewer, "verdict=any") == {"First"}
    assert titles(reviewer, "verdict=none") == {"Second", "Third"}
    assert titles(reviewer, "assignee=me") == {"Second"}
    assert titles(reviewer, f"assignee={member('Rosa').pk}") == {"Second"}
    assert titles(reviewer, "assignee=none") == {"First", "Third"}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("verdict=good", '"good" is no verdict'),
        ("assignee=you", '"you" is nobody'),
        ("mood=1", "no such filter"),
    ],
)
def test_a_filter_that_means_nothing_is_told_by_name(reviewer, three, query, told):
    answer = reviewer.get(f"/sessions/?{query}")
    assert answer.status_code == 400 and told in words(answer)


@pytest.mark.parametrize("place", ["/sessions/", "/search/", "/usage/calls/", "/api/v1/sessions"])
@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31"])
def test_a_moment_outside_of_the_calendar_is_no_date(reviewer, three, place, value):
    """It is one where it was written, and none in UTC: four pages answered 500."""
    names = {"/usage/calls/": ("from", "to"), "/api/v1/sessions": ("from", "to")}
    for name in names.get(place, ("from", "to", "used_from", "used_to")):
        answer = reviewer.get(place, {name: value})
        assert answer.status_code in (200, 400, 422), name


@pytest.mark.parametrize("place", ["/sessions/", "/search/", "/usage/"])
def test_what_stands_in_an_address_is_quoted_in_short(reviewer, three, place):
    """Anybody can send an address: nothing in it is to look like a sentence of the desk."""
    lie = "Your session has ended. Call us. " * 20
    names = {"/usage/": ("by", "picture")}
    for name in names.get(place, ("min_cost", "has_errors", "sort", "status", "origin", "verdict", lie)):
        answer = reviewer.get(place, {name: lie if name != lie else "1"})
        assert answer.status_code == 400, name
        shown = words(answer).replace('"Your session has ended.', "quoted ")
        assert "Your session" not in shown[: shown.find("quoted")] and shown.count("Call us") <= 4, name


def test_a_view_is_saved_shared_replaced_and_removed(reviewer, viewer, three):
    form = {"name": "Bad ones", "query": "?has_errors=true&cursor=abc", "shared": "on"}
    assert reviewer.post("/sessions/views/", form).url == "/sessions/?has_errors=true&cursor=abc"
    view = SavedView.objects.get()
    assert (view.query, view.is_shared) == ("has_errors=true", True)
    assert "Bad ones by Rosa" in words(viewer.get("/sessions/"))
    assert (
        'href="/sessions/?has_errors=true" aria-current="true"'
        in reviewer.get("/sessions/?has_errors=true").content.decode()
    )
    reviewer.post("/sessions/views/", {"name": "Bad ones", "query": "status=idle"})
    assert SavedView.objects.get().query == "status=idle"
    assert "Bad ones" not in words(viewer.get("/sessions/")), "it is not shared any more"
    assert viewer.post(f"/sessions/views/{view.pk}/remove/").status_code == 403
    assert reviewer.post(f"/sessions/views/{view.pk}/remove/").status_code == 302
    assert not SavedView.objects.exists()
    assert [one.action for one in AuditEntry.objects.filter(subject_kind="saved_view").order_by("seq")] == [
        "saved_view.shared", "saved_view.unshared",
    ]  # fmt: skip


def test_a_view_gets_another_name(reviewer, viewer, admin, three):
    for name in ("Bad ones", "Slow ones"):
        reviewer.post("/sessions/views/", {"name": name, "query": "?has_errors=true", "shared": "on"})
    viewer.post("/sessions/views/", {"name": "Mine"})
    bad, mine = SavedView.objects.get(name="Bad ones"), SavedView.objects.get(name="Mine")
    rename = f"/sessions/views/{bad.pk}/rename/"
    assert viewer.post(rename, {"name": "Worse"}).status_code == 403
    assert admin.post(f"/sessions/views/{mine.pk}/rename/", {"name": "Worse"}).status_code == 403
    assert reviewer.post(rename, {"name": " The  worst ", "query": "status=idle"}).url == "/sessions/?status=idle"
    assert "The view is called The worst now." in words(reviewer.get("/sessions/"))
    admin.post(rename, {"name": "Slow ones"})
    assert 'Rosa has a view "Slow ones" already' in words(admin.get("/sessions/"))
    reviewer.post(rename, {"name": "  "})
    assert "The view keeps its name: the name has 0 characters" in words(reviewer.get("/sessions/"))
    bad.refresh_from_db()
    assert (bad.name, bad.query, bad.is_shared) == ("The worst", "has_errors=true", True)
    [entry] = AuditEntry.objects.filter(action="saved_view.renamed")
    assert (entry.details["was"], entry.details["name"]) == ("Bad ones", "The worst")


def test_a_viewer_keeps_views_and_shares_none(viewer):
    assert viewer.post("/sessions/views/", {"name": "Mine", "query": "?tag=vip"}).status_code == 302
    assert viewer.post("/sessions/views/", {"name": "Ours", "query": "", "shared": "on"}).status_code == 403
    assert [view.name for view in SavedView.objects.all()] == ["Mine"]


def test_a_shared_view_stays_when_its_maker_leaves(reviewer, admin, three):
    reviewer.post("/sessions/views/", {"name": "Ours", "query": "tag=vip", "shared": "on"})
    member("Rosa").delete()
    assert "Ours by Rosa" in words(admin.get("/sessions/"))
    assert admin.post(f"/sessions/views/{SavedView.objects.get().pk}/remove/").status_code == 302


def test_a_view_with_a_filter_of_another_version_names_it(reviewer, three):
    rosa = member("Rosa")
    SavedView.objects.create(workspace=rosa.workspace, member=rosa, name="Old", query="colour=red&has_errors=false")
    answer = reviewer.get("/sessions/?colour=red&has_errors=false")
    assert '"colour" : the list has no such filter' in words(answer)
    assert SavedView.objects.get().query == "colour=red&has_errors=false"


def test_nobody_sees_or_changes_a_view_of_another_workspace(charlie, reviewer):
    reviewer.post("/sessions/views/", {"name": "Ours", "query": "", "shared": "on"})
    assert "Ours" not in words(charlie.get("/sessions/"))
    for change in ("remove", "rename"):
        assert charlie.post(f"/sessions/views/{SavedView.objects.get().pk}/{change}/").status_code == 404


def test_columns_are_each_members_own(reviewer, viewer, three):
    Session.objects.filter(pk=three[0].pk).update(tags=["vip<b>"], assignee=member("Rosa"))
    reviewer.post("/sessions/columns/", {"column": ["tags", "assignee"], "query": "?tag=vip%3Cb%3E"})
    table = reviewer.get("/sessions/").content.decode().split("<table", 1)[1]
    assert "vip&lt;b&gt;" in table and "Assigned to" in table and "cell-cost" not in table
    assert "cell-cost" in viewer.get("/sessions/").content.decode()
    reviewer.post("/sessions/columns/", {"column": ["password"]})
    assert "is no column" in words(reviewer.get("/sessions/"))


def test_models_calls_how_long_it_took_and_when_it_came_in_can_be_shown(reviewer, three):
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    Session.objects.filter(pk=three[0].pk).update(
        model_names=["claude-opus-4-5", "m<b>"], tool_call_count=4_100, started_at=at,
        ended_at=at + timedelta(seconds=192),
    )  # fmt: skip
    reviewer.post("/sessions/columns/", {"column": ["models", "calls", "duration", "added"], "query": ""})
    page = reviewer.get("/sessions/").content.decode()
    rows = page.split("<table", 1)[1].split("<tbody", 1)
    assert re.findall(r'data-column="(\w+)"', rows[0]) == ["title", "run", "models", "calls", "duration", "added"]
    for shown in ("claude-opus-4-5, m&lt;b&gt;", "3 m 12 s", "4,100", 'data-label="calls"', 'data-label="added"'):
        assert shown in rows[1]
    assert "sort=-created" in rows[0], "when it came in is an order of the list"


def order(client, query: str = "") -> tuple[list[str], list[str]]:
    """Columns of the table by their heads, and by the cells of its first row."""
    page = client.get(f"/sessions/{query}").content.decode()
    heads = re.findall(r'data-column="(\w+)"', page)
    row = page.split("<tbody", 1)[1].split("</tr>", 1)[0]
    return heads, ["run" if one == "strip" else one for one in re.findall(r'<td class="[^"]*cell-(\w+)', row)][1:]


def test_columns_are_moved_left_and_right_and_stay_there_for_their_reader(reviewer, viewer, three):
    usual = order(reviewer)[0]
    assert usual == ["title", "run", "agent", "started", "turns", "tokens", "cost", "errors", "verdict"]
    menu = {"column": usual[2:], "query": "?has_errors=false"}
    answer = reviewer.post("/sessions/columns/", menu | {"move": "cost:left"})
    assert answer.url == "/sessions/?has_errors=false&columns=cost%3Aleft"
    moved = ["title", "run", "agent", "started", "turns", "cost", "tokens", "errors", "verdict"]
    assert order(reviewer) == (moved, moved) and order(viewer)[0] == usual
    page = reviewer.get(answer.url).content.decode()
    (focused,) = re.findall(r'<button[^>]*value="(\w+:\w+)"[^>]*\sautofocus', page)
    assert focused == "cost:left" and '<details class="dropdown list-menu" open' in page
    assert re.findall(r'name="column" value="(\w+)" checked', page) == moved[2:], "the menu has their order"
    reviewer.post("/sessions/columns/", {"column": moved[2:], "move": "agent:left"})
    assert order(reviewer)[0] == moved, "it is the first already"


@pytest.mark.parametrize("move", ["cost:up", "cost", "password:left", ":", "title:right"])
def test_a_move_that_is_none_changes_no_order(reviewer, three, move):
    before = order(reviewer)
    reviewer.post("/sessions/columns/", {"column": before[0][2:], "move": move})
    assert order(reviewer) == before
    assert order(reviewer, f"?columns={move}") == before
    assert 'list-menu" open' not in reviewer.get(f"/sessions/?columns={move}").content.decode()


def test_a_moved_column_that_can_go_no_further_has_the_other_button_in_focus(reviewer, three):
    page = reviewer.get("/sessions/?columns=agent:left").content.decode()
    assert re.findall(r'<button[^>]*value="(\w+:\w+)"[^>]*\sautofocus', page) == ["agent:right"]


def test_what_came_since_one_read_is_told(reviewer, viewer, three):
    seen.note(three[0], member("Rosa"), 2)
    append(three[0], user("One"), user("Two"))
    listed = reviewer.get("/sessions/")
    assert "2 unread" in words(listed)
    (link,) = re.findall(r'<a class="small cell-new" href="([^"]*)"', listed.content.decode())
    assert link.endswith(f"/chat/{three[0].pk}?from=2")
    assert "Two" in words(reviewer.get(link))
    assert "2 unread" not in words(viewer.get("/sessions/"))


def do(client, sessions, what, **form):
    answer = client.post("/sessions/do/", {"session": [str(one.pk) for one in sessions], "do": what} | form)
    return answer if answer.status_code != 302 else client.get(answer.url)


def test_many_are_tagged_assigned_and_archived(reviewer, three):
    assert "2 sessions tagged." in words(do(reviewer, three[:2], "tag", tag=" vip "))
    assert "1 session tagged." in words(do(reviewer, three[1:], "tag", tag="vip"))
    assert titles(reviewer, "tag=vip") == {"First", "Second", "Third"}
    assert "taken off 1 session" in words(do(reviewer, three[:1], "untag", tag="vip"))
    assert "3 sessions assigned to Rosa" in words(do(reviewer, three, "assign", assignee=str(member("Rosa").pk)))
    assert "1 session archived." in words(do(reviewer, three[:1], "archive"))
    assert Session.objects.get(pk=three[0].pk).status == "archived"
    assert AuditEntry.objects.filter(action="session.tagged").count() == 3


@pytest.mark.parametrize(
    ("query", "what", "told"),
    [
        ("?", {"do": "tag", "tag": "vip"}, "3 sessions"),
        ("?tag=old", {"do": "untag", "tag": "old"}, "1 session"),
        ("?assignee=none", {"do": "assign"}, "3 sessions"),
        ("?assignee=me", {"do": "tag", "tag": "vip"}, "0 sessions"),
        ("?status=idle", {"do": "archive"}, "1 session"),
        ("?q=First", {"do": "archive"}, "1 session"),
        ("?fold=no&totals=all", {"do": "archive"}, "3 sessions"),
    ],
)
def test_the_totals_above_the_list_come_with_what_was_done(reviewer, three, query, what, told):
    Session.objects.update(tags=["old"])
    form = {"session": [str(one.pk) for one in three[:2]], "query": query} | what
    answer = reviewer.post("/sessions/do/", form, headers={"HX-Request": "true"}).content.decode()
    (totals,) = re.findall(
        r'<p class="totals" id="list-totals" role="status" hx-swap-oob="true">(.*?)</p>', answer, re.S
    )
    assert " ".join(re.sub(r"<[^>]+>", " ", totals).split()).startswith(told)
    if told != "0 sessions":  # then the list says so in another place
        assert f"{told} " in words(reviewer.get(f"/sessions/{query}"))


def test_where_nothing_was_done_or_the_filter_has_a_fault_the_totals_stay(reviewer, three):
    form = {"session": [str(three[0].pk)], "do": "tag", "query": "?"}
    for more in ({"tag": " "}, {"tag": "vip", "query": "?verdict=good"}, {"tag": "vip", "query": "?cursor=x"}):
        answer = reviewer.post("/sessions/do/", form | more, headers={"HX-Request": "true"})
        assert answer.status_code == 200 and "list-totals" not in answer.content.decode(), more


def test_to_a_page_that_stays_the_answer_is_what_came_of_it(reviewer, three, charlie):
    form = {"session": [str(three[0].pk)], "do": "tag", "tag": "vip"}
    reviewer.post("/sessions/columns/", {"column": ["tags"], "query": ""})
    answer = reviewer.post("/sessions/do/", form, headers={"HX-Request": "true"})
    told = answer.content.decode()
    assert answer.status_code == 200 and "1 session tagged." in told and "<html" not in told
    assert f'hx-swap-oob="innerHTML:#row-{three[0].pk} > .cell-tags"' in told and str(three[1].pk) not in told
    told = reviewer.post("/sessions/do/", form | {"tag": " "}, headers={"HX-Request": "true"}).content.decode()
    assert "Nothing was changed" in told and "hx-swap-oob" not in told
    form = {"session": [str(three[0].pk)], "do": "tag", "tag": "mine"}
    told = charlie.post("/sessions/do/", form, headers={"HX-Request": "true"}).content.decode()
    assert "1 of them are not there any more." in told and "First" not in told and "hx-swap-oob" not in told


def test_without_a_script_the_page_of_the_list_stays(reviewer, three, monkeypatch):
    """The first page came, whatever page the rows were chosen on."""
    monkeypatch.setattr("sessions_app.views.session_list.FIRST", 1)
    monkeypatch.setattr("sessions_app.views.session_list.ROWS", 1)
    more = re.search(r'href="(\?[^"]*cursor=[^"]*)"', reviewer.get("/sessions/?has_errors=false").content.decode())[1]
    here = reviewer.get(f"/sessions/{more.replace('&amp;', '&')}").content.decode()
    query = re.search(r'id="bulk".*?name="query" value="([^"]*)"', here, re.DOTALL)[1].replace("&amp;", "&")
    form = {"session": str(three[1].pk), "do": "tag", "tag": "vip", "query": query}
    assert reviewer.post("/sessions/do/", form).url == f"/sessions/{more.replace('&amp;', '&')}"


def test_two_to_four_chosen_ones_are_compared_in_the_order_of_the_list(reviewer, three):
    form = {"session": [str(one.pk) for one in three[:2]], "do": "compare"}
    address = f"/sessions/compare/?session={three[0].pk}&session={three[1].pk}"
    assert reviewer.post("/sessions/do/", form).url == address
    assert reviewer.post("/sessions/do/", form, headers={"HX-Request": "true"}).headers["HX-Redirect"] == address
    assert "Choose 2 to 4 sessions to compare; 1 are chosen." in words(do(reviewer, three[:1], "compare"))
    five = [*three, *(session_of(three[0].agent, f"More {number}") for number in range(2))]
    told = reviewer.post(
        "/sessions/do/", form | {"session": [str(one.pk) for one in five]}, headers={"HX-Request": "true"}
    )
    assert "2 to 4 sessions to compare; 5 are chosen" in words(told) and "HX-Redirect" not in told.headers
    assert 'value="compare"' in reviewer.get("/sessions/").content.decode()


def test_the_chosen_ones_leave_as_a_table_that_runs_nothing(reviewer, three):
    Session.objects.filter(pk=three[0].pk).update(title="=cmd()")
    table = do(reviewer, three[:2], "csv").content.decode()
    assert "'=cmd()" in table and len(table.splitlines()) == 3


def test_the_table_says_how_sessions_ended_and_whose_cost_is_at_least_that(reviewer, three):
    first = Session.objects.filter(pk=three[0].pk)
    first.update(phase="completed", ending="broke_off", cost_priced="0.5", unpriced_tokens=7)
    rows = {row["title"]: row for row in csv.DictReader(do(reviewer, three, "csv").content.decode().splitlines())}
    assert (rows["First"]["ended"], rows["First"]["cost is at least"]) == ("broke_off", "yes")
    assert rows["Second"]["cost is at least"] == "no"


def test_sessions_of_others_are_told_and_left_alone(charlie, reviewer, three):
    page = words(do(charlie, three, "tag", tag="mine"))
    assert "3 of them are not there any more." in page and "0 sessions tagged." in page
    assert all(not one.tags for one in Session.objects.all())
    assert do(charlie, three, "csv").content.decode().count("\n") == 1


@pytest.mark.parametrize("what", ["tag", "untag", "assign", "archive"])
def test_a_viewer_changes_nothing(viewer, three, what):
    assert do(viewer, three, what, tag="vip").status_code == 403
    assert not Session.objects.filter(status="archived").exists()
    assert 'form="bulk"' not in viewer.get("/sessions/").content.decode()


def test_what_makes_no_sense_changes_nothing(reviewer, three):
    assert "Choose 1 to 500 sessions; 0 are chosen." in words(do(reviewer, [], "tag", tag="vip"))
    assert "Nothing was changed" in words(do(reviewer, three, "tag", tag=" "))
    assert "Choose what to do" in words(do(reviewer, three, "explode"))
    assert reviewer.post("/sessions/do/", {"session": "x", "do": "tag"}).status_code == 403


def test_columns_are_made_wider_and_stay_so_for_their_reader(reviewer, viewer, three):
    assert reviewer.post("/sessions/columns/widths/", {"agent": "240", "cost": "90"}).status_code == 204
    page = reviewer.get("/sessions/").content.decode()
    assert re.search(r'<col data-column="agent"\s+width="240">', page) and "sessions is-sized" in page
    assert re.search(r'<col data-column="tokens"\s*>', page)
    assert "is-sized" not in viewer.get("/sessions/").content.decode()
    reviewer.post("/sessions/columns/", {"column": ["agent"], "query": ""})
    assert 'width="240"' in reviewer.get("/sessions/").content.decode(), "a choice of columns keeps their widths"
    reviewer.post("/sessions/columns/widths/")
    assert "is-sized" not in reviewer.get("/sessions/").content.decode()


@pytest.mark.parametrize(
    "given", [{"agent": "wide"}, {"agent": "-5"}, {"agent": "99999"}, {"title": "300"}, {"x": "90"}]
)
def test_what_is_no_width_is_told_and_changes_nothing(reviewer, three, given):
    reviewer.post("/sessions/columns/widths/", {"agent": "240"})
    answer = reviewer.post("/sessions/columns/widths/", given)
    assert answer.status_code == 422 and answer.content
    assert 'width="240"' in reviewer.get("/sessions/").content.decode()
