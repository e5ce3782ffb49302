"""Makes vCons, the same each time: a call, a small agent session, and agent sessions of any length.

The long ones have the shape of VAC-00 inside of core-04: about 480 bytes an entry, and in each turn of eleven entries
two that stand in ``dialog`` as well. 10,000 entries are 4.8 MB. The words mean nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from ..places import CACHE

Json = dict[str, Any]
START = datetime(2026, 5, 4, 7, 30, tzinfo=UTC)
TOOLS = ("Read", "Bash", "Edit", "Grep")
CALLS = 4
"""Tool calls in a turn: with prompt, thought, results and answer that is 11 entries."""
PROSE = """
tide ferry buoy harbour rope anchor chart lamp keel signal cabin deck pilot mooring fog bell ballast cargo hatch crane
lock sluice dredger berth manifest tonnage passage current sounding beacon
"""
WORDS = PROSE.split()


class Desk:
    """The dice and the clock of one file."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.now = START

    def words(self, least: int, most: int) -> str:
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(least, most)))

    def token(self, prefix: str) -> str:
        return f"{prefix}{self.dice.getrandbits(96):024x}"

    def tick(self) -> str:
        self.now += timedelta(milliseconds=self.dice.randint(300, 9_000))
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def uuid8(self) -> str:
        return str(UUID(int=self.dice.getrandbits(128) & ~(0xF << 76 | 0xC << 60) | 8 << 76 | 8 << 60))


def call(seed: int = 1) -> bytes:
    """Two people on the phone, as a service writes it: 4.5 kB, 8 dialogs, 2 analyses, 2 attachments."""
    desk = Desk(seed)
    parties = [
        {"tel": f"+1555010{seed:04d}", "name": "Ines Falk", "role": "customer", "validation": "caller id"},
        {"tel": "+15550109999", "name": "Jo Marsh", "role": "agent", "mailto": "jo@harbour.example"},
    ]
    dialog = [_message(desk, number % 2, desk.words(33, 47), "") for number in range(8)]
    analysis = [_analysis("summary", desk.words(30, 40)), _analysis("sentiment", desk.words(1, 1))]
    attachments = [
        {
            "purpose": purpose, "start": desk.tick(), "party": 1, "dialog": 0, "mediatype": "text/plain",
            "encoding": "none", "body": desk.words(12, 18),
        }
        for purpose in ("ticket", "notes")
    ]  # fmt: skip
    return orjson.dumps(_container(desk, parties, dialog, analysis, attachments))


def recording(seed: int = 3) -> bytes:
    """The same people in one recorded call with its transcript: 4.5 kB."""
    desk = Desk(seed)
    parties = [{"tel": "+15550100003", "name": "Ines Falk"}, {"tel": "+15550109999", "name": "Jo Marsh"}]
    dialog = {
        "type": "recording", "start": desk.tick(), "duration": 214.6, "parties": [0, 1], "originator": 0,
        "mediatype": "audio/x-wav", "filename": "call.wav", "url": "https://harbour.example/call.wav",
        "content_hash": f"sha512-{'A' * 86}",
    }  # fmt: skip
    words = [_analysis("transcript", desk.words(480, 500)), _analysis("summary", desk.words(40, 50))]
    return orjson.dumps(_container(desk, parties, [dialog], words, []))


def session(entries: int, seed: int = 2) -> bytes:
    """An agent session of that many entries."""
    desk = Desk(seed)
    dialog: list[Json] = []
    told = list(islice(_entries(desk, dialog), entries))
    return orjson.dumps(_with_trace(desk, told, dialog))


def cached(entries: int) -> tuple[Path, dict[str, int]]:
    """The file of a session, made once, and what an importer has to find in it."""
    path = CACHE / f"session-{entries}-1.vcon"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        path.write_bytes(session(entries))
    told = orjson.loads(path.read_bytes())["analysis"][0]["body"]["session"]["entries"]
    kinds = Counter(entry["type"] for entry in told)
    output = sum(entry["token-usage"]["output"] for entry in told if "token-usage" in entry)
    return path, {"prompts": kinds["user"], "tool_calls": kinds["tool-call"], "output_tokens": output}


