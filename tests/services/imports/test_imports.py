"""A file that is dropped becomes sessions, once."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from sessions_app.models import AuditEntry, Event, Session
from sessions_app.services import agents, audit
from sessions_app.services.approvals import requests
from sessions_app.services.log.projections import rebuild
from tests.places import SAMPLES
from vcon_app.models import Import, SourceDocument
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs

from ..files import OWNER, START, transcript, vcon
from ..stored import stored

pytestmark = pytest.mark.django_db
DAY = "2026-11-01T08:00:00Z"
BY = audit.Actor("member", "m", "Ines")


def start(workspace, data: bytes, name: str = "session.jsonl", **more) -> Import:
    return import_jobs.start_import(workspace, name, [data], by=BY, **more)


def drop(workspace, data: bytes, name: str = "session.jsonl", **more) -> Import:
    """Take in a file and do what a worker does."""
    started = start(workspace, data, name, **more)
    import_jobs.run(started.pk)
    started.refresh_from_db()
    return started


def test_what_powershell_wrote_is_read_and_its_bytes_are_kept_as_they_came(workspace):
    for count in (4, 6):
        data = transcript(count).decode().encode("utf-16")
        done = drop(workspace, data)
        assert [row["message"] for row in done.findings if row["rule"] == "text.utf-16"][0].startswith(
            "This file is UTF-16"
        )
        with documents.open_document(done.document) as kept:
            assert kept.read() == data
    assert (Session.objects.get().event_count, Event.objects.filter(offset__isnull=False).count()) == (6, 0)


def keys(session) -> list[str]:
    return list(Event.objects.filter(session=session).order_by("seq").values_list("client_key", flat=True))


def test_a_transcript_becomes_a_session(workspace):
    done = drop(workspace, transcript(6))
    assert (done.status, done.format, done.events, done.error, done.progress) == (
        Import.Status.DONE,
        "claude-code",
        6,
        None,
        1,
    )
    session = Session.objects.get()
    assert (session.external_id, session.source_format, session.origin, session.turn_count) == (
        OWNER,
        "claude-code",
        "import",
        3,
    )
    assert (session.started_at, session.agent.name, session.output_tokens) == (START, "Claude Code", 90)
    assert [link.session for link in done.session_links.all()] == [session]
    assert set(session.events.values_list("document", flat=True)) == {done.document.sha256}


def test_import_is_queued_until_a_worker_runs_it(workspace):
    waiting = start(workspace, transcript(2))
    assert (waiting.status, waiting.attempt, Session.objects.count()) == (Import.Status.QUEUED, 0, 0)
    assert AuditEntry.objects.get(action="import.started").actor_name == "Ines"


def test_running_it_again_changes_nothing(workspace):
    done = drop(workspace, transcript(6))
    import_jobs.run(done.pk)
    again = Import.objects.get(pk=done.pk)
    assert (again.attempt, again.finished_at, again.events) == (1, done.finished_at, 6)
    assert Session.objects.get().event_count == 6


def test_the_bytes_are_kept_once_as_they_came(workspace, document_storage):
    data = transcript(3)
    for name in ("a.jsonl", "b.jsonl"):
        drop(workspace, data, name)
    document = SourceDocument.objects.get()
    with documents.open_document(document) as file:
        assert file.read() == data
    assert document.size == len(data)
    assert [path for path in document_storage.rglob("*") if path.is_file()] == [stored(document)]


def test_the_same_bytes_again_are_the_same_import(workspace):
    first = drop(workspace, transcript(4))
    again = start(workspace, transcript(4), "copy.jsonl")
    assert (again.status, again.duplicate_of, again.format, again.events) == (
        Import.Status.DONE,
        first,
        "claude-code",
        0,
    )
    assert [link.session for link in again.session_links.all()] == [Session.objects.get()]


def test_the_same_bytes_twice_before_the_first_is_done_are_the_same_import(workspace):
    both = start(workspace, transcript(4)), start(workspace, transcript(4))
    for one in both:
        import_jobs.run(one.pk)
    first, second = (Import.objects.get(pk=one.pk) for one in both)
    assert (second.status, second.duplicate_of, second.events) == (Import.Status.DONE, first, 0)
    assert Session.objects.get().event_count == 4


def test_a_duplicate_of_a_duplicate_points_to_the_first(workspace):
    first = drop(workspace, transcript(4))
    for _ in range(2):
        assert start(workspace, transcript(4)).duplicate_of == first


def test_a_failed_import_is_tried_again_when_the_file_is_dropped_again(workspace):
    assert drop(workspace, b"{").status == Import.Status.FAILED
    assert start(workspace, b"{").status == Import.Status.QUEUED


def test_workspaces_share_no_documents(workspace):
    from sessions_app.services import workspaces

    other = workspaces.create_workspace("other")
    drop(workspace, transcript(2))
    assert start(other, transcript(2)).duplicate_of is None
    assert SourceDocument.objects.count() == 2


def test_a_transcript_that_grew_adds_only_what_is_new(workspace):
    drop(workspace, transcript(4))
    before = keys(Session.objects.get())
    grown = drop(workspace, transcript(9))
    session = Session.objects.get()
    assert (grown.events, session.event_count, session.turn_count, session.output_tokens) == (5, 9, 5, 120)
    assert keys(session)[:4] == before
    assert [row.seq for row in session.events.order_by("seq")] == list(range(1, 10))


def test_an_older_copy_of_a_transcript_adds_nothing(workspace):
    drop(workspace, transcript(9))
    older = drop(workspace, transcript(4))
    assert (older.status, older.events, Session.objects.get().event_count) == (Import.Status.DONE, 0, 9)


def test_a_document_that_grew_adds_only_what_is_new(workspace):
    drop(workspace, vcon("Hello", "Good day"), "a.vcon")
    grown = drop(workspace, vcon("Hello", "Good day", "It stopped"), "a.vcon")
    assert (grown.events, Session.objects.get().event_count) == (1, 3)


def test_a_document_that_changed_is_another_version_and_the_first_stays(workspace):
    drop(workspace, vcon("Hello", "Good day"), "a.vcon")
    first = Session.objects.get()
    changed = drop(workspace, vcon("Hello", "Good evening"), "a.vcon")
    second = changed.session_links.get().session
    assert second != first and second.external_id == first.external_id
    assert [list(s.events.order_by("seq").values_list("text", flat=True)) for s in (first, second)] == [
        ["Hello", "Good day"], ["Hello", "Good evening"],
    ]  # fmt: skip
    again = drop(workspace, vcon("Hello", "Good evening", "Still here?"), "a.vcon")
    assert (again.session_links.get().session, again.events, Session.objects.count()) == (second, 1, 2)


def test_events_that_were_added_here_do_not_count_as_a_change_of_the_file(workspace):
    drop(workspace, vcon("Hello"), "a.vcon")
    requests.request(Session.objects.get(), requests.Question("wind", {}), by=BY)
    grown = drop(workspace, vcon("Hello", "Good day"), "a.vcon")
    assert (grown.events, Session.objects.get().event_count) == (1, 3)


def test_a_compressed_file_is_read(workspace):
    assert drop(workspace, gzip.compress(transcript(4)), "session.jsonl.gz").events == 4
    assert drop(workspace, gzip.compress(vcon("Hello")), "a.vcon.gz").events == 1


def test_an_agent_that_is_named_takes_the_sessions(workspace):
    night = agents.get_or_create_agent(workspace.id, "Night shift")
    drop(workspace, transcript(2), agent=night)
    assert Session.objects.get().agent == night


def test_a_format_that_is_asked_for_is_used_whatever_the_content(workspace):
    assert drop(workspace, vcon("Hello"), "a.json", format="vcon").format == "vcon"
    with pytest.raises(import_jobs.UnknownFormat, match='"docx" is not a format; use auto or one of'):
        start(workspace, b"x", format="docx")
    assert drop(workspace, b"\x00\x01\x02", format="claude-code").status == Import.Status.FAILED


def test_imported_text_is_found_by_search(workspace):
    from sessions_app.queries.sessions.session_list import SessionFilter, filtered
    from sessions_app.services.log import search_index

    drop(workspace, transcript(4))
    for session_id in search_index.sessions_behind():
        search_index.index(session_id)
    assert list(filtered(workspace.id, SessionFilter(q="part2 oiled"))) == [Session.objects.get()]


def test_a_newer_export_of_many_chats_adds_only_what_is_new(workspace):
    """An unchanged chat of a rewritten file is the same session, however often it is exported again."""

    def export(*extra: str) -> bytes:
        said = [{"role": "user", "content": text} for text in ("When is it open?", *extra)]
        chats = [chat("Hours", said), chat("Tickets", [{"role": "user", "content": "Two, please."}])]
        return json.dumps(chats).encode()

    def chat(name: str, messages: list[dict[str, str]]) -> dict[str, Any]:
        return {
            "uuid": f"chat-{name}", "name": name, "created_at": DAY, "updated_at": DAY,
            "chat_messages": [
                {"uuid": f"{name}-{i}", "sender": "human", "text": each["content"], "created_at": DAY}
                for i, each in enumerate(messages)
            ],
        }  # fmt: skip

    drop(workspace, export(), "chats.json")
    second = drop(workspace, export("And on Sundays?"), "chats.json")
    assert (second.status, second.events) == ("done", 1)
    assert Session.objects.filter(workspace=workspace).count() == 2


def test_tools_that_a_file_states_beside_its_events_are_the_sessions(workspace):
    graph = (SAMPLES / "upg" / "kiln.upg").read_bytes()
    session = drop(workspace, graph, "kiln.upg").session_links.first().session
    assert session.tools_invoked == ["read_probe"] and session.tool_call_count == 0
    rebuild(session.pk)
    session.refresh_from_db()
    assert session.tools_invoked == ["read_probe"]
