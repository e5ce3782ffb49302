"""Files that are written, cut off, turned over and replaced while they are followed: all comes once."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest

from sessions_app.models import Event, Session
from tests.formats.stores import made
from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import EventDraft
from vcon_app.models import Import
from vcon_app.services.imports import watch
from vcon_app.services.imports.folder_files import place_of
from vcon_app.services.imports.watch import Watch

from ..files import OWNER, transcript

pytestmark = pytest.mark.django_db
GROK = "019f6000-0000-7000-8000-0000000000aa"
PLACES = {
    "grok/chat_history.jsonl": f"%2Fhome%2Fzq/{GROK}/chat_history.jsonl",
    "kimi/wire.jsonl": f"wd_zq_1/session_{OWNER}/agents/main/wire.jsonl",
    "vibe/messages.jsonl": "session_20260501_080000_0a1b2c3d/messages.jsonl",
    "windsurf/trajectory.jsonl": f"transcripts/{OWNER}.jsonl",
    "gptme/conversation.jsonl": "logs/2026-05-01-zq-boat/conversation.jsonl",
    "codex/session.jsonl": f"2026/05/01/rollout-2026-05-01T08-00-00-{OWNER}.jsonl",
    "copilot-cli/vscode-log.jsonl": f"workspaceStorage/zq/chatSessions/{OWNER}.jsonl",
    "pi/session.jsonl": f"--home-zq--/2026-05-01T08-00-00_{OWNER}.jsonl",
}
"""Sample -> where its agent keeps such a file."""


@pytest.fixture
def looks(tmp_path, workspace, monkeypatch) -> Callable[[], list[watch.Outcome]]:
    """Looks at the folder until nothing changes any more, as if the time had passed."""
    monkeypatch.setattr(watch, "KEPT_PER_SECOND", 10**12)
    following = Watch(tmp_path, workspace)

    def look() -> list[watch.Outcome]:
        for file in following._files.values():
            file.not_before = 0
        return [outcome for _ in range(3) for outcome in following.look()]

    return look


def told() -> Counter[tuple[str, str]]:
    return Counter(Event.objects.values_list("kind", "text"))


@pytest.mark.parametrize("sample", PLACES)
def test_a_transcript_that_grows_is_one_session_with_the_events_of_the_whole_file(sample, tmp_path, looks):
    path = tmp_path / PLACES[sample]
    path.parent.mkdir(parents=True)
    whole = (SAMPLES / sample).read_bytes()
    for part in range(1, 9):
        path.write_bytes(whole[: len(whole) * part // 8])
        looks()
    drafts = registry.reader(Session.objects.get().source_format).read(io.BytesIO(whole))
    assert told() == Counter((draft.kind, draft.text) for draft in drafts if isinstance(draft, EventDraft))


def test_a_file_that_names_no_session_yet_is_the_one_that_its_name_says(tmp_path, looks):
    path = tmp_path / f"{OWNER}.jsonl"
    summary = json.dumps({"type": "summary", "summary": "A clock", "leafUuid": "zq"}).encode() + b"\n"
    path.write_bytes(summary)
    looks()
    path.write_bytes(summary + transcript(4))
    looks()
    assert Session.objects.get().external_id == OWNER
    assert Event.objects.filter(kind__in=["user_message", "agent_message"]).count() == 4


def test_whichever_folder_is_followed_a_session_is_known_again(tmp_path, workspace):
    path = tmp_path / PLACES["grok/chat_history.jsonl"]
    path.parent.mkdir(parents=True)
    path.write_bytes((SAMPLES / "grok/chat_history.jsonl").read_bytes())
    for folder in (tmp_path, path.parent, None):
        assert place_of(path, folder).endswith(f"%2Fhome%2Fzq/{GROK}")
    for folder in (tmp_path, path.parent):
        list(Watch(folder, workspace).look(once=True))
    assert Session.objects.get().external_id == GROK


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_file_that_is_cut_off_and_written_on_loses_nothing_and_doubles_nothing(left, tmp_path, looks):
    path, lines = tmp_path / "a.jsonl", transcript(8).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]))
    looks()
    path.write_bytes(b"".join(lines[:left]))
    looks()
    path.write_bytes(b"".join([*lines[:left], *lines[5:]]))
    looks()
    assert sorted(Event.objects.values_list("text", flat=True)) == sorted(
        text for n in range(0, 8, 2) for text in (f"Please mend part{n}", f"Mended part{n}, and oiled it.")
    )
    assert Session.objects.get().event_count == 8


def test_a_file_that_is_turned_over_goes_on_in_the_new_one(tmp_path, looks):
    path, lines = tmp_path / "a.jsonl", transcript(8).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]))
    looks()
    path.rename(tmp_path / "a.jsonl.1")
    path.write_bytes(b"".join(lines[5:]))
    looks()
    assert Session.objects.get().event_count == Event.objects.count() == 8


def test_a_file_that_another_session_is_written_over_is_two_sessions(tmp_path, looks):
    path, other = tmp_path / "a.jsonl", "11111111-3b1d-4a57-9d3e-0c6a4f1b2c3d"
    path.write_bytes(transcript(4))
    looks()
    beside = tmp_path / "a.jsonl.tmp"
    beside.write_bytes(transcript(2, other))
    beside.replace(path)
    looks()
    assert dict(Session.objects.values_list("external_id", "event_count")) == {OWNER: 4, other: 2}


def test_a_store_that_is_cut_off_in_the_middle_fails_in_words_and_is_read_when_it_is_whole(tmp_path, looks):
    path, whole = tmp_path / "crush.db", made.crush(4)
    path.write_bytes(whole[: len(whole) // 2])
    looks()
    assert not Session.objects.exists()
    assert not Import.objects.filter(error__contains="fault of ours").exists()
    path.write_bytes(whole)
    looks()
    assert Session.objects.count() == 2 and not Import.objects.filter(status="running").exists()


def test_a_store_that_is_replaced_by_a_smaller_one_keeps_what_it_had_and_adds_what_is_new(tmp_path, looks):
    path = tmp_path / "crush.db"
    path.write_bytes(made.crush(4))
    looks()
    before = told()
    with closing(sqlite3.connect(path)) as store:
        store.execute("DELETE FROM messages WHERE id IN (SELECT id FROM messages ORDER BY rowid DESC LIMIT 2)")
        store.execute(
            "INSERT INTO messages (id, session_id, role, parts, created_at) VALUES ('zq', 's1', 'user', ?, 1770000090)",
            ['[{"type": "text", "data": {"text": "Written later"}}]'],
        )
        store.commit()
    looks()
    assert Session.objects.count() >= 2
    assert Event.objects.filter(text="Written later").count() == 1
    assert all(told()[one] >= count for one, count in before.items())


def test_a_file_in_which_only_the_user_has_spoken_waits_where_an_agent_keeps_its_sessions(tmp_path, looks):
    """Two messages by role are nobody's yet: what they are is told by the answer."""
    path = tmp_path / f"%2Fhome%2Fzq/{GROK}/chat_history.jsonl"
    path.parent.mkdir(parents=True)
    lines = [{"role": "system", "content": "You are Grok"}, {"role": "user", "content": "Wind the clock."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert looks() == []
    with path.open("a") as file:
        file.write(json.dumps({"role": "assistant", "content": "Wound.", "model_id": "grok-4.5"}) + "\n")
    looks()
    assert Session.objects.values_list("source_format", "external_id").get() == ("grok", GROK)


def test_words_that_nobody_answers_are_read_as_what_they_are_after_a_while(tmp_path, looks):
    path = tmp_path / f"%2Fhome%2Fzq/{GROK}/chat_history.jsonl"
    path.parent.mkdir(parents=True)
    lines = [{"role": "system", "content": "You are Grok"}, {"role": "user", "content": "Wind the clock."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for age, sessions in ((watch.PATIENCE - 60, 0), (watch.PATIENCE + 60, 1)):
        os.utime(path, (time.time() - age,) * 2)
        looks()
        assert Session.objects.count() == sessions
    assert told()["user_message", "Wind the clock."] == 1


def test_a_file_of_two_messages_that_lies_anywhere_is_read(tmp_path, looks):
    lines = [{"role": "system", "content": "You mend."}, {"role": "user", "content": "Wind the clock."}]
    (tmp_path / "clock.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    looks()
    assert Session.objects.get().source_format == "openai-chat"


def test_a_hidden_folder_is_followed_where_it_is_the_one_that_is_named(tmp_path, workspace):
    path = tmp_path / ".claude" / "projects" / "-srv-clock" / f"{OWNER}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(transcript(2))
    for folder, events in ((tmp_path, []), (tmp_path / ".claude", [2])):
        list(Watch(folder, workspace).look(once=True))
        assert list(Session.objects.values_list("event_count", flat=True)) == events


@pytest.mark.parametrize("hidden", [".system_generated/logs", ".crush", ".opencode"])
def test_hidden_folders_in_which_agents_keep_sessions_are_followed(hidden, tmp_path, workspace):
    path = tmp_path / "brain" / hidden / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(transcript(2))
    list(Watch(tmp_path, workspace).look(once=True))
    assert Session.objects.get().event_count == 2
