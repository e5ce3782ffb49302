"""What cannot be imported says why in one line, leaves nothing by half, and never runs for ever."""

from __future__ import annotations

import errno
import gzip
import json
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from sessions_app.models import Agent, Event, Session
from sessions_app.services.upkeep import disk
from tests.services.documents.test_archives import packed
from vcon_app import registry
from vcon_app.drafts import EventDraft, Finding, FormatError, SessionDraft, ToolDraft
from vcon_app.formats.contract import Spec
from vcon_app.models import Import
from vcon_app.services.documents import documents, jobs
from vcon_app.services.imports import import_jobs

from ..build import at_once
from ..files import transcript, vcon
from ..stored import stored
from .test_imports import drop, start

pytestmark = pytest.mark.django_db


class Scripted:
    """A format whose reader does what a test says."""

    SPEC = Spec(name="scripted", title="Scripted", grows="lines")

    def __init__(self, read) -> None:
        self.read = lambda source: read()

    def detect(self, head) -> bool:
        return head.data.startswith(b"scripted")


@pytest.fixture
def scripted(monkeypatch, workspace):
    """Import a file that is read by the given generator function."""

    def run(read, name: str = "file") -> Import:
        monkeypatch.setattr(registry, "all_formats", lambda: {"scripted": Scripted(read)})
        return drop(workspace, b"scripted " + str(time.monotonic_ns()).encode(), name)

    return run


def nothing_stored() -> bool:
    return not Session.objects.exists() and not Event.objects.exists() and not Agent.objects.filter(slug="x").exists()


