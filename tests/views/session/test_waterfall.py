"""The waterfall: what ran when and below what, with no length that the record does not tell."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Session
from sessions_app.phrases import Phrase
from sessions_app.queries.log import waterfall as queries
from sessions_app.services import sessions as session_services

from .build import BOT, Page, asked, at, call, other, path_of, result, said, session_with


def spans(session: Session, **asked_for: int) -> list[tuple]:
    found = queries.waterfall(session, **asked_for)
    return [(span.depth, span.kind, span.seq, span.milliseconds) for span in found.spans]


PARALLEL = [
    asked("p", "Look at both", 0), said("m", "I will", 4, request="r1"), call("a", "Read", {"file_path": "a.py"}, 5),
    call("b", "Bash", {"command": "make"}, 5), result("a", "x", seconds=7), result("b", "y", "error", seconds=65),
    said("n", "Done", 70, request="r2"),
]  # fmt: skip


def test_calls_lie_below_their_request_and_turn(agent):
    events = [*PARALLEL[:2], *(call(one, name, {}, 5, request="r1") for one, name in (("a", "Read"), ("b", "Bash")))]
    session = session_with(agent, [*events, *PARALLEL[4:]])
    assert spans(session) == [
        (0, "turn", 1, 70_000), (1, "request", 2, 5_000), (2, "call", 3, 2_000), (2, "call", 4, 60_000),
        (1, "request", 7, 5_000),
    ]  # fmt: skip
    found = queries.waterfall(session).spans
    assert [span.is_estimated for span in found] == [False, True, False, False, True]
    assert [span.status for span in found if span.kind == "call"] == ["ok", "error"]


def test_what_a_sub_agent_did_lies_below_the_call_that_began_it(agent):
    session = session_with(
        agent,
        [
            asked("p", "Go"), call("t", "Task", {"description": "Look"}, 1),
            said("s", "Inside", 3, parent="t", depth=1, actor_name="scout"),
            call("g", "Grep", {"pattern": "x"}, 4, parent="t", depth=1), result("g", "", seconds=6, depth=1),
            result("t", "found", seconds=9),
        ],
    )  # fmt: skip
    kinds = [(span.depth, span.kind, span.name) for span in queries.waterfall(session).spans]
    assert kinds == [
        (0, "turn", "Turn 1"), (1, "request", "model request"), (2, "call", "ask an agent"),
        (3, "request", "model request"), (4, "call", "search"),
    ]  # fmt: skip


def test_what_the_desk_calls_a_span_is_a_message(agent):
    session = session_with(agent, [asked("p", "Go"), call("t", "Task", {}, 1), result("t", "ok", seconds=9)])
    child = session_services.create(agent, by=BOT, title="The scout")
    Session.objects.filter(pk=child.pk).update(parent=session, metadata={"tool_use_id": "t"})
    spans = queries.waterfall(session).spans
    assert [span.kind for span in spans] == ["turn", "request", "call", "session"]
    assert all(isinstance(span.name, Phrase) for span in spans)


def test_the_session_of_a_sub_agent_lies_below_its_call(agent, viewer):
    session = session_with(agent, [asked("p", "Go"), call("t", "Task", {}, 1), result("t", "ok", seconds=9)])
    child = session_services.create(agent, by=BOT, title="The scout")
    Session.objects.filter(pk=child.pk).update(
        parent=session, metadata={"tool_use_id": "t"}, started_at=at(2), ended_at=at(8)
    )
    assert spans(session)[-1] == (3, "session", 2, 6_000)
    page = Page(viewer.get(f"{path_of(session)}/waterfall").content)
    assert f"{path_of(child)}/waterfall" in {link.get("href") for link in page.all("a")}


def test_a_length_that_the_record_does_not_tell_is_a_dash_and_never_0(agent, viewer):
    session = session_with(
        agent,
        [
            asked("p", "Go", 0), call("a", "Read", {}, 0), result("a", "x", seconds=0), call("b", "Bash", {}, 0),
            other("n", "system"),
        ],
    )  # fmt: skip
    assert {length for depth, kind, _, length in spans(session) if kind == "call"} == {None}
    text = Page(viewer.get(f"{path_of(session)}/waterfall").content).text
    assert "—" in text and "0 ms" not in text


def test_a_request_after_a_night_is_not_estimated_to_take_it(agent):
    session = session_with(agent, [asked("p", "Go", 0), said("m", "Good morning", 9 * 3_600)])
    assert spans(session)[1] == (1, "request", 2, None)


def test_a_turn_that_seems_to_end_after_the_next_began_has_no_length(agent):
    late = 5 * 3_600
    session = session_with(
        agent, [asked("p", "One", 0), said("m", "x", late), asked("q", "Two", 60), said("n", "y", late)]
    )
    assert [length for depth, kind, _, length in spans(session) if kind == "turn"][0] is None


def test_it_is_read_page_by_page_and_turn_by_turn(agent, viewer, monkeypatch):
    monkeypatch.setattr(queries, "SPANS", 12)
    session = session_with(
        agent,
        [
            one for n in range(8)
            for one in (asked(f"p{n}", f"Question {n}", n * 600), call(f"c{n}", "Read", {}, n * 600 + 1),
                        result(f"c{n}", "", seconds=n * 600 + 3))
        ],
    )  # fmt: skip
    after, seen = 0, []
    while after is not None:
        found = queries.waterfall(session, after)
        assert len(found.spans) <= 16
        seen += [span.seq for span in found.spans if span.kind == "call"]
        after = found.next_after
    assert seen == [3 * n + 2 for n in range(8)]
    page = Page(viewer.get(f"{path_of(session)}/waterfall").content)
    (following,) = [link["href"] for link in page.all("a") if "data-next-spans" in link]
    later = Page(viewer.get(f"{path_of(session)}/waterfall{following}").content)
    assert "Turn 8" not in page.text and "Turn 5" in later.text
    of_one = Page(viewer.get(f"{path_of(session)}/waterfall?turn=3").content).text
    assert "Turn 3" in of_one and "Question 3" not in of_one and "Turn 2 " not in of_one
    assert "pauses cut short" in page.text


def test_queries_do_not_grow_with_the_spans(agent, viewer):
    counts = []
    for number in (2, 60):
        events = [one for n in range(number) for one in (call(f"c{n}", "Read", {}), result(f"c{n}", ""))]
        session = session_with(agent, events)
        with CaptureQueriesContext(connection) as captured:
            viewer.get(f"{path_of(session)}/waterfall")
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 12


HOSTILE = '"><script>alert(1)</script>\u202e\x1b[31m'


@pytest.mark.parametrize("page", ["", "?turn=1", "?after=1", "?after=x&turn=y", "?after=99999"])
def test_what_strangers_wrote_is_only_text(agent, viewer, page):
    session = session_with(
        agent,
        [
            asked("p", HOSTILE), call("c", HOSTILE, {"command": HOSTILE}), result("c", HOSTILE, "error"),
            said("m", HOSTILE, model=HOSTILE),
        ],
    )  # fmt: skip
    answer = viewer.get(f"{path_of(session)}/waterfall{page}")
    content = answer.content.decode()
    assert answer.status_code == 200
    assert "<script>alert" not in content and "\u202e" not in content and "\x1b" not in content


def test_a_path_is_told_from_the_working_directory_on_and_its_name_is_not_what_is_cut(viewer, agent):
    path = f"/srv/shop/{'deep/' * 30}refunds.py"
    made = session_with(
        agent, [asked("p", "Look"), call("c", "Read", {"file_path": path}), result("c", "ok")],
        metadata={"environment": {"cwd": "/srv/shop"}},
    )  # fmt: skip
    page = viewer.get(f"{path_of(made)}/waterfall").content.decode()
    assert f'<span class="fall-folder">{"deep/" * 30}</span><span>refunds.py</span>' in page
    assert f'title="{path}"' in page
