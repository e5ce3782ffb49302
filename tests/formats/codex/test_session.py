"""What is known of the session as a whole: id, place, title, sub-agents, forks."""

from __future__ import annotations

import pytest

from bench.formats.corpus import calls_in, tokens_in
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


def test_without_ids_of_turns_a_fork_is_read_as_it_stands() -> None:
    lines = [line("turn_context", model="gpt-5.1"), *PARENTS[1:]]
    found = drafts_of(codex, fork(*lines))
    assert (calls_in(found), tokens_in(found)["input"]) == (1, 100)


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