@pytest.mark.parametrize(
    "data, why",
    [
        (b"", "empty"), (b"   \n", "blank"), (b"{", "."), (b"hello", "."), (b"\x00" * 5_000, "."),
        (b"%PDF-1.7", "PDF"), (b"PK\x03\x04..", "zip"),
        (b"\x1f\x8b\x08broken", "gzip"), (b"[" * 100_000, "."), (b'{"a":' * 5_000, "."),
        (b"NaN", "."), (b'"\\ud800"', "."), (b"9" * 10_000, "."),
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_file_of_no_known_kind_fails_with_its_name_and_the_reason(workspace, data, why):
    failed = drop(workspace, data, "../../etc/odd.bin")
    assert (failed.status, failed.events) == (Import.Status.FAILED, 0)
    assert failed.error.startswith("odd.bin: ") and why in failed.error and "\n" not in failed.error
    assert nothing_stored()


@pytest.mark.parametrize(
    ("data", "name"), [(transcript(400), "run.jsonl.gz"), (vcon(*"abcdefgh" * 50), "chat.vcon.gz")]
)
def test_a_packed_file_that_was_cut_off_says_so_in_words(workspace, data, name):
    failed = drop(workspace, gzip.compress(data)[:-40], name)
    assert failed.status == Import.Status.FAILED
    assert failed.error.startswith(f"{name}: ")
    assert "its compressed data ends in the middle: the file was cut off" in failed.error
    assert nothing_stored()


def test_a_packed_file_of_which_hardly_anything_came_says_that_it_was_cut_off(workspace):
    failed = drop(workspace, gzip.compress(transcript(400))[:200], "run.jsonl.gz")
    assert failed.status == Import.Status.FAILED and "it is a gzip file that was cut off" in failed.error
    whole = drop(workspace, gzip.compress(b'{"spoken": []}'), "chat.json.gz")
    assert "it is a gzip file of something that is JSON with the key" in whole.error


def test_a_reader_that_refuses_in_the_middle_leaves_nothing(scripted):
    def read():
        yield SessionDraft("s", agent_name="x")
        yield from (EventDraft("note", f"k{n}") for n in range(5_000))
        raise FormatError("line 5,001 is no JSON")

    failed = scripted(read, "half.log")
    assert (failed.status, failed.error) == (Import.Status.FAILED, "half.log: line 5,001 is no JSON")
    assert nothing_stored()


def test_a_member_that_is_refused_in_the_middle_leaves_no_agent(workspace, monkeypatch):
    def read():
        yield SessionDraft("s", agent_name="x")
        yield EventDraft("note", "k")
        raise FormatError("it is broken")

    known = registry.all_formats()
    monkeypatch.setattr(registry, "all_formats", lambda: {**known, "scripted": Scripted(read)})
    done = drop(workspace, packed({"bad.log": b"scripted", "good.jsonl": transcript(4)}), "both.zip")
    assert (done.status, [finding["rule"] for finding in done.findings]) == (Import.Status.DONE, ["zip.unreadable"])
    assert [agent.name for agent in Agent.objects.all()] == ["Claude Code"]


@pytest.mark.parametrize(
    "fault",
    [
        KeyError("x"),
        RecursionError(),
        MemoryError(),
        RuntimeError("x"),
        OSError("x"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "x"),
    ],
)
def test_a_fault_of_a_reader_fails_the_import_and_is_not_tried_for_ever(scripted, fault):
    def read():
        yield SessionDraft("s", agent_name="x")
        yield EventDraft("note", "k")
        raise fault

    failed = scripted(read)
    assert (failed.status, failed.attempt) == (Import.Status.FAILED, 1)
    assert type(fault).__name__ in failed.error and "the bytes are kept" in failed.error
    assert nothing_stored()


def test_a_file_without_a_session_says_so(scripted):
    failed = scripted(lambda: iter([Finding("r", "info", "", "odd")]))
    assert failed.error == "file: read as Scripted it holds no session"


def test_hostile_values_everywhere_are_imported(scripted):
    bad = "\0\ud800<script>" + "x" * 20_000

    def read():
        yield Finding(bad, "warning", bad, bad)
        yield SessionDraft(
            bad, title=bad, agent_name=bad, user_id=bad, summary=bad, tags=(bad, ""), parent_external_id=bad + "p",
            metadata={bad: [bad, 2**70, float("nan")]}, record={bad: bad},
        )  # fmt: skip
        yield EventDraft(
            "unknown", bad, actor_name=bad, text=bad, tool=ToolDraft(bad, bad, bad, {bad: bad}, [bad], bad),
            model=bad, request=bad,
            parent=bad, data={bad: bad}, pointer=bad,
        )  # fmt: skip

    first = scripted(read, bad)
    assert (first.status, first.events, first.error) == (Import.Status.DONE, 1, None)
    again = scripted(read, bad)
    assert (again.status, again.events, Session.objects.count()) == (Import.Status.DONE, 0, 1)


def test_a_hostile_reason_is_shown(scripted):
    def read():
        raise FormatError("bad key '\0\ud800'")
        yield

    assert scripted(read).error == "file: bad key '\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}'"


def test_permanent_database_error_fails_the_import_at_once(scripted):
    def read():
        yield SessionDraft("s", agent_name="x")
        with connection.cursor() as cursor:
            cursor.execute("SELECT repeat('[', 100000)::jsonb")  # "stack depth limit exceeded" is an OperationalError
        yield EventDraft("note", "k")

    failed = scripted(read)
    assert (failed.status, failed.attempt) == (Import.Status.FAILED, 1)


def test_a_database_that_goes_away_leaves_the_import_to_the_next_worker(scripted):
    def read():
        yield SessionDraft("s")
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.raises(OperationalError):
        scripted(read)
    left = Import.objects.get()
    assert (left.status, left.attempt, left.error) == (Import.Status.RUNNING, 1, None)
    import_jobs.run(left.pk)
    assert Import.objects.get().attempt == 1, "nobody else may take it while its heartbeat is fresh"


def silent(imported) -> None:
    Import.objects.filter(pk=imported.pk).update(heartbeat_at=timezone.now() - jobs.SILENT_AFTER - timedelta(seconds=1))


def dead(workspace, attempt: int = 1, data: bytes = transcript(6)) -> Import:
    """An import whose worker was killed after it had claimed it."""
    left = start(workspace, data)
    Import.objects.filter(pk=left.pk).update(status=Import.Status.RUNNING, attempt=attempt, started_at=timezone.now())
    silent(left)
    return left


def test_import_whose_worker_died_is_enqueued_again_and_has_every_event_once(
    workspace, django_capture_on_commit_callbacks
):
    left = dead(workspace)
    with django_capture_on_commit_callbacks() as enqueued:
        assert import_jobs.sweep() == 1
    assert len(enqueued) == 1
    import_jobs.run(left.pk)
    left.refresh_from_db()
    assert (left.status, left.attempt, left.events) == (Import.Status.DONE, 2, 6)
    assert Session.objects.get().event_count == 6


def test_stale_queued_import_is_enqueued_again_and_a_fresh_one_is_not(workspace):
    waiting = start(workspace, transcript(2))
    assert import_jobs.sweep() == 0
    Import.objects.filter(pk=waiting.pk).update(created_at=timezone.now() - jobs.UNSTARTED_AFTER - timedelta(seconds=1))
    assert import_jobs.sweep() == 1
    import_jobs.run(waiting.pk)
    assert import_jobs.sweep() == 0


def test_an_import_that_kills_every_worker_is_given_up(workspace):
    left = dead(workspace, attempt=jobs.MAX_ATTEMPTS)
    import_jobs.run(left.pk)
    left.refresh_from_db()
    assert left.status == Import.Status.FAILED and f"{jobs.MAX_ATTEMPTS} times" in left.error
    assert import_jobs.sweep() == 0


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_given_up_too_early_does_not_finish_beside_the_next(scripted):
    """Its heartbeat was not seen (a paused machine), another took over, and then it wakes up and comes to the end."""

    def read():
        yield SessionDraft("s")
        yield EventDraft("note", "k")
        at_once(lambda: Import.objects.update(attempt=2))

    slow = scripted(read)
    assert (slow.status, slow.attempt) == (Import.Status.RUNNING, 2)
    assert not Session.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_given_up_does_not_fail_what_another_has_done(scripted):
    def read():
        at_once(lambda: Import.objects.update(attempt=2, status=Import.Status.DONE))
        raise FormatError("no")
        yield

    assert (scripted(read).status, Import.objects.get().error) == (Import.Status.DONE, None)


def test_a_job_whose_bytes_are_elsewhere_is_put_back_and_goes_on_where_they_are(workspace):
    """Another host's worker took the message, and its storage is another: no attempt is used up."""
    waiting = start(workspace, transcript(2))
    stored(waiting.document).rename(aside := stored(waiting.document).with_suffix(".elsewhere"))
    for _ in range(jobs.MAX_ATTEMPTS + 1):
        import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempt, waiting.error) == (Import.Status.QUEUED, 0, None)
    assert "does not have the bytes" in waiting.waiting_for
    assert import_jobs.sweep() == 0
    Import.objects.update(heartbeat_at=timezone.now() - jobs.UNSTARTED_AFTER * 2)
    assert import_jobs.sweep() == 1
    aside.rename(stored(waiting.document))
    import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.waiting_for, waiting.events) == (Import.Status.DONE, "", 2)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), OSError(errno.EDQUOT, "Quota")])
