"""Lines of an agent that a program joined to one JSON list are read as these lines, and by no other format."""

from __future__ import annotations

import io

import pytest

from tests.formats.reads import events, read
from tests.places import SAMPLES
from vcon_app import registry

FILES = [
    SAMPLES / name for name in (
        "antigravity/transcript.jsonl", "cursor/transcript.jsonl", "cursor/stream.jsonl", "droid/session.jsonl",
        "droid/stream.jsonl", "gemini-stream/run.jsonl", "goose/session.jsonl", "gptme/conversation.jsonl",
        "grok/chat_history.jsonl", "grok/old.jsonl", "kimi/wire.jsonl", "kimi/old-wire.jsonl", "kimi/context.jsonl",
        "openclaw-telemetry/telemetry.jsonl", "openhands/events.jsonl", "pi/session.jsonl", "pi/openclaw.jsonl",
        "vibe/messages.jsonl", "windsurf/trajectory.jsonl",
    )
]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("between", [b",", b",\n  "])
def test_a_list_of_lines_gives_the_events_of_the_lines(path, between: bytes) -> None:
    lines = path.read_bytes()
    listed = b"[" + between.join(line for line in lines.splitlines() if line.strip()) + b"]\n"
    name = registry.detect(io.BytesIO(listed))[0]
    assert name == registry.detect(io.BytesIO(lines))[0]
    ours, theirs = (events(read(registry.get(name), data)) for data in (listed, lines))
    assert [(one.kind, one.text, one.usage) for one in ours] == [(one.kind, one.text, one.usage) for one in theirs]
