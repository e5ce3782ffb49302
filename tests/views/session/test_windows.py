"""The timeline in windows: every event is found somewhere, and no window is larger than a page."""

from __future__ import annotations

from sessions_app.models import Event
from sessions_app.queries.log.timeline import BEFORE, DEPTHS, ROWS, Timeline, path_to
from sessions_app.views.session.timeline import layout

from .build import asked, call, other, result, said, session_with

LONG = 3 * ROWS


def all_rows(session, under=None) -> list[int]:
    """Seqs of every row, window by window."""
    timeline, found, last = Timeline(session.pk, under=under), [], 0
    while True:
        window = timeline.after(last)
        found += [entry.seq for entry in window.entries]
        if not window.later:
            return found
        last = found[-1]


def many(count: int) -> list:
    return [asked("p", "Count"), *(said(f"m{number}", f"{number}") for number in range(count))]


def test_windows_in_a_row_hold_each_event_once(agent):
    session = session_with(agent, many(LONG))
    assert all_rows(session) == list(range(1, LONG + 2))


def test_windows_read_backwards_hold_the_same(agent):
    session = session_with(agent, many(LONG))
    timeline, found, first = Timeline(session.pk), [], session.last_seq + 1
    while True:
        window = timeline.before(first)
        found = [entry.seq for entry in window.entries] + found
        if not window.earlier:
            break
        first = found[0]
    assert found == list(range(1, LONG + 2))


def test_a_window_around_an_event_has_some_rows_before_it(agent):
    session = session_with(agent, many(LONG))
    window = Timeline(session.pk).around(30)
    assert [entry.seq for entry in window.entries] == list(range(30 - BEFORE, 30 - BEFORE + ROWS))
    assert window.entries[window.anchor].seq == 30
    assert window.earlier and window.later


def test_a_result_stands_with_its_call_and_has_no_row(agent):
    session = session_with(
        agent, [asked("p", "Look"), call("c", "Read", {"path": "a"}), said("m", "…"), result("c", "text")]
    )
    window = Timeline(session.pk).after(0)
    assert [entry.seq for entry in window.entries] == [1, 2, 3]
    assert window.results[2].head == "text"
    assert window.calls[2].status == "ok"


def test_results_without_a_call_and_second_results_keep_a_row(agent):
    session = session_with(
        agent,
        [
            asked("p", "Look"),
            call("c", "Read", {}),
            result("c", "one"),
            result("c", "two", key="again"),
            result("x", "lost", parent=None),
        ],
    )
    assert all_rows(session) == [1, 2, 4, 5]


def test_events_of_a_sub_agent_are_below_its_call(agent):
    session = session_with(agent, [
        asked("p", "Delegate"),
        call("task", "Task", {"description": "Count"}),
        said("inner", "I count", parent="task", depth=1, actor_name="counter"),
        call("inner-call", "Bash", {"command": "wc"}, parent="task", depth=1),
        result("inner-call", "7", depth=1),
        result("task", "seven"),
    ])  # fmt: skip
    assert all_rows(session) == [1, 2]
    assert all_rows(session, under=2) == [3, 4]
    nested = Timeline(session.pk).after(0).nested[2]
    assert (nested.rows, nested.tool_calls, nested.first_seq) == (2, 1, 3)
    assert path_to(session.pk, 5) == [2, 4]


def test_a_sub_agent_nobody_called_is_not_lost(agent):
    session = session_with(agent, [asked("p", "Go"), said("orphan", "Who called me?", depth=1)])
    assert all_rows(session) == [1, 2]


def test_every_event_of_a_tangled_session_is_found_somewhere(agent):
    events = [asked("p", "Go")]
    for number in range(40):
        events += [
            call(f"t{number}", "Task", {"prompt": str(number)}),
            said(f"s{number}", "deep", parent=f"t{number}", depth=1),
            call(f"d{number}", "Task", {}, parent=f"t{number}", depth=1),
            other(f"u{number}", "unknown", parent=f"d{number}", depth=2),
            result(f"d{number}", "done", depth=1),
            result(f"t{number}", "done"),
            result(f"t{number}", "done twice", key=f"again{number}"),
        ]
    session = session_with(agent, events)
    found, below = [], all_rows(session)
    while below:
        found += below
        below = [seq for row in below for seq in all_rows(session, under=row)]
    found += [entry.seq for row in found for entry in Timeline(session.pk).only(row).results.values()]
    assert sorted(found) == list(Event.objects.filter(session=session).order_by("seq").values_list("seq", flat=True))


def test_a_turn_of_ten_thousand_events_comes_in_windows(agent):
    session = session_with(agent, many(10_000))
    window = Timeline(session.pk).around(5_000)
    assert len(window.entries) == ROWS and set(window.turns) == {1}
    sections = layout.sections(window).sections
    assert len(sections) == 1 and sections[0].continued


def test_a_window_ends_where_its_html_would_be_too_large(agent):
    session = session_with(agent, [asked("p", "Go"), *(said(f"m{n}", "&" * 9_000) for n in range(ROWS))])
    fitted = layout.sections(Timeline(session.pk).after(0))
    assert fitted.later and 2 <= fitted.last_seq < 10
    following = layout.sections(Timeline(session.pk).after(fitted.last_seq))
    assert following.first_seq == fitted.last_seq + 1


def test_what_does_not_fit_around_an_event_is_left_out_farthest_from_it(agent):
    session = session_with(agent, [asked("p", "Go"), *(said(f"m{n}", "&" * 9_000) for n in range(LONG))])
    fitted = layout.sections(Timeline(session.pk).around(50))
    assert fitted.first_seq <= 50 <= fitted.last_seq
    assert fitted.earlier and fitted.later


def test_long_values_are_cut_by_the_database(agent):
    session = session_with(agent, [
        asked("p", "Go"),
        call("c", "Write", {"file_path": "a.py", "content": "x" * 300_000, "lines": list(range(9_000))}),
        result("c", "y" * 300_000, value={"bytes": "z" * 300_000}),
    ])  # fmt: skip
    window = Timeline(session.pk).after(0)
    entry, answer = window.entries[1], window.results[2]
    assert entry.light_arguments == {"file_path": "a.py", "content": "x" * 300, "lines": []}
    assert (len(answer.head), answer.text_size, answer.cut) == (8_192, 300_000, True)
    assert answer.light_result == {"bytes": "z" * 300}


def test_a_depth_leaves_the_rest_out(agent):
    reasoning, system = other("r", "reasoning", "Hm"), other("s", "system")
    session = session_with(
        agent, [asked("p", "Go"), reasoning, call("c", "Read", {}), result("c"), said("m", "Done"), system]
    )
    shown = {show: [entry.seq for entry in Timeline(session.pk, show).after(0).entries] for show in DEPTHS}
    assert shown == {"prompts": [1], "conversation": [1, 5], "tools": [1, 3, 5], "everything": [1, 2, 3, 5, 6]}


def test_a_window_that_left_the_page_is_read_again_between_its_ends(agent):
    session = session_with(agent, many(LONG))
    again = Timeline(session.pk).between(10, 20)
    assert [entry.seq for entry in again.entries] == list(range(11, 21))
    assert again.earlier and not again.later
    whole = Timeline(session.pk).between(0, LONG)
    assert len(whole.entries) == ROWS and whole.later, "no more than a window, whatever is asked for"
