"""Values of a file that no event shows are found in whatever holds them, and those of other sessions are not told."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sqlite3
import zipfile
from datetime import UTC, datetime

import pytest

from vcon_app.drafts import EventDraft, FormatError, SessionDraft, ToolDraft
from vcon_app.formats import rest_of_file
from vcon_app.formats.rest_of_file import Shown, TooLarge, rest_of

ASKED = EventDraft(kind="user_message", key="1", text="What is due?", pointer="L1/message")
CALLED = EventDraft(
    kind="tool_call", key="2", at=datetime(2026, 5, 1, 8, tzinfo=UTC), pointer="L2",
    tool=ToolDraft("c1", "look", None, {"path": "a.txt"}), data={"branch": "main"},
)  # fmt: skip


def told(data: bytes | str, *events: EventDraft, alone: bool = True, session: str = "s") -> dict[str, str]:
    """Place -> text of what is not shown of a session with these events."""
    source = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    shown = Shown(SessionDraft(external_id=session), events, [])
    return {value.place: value.text for part in rest_of(source, shown, alone=alone).parts for value in part.values}


def test_of_lines_what_no_event_says_is_told_once_with_its_first_place():
    lines = [
        {"message": "What is due?", "slug": "blue-tower", "usage": {"zq": 917}},
        {"time": "2026-05-01T10:00:00+02:00", "name": "look", "args": '{"path": "a.txt"}', "slug": "blue-tower"},
        {"time": 1777622400000, "git": {"branch": "main", "a/b": "zqvalue"}},
    ]
    found = told("\n".join(map(json.dumps, lines)), ASKED, CALLED)
    assert found == {"L1/slug": "blue-tower", "L1/usage/zq": "917", "L3/git/a~1b": "zqvalue"}


def test_json_in_texts_is_looked_into_and_a_text_in_pieces_is_found_line_by_line():
    one = EventDraft(kind="agent_message", key="1", text="First line", pointer="/m/0")
    two = EventDraft(kind="agent_message", key="2", text="Second line", pointer="/m/0")
    document = {"m": ["First line\n\n  Second line"], "raw": json.dumps({"seen": "Second line", "zq": [True, "zqin"]})}
    assert told(json.dumps(document), one, two) == {"/raw/zq/1": "zqin"}


def test_what_a_file_says_of_other_sessions_is_not_told_and_what_it_says_of_itself_is():
    chats = [{"id": "a", "m": ["mine", "zqmine"]}, {"id": "b", "m": ["theirs", "zqtheirs"]}]
    mine = EventDraft(kind="user_message", key="1", text="mine", pointer="/chats/0/m/0")
    found = told(json.dumps({"owner": "zqowner", "chats": chats}), mine, alone=False)
    assert sorted(found.values()) == ["a", "zqmine", "zqowner"]
    lines = told('{"m": "mine", "x": "zqmine"}\n{"m": "theirs"}', EventDraft("user_message", "1", text="mine",
                 pointer="L1/m"), alone=False)  # fmt: skip
    assert lines == {"L1/x": "zqmine"}


def test_rows_of_a_store_are_told_where_they_name_the_session_or_one_of_its_rows(tmp_path):
    store = sqlite3.connect(tmp_path / "store.db")
    store.executescript("""
        CREATE TABLE messages (id TEXT, session_id TEXT, parts TEXT);
        CREATE TABLE files (message_id TEXT, body TEXT);
        INSERT INTO messages VALUES ('m1', 's', '[{"text": "mine", "odd": "zqodd"}]'), ('m2', 's', '[]');
        INSERT INTO messages VALUES ('m3', 't', 'zqother');
        INSERT INTO files VALUES ('m1', 'zqfile'), ('m3', 'zqelse');
    """)
    store.close()
    mine = EventDraft(kind="user_message", key="m1", text="mine", pointer="/messages/1/parts/0")
    found = told((tmp_path / "store.db").read_bytes(), mine, alone=False)
    assert {"zqodd", "zqfile", "m2"} <= set(found.values()) and not {"zqother", "zqelse", "m3"} & set(found.values())


def test_members_of_a_zip_and_lines_of_a_text_have_their_places(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("samples/1.json", json.dumps({"epoch": "zqepoch"}))
    assert told((tmp_path / "log.zip").read_bytes()) == {"/samples/1.json/epoch": "zqepoch"}
    assert told("#### What is due?\n\n> zqhint", ASKED) == {"L3": "zqhint"}


def test_texts_are_kept_before_ids_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(rest_of_file, "MOST_VALUES", 2)
    shown = Shown(SessionDraft(external_id="s"), [], [])
    rest = rest_of(io.BytesIO(json.dumps(["id-1", "id-2", "a sentence that somebody wrote"]).encode()), shown)
    assert [value.text for value in rest.parts[0].values] == ["id-1", "a sentence that somebody wrote"]
    assert rest.left_out == 1


@pytest.mark.parametrize(
    "data", [b"[" + b"1," * 600_000 + b"1]", b" " * (8 * 1024 * 1024 + 1)], ids=["many values", "many bytes"]
)
def test_a_file_that_is_too_large_is_left_alone(data):
    with pytest.raises(TooLarge):
        told(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff",
        b"{",
        b"PK\x03\x04",
        b"\xa1\x61",
        b"[" * 900 + b'"zq"' + b"]" * 900,
        gzip.compress(b"{}" * 900, mtime=0)[:30],
        gzip.compress(b"{}", mtime=0)[:-8] + b"\n{",
        b"\x1f\x8b\x08\x00" + b"\xff" * 50,
    ],
)
def test_hostile_bytes_make_no_error_that_nobody_expects(data):
    with contextlib.suppress(TooLarge, FormatError):
        told(data)
