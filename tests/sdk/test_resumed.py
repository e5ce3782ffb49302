"""Words of a person behind a call that was put off: they take it back, also when the client writes them late."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from countersign.claude_code import resumed

HOLD = 60.0
CHANGED_MIND = {"type": "queue-operation", "operation": "enqueue", "content": "Do not do that"}
GOES_ON = {"type": "queue-operation", "operation": "enqueue", "content": resumed.OF_THE_CLIENT}


def call_made(ago: float) -> dict[str, object]:
    at = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat().replace("+00:00", "Z")
    return {"type": "assistant", "timestamp": at, "message": {"content": [{"type": "tool_use", "id": "c1"}]}}


@pytest.fixture
def transcript(tmp_path) -> Path:
    return tmp_path / "run.jsonl"


def write(path: Path, *lines: object) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def is_superseded(path: Path) -> bool:
    return resumed.is_superseded({"transcript_path": str(path), "tool_use_id": "c1"}, HOLD)


def test_words_that_the_client_writes_after_the_hook_has_started_count(transcript):
    write(transcript, call_made(ago=3600), GOES_ON)
    threading.Timer(0.3, write, (transcript, CHANGED_MIND)).start()
    assert is_superseded(transcript)


def test_a_run_that_is_resumed_without_words_goes_on(transcript, monkeypatch):
    monkeypatch.setattr(resumed, "GRACE", 0.2)
    write(transcript, call_made(ago=3600), GOES_ON)
    assert not is_superseded(transcript)


def test_a_call_that_was_not_put_off_waits_for_no_words(transcript, monkeypatch):
    monkeypatch.setattr(resumed.time, "sleep", lambda seconds: pytest.fail("it waited"))
    write(transcript, CHANGED_MIND, call_made(ago=1))
    assert not is_superseded(transcript)
