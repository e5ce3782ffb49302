"""Run summaries in the database: as an append leaves them, as a rebuild and the fill-in make them, and when they go."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from sessions_app.models import RunSummary, RunSummaryFillIn, Session, Turn
from sessions_app.services.log import events, links, projections, run_summaries, sums
from tests.views.session.build import BOT, asked, call, other, result, said, session_with
from vcon_app.services.erasure import erasing

pytestmark = pytest.mark.django_db

RUN = [
    asked("p", "Mend the gate"), call("a", "Bash", {"command": "pytest"}), other("n", "note", "words"),
    result("a", "===== 1 failed in 1s =====", "error"), call("b", "Edit", {"file_path": "/a", "content": "b"}),
    result("b"), other("e", "error", "overloaded", data={"message": "a\0b"}), call("c", "Bash", {"command": "pytest"}),
    result("c", "x" * 9_000 + "\n===== 2 passed in 1s =====", value={"stdout": "\ud800"}),
    said("m", "Done\0.\n\nAll of it."), other("r", "artifact", data={"type": "recording", "name": "a\0b" * 90}),
    other("l", "artifact", data={"type": ["recording"], "name": 7}),
]  # fmt: skip


def kept(session: Session) -> dict:
    row = RunSummary.objects.get(session=session)
    session.refresh_from_db()
    assert row.seq == session.last_seq
    return row.told


def test_one_append_or_many_and_a_rebuild_tell_the_same(agent):
    whole, pieces = session_with(agent, RUN), session_with(agent, [])
    for event in RUN:
        events.append(pieces.pk, [event], origin=links.RUNTIME)
    assert kept(whole) == kept(pieces)
    assert kept(whole)["tests"]["outcome"] == "passed" and kept(whole)["asked"] == 1
    assert [number for number, _, _ in kept(whole)["artifacts"].values()] == [1, 1]
    before = kept(whole)
    projections.rebuild(whole.pk)
    assert kept(whole) == before


def test_a_repeated_event_is_told_once(agent):
    session = session_with(agent, RUN)
    before = kept(session)
    events.append(session.pk, [*RUN, asked("q", "Again")], origin=links.RUNTIME)
    assert kept(session)["asked"] == before["asked"] + 1


def test_the_size_of_a_row_is_bounded(agent):
    texts = [f"{'門' * 400}{number} '{number}'" for number in range(60)]
    runs = [
        (call(f"k{n}", f"{text[-50:]}", {"command": text, "file_path": text}), result(f"k{n}", text, "error"))
        for n, text in enumerate(texts)
    ]
    session = session_with(agent, [*(asked(f"p{n}", text) for n, text in enumerate(texts)), *sum(runs, ())])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT octet_length(told::text) FROM sessions_app_runsummary WHERE session_id = %s", [session.pk]
        )
        assert cursor.fetchone()[0] <= 16 * 1024


def test_older_sessions_are_filled_in_and_then_no_more(agent, monkeypatch):
    sessions = [session_with(agent, RUN) for _ in range(2)]
    before = [kept(session) for session in sessions]
    RunSummary.objects.all().delete()
    assert run_summaries.notice() is None and run_summaries.fill_in() == 0
    RunSummaryFillIn.objects.create()
    assert run_summaries.notice() is not None
    monkeypatch.setattr(run_summaries, "AT_ONCE", 4)
    monkeypatch.setattr(run_summaries, "FILL_IN_SECONDS", 60.0)
    assert run_summaries._fill_in_one(), "killed within the first session, it goes on there"
    run_summaries.fill_in()
    assert [kept(session) for session in sessions] == before
    assert run_summaries.notice() is None and not RunSummaryFillIn.objects.exists()


ENDINGS = {
    "": [asked("p", "Go"), said("m", "Done")],
    "broke_off": [asked("p", "Go"), call("c", "Bash", {"command": "make"})],
    "ended_in_error": [asked("p", "Go"), other("e", "error", "overloaded")],
    "no_reply": [asked("p", "Go"), said("m", "Done"), asked("q", "And now?")],
}
"""What is kept with a session of how its file ends, and a file that ends so."""


def test_how_a_file_ends_is_kept_by_each_append_and_by_the_fill_in(agent, monkeypatch):
    imported = {word: session_with(agent, log, origin="import", phase="completed") for word, log in ENDINGS.items()}
    of_a_program = session_with(agent, ENDINGS["broke_off"], phase="completed")

    def found() -> dict[str, str]:
        return {word: Session.objects.get(pk=session.pk).ending for word, session in imported.items()}

    assert found() == {word: word for word in ENDINGS}
    assert Session.objects.get(pk=of_a_program.pk).ending == "", "nobody says how the file of a program ends"
    Session.objects.update(ending="")
    RunSummaryFillIn.objects.create()
    monkeypatch.setattr(run_summaries, "FILL_IN_SECONDS", 60.0)
    run_summaries.fill_in()
    assert found() == {word: word for word in ENDINGS}, "also of one whose run summary was whole"
    assert Session.objects.get(pk=of_a_program.pk).ending == ""
    events.append(imported["broke_off"].pk, [result("c"), said("m", "Done")], origin=links.RUNTIME)
    projections.rebuild(imported["no_reply"].pk)
    assert found() == {word: word for word in ENDINGS} | {"broke_off": ""}


def test_an_append_to_an_older_session_reads_what_is_missing(agent, monkeypatch):
    session, other_one = session_with(agent, RUN), session_with(agent, [*RUN, asked("q", "Again")])
    RunSummary.objects.filter(session=session).delete()
    events.append(session.pk, [asked("q", "Again")], origin=links.RUNTIME)
    assert kept(session) == kept(other_one)
    monkeypatch.setattr(run_summaries, "CAUGHT_UP", 3)
    RunSummary.objects.filter(session=session).update(seq=2)
    events.append(session.pk, [asked("r", "And again")], origin=links.RUNTIME)
    assert RunSummary.objects.get(session=session).seq == 2, "too much is missing: that is left to the fill-in"


def test_what_tells_nothing_moves_it_on(agent):
    session = session_with(agent, RUN)
    before = kept(session)
    events.append(session.pk, [other("n2", "note", "words")], origin=links.RUNTIME)
    assert kept(session) == before


def test_a_row_of_older_rules_is_read_anew(agent):
    session = session_with(agent, RUN)
    before = kept(session)
    RunSummary.objects.filter(session=session).update(told={"version": 0})
    events.append(session.pk, [other("n2", "agent_message", "")], origin=links.RUNTIME)
    assert kept(session)["tests"] == before["tests"]


def test_it_goes_with_its_session(agent, document_storage):
    session = session_with(agent, RUN)
    erasing.erase_session(session, by=BOT)
    assert not RunSummary.objects.filter(session_id=session.pk).exists()


RULES = "<system>\n" + "Search first, then read. " * 300 + "\n</system>"
TASK = "1 • CONTEXT\n───\nYour repo is a/b\n\n2 • GOAL\n───\n- Mend the gate. Now."
WRAPPED = f"<context>\nrepo a/b\n</context>\n{RULES}\n<task>\n{TASK}\n</task>"


def test_of_more_prompts_than_are_read_at_once_each_is_kept_as_it_was_asked(agent, monkeypatch):
    monkeypatch.setattr(sums, "AT_ONCE", 2)
    session = session_with(agent, [asked(f"p{n}", f"<system>Be brief.</system>\nMend gate {n}") for n in range(5)])
    turns = Turn.objects.filter(session=session).order_by("index")
    assert [turn.prompt for turn in turns] == [f"Mend gate {n}" for n in range(5)]


def test_of_a_prompt_behind_seven_kilobytes_of_rules_is_kept_what_was_asked(agent, monkeypatch):
    texts = [WRAPPED, json.dumps(WRAPPED), f"<user_query>\n{json.dumps(WRAPPED)}\n</user_query>"]
    texts[1] = texts[1].replace("Now.", "Now.\\u0000\\ud83c")  # what PostgreSQL takes in no text
    log = [asked(f"p{number}", text) for number, text in enumerate([*texts, "<b>Bold</b> is <i>fine</i>"])]
    session = session_with(agent, log, title="")

    def told() -> tuple[list[str], list[str], str]:
        turns = [turn.prompt for turn in Turn.objects.filter(session=session).order_by("index")]
        session.refresh_from_db()
        return turns, [said for _, said in kept(session)["prompts"]], session.title

    before = told()
    assert before[0] == ["Mend the gate. Now.", "Mend the gate. Now.\ufffd\ufffd", "Mend the gate. Now."] + [
        "<b>Bold</b> is <i>fine</i>"
    ]
    assert before[1] == ["Mend the gate."] * 3 + ["Bold is fine"]
    assert before[2].startswith("Mend the gate. Now.")
    Turn.objects.filter(session=session, index=1).update(prompt=WRAPPED[:2_000])
    Session.objects.filter(pk=session.pk).update(title=WRAPPED[:120])
    RunSummaryFillIn.objects.create()
    monkeypatch.setattr(run_summaries, "FILL_IN_SECONDS", 60.0)
    run_summaries.fill_in()
    assert told() == before, "of an older session the same"
    projections.rebuild(session.pk)
    assert told() == before