def _container(
    desk: Desk, parties: list[Json], dialog: list[Json], analysis: list[Json], attachments: list[Json]
) -> Json:
    return {
        "vcon": "0.4.0", "uuid": desk.uuid8(), "created_at": desk.tick(), "subject": desk.words(4, 8),
        "parties": parties, "dialog": dialog, "analysis": analysis, "attachments": attachments,
    }  # fmt: skip


def _message(desk: Desk, speaker: int, body: str, message_id: str) -> Json:
    made = {
        "type": "text", "start": desk.tick(), "parties": [speaker, 1 - speaker], "originator": speaker,
        "mediatype": "text/plain", "encoding": "none", "body": body,
    }  # fmt: skip
    return made | ({"message_id": message_id} if message_id else {})


def _analysis(kind: str, body: str) -> Json:
    return {"type": kind, "dialog": [0], "vendor": "tidewords", "schema": "1", "encoding": "none", "body": body}


def _with_trace(desk: Desk, entries: list[Json], dialog: list[Json]) -> Json:
    meta = {"agent_id": "a-1", "model_id": "claude-opus-4-5", "provider": "anthropic"}
    agent = {"name": "Harbour helper", "type": "bot", "role": "agent", "meta": {"agent_session": meta}}
    record = {
        "version": "3.0.0", "id": desk.token("rec-"), "created": desk.tick(),
        "session": {
            "format": "interactive", "session-id": desk.uuid8(), "session-start": entries[0]["timestamp"],
            "agent-meta": {"model-id": "claude-opus-4-5", "model-provider": "anthropic", "cli-name": "claude-code"},
            "entries": entries,
        },
    }  # fmt: skip
    analysis = {
        "type": "agent_trace", "dialog": list(range(len(dialog))), "vendor": "tidewords", "schema": "vac-00",
        "mediatype": "application/json", "encoding": "json", "body": record,
    }  # fmt: skip
    person = {"name": "Ines Falk", "type": "person", "mailto": "ines@harbour.example"}
    return _container(desk, [person, agent], dialog, [analysis], []) | {"extensions": ["agent_session"]}


def _entries(desk: Desk, dialog: list[Json]) -> Iterator[Json]:
    """Turns without end; what was said goes to ``dialog``, too."""
    while True:
        yield _said(desk, "user", dialog)
        yield _entry(desk, "reasoning", content=desk.words(40, 58))
        for _ in range(CALLS):
            call_id, name = desk.token("toolu_"), desk.dice.choice(TOOLS)
            given = {"path": f"/srv/{desk.words(1, 1)}/{desk.words(1, 1)}.txt", "note": desk.words(20, 30)}
            yield _entry(desk, "tool-call", name=name, input=given, **{"call-id": call_id})
            output = desk.words(40, 60)
            yield _entry(desk, "tool-result", name=name, output=output, status="success", **{"call-id": call_id})
        yield _said(desk, "assistant", dialog)


def _said(desk: Desk, kind: str, dialog: list[Json]) -> Json:
    made = _entry(desk, kind, content=desk.words(20, 40))
    dialog.append(_message(desk, int(kind == "assistant"), made["content"], made["id"]) | {"start": made["timestamp"]})
    if kind == "assistant":
        made |= {"model-id": "claude-opus-4-5", "token-usage": _usage(desk)}
    return made


def _entry(desk: Desk, kind: str, **more: Any) -> Json:
    return {"type": kind, "id": desk.token("e-"), "timestamp": desk.tick(), **more}


def _usage(desk: Desk) -> Json:
    spent, written = desk.dice.randint(200, 4_000), desk.dice.randint(20, 900)
    return {"input": spent, "output": written, "total": spent + written, "cost": round(spent / 2e5, 6)}
