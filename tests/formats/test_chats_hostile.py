"""Whatever the bytes, the readers of chats give drafts or a reason: nothing crashes, nothing odd gets through."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import ag_ui, agnt5, chatgpt_export, claude_export, managed_agents, openai_chat
from vcon_app.formats.common.head import Head

from .reads import assert_sound, events, read

FORMATS = (ag_ui, agnt5, chatgpt_export, claude_export, managed_agents, openai_chat)
MUTATIONS = 40
DEEP = 3_000


def samples() -> Iterator[Any]:
    for format in FORMATS:
        for path in sorted((SAMPLES / format.NAME).iterdir()):
            if path.suffix != ".expected":
                yield pytest.param(format, path.read_bytes(), id=f"{format.NAME}/{path.name}")


by_sample = pytest.mark.parametrize(("format", "data"), list(samples()))


def sound_or_refused(format: Any, data: bytes) -> None:
    try:
        assert_sound(read(format, data))
    except FormatError as error:
        assert str(error)


@by_sample
def test_bytes_that_were_changed_are_read_or_refused(format: Any, data: bytes) -> None:
    chance = random.Random(len(data))
    for _ in range(MUTATIONS):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(changed))
            changed[at : at + chance.randint(0, 3)] = chance.choice(
                (b"", b'"', b"{", b"]", b"\xff", b"\0", b"\\ud83d", b"9" * 40)
            )
        format.detect(Head(bytes(changed)))
        sound_or_refused(format, bytes(changed))


@by_sample
def test_files_that_were_cut_anywhere_are_read_or_refused(format: Any, data: bytes) -> None:
    for cut in range(0, len(data), max(1, len(data) // MUTATIONS)):
        format.detect(Head(data[:cut]))
        sound_or_refused(format, data[:cut])


@pytest.mark.parametrize(
    "odd", ['"\\u0000\\ud83d"', "9" * 5000, "1e400", "[" * DEEP + "]" * DEEP, '{"a":' * 150 + "1" + "}" * 150]
)
@by_sample
def test_odd_values_in_the_place_of_texts_are_read_or_refused(format: Any, data: bytes, odd: str) -> None:
    text = data.decode("utf-8-sig")
    for key in ("text", "content", "input", "message", "arguments", "delta", "parts", "role", "timestamp"):
        place = text.find(f'"{key}": ')
        if place >= 0:
            end = place + len(key) + 4
            value, stop = json.JSONDecoder().raw_decode(text, end)
            sound_or_refused(format, (text[:end] + odd + text[stop:]).encode())


def test_markup_control_characters_and_direction_marks_stay_text() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e](javascript:x)"
    found = {
        claude_export: {"uuid": "c", "chat_messages": [{"sender": "human", "text": hostile}]},
        openai_chat: [{"role": "user", "content": hostile}],
        managed_agents: [{"id": "sevt_1", "type": "user.message", "content": hostile, "processed_at": None}],
    }
    for format, value in found.items():
        assert [event.text for event in events(read(format, value))] == [hostile]
