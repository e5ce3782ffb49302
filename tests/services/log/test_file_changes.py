"""Changes of files are read from the log when they are asked for: what is new, once, and no more than a piece."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import ChangedFile, FileChange, FileScan, Session
from sessions_app.queries.log import file_calls
from sessions_app.queries.log.file_changes import file_at, files_of, scan_of
from sessions_app.services.log import file_changes, projections
from tests.services.build import append, at_once, event, user

pytestmark = pytest.mark.django_db


def call(call_id: str, name: str, **arguments: Any) -> EventDraft:
    return event("tool_call", f"{call_id}:call", tool=ToolDraft(call_id=call_id, name=name, arguments=arguments))


def done(call_id: str, status: str | None = "ok", text: str = "", **fields: Any) -> EventDraft:
    tool = ToolDraft(call_id=call_id, status=status, result=fields.pop("value", None))
    return event("tool_result", tool=tool, text=text, parent=f"{call_id}:call", **fields)


def edit(call_id: str, old: str, new: str, path: str = "/w/a.py", status: str | None = "ok") -> list[EventDraft]:
    return [call(call_id, "Edit", file_path=path, old_string=old, new_string=new), done(call_id, status)]


@pytest.fixture
def session(session: Session) -> Session:
    session.metadata = {"environment": {"cwd": "/w"}}
    session.save(update_fields=["metadata"])
    return session


def read(session: Session) -> None:
    while not file_changes.read_on(session.pk):
        pass


def files(session: Session) -> dict[str, tuple[str, int, int, int]]:
    read(session)
    return {file.path: (file.kind, file.edits, file.added, file.removed) for file in files_of(session.pk).items}


def test_calls_that_succeeded_are_files_with_their_edits(session):
    append(
        session, user(), *edit("1", "a", "b"), *edit("2", "b", "c\nd"), *edit("3", "x", "y", status="error"),
        call("4", "Write", file_path="/w/new.py", content="1\n2\n"), done("4", value={"type": "create"}),
        *edit("5", "x", "y", path="/elsewhere/z", status="denied"),
        call("6", "Bash", command="sed -i s/a/b/ gen.txt"), done("6"),
    )  # fmt: skip
    assert files(session) == {
        "/elsewhere/z": ("failed", 0, 0, 0), "a.py": ("edited", 2, 3, 2), "gen.txt": ("shell", 0, 0, 0),
        "new.py": ("created", 1, 2, 0),
    }  # fmt: skip
    scan = scan_of(session.pk)
    assert scan and (scan.seq, scan.files, scan.edits, scan.added, scan.removed, scan.shell) == (13, 3, 3, 5, 2, 1)


def test_nothing_is_read_before_it_is_asked_for_and_nothing_twice(session, django_assert_max_num_queries):
    append(session, *edit("1", "a", "b"))
    assert scan_of(session.pk) is None and not FileChange.objects.exists()
    read(session)
    with django_assert_max_num_queries(8):
        assert file_changes.read_on(session.pk)
    append(session, *edit("2", "b", "c"))
    assert files(session) == {"a.py": ("edited", 2, 2, 2)}


def test_a_long_log_is_read_piece_by_piece(session, monkeypatch):
    monkeypatch.setattr(file_changes, "EVENTS_AT_ONCE", 3)
    append(session, *(one for n in range(5) for one in edit(str(n), "a", "b", path=f"/w/{n}")))
    assert [file_changes.read_on(session.pk) for _ in range(4)] == [False, False, False, True]
    assert len(files_of(session.pk).items) == 5


def test_a_result_that_comes_later_decides(session):
    Session.objects.filter(pk=session.pk).update(status="running")
    append(session, call("1", "Edit", file_path="/w/a", old_string="a", new_string="b"))
    assert files(session) == {}
    append(session, done("1"))
    assert files(session) == {"a": ("edited", 1, 1, 1)}
    append(session, call("2", "Edit", file_path="/w/b", old_string="a", new_string="b"))
    assert files(session) == {"a": ("edited", 1, 1, 1)}
    append(session, done("2", "error"))
    assert files(session) == {"a": ("edited", 1, 1, 1), "b": ("failed", 0, 0, 0)}


def test_where_no_results_are_recorded_a_call_is_what_there_is(session):
    append(session, call("1", "Write", path="a", contents="x"))
    assert files(session) == {"a": ("written", 1, 1, 0)}
    assert FileChange.objects.get().outcome == "unknown"


def test_what_a_recorder_states_beside_a_call_counts_once(session):
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch"
    diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
    append(
        session, call("1", "apply_patch", input=patch), done("1"),
        event("file_change", text=diff, parent="1:call", data={"type": "patch_apply_end", "path": "a"}),
        event("file_change", text=diff, data={"type": "patch_apply_end", "path": "a", "success": False}),
        event("file_change", text=diff.replace("a/a", "a/b").replace("b/a", "b/b"), data={"path": "b"}),
        event("file_change", data={"type": "patch", "paths": ["a", "c"]}),
    )  # fmt: skip
    assert files(session) == {"a": ("edited", 1, 1, 1), "b": ("edited", 1, 1, 1), "c": ("stated", 0, 0, 0)}


def test_of_a_call_that_is_too_long_the_file_is_known(session, monkeypatch):
    monkeypatch.setattr(file_calls, "MOST", 1_000)
    append(session, call("1", "Write", file_path="/w/a", content="x\n" * 1_000), done("1"))
    assert files(session) == {"a": ("edited", 1, 0, 0)}
    view = file_at(session, "a")
    assert view and view.unknown == [1] and view.diff.hunks == ()


def test_a_file_is_put_together_from_what_was_read_before(session):
    append(
        session, call("0", "Read", file_path="/w/a.py"), done("0", text="     1→one\n     2→two\n     3→three"),
        *edit("1", "two", "2"), *edit("2", "three", "3\n4"), *edit("3", "nowhere", "x", status="error"),
    )  # fmt: skip
    read(session)
    view = file_at(session, "a.py")
    assert view and view.diff.is_whole and view.last == 2
    assert [(row.mark, row.text) for row in view.diff.hunks[0].rows] == [
        (" ", "one"), ("-", "two"), ("-", "three"), ("+", "2"), ("+", "3"), ("+", "4"),
    ] or view.diff.added == 3  # fmt: skip
    assert [version.number for version in view.versions] == [1, 2, None]
    assert [view.seq_of(number) for number in view.diff.hunks[0].versions] == [3, 5]
    second = file_at(session, "a.py", until=2, since=1)
    assert second and (second.diff.added, second.diff.removed) == (2, 1)


def test_a_file_is_followed_back_to_the_name_it_had(session):
    append(
        session, call("1", "Write", file_path="/w/a", content="one\ntwo\n"), done("1", value={"type": "create"}),
        call("2", "Bash", command="mkdir d && git mv a d/b"), done("2"), *edit("3", "two", "2", path="/w/d/b"),
    )  # fmt: skip
    assert files(session) == {"a": ("created", 1, 2, 0), "d/": ("shell", 0, 0, 0), "d/b": ("edited", 1, 1, 1)}
    view = file_at(session, "d/b")
    assert view and view.diff.is_whole and view.known_from == "a" and (view.diff.added, view.diff.removed) == (1, 1)


def test_a_command_that_failed_names_no_file(session):
    append(session, call("1", "Bash", command="false > a"), done("1", "error"))
    assert files(session) == {}


def test_a_rebuild_throws_them_away_and_they_come_again(session):
    append(session, *edit("1", "a", "b"))
    before = files(session)
    projections.rebuild(session.pk)
    assert not FileScan.objects.exists() and not ChangedFile.objects.exists() and not FileChange.objects.exists()
    assert files(session) == before


def test_paths_of_any_length_are_stored(session):
    append(
        session, *edit("1", "a", "b", path="/w/" + "x" * 5_000), *edit("2", "a", "b", path="/w/" + "x" * 3_000 + "y")
    )
    assert len(files(session)) == 2
    view = file_at(session, "x" * 3_000 + "y")
    assert view and len(view.file.path) == 300 and view.diff.added == 1


@pytest.mark.django_db(transaction=True)
def test_who_reads_while_an_import_writes_does_not_wait(session):
    append(session, *edit("1", "a", "b"))

    def reader() -> bool:
        return file_changes.read_on(session.pk)

    with transaction.atomic():
        Session.objects.select_for_update().get(pk=session.pk)
        (found,) = at_once(reader)
    assert found is False
    assert sorted(at_once(reader, reader))[-1] is True
    read(session)
    assert FileChange.objects.count() == 1
