"""What a file says beside its events is in the search over all sessions, a while after the import."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import FileText, SearchBlock, Session, Workspace
from sessions_app.queries.sessions import search as queries
from sessions_app.queries.sessions.session_filter import SessionFilter
from sessions_app.services.log import file_texts, projections
from tests.formats.vcon.clean import CLEAN
from vcon_app.services.documents import file_rest, file_words, storage


def line(number: int, session: str = "zq-1", **more: str) -> bytes:
    told = {
        "type": "user", "uuid": f"{session}-{number}", "sessionId": session,
        "timestamp": f"2026-05-01T08:00:0{number}Z",
        "message": {"role": "user", "content": f"Question {number} of {session}"},
    }  # fmt: skip
    return json.dumps(told | more).encode() + b"\n"


def pass_on() -> int:
    """The while after an import is over; how many files were looked through."""
    FileText.objects.exclude(due_at=None).update(due_at=timezone.now() - timedelta(seconds=1))
    due = list(FileText.objects.exclude(due_at=None).values_list("session_id", flat=True))
    for session_id in due:
        file_words.read(session_id)
    return len(due)


def found(workspace, words: str) -> list[queries.Result]:
    return queries.search(workspace.id, SessionFilter(q=words), 10, None).results


def test_a_session_is_found_by_a_value_that_no_event_says_and_the_value_is_shown(workspace, import_document):
    imported = import_document(line(1, zqslug="The amber tower of zqland"), "a.jsonl")
    session = Session.objects.get(import_links__imported=imported)
    assert found(workspace, "amber") == [] and session.last_seq == 1
    assert pass_on() == 1
    for words in ("amber", "amber question", '"amber tower"'):
        (result,) = found(workspace, words)
        assert result.session == session
    assert "".join(found(workspace, "amber")[0].hits.in_file) == "The amber tower of zqland"
    assert found(workspace, "amber")[0].hits.in_file[1::2] == ["amber"]
    assert found(workspace, '"tower amber"') == [], "words that do not stand side by side"
    assert found(workspace, "question -amber") == []
    assert found(workspace, "user") == [], "a role that every line has"
    (result,) = found(workspace, "question")
    assert result.hits.shown and not result.hits.in_file, "an event says it"


def test_files_that_nobody_looks_through_are_told_of(workspace, import_document, monkeypatch):
    for name in ("zq-1", "zq-2"):
        import_document(line(1, name), f"{name}.jsonl")
    assert file_words.notice() is None, "they are not due yet"
    first, *_ = FileText.objects.order_by("session_id")
    FileText.objects.filter(pk=first.pk).update(due_at=timezone.now() - timedelta(minutes=90))
    told = file_words.notice()
    assert "the files of a session say" in told and "for 90 min" in told
    FileText.objects.update(due_at=timezone.now() - timedelta(minutes=6))
    assert "2 sessions" in file_words.notice()
    monkeypatch.setattr(file_words, "COUNTED", 1)
    assert "1+ sessions" in file_words.notice()
    pass_on()
    assert file_words.notice() is None


def test_another_workspace_does_not_find_it(workspace, import_document):
    other = Workspace.objects.create(slug="other", name="Other")
    import_document(line(1, zqslug="amber"), "a.jsonl")
    pass_on()
    assert found(workspace, "amber") and not found(other, "amber")


def test_a_file_that_has_grown_is_looked_through_again_and_what_is_gone_is_not_found(workspace, import_document):
    import_document(line(1, zqslug="amber"), "a.jsonl")
    pass_on()
    import_document(line(1, zqslug="cobalt") + line(2), "a.jsonl")
    assert pass_on() == 1 and pass_on() == 0
    assert found(workspace, "cobalt") and not found(workspace, "amber")
    assert SearchBlock.objects.filter(first_seq=-1).count() == 1


def test_a_rebuilt_session_is_still_found(workspace, import_document):
    session = Session.objects.get(import_links__imported=import_document(line(1, zqslug="amber"), "a.jsonl"))
    pass_on()
    projections.rebuild(session.pk)
    assert found(workspace, "amber")


def test_an_import_in_between_puts_the_file_off_and_what_was_read_before_is_not_kept(
    workspace, import_document, monkeypatch
):
    import_document(line(1, zqslug="amber"), "a.jsonl")
    read = file_words.parts_beside_events

    def grown_meanwhile(session, **limits):
        parts = read(session, **limits)
        import_document(line(1, zqslug="cobalt") + line(2), "a.jsonl")
        return parts

    monkeypatch.setattr(file_words, "parts_beside_events", grown_meanwhile)
    pass_on()
    assert not found(workspace, "amber") and FileText.objects.get().due_at is not None
    monkeypatch.setattr(file_words, "parts_beside_events", read)
    pass_on()
    assert found(workspace, "cobalt")


def test_each_session_of_an_archive_is_found_by_its_own_values(workspace, import_document):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a.jsonl", line(1, "zq-1", zqslug="amber"))
        archive.writestr("b.jsonl", line(1, "zq-2", zqslug="cobalt"))
    import_document(held.getvalue(), "both.zip")
    assert pass_on() == 2
    assert [one.session.external_id for one in found(workspace, "amber")] == ["zq-1"]


def test_of_a_file_that_is_too_large_what_its_reader_kept_is_found_and_the_page_says_so(
    workspace, import_document, monkeypatch
):
    limits = file_rest.Limits(events=5_000, file=10, archive=10, sessions=100)
    monkeypatch.setattr(file_words, "IN_THE_SEARCH", limits)
    monkeypatch.setattr(file_rest, "IN_THE_SEARCH", limits)
    parties = [{**party, "zqmember": "amber"} for party in CLEAN["parties"]]
    session = Session.objects.get(import_links__imported=import_document(CLEAN | {"parties": parties}))
    pass_on()
    assert found(workspace, "amber") and not file_rest.is_in_search(session)


def test_a_file_that_cannot_be_looked_through_is_not_tried_for_ever(workspace, import_document, monkeypatch):
    import_document(line(1, zqslug="amber"), "a.jsonl")

    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(file_words, "parts_beside_events", broken)
    assert pass_on() == 1 and pass_on() == 0


def test_a_file_that_takes_its_worker_down_each_time_is_given_up_and_told_of(workspace, import_document, monkeypatch):
    parties = [{**party, "zqmember": "amber"} for party in CLEAN["parties"]]
    session = Session.objects.get(import_links__imported=import_document(CLEAN | {"parties": parties}))
    read = file_words.parts_beside_events

    def killed(*_, **__):
        raise SystemExit

    monkeypatch.setattr(file_words, "parts_beside_events", killed)
    for _ in range(file_words.MAX_TRIES):
        assert file_words.notice() is None
        with pytest.raises(SystemExit):
            pass_on()
    assert pass_on() == 1 and pass_on() == 0
    assert "the files of a session were given up" in file_words.notice() and str(session.pk) in file_words.notice()
    assert found(workspace, "amber"), "what its reader kept of it"
    assert not file_rest.is_in_search(session)
    monkeypatch.setattr(file_words, "parts_beside_events", read)
    import_document(CLEAN | {"subject": "Once more", "parties": parties})
    file_texts.put_off(workspace.pk, [session.pk])
    assert pass_on() >= 1 and file_words.notice() is None and file_rest.is_in_search(session)


def test_a_storage_that_is_away_is_no_fault_of_a_file(workspace, import_document, monkeypatch):
    import_document(line(1, zqslug="amber"), "a.jsonl")

    def away(*_, **__):
        raise storage.Unavailable("no answer")

    read = file_words.parts_beside_events
    monkeypatch.setattr(file_words, "parts_beside_events", away)
    for _ in range(file_words.MAX_TRIES + 2):
        with pytest.raises(storage.Unavailable):
            pass_on()
    monkeypatch.setattr(file_words, "parts_beside_events", read)
    assert pass_on() == 1 and found(workspace, "amber")


@pytest.mark.parametrize("late", [0, 1])
def test_a_sweep_enqueues_what_is_due_and_nothing_else(workspace, import_document, late):
    import_document(line(1), "a.jsonl")
    FileText.objects.update(due_at=timezone.now() + timedelta(seconds=60 - 120 * late))
    assert file_words.sweep() == late


def test_an_answer_that_has_not_ended_is_found_in_the_file_until_its_events_are_there(workspace, import_document):
    begins = {"kind": 0, "v": {"version": 3, "sessionId": "zq-chat", "initialLocation": "panel", "requests": []}}
    asked = {"requestId": "r1", "message": {"text": "Which tower is amber?"}, "modelState": {"value": 0},
             "response": [{"value": "The tower of zqland"}]}  # fmt: skip
    lines = [begins, {"kind": 2, "k": ["requests"], "v": [asked]}]
    log = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    session = Session.objects.get(import_links__imported=import_document(log, "chat.jsonl"))
    pass_on()
    assert session.event_count == 0 and found(workspace, "zqland")[0].hits.in_file
    ended = [
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1}},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "The tower of zqland is."}], "i": 0},
    ]
    import_document(log + b"".join(json.dumps(line).encode() + b"\n" for line in ended), "chat.jsonl")
    pass_on()
    (result,) = found(workspace, "zqland")
    assert result.hits.shown and not result.hits.in_file
    assert Session.objects.get(pk=session.pk).event_count == 2
