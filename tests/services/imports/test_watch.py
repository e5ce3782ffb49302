"""A folder that is followed: what is there is imported, then what is appended, each event once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from sessions_app.models import Event, Session
from sessions_app.services import agents
from vcon_app.models import Import
from vcon_app.services.imports import watch
from vcon_app.services.imports.folder_files import LINK
from vcon_app.services.imports.watch import Watch

from ..documents.test_archives import OTHER, packed
from ..files import OWNER, transcript, vcon

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "projects"
    path.mkdir()
    return path


@pytest.fixture
def following(folder, workspace, monkeypatch) -> Watch:
    monkeypatch.setattr(watch, "KEPT_PER_SECOND", 10**12)
    return Watch(folder, workspace)


def names(found) -> list[str]:
    return [outcome.path.name for outcome in found]


def settle(following: Watch) -> list[watch.Outcome]:
    """Three looks with nothing in between."""
    return [outcome for _ in range(3) for outcome in following.look()]


def ready(following: Watch) -> None:
    """As if the time had passed in which a file is let alone after an import."""
    for file in following._files.values():
        file.not_before = 0


def texts() -> list[str]:
    return list(Event.objects.filter(kind="user_message").order_by("seq").values_list("text", flat=True))


def test_watch_imports_existing_files_once(folder, following):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.jsonl").write_bytes(transcript(4))
    (folder / "b.vcon").write_bytes(vcon("Hello"))
    (folder / "all.zip").write_bytes(packed({"c.jsonl": transcript(2, OTHER)}))
    assert sorted(names(settle(following))) == ["a.jsonl", "all.zip", "b.vcon"]
    assert (Import.objects.count(), Session.objects.count(), Event.objects.count()) == (3, 3, 7)
    ready(following)
    assert (settle(following), Import.objects.count()) == ([], 3)


def test_a_file_that_is_appended_to_is_read_at_once_and_adds_only_what_is_new(folder, following):
    path = folder / "a.jsonl"
    whole = transcript(6)
    path.write_bytes(whole[:2_000])
    first = list(following.look())
    assert names(first) == ["a.jsonl"]
    path.write_bytes(whole)
    ready(following)
    second = list(following.look())
    assert first[0].imported.events + second[0].imported.events == Session.objects.get().event_count == 6
    assert texts() == ["Please mend part0", "Please mend part2", "Please mend part4"]


def test_document_written_whole_is_imported_once_it_stops_changing(folder, following):
    path = folder / "b.vcon"
    whole = vcon("Hello", "Good day")
    for size in (40, 200, len(whole)):
        path.write_bytes(whole[:size])
        assert list(following.look()) == []
    assert names(following.look()) == ["b.vcon"]
    assert (Import.objects.get().status, Session.objects.get().event_count) == (Import.Status.DONE, 2)


def test_hidden_temporary_and_empty_files_are_passed_over_in_silence(folder, following):
    for name in (".hidden.jsonl", "a.jsonl.tmp", "a.jsonl~", "a.jsonl.swp", "a.jsonl.part"):
        (folder / name).write_bytes(transcript(2))
    (folder / "new.jsonl").touch()
    assert settle(following) == []


def test_watch_reports_a_file_of_unknown_format_once(folder, following):
    path = folder / "notes.txt"
    path.write_text("Buy milk")
    assert [(outcome.path, outcome.imported) for outcome in settle(following)] == [(path, None)]
    path.write_text("Buy milk and bread")
    assert (settle(following), Import.objects.count()) == ([], 0)
    path.write_bytes(transcript(2))
    assert names(settle(following)) == ["notes.txt"]


def test_a_file_that_is_renamed_is_known_and_one_that_is_deleted_forgotten(folder, following):
    path = folder / "a.jsonl"
    path.write_bytes(transcript(4))
    settle(following)
    path = path.rename(folder / "z.jsonl")
    moved = settle(following)
    assert names(moved) == ["z.jsonl"] and moved[0].imported.duplicate_of_id
    path.unlink()
    assert settle(following) == []
    assert Session.objects.get().event_count == 4


def test_a_file_that_goes_away_under_our_hands_is_no_fault(folder, following, monkeypatch):
    gone = folder / "gone.jsonl"
    gone.write_bytes(transcript(2))
    (folder / "here.jsonl").write_bytes(transcript(2, OTHER))
    real = watch.registry.detect

    def detect(source):
        gone.unlink(missing_ok=True)
        return real(source)

    monkeypatch.setattr(watch.registry, "detect", detect)
    following.look()
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
    assert "here.jsonl" in names(settle(following))


def test_a_file_that_fails_or_is_too_large_is_told_and_the_others_go_on(folder, following, settings):
    settings.MAX_UPLOAD_BYTES = 4_000
    (folder / "a-large.jsonl").write_bytes(transcript(50))
    (folder / "b.jsonl").write_bytes(transcript(2))
    found = settle(following)
    assert names(found) == ["a-large.jsonl", "b.jsonl"]
    assert "larger than the limit" in found[0].reason
    assert Session.objects.get().event_count == 2


def test_a_large_file_is_imported_less_often_while_it_grows(folder, following, monkeypatch):
    monkeypatch.setattr(watch, "KEPT_PER_SECOND", 1)
    path = folder / "a.jsonl"
    path.write_bytes(transcript(2))
    assert len(list(following.look())) == 1
    path.write_bytes(transcript(4))
    assert settle(following) == []
    ready(following)
    assert Event.objects.count() == 2 and len(settle(following)) == 1 and Event.objects.count() == 4


def test_an_agent_that_is_named_takes_the_sessions(folder, workspace):
    night = agents.get_or_create_agent(workspace.id, "Night shift")
    (folder / "a.jsonl").write_bytes(transcript(2))
    assert names(Watch(folder, workspace, agent=night).look(once=True)) == ["a.jsonl"]
    assert Session.objects.get().agent == night


def test_a_session_is_seen_live_while_another_program_writes_it(folder, following):
    """The writer stops in the middle of lines; whatever the moments of the looks, each event comes once."""
    whole = transcript(60)
    written, looked = threading.Event(), threading.Event()

    def write() -> None:
        with (folder / "live.jsonl").open("wb", buffering=0) as file:
            for number, start in enumerate(range(0, len(whole), 700)):
                file.write(whole[start : start + 700])
                if number % 5 == 0:  # on a busy machine the whole file was written before the second look
                    looked.clear()
                    looked.wait(60)
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    rest = iter(range(3))

    def wait() -> bool:
        looked.set()
        time.sleep(0.05)
        ready(following)
        return written.is_set() and next(rest, None) is None

    for outcome in following.follow(wait):
        assert outcome.imported.status == Import.Status.DONE
        seen.append(outcome.imported.events)
    writer.join()
    session = Session.objects.get()
    assert (session.external_id, session.event_count, sum(seen)) == (OWNER, 60, 60)
    assert len(seen) > 3 and max(seen) < 60
    assert texts() == [f"Please mend part{number}" for number in range(0, 60, 2)]
    assert not Event.objects.filter(kind="unknown").exists()


def test_links_are_told_once_and_not_followed(folder, following, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "a.jsonl"
    outside.write_bytes(transcript(2))
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "plain.jsonl").write_bytes(transcript(2, OTHER))
    (folder / "inside.jsonl").symlink_to("plain.jsonl")
    found = settle(following)
    assert sorted((each.path.name, each.reason) for each in found if each.imported is None) == [
        ("inside.jsonl", LINK), ("link.jsonl", LINK),
    ]  # fmt: skip
    assert Session.objects.count() == 1 and settle(following) == []


def test_a_file_that_becomes_a_link_is_followed_no_more(folder, following, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "a.jsonl"
    outside.write_bytes(transcript(6))
    path = folder / "a.jsonl"
    path.write_bytes(transcript(2))
    settle(following)
    path.unlink()
    path.symlink_to(outside)
    assert [each.reason for each in settle(following)] == [LINK]
    assert Session.objects.get().event_count == 2
