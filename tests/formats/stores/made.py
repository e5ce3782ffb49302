"""Small stores of our own making, as the bytes of a SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vcon_app.formats.common.encodings.zstandard import zstd

T0 = 1_770_000_000


def database(*statements: str, rows: Iterable[tuple[str, dict[str, Any]]] = (), wal: bool = False) -> bytes:
    """A database after these statements, with rows put into its tables; objects and lists become JSON."""
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    for table, row in rows:
        cells = [json.dumps(cell) if isinstance(cell, (dict, list)) else cell for cell in row.values()]
        marks = ", ".join("?" * len(cells))
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", cells)
    connection.commit()
    data = bytearray(connection.serialize())
    connection.close()
    if wal:
        data[18:20] = b"\2\2"
    return bytes(data)


def in_use(data: bytes, *statements: str) -> tuple[bytes, bytes, bytes]:
    """A store while its agent runs: the file, the log in which these statements stand, and its index."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        path.write_bytes(data)
        connection = sqlite3.connect(path)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", *statements):
            connection.execute(statement)
        connection.commit()
        files = tuple(path.with_name(f"store.db{end}").read_bytes() for end in ("", "-wal", "-shm"))
        connection.close()
    return files[0], files[1], files[2]


def log_ending_at(log: bytes, page: int) -> bytes:
    """A log whose last frame is the last page of a database of so many (fileformat2.html, 4.2), its sums made anew."""
    size = int.from_bytes(log[8:12], "big")
    order = "big" if log[3] & 1 else "little"
    sums = (int.from_bytes(log[24:28], "big"), int.from_bytes(log[28:32], "big"))
    made = bytearray(log[:32])
    frames = [log[at : at + 24 + size] for at in range(32, len(log) - 24 - size + 1, 24 + size)]
    for number, frame in enumerate(frames):
        head = bytearray(frame[:16])
        if number == len(frames) - 1:
            head[:8] = page.to_bytes(4, "big") * 2
        words = bytes(head[:8]) + frame[24:]
        for at in range(0, len(words), 8):
            first = (sums[0] + int.from_bytes(words[at : at + 4], order) + sums[1]) % 2**32  # type: ignore[arg-type]
            second = (sums[1] + int.from_bytes(words[at + 4 : at + 8], order) + first) % 2**32  # type: ignore[arg-type]
            sums = (first, second)
        made += head + sums[0].to_bytes(4, "big") + sums[1].to_bytes(4, "big") + frame[24:]
    return bytes(made)


SAY_LATER = (
    "INSERT INTO messages (id, session_id, role, parts, created_at) VALUES ('w1', 's1', 'user',"
    """ '[{"type": "text", "data": {"text": "Said later"}}]', 1770000050)"""
)
"""A message of ``crush`` that stands in the log alone."""

CRUSH_TABLES = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER,"
    " prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER, todos TEXT)",
    "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL,"
    " model TEXT, created_at INTEGER, updated_at INTEGER, finished_at INTEGER, provider TEXT,"
    " is_summary_message INTEGER)",
    "CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT, version INTEGER,"
    " created_at INTEGER, updated_at INTEGER)",
)


