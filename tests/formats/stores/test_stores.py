"""Stores in SQLite: each is claimed by its own format, gives the sessions that are in it, and grows."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.formats.golden import as_text, check
from tests.formats.reads import assert_sound, events, findings, kinds, read, sessions, tokens
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats import opencode
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.sqlite import wal
from vcon_app.formats.stores import crush, cursor, cursor_agent, goose, hermes, zed

from . import made


@pytest.mark.parametrize("name", made.STORES)
def test_a_store_is_claimed_by_its_own_format_alone(name: str) -> None:
    data = made.STORES[name]
    assert registry.claims(Head(data), registry.readers()) == [name]
    in_wal_mode = data[:18] + b"\2\2" + data[20:]
    assert registry.claims(Head(in_wal_mode), registry.readers()) == [name]
    drafts = read(registry.get(name), in_wal_mode)
    assert_sound(drafts)
    assert [one.key for one in events(drafts)] == [one.key for one in events(read(registry.get(name), data))]


@pytest.mark.parametrize("name", made.STORES)
def test_a_store_gives_the_stored_drafts(name: str) -> None:
    check(Path(__file__).with_name(f"{name}.expected"), as_text(read(registry.get(name), made.STORES[name])))


def test_crush_shows_the_tokens_of_the_last_response_and_counts_the_cost() -> None:
    drafts = read(crush, made.crush(5))
    first, second = dict.fromkeys(draft.external_id for draft in sessions(drafts))
    assert (first, second) == ("s1", "s2")
    assert [draft.parent_external_id for draft in sessions(drafts)] == [None, None, "s1", "s1"]
    assert kinds(drafts) == [
        "model_request", "user_message", "reasoning", "tool_call", "tool_result", "agent_message", "error",
        "file_change", "system", "user_message",
    ]  # fmt: skip
    told = events(drafts)
    assert not any(tokens(drafts).values())
    assert (told[0].cost, told[0].data["last_prompt_tokens"]) == (Decimal("0.25"), 900)
    assert told[1].text == "Mend the weir\ufffd gauge"  # PostgreSQL stores no NUL
    assert told[4].parent == told[3].key and told[4].tool and told[4].tool.status == "ok"
    assert told[6].text == "Overloaded" and told[7].data["path"] == "gauge.py"


def test_a_store_that_has_grown_adds_what_is_new() -> None:
    before, after = events(read(crush, made.crush(3))), events(read(crush, made.crush(5)))
    keys = [one.key for one in before]
    assert set(keys) < {one.key for one in after}
    assert len(after) - len(before) == 2


@pytest.mark.parametrize("made_of", [made.zed, made.kiro, made.cursor], ids=["zed", "kiro", "cursor"])
def test_what_changes_about_a_session_without_times_makes_none_of_its_messages_another(made_of: Any) -> None:
    """Else each import of a store that grew would say everything again."""
    before, after = made_of(), made_of(changed=True)
    reader = registry.reader(registry.detect(io.BytesIO(before))[0])
    keys = [{one.key for one in events(read(reader, data)) if one.kind != "model_request"} for data in (before, after)]
    assert keys[0] < keys[1]


@pytest.mark.parametrize("ledger", [True, False])
def test_goose_counts_its_ledger_or_else_the_sums_of_the_session(ledger: bool) -> None:
    drafts = read(goose, made.goose(ledger=ledger))
    counted = tokens(drafts)
    assert (counted["input"], counted["output"], counted["cache_read"]) == ((600, 40, 200) if ledger else (900, 40, 0))
    assert sum((one.cost or Decimal(0) for one in events(drafts)), Decimal(0)) == Decimal("0.5")
    said = [one for one in kinds(drafts) if one not in ("model_request", "system")]
    assert said == ["user_message", "tool_call", "tool_result", "injected_context", "agent_message"]
    last = sessions(drafts)[-1]
    assert (last.title, last.model) == ("Look around", "tide-2")
    assert last.metadata["environment"] == {"cwd": "/home/ada/weir"}


def test_hermes_has_the_tokens_of_the_session_and_says_what_was_rewound() -> None:
    drafts = read(hermes, made.hermes())
    assert tokens(drafts) == {"input": 300, "cache_read": 80, "cache_write": 0, "output": 25, "reasoning": 5}
    assert kinds(drafts) == [
        "model_request", "system", "user_message", "agent_message", "reasoning", "tool_call", "tool_result",
        "agent_message",
    ]  # fmt: skip
    told = events(drafts)
    assert [one.data.get("rewound") for one in told[2:5]] == [None, True, None]
    assert "user_id" not in told[0].data  # of a messenger: personal data
    assert told[6].tool and told[6].tool.name == "terminal"


@pytest.mark.parametrize("headers", [True, False])
def test_cursor_gives_its_conversation_in_the_order_of_its_headers(headers: bool) -> None:
    drafts = read(cursor, made.cursor(headers=headers))
    assert kinds(drafts) == ["user_message", "reasoning", "tool_call", "tool_result", "agent_message"]
    told = events(drafts)
    assert [one.text for one in told if one.text] == ["How deep?", "The gauge.", "Three."]
    assert told[3].tool and (told[3].tool.result, told[3].tool.status) == ({"contents": "depth = 3"}, "ok")
    assert (tokens(drafts)["input"], tokens(drafts)["output"], told[4].model) == (70, 6, "tide-2")
    assert {draft.external_id for draft in sessions(drafts)} == {"c1"}
    assert ("cursor-store.undone" in findings(drafts)) == headers


def test_cursor_agent_gives_its_messages_in_the_order_in_which_they_are_sent() -> None:
    drafts = read(cursor_agent, made.cursor_agent())
    assert [(one.kind, one.text) for one in events(drafts)] == [
        ("injected_context", "<user_info>\nOS: linux\n</user_info>"), ("user_message", "How deep?"),
        ("reasoning", "The gauge."), ("tool_call", ""), ("tool_result", "depth = 3"), ("agent_message", "Three."),
        ("user_message", "How deep?"),
    ]  # fmt: skip
    told = events(drafts)
    assert (told[4].parent, told[2].model, told[3].actor_name) == (told[3].key, "tide-2", "Cursor")
    last = sessions(drafts)[-1]
    assert (last.external_id, last.title, last.model) == ("c7", "Depth", "tide-2")
    assert last.started_at is not None


@pytest.mark.parametrize("more", [{"listed": False}, {"summarised": True}])
def test_what_cursor_agent_sends_no_more_stands_where_it_was_written(more: dict[str, bool]) -> None:
    """A summary takes messages out of the list: none is lost, and none comes a second time with the next import."""
    drafts = read(cursor_agent, made.cursor_agent(**more))
    before = {one.key for one in events(read(cursor_agent, made.cursor_agent()))}
    assert [one.text for one in events(drafts) if one.text][1:] == ["How deep?", "The gauge.", "depth = 3", "Three."]
    assert {one.key for one in events(drafts)} < before
    assert ("cursor-agent-store.not-sent" in findings(drafts)) == ("summarised" in more)


def test_kiro_gives_a_conversation_of_its_store_as_it_gives_the_value_alone() -> None:
    drafts = read(registry.get("kiro"), made.kiro())
    assert kinds(drafts) == ["user_message", "agent_message", "tool_call", "tool_result", "agent_message"]
    assert sessions(drafts)[-1].external_id == "k-1"
    assert sessions(drafts)[-1].metadata["environment"] == {"cwd": "/home/ada/weir"}


def test_the_store_of_opencode_and_an_export_of_the_same_session_give_the_same_events() -> None:
    session, messages, parts = made.opencode_records()
    export = {"info": session, "messages": [
        {"info": one, "parts": [part for part in parts if part["messageID"] == one["id"]]} for one in messages
    ]}  # fmt: skip
    theirs = [one for one in events(read(opencode, export)) if one.data.get("type") != "session"]
    ours = [one for one in events(read(opencode, made.opencode())) if one.data.get("type") != "session"]
    assert [(one.kind, one.key, one.text, one.usage) for one in ours] == [
        (one.kind, one.key, one.text, one.usage) for one in theirs
    ]
    assert len(ours) == 7


def test_a_store_without_a_session_and_one_of_nobody_are_refused_in_words() -> None:
    with pytest.raises(FormatError, match="no session is in it"):
        read(crush, made.database(*made.CRUSH_TABLES))
    with pytest.raises(FormatError, match="tables boats, oars, which is no store"):
        registry.detect(io.BytesIO(made.database("CREATE TABLE boats (a)", "CREATE TABLE oars (b)")))


def test_spans_of_copilot_chat_count_each_response_though_all_of_a_turn_have_one_id() -> None:
    drafts = read(registry.get("otel-genai"), made.otel())
    counted = tokens(drafts)
    assert (counted["input"], counted["cache_read"], counted["output"]) == (60, 90, 13)
    assert "tool_call" in kinds(drafts)


def test_requests_of_one_chat_are_one_session_and_its_last_words_are_said_once() -> None:
    drafts = read(registry.get("otel-genai"), made.otel(chat="chat-1"))
    assert {draft.external_id for draft in sessions(drafts)} == {"chat-1"}
    assert [event.text for event in events(drafts) if event.kind == "agent_message"] == ["Three files."]


@pytest.mark.parametrize("packed", [True, False])
def test_zed_gives_its_threads_of_both_ages_with_the_running_total_of_each(packed: bool) -> None:
    drafts = read(zed, made.zed(packed=packed))
    assert tokens(drafts) == {"input": 400, "cache_read": 900, "cache_write": 0, "output": 30, "reasoning": 0}
    assert kinds(drafts) == [
        "user_message", "agent_message", "tool_call", "tool_result",
        "model_request", "user_message", "injected_context", "reasoning", "reasoning", "tool_call", "tool_result",
        "agent_message", "status",
    ]  # fmt: skip
    told = events(drafts)
    assert told[3].tool and (told[3].tool.status, told[3].text) == ("error", "no such folder")
    assert told[10].tool and (told[10].tool.name, told[10].tool.status, told[10].text) == (
        "read_file",
        "ok",
        "depth = 3",
    )
    assert told[10].parent == told[9].key and told[9].model == "tide-2"
    last = sessions(drafts)[-1]
    assert (last.external_id, last.title, last.parent_external_id) == ("t1", "Depth of the weir", None)
    assert [draft.parent_external_id for draft in sessions(drafts)][0] == "t1"
    assert last.metadata["environment"] == {"cwd": "/home/ada/weir"}


def test_a_thread_of_zed_that_cannot_be_unpacked_is_left_out_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcon_app.formats.stores.zed.MAX_DOCUMENT", 600)
    found = findings(drafts := read(zed, made.zed(detailed="x" * 1000)))
    assert "unpacks to more than 0 MB" in found["zed.thread"].message
    assert {draft.external_id for draft in sessions(drafts)} == {"t2"}


def test_a_frame_that_ends_too_early_is_told() -> None:
    whole = made.zstd.compress(b'{"messages": [{"User": {"content": [{"Text": "Hi"}]}}]}' * 50)
    row = {"id": "t", "summary": "Cut", "updated_at": "", "data_type": "zstd", "data": whole[:-9]}
    table = "CREATE TABLE threads (id TEXT, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)"
    data = made.database(table, rows=[("threads", row)])
    assert "cut off" in findings(read(zed, data))["zed.thread"].message


def test_a_store_that_came_without_its_log_says_so(tmp_path):
    """Its only rows stand in the log: what was dropped is empty, and where the rest is stands in the refusal."""
    path = tmp_path / "crush.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(
            "CREATE TABLE sessions (id TEXT, title TEXT, parent_session_id TEXT, message_count INTEGER, cost REAL);"
            "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER);"
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        data = path.read_bytes()
        assert wal.needs_log(io.BytesIO(data))
        with pytest.raises(FormatError, match="no session is in it; it came without its log"):
            list(crush.read(io.BytesIO(data)))
        connection.execute("INSERT INTO sessions VALUES ('s', 'T', NULL, 0, 0)")
        connection.commit()
        with path.open("rb") as database, (tmp_path / "crush.db-wal").open("rb") as log:
            assert not wal.needs_log(wal.with_wal(database, log))
