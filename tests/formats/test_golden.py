"""Golden files: every sample in tests/samples is claimed by its own format alone and gives the drafts beside it.

A format is added here with one row of ``TABLE``; what holds of one format only is in that format's own tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.formats.common.head import Head

from .checks import check_growth
from .golden import check_reading
from .stores.made import STORES


@dataclass(frozen=True)
class Row:
    """The samples of a format, in the folder of its name.

    ``grows`` are those whose tool appends whole records: the first lines of such a file give the first events.
    """

    format: str
    files: tuple[str, ...]
    grows: tuple[str, ...] = ()


AGENTS = (
    Row("acp", ("log.jsonl",)),
    Row("aider", ("aider.chat.history.md",)),
    Row("amp", ("thread.json",)),
    Row("antigravity", ("transcript.jsonl",), grows=("transcript.jsonl",)),
    Row("cline", ("session.messages.json", "compaction.json")),
    Row("cline-classic", ("ui_messages.json", "api_conversation_history.json")),
    Row("continue", ("session.json",)),
    Row("droid", ("session.jsonl", "stream.jsonl"), grows=("session.jsonl", "stream.jsonl")),
    Row("gemini-stream", ("run.jsonl",)),
    Row("goose", ("session.jsonl",), grows=("session.jsonl",)),
    Row("gptme", ("conversation.jsonl",), grows=("conversation.jsonl",)),
    Row("grok", ("chat_history.jsonl", "old.jsonl"), grows=("chat_history.jsonl",)),
    Row("hermes", ("session.json", "session.jsonl")),
    Row("kimi", ("wire.jsonl", "old-wire.jsonl", "context.jsonl"), grows=("wire.jsonl", "old-wire.jsonl")),
    Row("kiro", ("cli.jsonl", "conversation.json", "ide.json"), grows=("cli.jsonl",)),
    Row("a2a", ("task.json",)),
    Row("mcp-log", ("log.jsonl",)),
    Row("otel-logs", ("log.jsonl",), grows=("log.jsonl",)),
    Row("openclaw-telemetry", ("telemetry.jsonl",), grows=("telemetry.jsonl",)),
    Row("openhands", ("events.jsonl", "base_state.json"), grows=("events.jsonl",)),
    Row("openhands-v0", ("output.jsonl", "trajectory.json")),
    Row("pi", ("session.jsonl", "openclaw.jsonl"), grows=("session.jsonl", "openclaw.jsonl")),
    Row("posit-assistant", ("lm-messages.jsonl",), grows=("lm-messages.jsonl",)),
    Row("specstory", ("2026-01-16_boat.md",)),
    Row("vibe", ("messages.jsonl", "meta.json"), grows=("messages.jsonl",)),
    Row("windsurf", ("trajectory.jsonl",), grows=("trajectory.jsonl",)),
)
"""Coding agents of ``vcon_app.formats.agents``."""
TABLE = (
    *AGENTS,
    Row("anthropic-api", ("results.jsonl",)),
    Row("ag-ui", ("thread.jsonl", "stream.sse", "scenarios.json")),
    Row("agnt5-jsonl", ("session.jsonl",)),
    Row("atif", ("trajectory.json",)),
    Row("chatgpt-export", ("conversations.json",)),
    Row(
        "claude-code",
        files=("session.jsonl", "sub-agent.jsonl", "stream.jsonl", "web.json"),
        grows=("session.jsonl", "sub-agent.jsonl", "stream.jsonl"),
    ),
    Row("claude-export", ("conversations.json",)),
    Row(
        "codex",
        files=("session.jsonl", "sub-agent.jsonl", "fork.jsonl", "old.jsonl", "exec.jsonl"),
        grows=("session.jsonl", "sub-agent.jsonl", "fork.jsonl", "old.jsonl", "exec.jsonl"),
    ),
    Row(
        "copilot-cli",
        files=("events.jsonl", "hooks.jsonl", "timeline.json", "vscode.json", "vscode-log.jsonl"),
        grows=("events.jsonl", "hooks.jsonl"),
    ),
    Row(
        "cursor",
        files=("transcript.jsonl", "stream.jsonl", "transcript.txt"),
        grows=("transcript.jsonl", "stream.jsonl"),
    ),
    Row("gemini-cli", files=("session.json", "session.jsonl"), grows=("session.jsonl",)),
    Row("inspect", ("jars.json",)),
    Row("langfuse", ("kiln.trace.json",)),
    Row(
        "llmfeed",
        files=(
            "s01-canonical.json", "s02-summary.json", "s03-trace.json", "s04-automation.json", "s05-memory.json",
            "s06-snapshot.json", "s07-chapters.json", "s08-timeline.json", "s09-one-text.json", "s09-transcript.json",
            "s10-replay.json", "s11-export.json", "s12-loose.json", "s13-stateful.json", "signed.json",
        ),
    ),
    Row("managed-agents", files=("session.jsonl", "stream.sse", "page.json"), grows=("session.jsonl",)),
    Row("mini-swe-agent", ("seeds.traj.json", "old.traj.json")),
    Row(
        "openai-chat",
        files=(
            "log.jsonl", "chat.sse", "response.json", "cut-off.sse", "messages.json", "run-state.json", "updates.json",
        ),
    ),
    Row("opencode", files=("export.json", "dump.jsonl", "run.jsonl"), grows=("run.jsonl",)),
    Row("otel-genai", ("tides.jsonl", "buttons.json")),
    Row("qwen-code", files=("session.jsonl", "sub-agent.jsonl"), grows=("session.jsonl", "sub-agent.jsonl")),
    Row("sharegpt", ("conversations.jsonl",)),
    Row("swe-agent", ("scale.traj",)),
    Row("upg", ("kiln.upg",)),
    Row("vac", ("harbour.vac.json",)),
    Row(
        "vcon",
        files=(
            "basil.early.vcon", "blue-folder.adapter.vcon", "go-on.by-order.vcon", "late-van.legacy.vcon",
            "lexicon.mcp.vcon", "night-rota.vcon", "pool.page.vcon", "suitcase.call.vcon", "tide.core-only.vcon",
        ),
    ),
)  # fmt: skip
EVERY_SAMPLE = [(row.format, name) for row in TABLE for name in row.files]
GROWING = [(row.format, name) for row in TABLE for name in row.grows]


@pytest.mark.parametrize(("format", "name"), EVERY_SAMPLE)
def test_sample_gives_the_stored_drafts(format: str, name: str) -> None:
    check_reading(SAMPLES / format / name, registry.get(format).read)


@pytest.mark.parametrize(("format", "name"), EVERY_SAMPLE)
def test_sample_is_claimed_by_its_own_format_alone(format: str, name: str) -> None:
    sample = SAMPLES / format / name
    assert registry.claims(Head(sample.read_bytes()), registry.readers()) == [format]
    assert registry.detect(sample)[0] == format


@pytest.mark.parametrize(("format", "name"), GROWING)
def test_first_lines_of_a_growing_sample_give_the_first_events(format: str, name: str) -> None:
    check_growth(registry.get(format), (SAMPLES / format / name).read_bytes())


def test_every_sample_has_its_row() -> None:
    kept = {path for path in SAMPLES.glob("*/*") if path.suffix not in (".expected", ".written")}
    kept = {path for path in kept if path.parent.name != "markdown"}  # only written
    assert kept == {SAMPLES / format / name for format, name in EVERY_SAMPLE}


def test_every_format_that_reads_has_a_sample() -> None:
    assert {row.format for row in TABLE} | STORES.keys() == registry.readers().keys()


def test_every_stored_expectation_belongs_to_a_sample() -> None:
    stored = {path for path in SAMPLES.glob("*/*.expected") if not path.name.startswith("written.")}
    assert stored == {_expectation(format, name) for format, name in EVERY_SAMPLE}


def _expectation(format: str, name: str) -> Path:
    return SAMPLES / format / f"{name}.expected"