def crush(messages: int = 4, **of_session: Any) -> bytes:
    """Two sessions with words and one without, the first of so many messages."""
    said: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "data": {"text": "Mend the weir\0 gauge"}}]),
        ("assistant", [
            {"type": "reasoning", "data": {"thinking": "Look first."}},
            {"type": "tool_call", "data": {"id": "c1", "name": "view", "input": '{"path": "gauge.py"}'}},
            {"type": "finish", "data": {"reason": "tool_use", "time": T0 + 2}},
        ]),
        ("tool", [{"type": "tool_result", "data": {
            "tool_call_id": "c1", "name": "view", "content": "depth = 3", "is_error": False}}]),
        ("assistant", [
            {"type": "text", "data": {"text": "Mended."}}, {"type": "finish", "data": {"reason": "end_turn"}}]),
        ("assistant", [{"type": "finish", "data": {"reason": "error", "message": "Overloaded", "time": T0 + 9}}]),
    ]  # fmt: skip
    session = {
        "id": "s1", "title": "Weir", "prompt_tokens": 900, "completion_tokens": 7, "cost": 0.25, "created_at": T0,
        "updated_at": T0 + 60, "todos": [{"content": "measure", "status": "done"}],
    }  # fmt: skip
    rows = [
        ("sessions", session | of_session),
        ("sessions", {"id": "s2", "title": "Sluice", "parent_session_id": "s1", "cost": 0, "created_at": T0 + 5}),
        ("sessions", {"id": "s3", "title": "Nothing said", "cost": 0, "created_at": T0 + 6}),
        ("files", {"id": "f1", "session_id": "s1", "path": "gauge.py", "version": 1, "created_at": T0 + 4}),
        ("messages", {"id": "n1", "session_id": "s2", "role": "user", "created_at": T0 + 5,
                      "parts": [{"type": "text", "data": {"text": "Open the sluice"}}]}),
        *(("messages", {"id": f"m{number}", "session_id": "s1", "role": role, "parts": parts, "provider": "anthropic",
                        "created_at": T0 + number, "model": "tide-2" if role == "assistant" else ""})
          for number, (role, parts) in enumerate(said[:messages])),
    ]  # fmt: skip
    return database(*CRUSH_TABLES, rows=rows)


GOOSE_TABLES = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,"
    " created_at TIMESTAMP, updated_at TIMESTAMP, model_config_json TEXT, parent_session_id TEXT,"
    " accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cost REAL)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,"
    " content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT)",
)
LEDGER = (
    "CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id TEXT, created_timestamp INTEGER, model TEXT,"
    " input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL,"
    " cost_source TEXT, is_compaction INTEGER)"
)


def goose(*, ledger: bool = True) -> bytes:
    """A session with a call; what it took stands in a ledger, or in sums alone."""
    call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}
    result = {"status": "success", "value": [{"type": "text", "text": "gauge.py"}]}
    said = [
        ("user", [{"type": "text", "text": "What is here?"}], {}),
        ("assistant", [{"type": "toolRequest", "id": "t1", "toolCall": call}], {}),
        ("user", [{"type": "toolResponse", "id": "t1", "toolResult": result}], {}),
        ("user", [{"type": "text", "text": "Remember the rules"}], {"userVisible": False}),
        ("assistant", [{"type": "text", "text": "One file."}], {}),
    ]
    session = {
        "id": "20260202_1", "name": "Look around", "session_type": "user", "working_dir": "/home/ada/weir",
        "created_at": "2026-02-02 02:40:00", "updated_at": "2026-02-02 02:45:00",
        "model_config_json": {"model_name": "tide-2"}, "accumulated_input_tokens": 900, "accumulated_cost": 0.5,
        "accumulated_output_tokens": 40,
    }  # fmt: skip
    rows: list[tuple[str, dict[str, Any]]] = [("sessions", session)]
    rows += [
        ("messages", {"message_id": f"msg_{number}", "session_id": "20260202_1", "role": role, "content_json": content,
                      "created_timestamp": T0 + number, "metadata_json": more})
        for number, (role, content, more) in enumerate(said)
    ]  # fmt: skip
    rows += [
        ("usage_ledger", {"session_id": "20260202_1", "created_timestamp": T0 + number, "model": "tide-2",
                          "input_tokens": 400, "output_tokens": 20, "cache_read_tokens": 100, "cost": 0.25,
                          "is_compaction": number})
        for number in range(2 if ledger else 0)
    ]  # fmt: skip
    return database(*GOOSE_TABLES, *((LEDGER,) if ledger else ()), rows=rows)


