"""What is known of the session as a whole: id, place, title, sub-agents, forks."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.formats.corpus import calls_in, tokens_in
from vcon_app import registry
from vcon_app.formats import codex

from ..checks import drafts_of, events, findings, jsonl, session
from .lines import META, SESSION, drafts, event, item, line, said, tokens

FORK, OLD_TURN, NEW_TURN = (
    "0199b2a3-0000-7000-8000-00000000000d",
    "0199b2a0-1000-7000-8000-000000000001",
    "0199b2a3-1000-7000-8000-000000000002",
)


def test_the_first_meta_line_says_whose_file_it_is() -> None:
    other = line("session_meta", id="other", cwd="/elsewhere")
    found = drafts(line("turn_context", model="gpt-5.4"), other, event("thread_name_updated", thread_name="Pears"))
    told = session(found)
    assert (told.external_id, told.title, told.model) == (SESSION, "Pears", "gpt-5.4")
    assert told.metadata["environment"] == {"cwd": "/srv/orchard"}
    assert told.metadata["recorder"] == {"name": "codex", "version": "0.169.0"}


def test_a_file_without_an_id_is_named_by_its_first_line() -> None:
    lines = [line("turn_context", model="gpt-5.4"), tokens(10, 10)]
    ids = {session(drafts_of(codex, jsonl(*lines[:n]))).external_id for n in (1, 2)}
    assert len(ids) == 1 and ids.pop().startswith("codex-")


def test_a_sub_agents_file_is_a_session_below_its_parent() -> None:
    spawned = {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1, "agent_nickname": "Sartre"}}
    meta = line("session_meta", id="child", source={"subagent": spawned})
    found = drafts_of(codex, jsonl(meta, said("user", "Count."), said("assistant", "Nine.")))
    assert session(found).parent_external_id == SESSION
    assert [(e.actor_kind, e.actor_name) for e in events(found)[1:]] == [("agent", ""), ("subagent", "Sartre")]


def test_a_result_names_the_session_that_its_call_started() -> None:
    call = item("function_call", name="spawn_agent", arguments="{}", call_id="c1")
    answer = item("function_call_output", call_id="c1", output='{"agent_id": "child", "nickname": "Ayer"}')
    assert events(drafts(call, answer))[-1].data == {"child_session": "child"}


def fork(*lines: dict[str, object]) -> bytes:
    meta = line("session_meta", id=FORK, forked_from_id=SESSION)
    return jsonl(meta, META, *lines)


PARENTS = [
    event("task_started", turn_id=OLD_TURN),
    said("user", "Prune."),
    item("function_call", name="shell", arguments="{}", call_id="c1"),
    tokens(100, 100),
]


def test_a_fork_counts_only_what_is_new() -> None:
    new = [event("task_started", turn_id=NEW_TURN), said("user", "And graft."), tokens(130, 30)]
    found = drafts_of(codex, fork(*PARENTS, *new))
    assert session(found).external_id == FORK and session(found).metadata["forked_from"] == SESSION
    assert (calls_in(found), tokens_in(found)["input"]) == (0, 30)
    assert [event.text for event in events(found) if event.kind == "user_message"] == ["And graft."]
    assert [event.kind for event in events(found)[2:6]] == ["injected_context"] * 4
    assert findings(found).keys() == {"codex.replayed"} and "4 lines" in findings(found)["codex.replayed"].message


def test_a_fork_whose_times_contradict_its_id_is_read_as_it_stands_where_turns_have_no_ids() -> None:
    lines = [line("turn_context", model="gpt-5.1"), *PARENTS[1:]]
    found = drafts_of(codex, fork(*lines))
    assert (calls_in(found), tokens_in(found)["input"]) == (1, 100)


BEGAN = datetime.fromtimestamp(int(FORK.replace("-", "")[:12], 16) / 1000, UTC)
OLDER = [line("turn_context", model="gpt-5.1"), *PARENTS[1:]]
"""The parent's lines before turns had ids."""
NEWER = [line("turn_context", model="gpt-5.1"), said("user", "And graft."), tokens(130, 30)]


def at(seconds: float, *lines: dict[str, Any], step: float = 0.004) -> list[dict[str, Any]]:
    """Lines that were written so long after the fork began, one ``step`` after the other."""
    times = (BEGAN + timedelta(seconds=seconds + index * step) for index in range(len(lines)))
    return [one | {"timestamp": time.isoformat()} for one, time in zip(lines, times, strict=True)]


def own(**more: str) -> dict[str, Any]:
    return line("session_meta", id=FORK, **more)