def test_a_full_disk_makes_an_import_wait_and_uses_up_no_attempt(workspace, monkeypatch, error):
    waiting = start(workspace, transcript(2))
    with monkeypatch.context() as full:
        full.setattr(documents, "open_document", lambda document: (_ for _ in ()).throw(error))
        for _ in range(jobs.MAX_ATTEMPTS + 1):
            import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempt, waiting.waiting_for) == (Import.Status.QUEUED, 0, disk.FULL)
    import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.waiting_for) == (Import.Status.DONE, "")


def test_no_import_begins_where_there_is_no_room_for_it(workspace, monkeypatch):
    waiting = start(workspace, transcript(2))
    monkeypatch.setattr(jobs, "MIN_FREE", 2**60)
    import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempt, waiting.waiting_for) == (Import.Status.QUEUED, 0, disk.FULL)


def test_many_findings_of_a_rule_are_counted(scripted):
    def read():
        yield SessionDraft("s")
        yield from (Finding("rule", "warning", f"L{n}", "odd") for n in range(60))
        yield Finding("other", "info", "", "odd too")

    findings = scripted(read).findings
    assert len(findings) == 52
    assert findings[-1] == {"rule": "rule", "severity": "warning", "path": "", "message": "10 more like this"}


@pytest.mark.django_db(transaction=True)
def test_progress_and_heartbeat_are_seen_from_outside_while_it_runs(scripted, monkeypatch):
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.02)
    seen = []

    def read():
        yield SessionDraft("s")
        for n in range(6_000):
            if n % 1_000 == 0:
                time.sleep(0.1)
                seen.extend(at_once(lambda: Import.objects.values_list("heartbeat_at", "status").get()))
            yield EventDraft("note", f"k{n}")

    done = scripted(read)
    assert done.status == Import.Status.DONE
    beats = [beat for beat, _ in seen]
    assert beats == sorted(beats) and len(set(beats)) > 3
    assert all(status == Import.Status.RUNNING for _, status in seen)


def test_bad_json_in_a_vcon_names_the_file(workspace):
    failed = drop(workspace, vcon("Hello")[:-40], "cut.vcon")
    assert failed.status == Import.Status.FAILED and failed.error.startswith("cut.vcon: ")
    assert nothing_stored()


def test_a_vcon_of_scripts_is_kept_as_it_is(workspace):
    script = "<script>alert(1)</script>"
    assert drop(workspace, vcon(script, script, subject=script)).status == Import.Status.DONE
    session = Session.objects.get()
    assert session.title == script and session.events.first().text == script
    assert json.dumps(session.metadata)


def test_two_files_that_each_say_that_the_other_one_started_it_are_one_below_the_other(scripted):
    """Whoever walks down from a session comes to an end: an export with the sub-agents walks down."""

    def read(name: str, parent: str):
        yield SessionDraft(name, parent_external_id=parent)
        yield EventDraft("note", "k", text=name)

    scripted(lambda: read("a", "b"))
    last = scripted(lambda: read("b", "a"))
    above = dict(Session.objects.values_list("external_id", "parent__external_id"))
    assert above == {"a": "b", "b": None}
    assert "import.circle" in {row["rule"] for row in last.findings}