HERMES_TABLES = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, user_id TEXT, model TEXT, system_prompt TEXT,"
    " parent_session_id TEXT, started_at REAL, ended_at REAL, end_reason TEXT, input_tokens INTEGER,"
    " output_tokens INTEGER, cache_read_tokens INTEGER, reasoning_tokens INTEGER, estimated_cost_usd REAL, title TEXT,"
    " cwd TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,"
    " tool_calls TEXT, tool_name TEXT, timestamp REAL, finish_reason TEXT, reasoning_content TEXT, active INTEGER,"
    " compacted INTEGER)",
)


def hermes() -> bytes:
    """A session that was called over a messenger, with a rewound answer."""
    calls = [{"id": "h1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "date"}'}}]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "What day is it?"},
        {"role": "assistant", "content": "Friday.", "active": 0},
        {"role": "assistant", "content": "", "tool_calls": calls, "reasoning_content": "Ask the clock."},
        {"role": "tool", "content": "Mon", "tool_call_id": "h1", "tool_name": "terminal"},
        {"role": "assistant", "content": "Monday.", "finish_reason": "stop"},
    ]
    session = {
        "id": "20260202_024000_ab", "source": "telegram", "user_id": "55501", "model": "tide-2", "title": "The day",
        "system_prompt": "Be brief.", "started_at": T0 + 0.5, "ended_at": T0 + 30.0, "input_tokens": 300,
        "output_tokens": 25, "cache_read_tokens": 80, "reasoning_tokens": 5, "estimated_cost_usd": 0.01,
    }  # fmt: skip
    rows: list[tuple[str, dict[str, Any]]] = [("sessions", session)]
    rows += [
        ("messages", {"session_id": session["id"], "timestamp": T0 + number, "active": 1, "compacted": 0} | row)
        for number, row in enumerate(said)
    ]
    return database(*HERMES_TABLES, rows=rows)


def kiro(*, changed: bool = False) -> bytes:
    """A conversation of the older CLI."""
    value: dict[str, Any] = {
        "conversation_id": "k-1",
        "history": [
            {
                "user": {"content": {"Prompt": {"prompt": "Count the gates"}}, "timestamp": "2026-02-02T02:40:00Z"},
                "assistant": {"ToolUse": {"message_id": "a", "content": "I look.", "tool_uses": [
                    {"id": "u1", "name": "fs_read", "args": {"path": "gates.txt"}}]}},
            },
            {
                "user": {"content": {"ToolUseResults": {"tool_use_results": [
                    {"tool_use_id": "u1", "content": [{"Text": "4"}], "status": "Success"}]}}},
                "assistant": {"Response": {"message_id": "b", "content": "Four."}},
            },
        ],
    }  # fmt: skip
    if changed:
        again = {"user": {"content": {"Prompt": {"prompt": "Again"}}}, "assistant": {"Response": {"content": "Four."}}}
        value |= {"transcript": ["> Count the gates", "> Again"], "history": [*value["history"], again]}
    return database(
        "CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL,"
        " created_at INTEGER, updated_at INTEGER, PRIMARY KEY (key, conversation_id))",
        rows=[("conversations_v2", {"key": "/home/ada/weir", "conversation_id": "k-1", "value": value, "created_at": T0,
                                    "updated_at": T0 + 9})],
    )  # fmt: skip


OPENCODE_TABLES = (
    "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,"
    " version TEXT, summary_additions INTEGER, permission TEXT, time_created INTEGER, time_updated INTEGER)",
    "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,"
    " data TEXT)",
    "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,"
    " time_updated INTEGER, data TEXT)",
    "CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER)",
)


def opencode_records() -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """A session, its messages and their parts as an export has them."""
    ms = T0 * 1000
    ids = {"sessionID": "ses_1"}
    session = {
        "id": "ses_1", "projectID": "p1", "directory": "/home/ada/weir", "title": "Gauge", "version": "1.4.0",
        "time": {"created": ms, "updated": ms + 9000},
    }  # fmt: skip
    tokens = {"input": 50, "output": 9, "reasoning": 3, "cache": {"read": 20, "write": 4}}
    messages = [
        {"id": "msg_1", **ids, "role": "user", "time": {"created": ms}},
        {"id": "msg_2", **ids, "role": "assistant", "modelID": "tide-2", "providerID": "anthropic", "cost": 0.02,
         "time": {"created": ms + 1000, "completed": ms + 5000}, "tokens": tokens},
    ]  # fmt: skip
    state = {
        "status": "completed", "input": {"path": "g.py"}, "output": "depth", "time": {"start": ms + 2, "end": ms + 3},
    }  # fmt: skip
    parts = [
        {"id": "prt_1", **ids, "messageID": "msg_1", "type": "text", "text": "Read the gauge"},
        {"id": "prt_2", **ids, "messageID": "msg_2", "type": "tool", "tool": "read", "callID": "c", "state": state},
        {"id": "prt_3", **ids, "messageID": "msg_2", "type": "text", "text": "Three."},
    ]
    return session, messages, parts


def opencode() -> bytes:
    """The same session as a store."""
    session, messages, parts = opencode_records()
    times = {"time_created": session["time"]["created"], "time_updated": session["time"]["updated"]}
    row = {"id": "ses_1", "project_id": "p1", "directory": "/home/ada/weir", "title": "Gauge", "version": "1.4.0"}
    rows: list[tuple[str, dict[str, Any]]] = [("session", row | times)]
    skip = ("id", "sessionID", "messageID")
    rows += [
        ("message", {"id": one["id"], "session_id": "ses_1", "time_created": one["time"]["created"],
                     "data": {key: value for key, value in one.items() if key not in skip}})
        for one in messages
    ]  # fmt: skip
    rows += [
        ("part", {"id": one["id"], "message_id": one["messageID"], "session_id": "ses_1",
                  "data": {key: value for key, value in one.items() if key not in skip}})
        for one in parts
    ]  # fmt: skip
    return database(*OPENCODE_TABLES, rows=rows)


def cursor(*, headers: bool = True, changed: bool = False) -> bytes:
    """A conversation with an undone message, and one that nobody began."""
    tool = {
        "name": "read_file", "toolCallId": "r1", "status": "completed", "rawArgs": '{"path": "g.py"}',
        "userDecision": "accepted", "result": '{"contents": "depth = 3"}',
    }  # fmt: skip
    at = "2026-02-02T02:40:0{}.000Z"
    bubbles: list[dict[str, Any]] = [
        {"bubbleId": "b1", "type": 1, "text": "How deep?", "createdAt": at.format(1), "images": [{}]},
        {"bubbleId": "b2", "type": 2, "text": "", "thinking": {"text": "The gauge."}, "createdAt": at.format(2)},
        {"bubbleId": "b3", "type": 2, "toolFormerData": tool, "createdAt": at.format(3)},
        {"bubbleId": "b4", "type": 2, "text": "Three.", "createdAt": at.format(4), "modelInfo": {"modelName": "tide-2"},
         "tokenCount": {"inputTokens": 70, "outputTokens": 6}},
    ]  # fmt: skip
    if changed:
        bubbles.append({"bubbleId": "b5", "type": 1, "text": "And now?"})
    composer: dict[str, Any] = {
        "composerId": "c1", "createdAt": T0 * 1000, "lastUpdatedAt": T0 * 1000 + 9000,
        "unifiedMode": "agent", "name": "Depth, again" if changed else "Depth",
    }  # fmt: skip
    if headers:
        composer["fullConversationHeadersOnly"] = [{"bubbleId": one["bubbleId"]} for one in bubbles]
        held = [(f"bubbleId:c1:{one['bubbleId']}", one) for one in reversed(bubbles)]
        held.append(("bubbleId:c1:b0", {"bubbleId": "b0", "type": 1, "text": "Undone"}))
    else:
        composer["conversation"], held = bubbles, []
    keys = [*held, ("composerData:c1", composer), ("composerData:c2", {"composerId": "c2"}), ("other", {})]
    return database(
        "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
        "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
        rows=[("cursorDiskKV", {"key": key, "value": value}) for key, value in keys],
    )


def cursor_agent(*, listed: bool = True, summarised: bool = False) -> bytes:
    """A session whose first prompt was said twice; its messages are known by the SHA-256 of their bytes."""
    beside = {"providerOptions": {"cursor": {"modelName": "tide-2"}}}
    asked = {"role": "user", "content": [{"type": "text", "text": "<user_query>\nHow deep?\n</user_query>"}]}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>"},
        asked,
        {"id": "1", "role": "assistant", "content": [
            {"type": "reasoning", "text": "The gauge.", **beside},
            {"type": "tool-call", "toolCallId": "r1", "toolName": "Read", "args": {"path": "g.py"}}]},
        {"id": "r1", "role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "r1", "toolName": "Read", "result": "depth = 3"}]},
        {"id": "2", "role": "assistant", "content": [{"type": "text", "text": "Three."}]},
    ]  # fmt: skip
    blobs = {sha256(data := json.dumps(one, separators=(",", ":")).encode()).hexdigest(): data for one in messages}
    ids = list(blobs)
    sent = ids[3:] if summarised else [*ids, ids[1]]
    root = b"".join(b"\x0a\x20" + bytes.fromhex(one) for one in sent) + b"\x12\x03abc"
    about = {"agentId": "c7", "name": "Depth", "mode": "default", "createdAt": T0 * 1000, "lastUsedModel": "default",
             "latestRootBlobId": sha256(root).hexdigest()}  # fmt: skip
    held = {**blobs, **({sha256(root).hexdigest(): root} if listed else {}), "00": b"\x0a\x05Depth"}
    return database(
        "CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)", "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
        rows=[("meta", {"key": "0", "value": json.dumps(about).encode().hex()}),
              *(("blobs", {"id": own, "data": data}) for own, data in held.items())],
    )  # fmt: skip


def otel(*, chat: str = "") -> bytes:
    """A request to a model and a tool that ran, as Copilot Chat records them; in a ``chat`` they run in an agent."""
    spans: list[dict[str, Any]] = [
        {"span_id": "00000000000000a1", "name": "chat tide-2", "conversation_id": "v1", "input_tokens": 90,
         "output_tokens": 8, "cached_tokens": 40},
        {"span_id": "00000000000000a3", "name": "chat tide-2", "conversation_id": "v1", "input_tokens": 60,
         "output_tokens": 5, "cached_tokens": 50},
        {"span_id": "00000000000000a2", "name": "execute_tool ls"},
    ]  # fmt: skip

    def chat_of(conversation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "github", "gen_ai.request.model": "tide-2",
            "gen_ai.response.model": "tide-2", "gen_ai.usage.input_tokens": "90", "gen_ai.response.id": "v1",
            "gen_ai.conversation.id": conversation,
        }  # fmt: skip

    told: dict[str, dict[str, Any]] = {
        "00000000000000a1": chat_of("v1"),
        "00000000000000a3": chat_of("v1"),
        "00000000000000a2": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls"},
    }  # fmt: skip
    if chat:
        spans.append({"span_id": "00000000000000a0", "name": "invoke_agent Copilot", "conversation_id": chat})
        output = [{"role": "assistant", "parts": [{"type": "text", "content": "Three files."}]}]
        told["00000000000000a0"] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": output}
        told["00000000000000a3"] = chat_of("v3") | {"gen_ai.output.messages": output}
        for span in spans[:3]:
            span["parent_span_id"] = "00000000000000a0"
        told = {own: held | {"copilot_chat.chat_session_id": chat} for own, held in told.items()}
    trace = {"trace_id": "0" * 31 + "7", "start_time_ms": T0 * 1000, "end_time_ms": T0 * 1000 + 5.5, "status_code": 1}
    rows = [("spans", trace | span) for span in spans]
    rows += [
        ("span_attributes", {"span_id": own, "key": key, "value": value})
        for own, attributes in told.items() for key, value in attributes.items()
    ]  # fmt: skip
    return database(
        "CREATE TABLE spans (span_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, parent_span_id TEXT, name TEXT,"
        " start_time_ms INTEGER, end_time_ms INTEGER, status_code INTEGER, status_message TEXT, conversation_id TEXT,"
        " input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER)",
        "CREATE TABLE span_attributes (span_id TEXT, key TEXT, value TEXT, PRIMARY KEY (span_id, key))",
        rows=rows,
    )


def zed(*, packed: bool = True, changed: bool = False, **of_record: Any) -> bytes:
    """A thread, the thread of a sub-agent in the form of older versions, and one that nobody began."""
    spent = {"input_tokens": 400, "output_tokens": 30, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 900}
    result = {"tool_use_id": "u1", "tool_name": "read_file", "is_error": False, "content": [{"Text": "depth = 3"}],
              "output": {"path": "g.py"}}  # fmt: skip
    record = {
        "version": "0.3.0", "title": "Depth of the weir", "updated_at": "2026-02-02T02:45:00Z", "profile": "write",
        "model": {"provider": "anthropic", "model": "tide-2"}, "cumulative_token_usage": spent,
        "request_token_usage": {"p1": spent},
        "messages": [
            {"User": {"id": "p1", "content": [{"Text": "How deep?"}, {"Mention": {
                "uri": {"File": {"abs_path": "/home/ada/weir/g.py"}}, "content": "depth = 3"}}]}},
            {"Agent": {"content": [
                {"Thinking": {"text": "The gauge.", "signature": "x"}}, {"RedactedThinking": "AAAA"},
                {"ToolUse": {"id": "u1", "name": "read_file", "raw_input": "{}", "input": {"path": "g.py"},
                             "is_input_complete": True}}],
                "tool_results": {"u1": result}}},
            {"Agent": {"content": [{"Text": "Three."}], "tool_results": {}}},
            "Resume",
        ],
    } | of_record  # fmt: skip
    if changed:
        record |= {"title": "Depth, again", "messages": [*record["messages"], {"User": {"id": "p2", "content": [
            {"Text": "Again"}]}}]}  # fmt: skip
    older = {
        "version": "0.2.0", "summary": "Look for others", "updated_at": "2026-02-02T02:44:00Z",
        "messages": [
            {"id": 0, "role": "user", "segments": [{"type": "text", "text": "Any others?"}], "context": ""},
            {"id": 1, "role": "assistant", "segments": [{"type": "text", "text": "I look."}],
             "tool_uses": [{"id": "u2", "name": "find", "input": {"glob": "*.py"}}],
             "tool_results": [{"tool_use_id": "u2", "is_error": True, "content": "no such folder", "output": None}]},
        ],
    }  # fmt: skip
    rows: list[tuple[str, dict[str, Any]]] = []
    for name, parent, value in (("t1", None, record), ("t2", "t1", older), ("t3", None, {"messages": []})):
        data = json.dumps(value).encode()
        form: dict[str, Any] = {"data_type": "json", "data": data}
        if packed:
            form = {"data_type": "zstd", "data": zstd.compress(data)}
        rows.append(("threads", {
            "id": name, "parent_id": parent, "summary": "Weir", "created_at": "2026-02-02T02:40:00Z", **form,
            "updated_at": f"2026-02-02T02:4{5 - len(rows)}:00Z", "folder_paths": "/home/ada/weir"}))  # fmt: skip
    return database(
        "CREATE TABLE threads (id TEXT PRIMARY KEY, parent_id TEXT, folder_paths TEXT, summary TEXT NOT NULL,"
        " created_at TEXT, updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL)",
        rows=rows,
    )


STORES = {
    "crush": crush(5), "cursor-agent-store": cursor_agent(), "cursor-store": cursor(),
    "goose-store": goose(), "hermes-store": hermes(), "kiro": kiro(),
    "opencode": opencode(), "otel-genai": otel(), "zed": zed(),
}  # fmt: skip
