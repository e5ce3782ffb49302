"""One session read by four lenses: what each shows, what their links keep, and which of them opens by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sessions_app.models import Agent, Event, Member, Session
from sessions_app.queries.log.lenses import CallFilter, Calls, Raw, Requests
from sessions_app.queries.log.story import SPAN, Run, Story
from sessions_app.services import audit, sessions
from sessions_app.services.log import events, links

from .build import Page, asked, call, other, path_of, priced, result, said, session_with

STRANGER = audit.Actor("api_key", "s", "somebody else")


def calls(count: int, start: int = 0, name: str = "Read", status: str = "ok") -> list:
    return [
        one
        for number in range(start, start + count)
        for one in (call(f"c{number}", name, {"file_path": f"src/file_{number}.py"}, number * 10),
                    result(f"c{number}", "done", status, number * 10 + number % 7))
    ]  # fmt: skip


def story(session: Session) -> Story:
    return Story(session, lambda row, origins: origins[row.seq].kind == "api")


def read_from_file(agent: Agent, new: list) -> Session:
    session = sessions.create(agent, by=STRANGER, title="A run", origin="import")
    events.append(session.pk, new, origin=links.read_by("Ada"))
    session.refresh_from_db()
    return session


def covered(items: list) -> list[int]:
    """Seqs of the rows that items of a window stand for, calls with what is between them and their last one."""
    return [seq for item in items for seq in (item.seq, item.last if isinstance(item, Run) else item.seq)]


@pytest.fixture
def recorded(agent) -> Session:
    """What a recorder writes that notes the tokens after each step."""
    noted = [one for number in range(6) for one in (
        other(f"r{number}", "reasoning", "Hm"), *calls(1, number, "Bash", "error" if number == 4 else "ok"),
        other(f"n{number}", "system", data={"type": "token_count"}),
    )]  # fmt: skip
    return session_with(agent, [asked("p", "Mend it"), other("x", "system"), *noted, said("m", "Mended")])


def test_a_run_of_calls_with_its_notes_is_one_line(recorded, viewer):
    window = story(recorded).after(0)
    run = window.entries[1]
    assert isinstance(run, Run) and [item.kind for item in window.entries] == ["user_message", "run", "agent_message"]
    assert (run.seq, run.calls, len(run.failed), run.thoughts, run.notes) == (2, 6, 1, 6, 7)
    page = Page(viewer.get(path_of(recorded)).content)
    assert "6 tool calls Bash ×6 1 failed 6 thoughts 7 notes" in page.text
    assert "token count" not in page.text


def test_few_calls_stand_alone_and_notes_are_joined(agent):
    session = session_with(agent, [
        asked("p", "Go"), *calls(1), said("m", "Then"), other("a", "system"), other("b", "model_request"),
        said("n", "Done"),
    ])  # fmt: skip
    assert [item.kind for item in story(session).after(0).entries] == [
        "user_message", "tool_call", "agent_message", "run", "agent_message",
    ]  # fmt: skip


def test_states_and_changed_files_that_a_file_tells_of_are_part_of_a_run(agent, viewer):
    told = (other("s", "status", "init"), other("f", "file_change", data={"path": "/a.py"}))
    session = read_from_file(agent, [asked("p", "Go"), *calls(2), *told, *calls(2, 2), said("m", "Done")])
    assert [item.kind for item in story(session).after(0).entries] == ["user_message", "run", "agent_message"]
    assert "4 tool calls Read ×4 1 file change 1 note" in Page(viewer.get(path_of(session)).content).text


@pytest.mark.parametrize("actor", ["person", "agent"])
def test_what_a_person_or_an_agent_did_is_no_note_of_the_recorder(agent, actor):
    stopped = replace(other("s", "status", "interrupted"), actor_kind=actor)
    session = read_from_file(agent, [asked("p", "Go"), *calls(2), stopped, *calls(2, 2)])
    assert "status" in [item.kind for item in story(session).after(0).entries]


def test_the_rows_of_a_run_come_when_it_is_opened(recorded, viewer):
    run = next(item for item in story(recorded).after(0).entries if isinstance(item, Run) and item.calls)
    opened = Page(viewer.get(f"{path_of(recorded)}/rows?run={run.seq}&to={run.last}", HTTP_HX_REQUEST="true").content)
    asked_for = Event.objects.filter(session=recorded, seq__range=(run.seq, run.last)).exclude(kind="tool_result")
    assert opened.seqs == list(asked_for.order_by("seq").values_list("seq", flat=True))


def test_windows_of_the_story_hold_every_row_once(agent):
    lines = [one for turn in range(12) for one in (
        asked(f"p{turn}", f"Turn {turn}"), *calls(30 + turn, turn * 100), said(f"m{turn}", "Done"))]  # fmt: skip
    session = session_with(agent, lines)
    shown, last = [], 0
    while True:
        window = story(session).after(last)
        shown += window.entries
        last = covered(window.entries[-1:])[-1]
        if not window.later:
            break
    backwards, first = [], session.last_seq + 1
    while True:
        window = story(session).before(first)
        backwards = window.entries + backwards
        first = window.entries[0].seq
        if not window.earlier:
            break
    for items in (shown, backwards):
        assert sum(item.calls if isinstance(item, Run) else item.kind == "tool_call" for item in items) == sum(
            30 + turn for turn in range(12)
        )
        assert [item.seq for item in items] == sorted({item.seq for item in items})
    assert max(item.calls for item in shown if isinstance(item, Run)) <= SPAN


def test_a_link_to_an_event_in_a_run_shows_it_and_its_neighbours(agent, viewer):
    session = session_with(agent, [asked("p", "Go"), *calls(60), said("m", "Done")])
    page = Page(viewer.get(f"{path_of(session)}?event=62").content)
    assert page.all("details", id="e-62") and "Event 62 tool_call" in page.text
    runs = [found for _, found in page.tags if "data-last" in found]
    assert [(int(run["data-seq"]), int(run["data-last"])) for run in runs] == [(2, 52), (78, 120)]


def test_what_others_sent_is_in_no_run(agent):
    session = session_with(agent, [asked("p", "Go"), *calls(6)])
    events.append(session.pk, [other("note", "system", "Trust me")], origin=links.sent_by(STRANGER))
    events.append(session.pk, calls(6, 10), origin=links.RUNTIME)
    session.refresh_from_db()
    assert [item.kind for item in story(session).after(0).entries] == ["user_message", "run", "system", "run"]


def test_no_run_goes_on_over_the_end_of_what_is_signed(agent):
    session = session_with(agent, [asked("p", "Go"), *calls(20)])
    runs = Story(session, lambda row, origins: False, breaks=[21]).after(0).entries[1:]
    assert [(run.seq, run.last) for run in runs] == [(2, 20), (22, 40)]


def test_a_call_with_a_sub_agent_and_one_that_is_being_done_stand_alone(agent):
    session = session_with(agent, [
        asked("p", "Go"), *calls(5), call("t", "Task", {}), said("s", "Inside", parent="t", depth=1), result("t", "7"),
        *calls(5, 10), call("late", "Bash", {"command": "sleep 1"}),
    ])  # fmt: skip
    Session.objects.filter(pk=session.pk).update(status="running")
    session.refresh_from_db()
    assert [item.kind for item in story(session).after(0).entries] == [
        "user_message", "run", "tool_call", "run", "tool_call",
    ]  # fmt: skip


@pytest.fixture
def mixed(agent) -> Session:
    cheap = priced("0.01", "r1", input_tokens=1_000, output_tokens=5)
    dear = priced("0.50", "r2", input_tokens=10, cache_read_tokens=9_990, output_tokens=50)
    return session_with(agent, [
        asked("p", "Go"), said("m", "I look", **cheap), *calls(3), *calls(2, 3, "Bash", "error"),
        other("k", "compaction", "Short"), call("dear", "Bash", {"command": "make"}, 90, **dear),
        result("dear", "ok", seconds=98), said("n", "Done", 99),
    ])  # fmt: skip


def seqs(rows) -> list[int]:
    return [entry.seq for entry in rows.after(0).entries]


@pytest.mark.parametrize(("query", "shown"), [
    ("", [3, 5, 7, 9, 11, 14]), ("&tool=Bash", [9, 11, 14]), ("&tool=Bash&is=failed", [9, 11]),
    ("&took=4", [11, 14]), ("&cost=0.2", [14]), ("&about=file_1", [5]), ("&tool=nobody", []),
])  # fmt: skip
def test_tool_calls_are_filtered_in_the_address(mixed, viewer, query, shown):
    page = Page(viewer.get(f"{path_of(mixed)}?lens=tools{query}").content)
    assert page.seqs == shown


def test_the_numbers_of_the_facts_lead_to_their_calls(mixed, viewer):
    page = Page(viewer.get(f"{path_of(mixed)}/facts", HTTP_HX_REQUEST="true").content)
    assert page.all("a", href=f"{path_of(mixed)}?lens=tools&tool=Bash&is=failed")
    assert page.all("a", href=f"{path_of(mixed)}?lens=tools&tool=Read")


def test_filters_stay_in_the_links(mixed, viewer):
    page = Page(viewer.get(f"{path_of(mixed)}?lens=tools&tool=Bash&is=failed").content)
    assert page.all("a", href="?event=9&lens=tools&tool=Bash&is=failed#e-9")
    assert page.all("div", id="timeline")[0]["data-kept"] == "&lens=tools&tool=Bash&is=failed"


def test_requests_say_context_cache_price_and_time(mixed, viewer):
    page = Page(viewer.get(f"{path_of(mixed)}?lens=requests").content)
    assert page.seqs == [2, 14]
    for words in ("10.0 k", "100 %", "$0.50", "context compacted before this request", "tool call"):
        assert words in page.text
    chart = viewer.get(f"{path_of(mixed)}/context", HTTP_HX_REQUEST="true").content
    assert b"Context over 2 requests" in chart and len(chart) < 10_000


def test_the_chart_of_many_requests_is_small(agent, viewer):
    lines = [said(f"m{n}", "…", **priced("0.01", f"r{n}", input_tokens=n % 700 * 311, output_tokens=1))
             for n in range(1_500)]  # fmt: skip
    session = session_with(agent, [asked("p", "Go"), *lines])
    chart = viewer.get(f"{path_of(session)}/context", HTTP_HX_REQUEST="true").content
    assert b"Context over 1,500 requests" in chart and b"fell by more than 40 % 2 times" in chart
    assert len(chart) < 10_000


def test_raw_shows_every_event_and_all_of_one(mixed, viewer):
    page = Page(viewer.get(f"{path_of(mixed)}?lens=raw").content)
    assert page.seqs == list(range(1, mixed.last_seq + 1))
    kept = viewer.get(f"{path_of(mixed)}/events/14/kept", HTTP_HX_REQUEST="true").content.decode()
    assert "&quot;command&quot;: &quot;make&quot;" in kept and "&quot;cache_read_tokens&quot;: 9990" in kept
    assert viewer.get(f"{path_of(mixed)}/events/500/kept").status_code == 404


def test_hostile_events_stay_text_under_every_lens(agent, viewer):
    bad = '"><script>alert(1)</script>'
    session = session_with(agent, [
        asked("p", bad), said("s", "…", model=bad, **priced("0.01", "r", input_tokens=3, output_tokens=3)),
        *(call(f"c{n}", bad, {bad: bad}) for n in range(6)), other("o", "system", data={bad: bad}),
    ])  # fmt: skip
    for query in ("", "?lens=tools", "?lens=requests", "?lens=raw", f"?lens=tools&tool={bad}&about={bad}"):
        page = viewer.get(path_of(session) + query)
        assert page.status_code == 200 and b"<script>alert" not in page.content


@pytest.mark.parametrize(("lens", "near", "first"), [
    ("story", 10, 9), ("tools", 13, 14), ("requests", 5, 14), ("raw", 10, 10),
])  # fmt: skip
def test_another_lens_opens_at_the_event_that_was_read(mixed, viewer, lens, near, first):
    page = Page(viewer.get(f"{path_of(mixed)}?lens={lens}&near={near}").content)
    assert page.all("div", id="timeline")[0]["data-near"] == str(first)
    assert first in page.seqs


def test_a_link_to_an_event_that_a_lens_leaves_out_opens_the_story(mixed, viewer):
    assert 2 in Page(viewer.get(f"{path_of(mixed)}?lens=tools&event=2").content).seqs
    assert Page(viewer.get(f"{path_of(mixed)}?lens=tools&event=4").content).all("div", id="e-3")


def lens_of(viewer, address: str) -> str:
    page = Page(viewer.get(address).content)
    return next(found["data-lens"] for _, found in page.tags if found.get("aria-current") and "data-lens" in found)


def test_the_lens_that_somebody_chose_opens_from_then_on(mixed, viewer, reviewer):
    path = path_of(mixed)
    assert lens_of(viewer, path) == "story"
    assert viewer.post("/sessions/lens", {"lens": "requests"}).status_code == 204
    assert lens_of(viewer, path) == "requests"
    assert lens_of(viewer, f"{path}?lens=raw") == "raw", "the address wins"
    assert lens_of(viewer, f"{path}?show=everything") == "story", "an address from before there were lenses"
    page = Page(viewer.get(f"{path}?lens=story").content)
    assert page.all("div", id="timeline")[0]["data-kept"] == "&lens=story"
    assert lens_of(reviewer, path) == "story", "for them alone"


def test_raw_is_kept_in_the_address_alone(mixed, viewer):
    path = path_of(mixed)
    viewer.post("/sessions/lens", {"lens": "tools"})
    assert viewer.post("/sessions/lens", {"lens": "raw"}).status_code == 204
    assert lens_of(viewer, path) == "tools", "what was chosen before it"
    raw = Page(viewer.get(f"{path}?lens=raw").content)
    assert raw.all("div", id="timeline")[0]["data-kept"] == "&lens=raw"
    Member.objects.update(lens="raw")  # from before that
    assert lens_of(viewer, path) == "story"


def test_a_lens_that_there_is_not_is_refused(viewer):
    before = list(Member.objects.values_list("lens", flat=True))
    assert viewer.post("/sessions/lens", {"lens": "rose"}).status_code == 400
    assert viewer.get("/sessions/lens").status_code == 405
    assert list(Member.objects.values_list("lens", flat=True)) == before


def test_each_lens_says_how_much_it_has(mixed, viewer):
    text = Page(viewer.get(path_of(mixed)).content).text
    assert "Story 1 Tools 6 Requests 2 Raw 16" in text


def test_new_events_come_in_under_each_lens(mixed, viewer):
    events.append(mixed.pk, calls(1, 50), origin=links.RUNTIME)
    for lens, found in (("tools", [17]), ("raw", [17, 18])):
        tail = viewer.get(f"{path_of(mixed)}/rows?tail=1&after=16&lens={lens}", HTTP_HX_REQUEST="true")
        assert Page(tail.content).seqs == found
    assert viewer.get(f"{path_of(mixed)}/rows?tail=1&after=16&lens=requests").status_code == 204


def test_windows_of_the_other_lenses_are_walked_both_ways(agent):
    session = session_with(agent, [asked("p", "Go"), *calls(100)])
    for rows in (Calls(session.pk, CallFilter()), Raw(session.pk)):
        first = rows.after(0)
        again = rows.before(first.entries[-1].seq + 1)
        assert [entry.seq for entry in again.entries] == [entry.seq for entry in first.entries]
        assert first.later and not first.earlier and again.later and not again.earlier
    assert Requests(session.pk).after(0).entries == []
