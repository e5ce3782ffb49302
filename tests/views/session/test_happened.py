"""The card of what happened, and going through errors one by one."""

from __future__ import annotations

import re

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import RunSummary, Session
from tests.html import on_one_line

from .build import Page, asked, at, call, other, path_of, result, said, session_with

HOSTILE = "<script>alert(1)</script>\u202e tidy"


def failing(turns: int) -> list:
    """Turns of six events each, with two errors: the call at 6 n + 2, and the error event at 6 n + 5."""
    events = []
    for n in range(turns):
        events += [
            asked(f"p{n}", f"Question {n}"), call(f"c{n}", "Bash", {"command": f"make {n}"}),
            result(f"c{n}", f"error: no rule {n}", "error"), call(f"d{n}", "Read", {"file_path": "/a"}),
            other(f"e{n}", "error", "overloaded"), said(f"m{n}", f"Answer {n}"),
        ]  # fmt: skip
    return events


def test_the_card_says_what_happened_and_leads_there(reviewer, agent):
    session = session_with(agent, failing(2))
    page = Page(reviewer.get(path_of(session)).content)
    assert "Bash: error: no rule" in page.text and "×2" in page.text and "Question 0" in page.text
    links = {link["data-mark"]: link for link in page.all("a") if "data-mark" in link}
    assert page.all("bdi"), "what the tool said has its own direction"
    assert links["8"]["class"] == "piece is-quote is-wrong" and links["8"]["href"].endswith(f"{session.pk}?event=8#e-8")
    assert links["11"]["class"] == "piece is-quote is-quiet", "the run went on behind each error that no call had"
    assert "2 of 4" not in page.text and "4 errors" in page.text


def test_words_of_the_transcript_are_marked_as_such(reviewer, agent):
    session = session_with(agent, [asked("p", HOSTILE), call("c", HOSTILE, {}), result("c", HOSTILE, "error")])
    for path in (path_of(session), f"{path_of(session)}/overview", "/sessions/"):
        content = reviewer.get(path).content.decode()
        assert "<script>alert" not in content and "\u202e" not in content
    page = Page(reviewer.get(f"{path_of(session)}/overview").content)
    assert {quote["class"] for quote in page.all("q")} == {"untrusted"}


def test_a_session_that_was_not_read_yet_says_so(reviewer, agent):
    session = session_with(agent, failing(1))
    RunSummary.objects.all().delete()
    page = Page(reviewer.get(path_of(session)).content)
    assert "has not been summarized yet" in page.text and "They are not grouped yet" in page.text


def test_a_session_without_events_is_not_said_to_be_unread(reviewer, agent):
    page = Page(reviewer.get(path_of(session_with(agent, []))).content)
    assert "There are no events." in page.text and "summarized" not in page.text


def test_the_list_says_it_in_a_title_with_one_query(reviewer, agent):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page = Page(reviewer.get("/sessions/").content)
        titles = [link.get("title") or "" for link in page.all("a", **{"data-row": None})]
        assert titles and all(title.startswith("Asked: “Question 0”\nDid: ") for title in titles)
        return len(captured)

    session_with(agent, failing(1))
    one = queries()
    for _ in range(5):
        session_with(agent, failing(1))
    assert queries() == one


def test_errors_are_gone_through_in_both_ways(reviewer, agent):
    session = session_with(agent, failing(3))
    marks = reviewer.get(f"{path_of(session)}/marks?what=error").json()
    assert marks == {"count": 6, "seqs": [2, 5, 8, 11, 14, 17]}

    def step(query: str) -> str:
        return reviewer.get(f"{path_of(session)}/next?what=error&{query}").headers["Location"].partition("#e-")[2]

    assert [step(f"after={seq}") for seq in (0, 2, 4, 5, 16, 17)] == ["2", "5", "5", "8", "17", "2"]
    assert [step(f"before={seq}") for seq in (18, 17, 8, 6, 2, 0)] == ["17", "14", "5", "5", "17", "17"]


def test_a_session_without_errors_has_nothing_to_go_to(reviewer, agent):
    session = session_with(agent, [asked("p", "Hello")])
    assert reviewer.get(f"{path_of(session)}/marks?what=error").json() == {"count": 0, "seqs": []}
    assert reviewer.get(f"{path_of(session)}/next?what=error&before=3").headers["Location"] == path_of(session)
    (walk,) = [div for div in Page(reviewer.get(path_of(session)).content).all("div") if "data-walk" in div]
    assert "hidden" in walk


def test_another_workspace_sees_none_of_it(charlie, agent):
    session = session_with(agent, failing(1))
    assert charlie.get(f"{path_of(session)}/marks").status_code == 404
    assert charlie.get(f"{path_of(session)}/overview").status_code == 404


def test_a_session_whose_file_ends_in_the_middle_of_a_call_is_not_called_completed(reviewer, agent):
    endings = {
        "Completed": [asked("p", "Go"), said("m", "Done")],
        "Broke off": [asked("p", "Go"), call("c", "Bash", {"command": "make"})],
        "Ended in error": [asked("p", "Go"), other("e", "error", "overloaded")],
        "No reply": [asked("p", "Go")],
    }
    for word, events in endings.items():
        session = session_with(agent, events, title=word, origin="import", phase="completed")
        for path in (path_of(session), f"{path_of(session)}/head", f"/sessions/?q=%22{word}%22", "/"):
            content = reviewer.get(path).content.decode()
            assert re.search(rf'class="{STATES[word]}"[^>]*>(?:<svg.*?</svg>)?{word}<', content), (path, word)
    Session.objects.update(ending="")
    assert "Completed" in Page(reviewer.get(path_of(session)).content).text, "nobody has read it yet"


STATES = {
    "Completed": "state is-quiet", "No reply": "state is-quiet", "Broke off": "state is-wrong",
    "Ended in error": "state is-wrong",
}  # fmt: skip


def test_a_file_that_was_written_just_now_may_go_on(reviewer, agent):
    late = (timezone.now() - at(0)).total_seconds()
    for seconds, badge, line in (
        (late - 60, "No result yet", "no result yet of"), (late - 3_600, "Broke off", "broke off in the middle of"),
    ):  # fmt: skip
        events = [asked("p", "Go", seconds), call("c", "Bash", {"command": "make"}, seconds)]
        session = session_with(agent, events, origin="import", phase="completed")
        page = Page(reviewer.get(path_of(session)).content).text
        assert badge in page and line in page, badge


def test_the_line_of_a_sub_agent_says_its_model_and_what_failed(reviewer, agent):
    session = session_with(agent, [
        asked("p", "Delegate"),
        call("good", "Task", {"description": "Count"}),
        said("g", "Seven", parent="good", depth=1, model="small-1"), result("good", "7"),
        call("bad", "Task", {"description": "Count again"}),
        call("inner", "Bash", {"command": "wc"}, parent="bad", depth=1),
        result("inner", "no such file", "error", depth=1),
        other("e", "error", "overloaded", parent="bad", depth=1), result("bad", "7"),
    ])  # fmt: skip
    html = reviewer.get(path_of(session)).content.decode()
    good, bad = re.findall(r'<details class="nested".*?</details>', html, re.DOTALL)
    assert "2 errors" in on_one_line(bad) and "error" not in good
    assert "small-1" in good and "small-1" not in bad