FORKS = {
    "written in one go": [*at(0, own(forked_from_id=SESSION), META, *OLDER), *at(40, *NEWER, step=2)],
    "written in several seconds": [*at(0, own(forked_from_id=SESSION), META, *OLDER, step=0.9), *at(40, *NEWER)],
    "without the parent's meta line": [*at(0, own(forked_from_id=SESSION), *OLDER), *at(40, *NEWER)],
    "without lines that begin turns": [*at(0, own(forked_from_id=SESSION), META, *OLDER[1:]), *at(40, *NEWER[1:])],
    "with the times of the parent": [
        *at(0, own(forked_from_id=SESSION)), *at(-900, META, *OLDER, step=30), *at(40, *NEWER),
    ],
    "of a version that does not name the parent": [*at(0, own(), META, *OLDER), *at(40, *NEWER)],
    "with times of its own and no id that tells one": [
        one | {"payload": one["payload"] | ({"id": "fork", "timestamp": one["timestamp"]} if not index else {})}
        for index, one in enumerate([*at(0, own(forked_from_id=SESSION), *OLDER), *at(40, *NEWER)])
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", FORKS)
def test_a_copy_without_ids_of_turns_is_known_by_its_times(kind: str) -> None:
    found = drafts_of(codex, jsonl(*FORKS[kind]))
    assert (calls_in(found), tokens_in(found)["input"]) == (0, 30)
    assert [event.text for event in events(found) if event.kind == "user_message"] == ["And graft."]
    assert findings(found).keys() == {"codex.replayed"} and SESSION in findings(found)["codex.replayed"].message


def test_a_meta_line_of_an_older_session_that_comes_later_makes_no_copy() -> None:
    found = drafts_of(codex, jsonl(*at(0, own()), *at(5, *NEWER), *at(600, META), *at(601, *OLDER)))
    assert calls_in(found) == 1 and "codex.replayed" not in findings(found)


def test_what_a_sub_agent_is_told_at_its_start_is_no_copy() -> None:
    spawned = own() | {"payload": own()["payload"] | {
        "source": {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}},
    }}  # fmt: skip
    found = drafts_of(codex, jsonl(*at(0, spawned, *NEWER[:2]), *at(4, *NEWER[2:])))
    assert [event.text for event in events(found) if event.kind == "user_message"] == ["And graft."]
    assert tokens_in(found)["input"] == 30 and "codex.replayed" not in findings(found)


def test_a_session_that_is_no_fork_never_loses_a_turn() -> None:
    assert calls_in(drafts(*PARENTS)) == 1


def test_turns_of_exec_add_up_to_the_threads_total() -> None:
    usages = [{"input_tokens": n, "cached_input_tokens": 0, "output_tokens": n // 10} for n in (100, 250)]
    lines = [{"type": "thread.started", "thread_id": "t"}, *({"type": "turn.completed", "usage": u} for u in usages)]
    found = drafts_of(codex, jsonl(*lines))
    assert tokens_in(found) == {"input": 250, "output": 25, "cache_read": 0, "cache_write": 0, "reasoning": 0}
    assert {event.usage.quality for event in events(found) if event.usage} == {"aggregate"}
    assert (session(found).external_id, session(found).phase) == ("t", "completed")


@pytest.mark.parametrize("status", ["completed", "failed", "declined"])
def test_an_item_of_exec_is_a_call_and_its_result(status: str) -> None:
    work = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "", "status": status}
    lines = [{"type": "turn.started"}, {"type": "item.started", "item": work}, {"type": "item.completed", "item": work}]
    call, result = events(drafts_of(codex, jsonl(*lines)))[1:]
    assert (call.kind, result.kind, result.parent) == ("tool_call", "tool_result", call.key)
    assert result.tool and result.tool.status == {"completed": "ok", "failed": "error", "declined": "denied"}[status]


ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Prune."}]},
    {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": '{"command": ["ls"]}'},
    {"type": "function_call_output", "call_id": "c1", "output": '{"output": "saw", "metadata": {"exit_code": 0}}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]
NAMED: dict[str, Any] = {"id": SESSION, "timestamp": "2025-05-01T10:00:00.000Z"}
OLD = {
    "a document": json.dumps({"session": NAMED | {"instructions": "Be kind."}, "items": ITEMS}).encode(),
    "an indented document": json.dumps({"session": NAMED | {"instructions": ""}, "items": ITEMS}, indent=2).encode(),
    "lines outside of a repository": jsonl(NAMED | {"instructions": "Be kind."}, *ITEMS),
    "lines without instructions": jsonl(NAMED, *ITEMS),
}


@pytest.mark.parametrize("kind", OLD)
def test_files_of_the_first_versions_are_read(kind: str) -> None:
    name, _ = registry.detect(io.BytesIO(OLD[kind]))
    found = drafts_of(registry.reader(name), OLD[kind])
    told = session(found)
    assert (name, told.external_id, str(told.started_at)[:10]) == ("codex", SESSION, "2025-05-01")
    said_ = [event for event in events(found) if event.kind not in ("system", "injected_context")]
    assert [(event.kind, event.text) for event in said_] == [
        ("user_message", "Prune."), ("tool_call", ""), ("tool_result", "saw"), ("agent_message", "Done."),
    ]  # fmt: skip
    assert [event.text for event in events(found) if event.kind == "injected_context"] in ([], ["Be kind."])
    assert not findings(found)


@pytest.mark.parametrize("value", [
    {"session": {"id": "1", "timestamp": "t"}, "items": [{"name": "saw"}]},
    {"session": {"id": 1, "timestamp": "t", "instructions": ""}, "items": []},
    NAMED | {"instructions": "Be kind."},
])  # fmt: skip
def test_what_only_looks_like_a_first_version_is_left_alone(value: dict[str, Any]) -> None:
    with pytest.raises(registry.Unrecognised):
        registry.detect(io.BytesIO(jsonl(value)))
