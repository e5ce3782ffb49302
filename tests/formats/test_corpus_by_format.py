"""What else can be held against transcripts of one tool, where they are present: totals they state, chats, commands."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from bench.formats.checks import NOT_ADDED_UP
from vcon_app.drafts import EventDraft, SessionDraft
from vcon_app.formats import (
    ag_ui,
    atif,
    chatgpt_export,
    claude_code,
    claude_export,
    cursor,
    gemini_cli,
    inspect_ai,
    mini_swe_agent,
    openai_chat,
    opencode,
    swe_agent,
)

from .corpus import TRANSCRIPTS, by_file, drafts_in, entries, events_of, needs_corpus, responses, rules_of
from .reads import findings, sessions, tokens

pytestmark = needs_corpus
CHATS = {"chatgpt-export": chatgpt_export, "claude-ai-export": claude_export}


def not_added_up(entry: dict[str, Any]) -> bool:
    return any(entry["file"].endswith(name) for name in NOT_ADDED_UP)


def unknown(drafts: list[Any]) -> int:
    return sum(event.kind == "unknown" for event in events_of(drafts))


@by_file("claude-code")
def test_claude_code_only_strange_files_have_unknown_events(entry: dict[str, Any]) -> None:
    drafts = drafts_in(claude_code, entry)
    told = rules_of(drafts) & {"claude-code.unknown-type", "claude-code.malformed-line"}
    assert bool(unknown(drafts)) == bool(told)


@by_file("cursor")
def test_cursor_states_no_tokens_and_none_are_made_up(entry: dict[str, Any]) -> None:
    drafts = drafts_in(cursor, entry)
    assert "tokens" not in entry and responses(drafts) == []
    assert all(event.cost is None for event in events_of(drafts))


@by_file("gemini-cli")
def test_gemini_cli_every_message_gives_an_event_and_totals_that_differ_are_reported(entry: dict[str, Any]) -> None:
    drafts = drafts_in(gemini_cli, entry)
    places = {event.pointer.split("/")[2] for event in events_of(drafts) if event.pointer.startswith("/messages/")}
    assert places == set(map(str, range(entry["records"])))
    assert ("gemini-cli.total" in rules_of(drafts)) == not_added_up(entry)


@by_file("opencode")
def test_opencode_stated_costs_add_up_to_a_millionth(entry: dict[str, Any]) -> None:
    costs = {event.request: event.cost for event in events_of(drafts_in(opencode, entry)) if event.cost is not None}
    assert abs(sum(costs.values(), Decimal(0)) - Decimal(str(entry["cost"]))) < Decimal("0.000001")


@by_file("opencode")
def test_opencode_every_document_gives_an_event_with_its_bytes(entry: dict[str, Any]) -> None:
    data = (TRANSCRIPTS / entry["file"]).read_bytes()
    drafts = drafts_in(opencode, entry)
    places = {(event.offset, event.length) for event in events_of(drafts)}
    assert len(places) == entry["records"] and not rules_of(drafts)
    for offset, length in places:
        assert data[offset : offset + 1] in (b"{", b"[") and data[offset + length - 1 : offset + length] in (b"}", b"]")


@by_file("opencode")
def test_opencode_each_session_of_a_dump_is_told_whole_before_the_next(entry: dict[str, Any]) -> None:
    order: list[str] = []
    keys: dict[str, list[str]] = {}
    for draft in drafts_in(opencode, entry):
        if isinstance(draft, SessionDraft):
            order += [draft.external_id] if order[-1:] != [draft.external_id] else []
            assert draft.title and draft.model and draft.started_at
        elif isinstance(draft, EventDraft):
            keys.setdefault(order[-1], []).append(draft.key)
    assert len(order) == len(set(order)) > 1
    assert all(len(found) == len(set(found)) for found in keys.values())


@by_file(*CHATS)
def test_chat_exports_hold_as_many_chats_and_no_tokens(entry: dict[str, Any]) -> None:
    drafts = drafts_in(CHATS[entry["file"].split("/")[0]], entry)
    assert len(sessions(drafts)) == entry["conversations"]
    assert not unknown(drafts) and not any(event.usage for event in events_of(drafts))


@by_file("ag-ui")
def test_ag_ui_nothing_is_unknown_or_unfinished(entry: dict[str, Any]) -> None:
    drafts = drafts_in(ag_ui, entry)
    assert not unknown(drafts) and len(sessions(drafts)) >= 2


@by_file("inspect")
def test_inspect_every_sample_is_a_session_and_nothing_in_it_is_odd(entry: dict[str, Any]) -> None:
    drafts = drafts_in(inspect_ai, entry)
    assert len(sessions(drafts)) == entry["samples"] and not findings(drafts)


@by_file("openai-api")
def test_openai_chat_is_one_session_in_which_nothing_is_unknown(entry: dict[str, Any]) -> None:
    drafts = drafts_in(openai_chat, entry)
    assert not unknown(drafts)
    assert len({session.external_id for session in sessions(drafts)}) == 1


def test_openai_chat_costs_are_those_that_the_provider_states() -> None:
    stated, files = 0, entries("openai-api")
    for entry in files:
        costs = [event.cost for event in events_of(drafts_in(openai_chat, entry)) if event.cost is not None]
        text = (TRANSCRIPTS / entry["file"]).read_text()
        assert all(f'"cost":{cost:f}' in text for cost in costs)
        stated += len(costs)
    assert stated == sum('"cost":' in (TRANSCRIPTS / entry["file"]).read_text() for entry in files) > 0


@by_file("atif", "swe-agent")
def test_costs_of_trajectories_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    reader = atif if entry["file"].startswith("atif/") else swe_agent
    found = sum((event.cost or Decimal(0) for event in events_of(drafts_in(reader, entry))), Decimal(0))
    assert float(found) == pytest.approx(entry["cost"], abs=1e-6)


@by_file("swe-agent")
def test_swe_agent_one_task_is_set_and_nothing_is_odd(entry: dict[str, Any]) -> None:
    drafts = drafts_in(swe_agent, entry)
    assert sum(event.kind == "user_message" for event in events_of(drafts)) == 1
    assert not findings(drafts)


@by_file("atif")
def test_atif_final_metrics_are_met_and_where_they_are_not_this_is_reported(entry: dict[str, Any]) -> None:
    drafts, stated = drafts_in(atif, entry), entry["final_metrics"]
    met = tokens(drafts)["input"] == stated["total_prompt_tokens"]
    assert met == (not not_added_up(entry))
    assert ("atif.totals-differ" in findings(drafts)) == (not met)


@by_file("mini-swe-agent")
def test_mini_swe_agent_each_command_is_a_call_and_the_next_message_its_result(entry: dict[str, Any]) -> None:
    """The manifest states no calls: it reads these files as chats, in which a command is text.

    The agent runs what stands in the code block of each answer; the next message is what came back.
    """
    kinds = [event.kind for event in events_of(drafts_in(mini_swe_agent, entry))]
    data = (TRANSCRIPTS / entry["file"]).read_text()
    commands = len(re.findall(r'"role": "assistant",\s+"content": "[^"]*(?:\\"[^"]*)*```mswea_bash_command', data))
    assert entry["tool_calls"] == 0 < commands
    assert kinds.count("tool_call") == kinds.count("tool_result") == commands
