"""A session becomes a file: the original to the byte, other formats from the log, and what they lose is told."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Requeue, Session
from sessions_app.services import audit, sessions
from vcon_app import registry
from vcon_app.formats.contract import Spec
from vcon_app.models import Export
from vcon_app.services.documents import jobs
from vcon_app.services.exports import export_jobs, export_options

from ..build import append, call, event, result, user
from ..files import transcript, vcon
from ..imports.test_imports import BY, drop
from ..stored import written

pytestmark = pytest.mark.django_db


def export(session, format: str, **more) -> Export:
    session.refresh_from_db()
    return export_jobs.start_export(session, format, by=BY, **more)


def content(written: Export) -> bytes:
    assert (written.status, written.error) == (Export.Status.DONE, None)
    return export_jobs.open_file(written).read()


@pytest.fixture
def imported_session(workspace):
    drop(workspace, transcript(6), "clock.jsonl")
    return Session.objects.get()


def test_the_original_is_equal_byte_for_byte(workspace, imported_session):
    written = export(imported_session, "original")
    assert content(written) == transcript(6)
    assert (written.filename, written.size, written.losses) == ("clock.jsonl", len(transcript(6)), [])


def test_the_original_of_a_transcript_that_grew_is_the_whole(workspace, imported_session):
    drop(workspace, transcript(9), "later.jsonl")
    written = export(imported_session, "original")
    assert (content(written), written.filename) == (transcript(9), "later.jsonl")


def test_a_session_that_began_here_has_no_original(session):
    with pytest.raises(export_options.CannotExport, match="there is no original"):
        export(session, "original")
    assert "original" not in export_options.formats_of(session)


def test_an_unknown_format_is_refused_with_those_there_are(imported_session):
    with pytest.raises(export_options.CannotExport, match='"docx" is not an export format; use one of original, '):
        export(imported_session, "docx")


def test_jsonl_has_a_line_for_every_event_in_order(imported_session):
    lines = [json.loads(line) for line in content(export(imported_session, "jsonl")).splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 7))
    assert [line["turn"] for line in lines] == [1, 1, 2, 2, 3, 3]
    assert lines[1]["usage"]["output_tokens"] == 30
    assert lines[0]["source"]["document"] == imported_session.import_links.get().document.sha256


def test_tokens_stand_once_however_often_the_log_repeats_them(session):
    from ..build import answer

    append(session, *(answer("r", "m", input_tokens=5, output_tokens=n) for n in (1, 9, 3)))
    usages = [json.loads(line)["usage"] for line in content(export(session, "jsonl")).splitlines()]
    assert [usage and usage["output_tokens"] for usage in usages] == [None, None, 9]


def test_parents_are_written_across_pages(session, monkeypatch):
    from vcon_app.queries import log_reader

    monkeypatch.setattr(log_reader, "PAGE", 3)
    append(session, call("a", key="c"), *(event() for _ in range(7)), result(parent="c"))
    lines = [json.loads(line) for line in content(export(session, "jsonl")).splitlines()]
    assert (len(lines), lines[-1]["parent_seq"]) == (9, 1)


@pytest.mark.parametrize("format", sorted(registry.writers()))
def test_every_format_writes_every_kind_of_session(workspace, session, format):
    drop(workspace, transcript(6))
    drop(workspace, vcon("Hello", "Good day"), "a.vcon")
    append(
        session,
        event(),
        user("\0<script>"),
        call("a"),
        result("a", "error"),
        event("unknown", data={"raw": ["\ud800", 2**70]}),
    )
    empty = sessions.create(session.agent, by=audit.SYSTEM)
    for one in (*Session.objects.exclude(pk=empty.pk), empty):
        written = export(one, format)
        assert len(content(written)) == written.size
        assert written.filename.endswith(registry.get(format).SPEC.suffix)


@pytest.mark.parametrize("format", sorted(registry.writers().keys() - {"bundle"}))  # says when, and by whom
def test_the_same_session_is_the_same_file_each_time(imported_session, format):
    first, second = (content(export(imported_session, format)) for _ in range(2))
    assert first == second


def test_a_session_that_went_on_is_another_vcon(session):
    append(session, user("one"))
    first, again = (export(session, "vcon").identity for _ in range(2))
    append(session, user("two"))
    assert again == first
    assert export(session, "vcon").identity["uuid"] != first["uuid"]


def test_losses_of_a_format_are_counted(imported_session):
    losses = export(imported_session, "html").losses
    assert losses and all({"what", "why", "count"} == set(row) for row in losses)


@pytest.mark.parametrize("packed", [False, True], ids=["alone", "in an archive"])
def test_the_page_names_the_file_that_it_was_made_from(workspace, packed):
    data = transcript(6)
    if packed:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("week/clock ” <b>.jsonl", data)
        data = archive.getvalue()
    drop(workspace, data, "week.zip" if packed else "clock ” <b>.jsonl")
    page = content(export(Session.objects.get(), "html")).decode()
    named = "“clock &quot; &lt;b&gt;.jsonl”"
    assert (f"{named} in “week.zip”" if packed else named) in page
    assert f"SHA-256 {hashlib.sha256(data).hexdigest()}" in page


def test_a_product_graph_holds_the_sub_agents_too_when_they_are_asked_for(workspace, imported_session):
    for name, above in (("child", imported_session.external_id), ("grandchild", "child")):
        drop(workspace, transcript(4, name), f"{name}.jsonl")
        parent = Session.objects.get(external_id=above)
        Session.objects.filter(external_id=name).update(parent=parent)
    alone = json.loads(content(export(imported_session, "upg")))
    graph = json.loads(content(export(imported_session, "upg", options={"children": "true"})))
    runs = [[node["id"] for node in one["nodes"] if node["type"] == "agent_session"] for one in (alone, graph)]
    assert list(map(set, runs)) == [
        {imported_session.external_id},
        {imported_session.external_id, "child", "grandchild"},
    ]
    informed = {(edge["source"], edge["target"]) for edge in graph["edges"] if edge["type"] == "node_informs_node"}
    assert informed == {("child", imported_session.external_id), ("grandchild", "child")}


@pytest.mark.parametrize("levels", [100, 101])
def test_sub_agents_are_nested_a_hundred_deep_and_no_deeper(agent, session, levels):
    above = session
    for number in range(levels):
        append(above, user(f"Level {number}"))
        above = Session.objects.create(
            workspace=agent.workspace, agent=agent, parent=above, title=f"Level {number + 1}", external_id=f"{number}"
        )
    append(above, user("The last"))
    made = export(session, "vcon", options={"children": "true"})
    if levels == 100:
        assert all(f"Level {number}".encode() in content(made) for number in range(levels))
    else:
        assert made.status == Export.Status.FAILED
        assert 'more than 100 sub-agents are nested in each other; export "Level 101" by itself' in made.error


def test_a_name_is_made_of_the_title(session):
    session.title = "../../Mend the <clock>!"
    session.save()
    append(session, user())
    assert export(session, "jsonl").filename == f"mend-the-clock-{str(session.pk)[-6:]}.events.jsonl"


def test_exporting_member_is_in_the_audit_log(imported_session):
    export(imported_session, "jsonl")
    entry = AuditEntry.objects.get(action="session.exported")
    assert (entry.actor_name, entry.subject_id, entry.details) == (
        "Ines",
        str(imported_session.pk),
        {"format": "jsonl"},
    )


def test_a_large_session_is_left_to_a_worker(imported_session, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 3)
    with django_capture_on_commit_callbacks() as enqueued:
        waiting = export(imported_session, "jsonl")
    assert (waiting.status, len(enqueued)) == (Export.Status.QUEUED, 1)
    for _ in range(2):
        export_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert len(content(waiting).splitlines()) == 6


def test_failing_writer_fails_the_export_and_leaves_no_file(imported_session, monkeypatch):
    class Broken:
        SPEC = Spec(name="broken", title="Broken", media_type="text/plain", suffix=".txt")

        def write(self, session, events, losses, *, options):
            yield b"half"
            raise RecursionError("too deep\0")

    monkeypatch.setattr(registry, "all_formats", lambda: {"broken": Broken()})
    failed = export(imported_session, "broken")
    assert (failed.status, failed.error) == (
        Export.Status.FAILED,
        "the file could not be written: too deep\N{REPLACEMENT CHARACTER}",
    )
    assert not written(failed).exists()


def test_export_whose_worker_died_is_enqueued_again(imported_session, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 3)
    lost = export(imported_session, "jsonl")
    assert export_jobs.sweep() == 0
    Export.objects.update(status=Export.Status.RUNNING, heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert export_jobs.sweep() == 1
    export_jobs.run(lost.pk)
    assert export_jobs.sweep() == 0


def test_an_export_that_kills_every_worker_is_given_up(imported_session, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 3)
    lost = export(imported_session, "jsonl")

    class Killed(BaseException):
        """Nothing of the worker runs any more."""

    def kill(*_: object) -> bytes:
        raise Killed

    monkeypatch.setattr(export_jobs, "_write", kill)
    for _ in range(jobs.MAX_ATTEMPTS):
        with pytest.raises(Killed):
            export_jobs.run(lost.pk)
        Export.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
        assert export_jobs.sweep() == 1
        Requeue.objects.all().delete()  # as if the minutes that it waits were over
    export_jobs.run(lost.pk)
    lost.refresh_from_db()
    assert lost.status == Export.Status.FAILED and f"{jobs.MAX_ATTEMPTS} times" in lost.error
    assert export_jobs.sweep() == 0


def test_a_file_that_is_written_again_has_all_its_attempts(imported_session):
    done = export(imported_session, "jsonl")
    Export.objects.update(attempt=jobs.MAX_ATTEMPTS)
    export_jobs.write_again(done)
    assert len(content(done).splitlines()) == 6


def test_files_that_nobody_fetched_for_a_day_are_thrown_away(imported_session):
    old, new = (written(export(imported_session, "jsonl")) for _ in range(2))
    yesterday = time.time() - export_jobs.KEEP_FILES_FOR.total_seconds() - 60
    os.utime(old, (yesterday, yesterday))
    export_jobs.remove_old_files()
    assert (old.exists(), new.exists()) == (False, True)


def test_the_original_is_the_whole_transcript_also_when_its_first_half_comes_later(workspace):
    whole, half = transcript(8), transcript(4)
    [link] = drop(workspace, whole).session_links.all()
    assert drop(workspace, half, "half.jsonl").events == 0
    done = export_jobs.start_export(link.session, "original", by=BY)
    assert export_jobs.open_file(done).read() == whole
