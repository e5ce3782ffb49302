"""The page of the files that a session changed: a tree, and one file with its net diff and its versions."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ChangedFile, FileScan
from sessions_app.queries.log import file_changes as queries
from sessions_app.services.log import file_changes
from sessions_app.views.session import files

from .build import Page, asked, call, path_of, result, session_with

CWD = {"metadata": {"environment": {"cwd": "/w"}}}


def edit(key: str, path: str, old: str, new: str, status: str | None = "ok") -> list:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return [call(key, "Edit", arguments), result(key, "", status)]


def shown(client, session, query: str = "", **headers: str) -> Page:
    answer = client.get(f"{path_of(session)}/files{query}", headers=headers)
    assert answer.status_code == 200
    return Page(answer.content)


def opened(page: Page) -> list[str]:
    return [
        row["href"].partition("path=")[2].partition("#")[0]
        for row in page.all("a")
        if {"aria-current", "data-file"} <= row.keys()
    ]


@pytest.fixture
def edited(agent):
    return session_with(
        agent,
        [
            asked("p", "Go"),
            call("r", "Read", {"file_path": "/w/src/app/a.py"}), result("r", "     1→one\n     2→two\n     3→three"),
            *edit("1", "/w/src/app/a.py", "two", "2"), *edit("2", "/w/src/app/a.py", "2", "second"),
            *edit("3", "/w/src/app/b.py", "x", "y", "error"), *edit("4", "/etc/hosts", "x", "y"),
            call("5", "Bash", {"command": "sed -i s/a/b/ gen.txt"}), result("5"),
        ],
        **CWD,
    )  # fmt: skip


def test_the_tree_names_every_file_with_its_sums(viewer, edited):
    page = shown(viewer, edited)
    assert "3 files · 3 edits · +3 −3 · 1 with unknown contents" in page.text
    assert "the desk has not looked at the files" in page.text
    rows = [row["href"] for row in page.all("a") if "data-file" in row]
    assert [row.partition("path=")[2].partition("#")[0] for row in rows] == [
        quote("/etc/hosts", safe=""), "src%2Fapp%2Fa.py", "src%2Fapp%2Fb.py", "gen.txt",
    ]  # fmt: skip
    for words in ("/etc", "src/app", "no edit succeeded", "by a command", "2 edits +2 −2"):
        assert words in page.text


def test_the_first_file_that_was_edited_is_open_where_none_is_asked_for(viewer, agent):
    session = session_with(agent, [
        call("1", "Bash", {"command": "sed -i s/a/b/ a.txt"}), result("1"), *edit("2", "/w/b.py", "two", "2"),
        *edit("3", "/w/c.py", "two", "2"),
    ], **CWD)  # fmt: skip
    assert opened(shown(viewer, session)) == ["b.py"]
    assert opened(shown(viewer, session, "?path=c.py")) == ["c.py"]
    only_named = session_with(agent, [
        call("1", "Bash", {"command": "sed -i s/a/b/ a.txt b.txt"}), result("1"),
    ], **CWD)  # fmt: skip
    assert "Choose a file" in shown(viewer, only_named).text


def test_the_card_names_what_was_edited_before_what_commands_wrote(viewer, agent):
    session = session_with(agent, [
        asked("p", "Go"), call("1", "Bash", {"command": "touch aa.txt ab.txt"}), result("1"),
        *edit("2", "/w/zz.py", "one", "two"),
    ], **CWD)  # fmt: skip
    file_changes.read_on(session.pk)
    page = Page(viewer.get(path_of(session)).content)
    assert "zz.py +1 −1 by commands: aa.txt ab.txt" in page.text


def test_the_tree_marks_what_a_command_wrote_last(viewer, agent):
    session = session_with(agent, [
        asked("p", "Go"), *edit("1", "/w/a.py", "one", "two"), *edit("2", "/w/b.py", "one", "two"),
        call("3", "Bash", {"command": "sed -i s/a/b/ b.py"}), result("3"),
    ], **CWD)  # fmt: skip
    marks = shown(viewer, session).all("span", title="A command wrote it last: what it holds since is not known")
    assert len(marks) == 1


def test_a_file_shows_what_differs_over_the_session_and_who_made_it(viewer, edited):
    page = shown(viewer, edited, "?path=src/app/a.py")
    text = page.text.partition("src/app/a.py edited")[2]
    assert "+1 −1 net" in text and "v2 of 2" in text and "- two" in text and "+ second" in text
    assert "rest of the file is not" not in text
    links = [row["href"] for row in page.all("a") if "#e-" in (row.get("href") or "")]
    assert {link.partition("#")[2] for link in links} == {"e-4", "e-6"}


def test_the_only_file_of_a_session_is_open_at_once(viewer, agent):
    new = [asked("p", "Go"), *edit("1", "/w/a.py", "two", "second"), *edit("2", "/w/b.py", "x", "y", "error")]
    page = shown(viewer, session_with(agent, new, **CWD))
    assert "second" in page.text and "Choose a file" not in page.text


@pytest.mark.parametrize(
    ("query", "there", "gone"),
    [
        ("&version=1", "+ 2", "second"), ("&version=2&from=1", "+ second", "- two"), ("&version=0", "before", "+ "),
        ("&version=99", "v2 of 2", "before"), ("&version=x&from=y", "v2 of 2", "before"),
    ],
)  # fmt: skip
def test_each_version_has_an_address(viewer, edited, query, there, gone):
    section = shown(viewer, edited, f"?path=src/app/a.py{query}", **{"HX-Request": "true", "HX-Target": "file"}).text
    shown_rows = section.partition("changes of this file")[0]
    assert there in shown_rows and gone not in shown_rows


def test_what_is_not_known_is_said(viewer, edited, agent):
    assert "unknown content" in shown(viewer, edited, "?path=gen.txt").text
    assert "what it held from then on is not known" in shown(viewer, edited, "?path=gen.txt").text
    assert "No call for this file succeeded." in shown(viewer, edited, "?path=src/app/b.py").text
    outside = shown(viewer, edited, "?path=/etc/hosts").text
    assert "outside the working directory" in outside and "the rest of the file is not in this session" in outside
    misfit = session_with(
        agent, [call("r", "Read", {"file_path": "a"}), result("r", "1\tone\n2\ttwo"), *edit("1", "a", "never", "x")]
    )
    assert "something else changed the file in between" in shown(viewer, misfit, "?path=a").text


def test_a_session_without_changes_says_so(viewer, agent):
    page = shown(viewer, session_with(agent, [asked("p", "Go")]))
    assert "No files changed" in page.text and not page.all("nav", **{"aria-label": "Files"})


def test_no_such_file_is_not_found(viewer, edited, charlie):
    assert viewer.get(f"{path_of(edited)}/files?path=nothing").status_code == 404
    assert charlie.get(f"{path_of(edited)}/files").status_code == 404
    assert charlie.get(f"{path_of(edited)}/files/link").status_code == 404


@pytest.mark.parametrize("query", ["path=a%00b", "after=a%00b", "path=%ff", "after=%ED%A0%80"])
def test_what_no_path_can_be_is_no_fault_of_the_server(viewer, edited, query):
    assert viewer.get(f"{path_of(edited)}/files?{query}").status_code in (200, 404)


def test_the_head_of_the_session_leads_to_the_files_and_reads_them_by_itself(viewer, edited):
    page = Page(viewer.get(path_of(edited)).content)
    (link,) = page.all("a", id="files-link")
    assert link["href"] == f"{path_of(edited)}/files" and "load" in link["hx-trigger"]
    assert not FileScan.objects.exists()
    piece = Page(viewer.get(link["hx-get"], headers={"HX-Request": "true"}).content)
    assert piece.text.endswith(" 3 files +3 −3") and "hx-get" not in piece.all("a", id="files-link")[0]
    assert "3 files +3 −3" in Page(viewer.get(path_of(edited)).content).text


def test_a_long_session_is_read_over_several_requests(viewer, edited, monkeypatch):
    monkeypatch.setattr(file_changes, "EVENTS_AT_ONCE", 5)
    first = shown(viewer, edited)
    assert "Read up to event 5 of 13 so far" in first.text and "1 file" in first.text
    assert "not read so far yet" in shown(viewer, edited, "?path=gen.txt").text or "unknown" in first.text
    assert "Read up to" not in shown(viewer, edited).text


def test_queries_do_not_grow_with_the_files(viewer, agent):
    counts = []
    for number in (3, 60):
        session = session_with(
            agent, [one for n in range(number) for one in edit(f"{n}", f"d{n % 7}/{n}.py", "a", "b")]
        )
        file_changes.read_on(session.pk)
        for query in ("", "?path=d1/1.py"):
            with CaptureQueriesContext(connection) as captured:
                shown(viewer, session, query)
            counts.append(len(captured))
    assert counts[0] == counts[2] and counts[1] == counts[3] <= counts[0] + 6


def test_more_files_than_a_page_are_on_the_next(viewer, agent, monkeypatch):
    monkeypatch.setattr(queries, "FILES", 2)
    session = session_with(agent, [one for n in range(3) for one in edit(f"{n}", f"{n}.py", "a", "b")])
    page = shown(viewer, session)
    (more,) = [row["href"] for row in page.all("a") if (row.get("href") or "").startswith("?after=")]
    assert "2.py" in shown(viewer, session, more).text and "2.py" not in page.text


def test_a_very_long_diff_is_cut_and_says_so(viewer, agent, monkeypatch):
    monkeypatch.setattr(files, "ROWS", 10)
    session = session_with(agent, [call("1", "Write", {"file_path": "a", "content": "x\n" * 50}), result("1")])
    page = shown(viewer, session, "?path=a")
    assert "40 more lines" in page.text and page.text.count("x") < 30


HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m\u2028../../x"


def test_what_strangers_wrote_is_only_text(viewer, agent):
    session = session_with(
        agent,
        [
            call("1", "Write", {"file_path": HOSTILE, "content": HOSTILE}), result("1"),
            call("2", HOSTILE, {"file_path": HOSTILE, "old_string": "x", "new_string": HOSTILE}), result("2"),
            call("3", "Bash", {"command": f"touch '{HOSTILE}'"}), result("3"),
        ],
    )  # fmt: skip
    file_changes.read_on(session.pk)
    for file in queries.files_of(session.pk).items:
        answer = viewer.get(f"{path_of(session)}/files", {"path": file.path})
        assert answer.status_code == 200
        content = answer.content.decode()
        assert "<script>alert" not in content and "\u202e" not in content and "\x1b" not in content


def test_the_card_names_the_files_and_each_name_leads_to_its_diff(viewer, edited):
    (place,) = Page(viewer.get(path_of(edited)).content).all("ul", id="card-files")
    assert "hidden" in place, "nobody has read them yet"
    fetched = Page(viewer.get(f"{path_of(edited)}/files/link", headers={"HX-Request": "true"}).content)
    (names,) = fetched.all("ul", id="card-files")
    assert names["hx-swap-oob"] == "true"
    page = Page(viewer.get(path_of(edited)).content)
    (names,) = page.all("ul", id="card-files")
    assert "hidden" not in names and "hx-swap-oob" not in names
    links = {link["href"] for link in page.all("a") if "files?path=" in (link.get("href") or "")}
    expected = {
        f"{path_of(edited)}/files?path={path}#file" for path in ("%2Fetc%2Fhosts", "src%2Fapp%2Fa.py", "gen.txt")
    }
    assert links == expected, "and none of the file in which no edit succeeded"


@pytest.mark.parametrize("lines, is_counted", [((0, 0), False), ((3, 0), True), ((0, 2), True)])
def test_an_edit_whose_lines_nobody_told_is_no_edit_of_none(lines, is_counted):
    file = ChangedFile(path="App.cs", kind="edited", edits=1, added=lines[0], removed=lines[1])
    assert files.Leaf("App.cs", file, "/").is_counted == is_counted
