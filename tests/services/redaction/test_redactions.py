"""A redaction: rules become a vCon without what they name, and nothing of it is handed out that says it still."""

from __future__ import annotations

import json
import os
import time
from base64 import urlsafe_b64decode

import pytest

from sessions_app.models import AuditEntry, Event, Session, Workspace
from sessions_app.services import audit
from vcon_app.models import Export, Redaction
from vcon_app.services.documents import documents
from vcon_app.services.exports import export_jobs, export_options, redactions
from vcon_app.services.redaction import redaction_drafts
from vcon_app.services.redaction.redaction_rules import BadRule

from ..build import append, call, event, result, user
from ..files import transcript, vcon
from ..imports.test_imports import BY, drop
from ..stored import written

pytestmark = pytest.mark.django_db
UUID = "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44"
SECRET = "My card is 4711 0815 2342"
REST = ("Thank you, Ana", "And the weather?", "It rains")


def make(session, *rules, kind="PII Redaction", **more) -> Redaction:
    session.refresh_from_db()
    return redactions.make(session, list(rules), kind, by=BY, **more)


def content(redaction: Redaction) -> dict:
    return json.loads(redactions.open_file(redaction).read())


@pytest.fixture
def session_with_secret(workspace):
    drop(workspace, vcon(SECRET, *REST), "chat.vcon")
    return Session.objects.get()


def test_a_removed_message_is_a_placeholder_and_the_file_says_what_it_comes_from(session_with_secret):
    done = make(session_with_secret, {"what": "event", "seq": 1})
    written = content(done)
    assert written["redacted"] == {"uuid": UUID, "type": "PII Redaction"}
    assert written["uuid"] not in (UUID, export_jobs.start_export(session_with_secret, "vcon", by=BY).identity["uuid"])
    assert written["dialog"][0] == {"type": "text"}
    assert [one.get("body") for one in written["dialog"]][1:] == ["Thank you, Ana", "And the weather?", "It rains"]
    assert "amended" not in written
    assert "4711 0815" not in json.dumps(written)


def test_redacted_export_has_a_neutral_file_name(session_with_secret):
    done = make(session_with_secret, {"what": "title"})
    assert (done.export.format, done.export.options) == ("vcon", {"redaction": str(done.pk)})
    assert "clock" not in done.export.filename.lower()
    assert "subject" not in content(done)
    assert {"what": "removed: title", "why": "redaction: PII Redaction", "count": 1} in done.export.losses


def test_the_audit_log_tells_kinds_and_numbers_and_never_words(session_with_secret):
    make(session_with_secret, {"what": "containing", "words": "4711 0815"}, {"what": "people"})
    entry = AuditEntry.objects.filter(action="session.redacted").get()
    assert entry.details["removed"] == {"text": 1, "people": 1}
    assert "4711 0815" not in json.dumps(list(AuditEntry.objects.values("details", "subject_id")))
    assert not AuditEntry.objects.filter(action="session.exported").exists()


def test_redaction_with_leaks_is_not_ready_until_accepted(workspace):
    drop(workspace, vcon(SECRET, f"I repeat: {SECRET}!"), "chat.vcon")
    done = make(Session.objects.get(), {"what": "text", "seq": 1})
    assert redactions.state_of(done) == "held"
    [leak] = done.leaks
    assert (leak["pointer"], leak["seq"], leak["source"]) == ("/dialog/1/body", 2, "1")
    with pytest.raises(redactions.NotReady, match="still stand"):
        redactions.open_file(done)
    redactions.accept(done, by=BY)
    assert SECRET in json.dumps(content(done))
    assert AuditEntry.objects.get(action="session.redaction_accepted").details["still_there"] == 1


def test_leaked_words_can_be_removed_in_a_second_redaction(workspace):
    drop(workspace, vcon(SECRET, f"I repeat: {SECRET}!", subject=SECRET), "chat.vcon")
    session = Session.objects.get()
    held = make(session, {"what": "text", "seq": 1})
    assert {leak["pointer"] for leak in held.leaks} == {"/dialog/1/body", "/subject"}
    done = make(session, *redactions.rules_for_leaks(held))
    assert redactions.state_of(done) == "ready"
    assert "4711 0815" not in json.dumps(content(done))


def test_every_place_that_contains_words_goes_by_the_part_that_contains_them(session):
    append(session, user("Book it"), call("c1"), result("c1", text="seat 14 for Maria"))
    done = make(session, {"what": "containing", "words": "MARIA"})
    assert done.counts == {"text": 1}
    assert redactions.state_of(done) == "ready"
    entries = content(done)["analysis"][0]["body"]["session"]["entries"]
    assert [entry["type"] for entry in entries] == ["user", "tool-call", "tool-result"]
    assert entries[2]["output"] == ""


def test_rules_for_all_arguments_results_and_reasoning_remove_them_at_once(session):
    append(session, user("Book it"), event("reasoning", text="They want a seat"), call("c1"), result("c1", text="14"))
    done = make(session, *({"what": what} for what in ("reasoning", "arguments", "result")))
    assert done.counts == {"text": 1, "arguments": 1, "result": 1}
    entries = content(done)["analysis"][0]["body"]["session"]["entries"]
    assert (entries[1]["content"], entries[2]["input"], entries[3]["output"]) == ("", None, "")
    assert content(done)["redacted"] == {"type": "PII Redaction"}


def test_persons_lose_their_data_and_stay_apart(session_with_secret):
    done = make(session_with_secret, {"what": "people"}, {"what": "text", "seq": 2})
    assert [party["name"] for party in content(done)["parties"]] == ["Person 1", "Person 2"]


def test_party_name_said_in_the_text_is_a_leak(workspace):
    drop(workspace, vcon("I am Annika", parties=[{"name": "Annika", "mailto": "annika@example.org"}]), "chat.vcon")
    held = make(Session.objects.get(), {"what": "people"})
    assert [(leak["words"], leak["seq"]) for leak in held.leaks] == [("annika", 1)]


def test_the_desks_word_for_how_a_session_stands_is_no_leak(session):
    append(session, user("Book it"), call("c1"), result("c1", text="Completed"))
    Session.objects.filter(pk=session.pk).update(phase="completed")
    done = make(session, {"what": "result"})
    assert content(done)["analysis"][0]["body"]["session"]["x-session"]["phase"] == "completed"
    assert redactions.state_of(done) == "ready"


def test_of_an_agents_name_no_rule_is_told_that_would_not_remove_it(session):
    session.agent.name = "Annika"
    session.agent.save()
    append(session, user("Ask Annika"), event("agent_message", text="I did", actor_kind="agent", actor_name="Annika"))
    held = make(session, {"what": "containing", "words": "Annika"})
    by_place = {leak["pointer"]: leak["rule"] for leak in held.leaks}
    assert by_place["/parties/1/name"] is None
    again = make(session, *redactions.rules_for_leaks(held))
    assert {leak["rule"] and leak["rule"]["what"] for leak in again.leaks} <= {None, "event"}
    last = make(session, *redactions.rules_for_leaks(again))
    assert redactions.rules_for_leaks(last) == last.rules, "there is nothing more to choose"


def test_redacted_file_is_written_again_after_cleanup_though_the_session_grew(session):
    append(session, user("Keep this"), user("Remove this secret"))
    done = make(session, {"what": "text", "seq": 2})
    before = redactions.open_file(done).read()
    append(session, user("Remove this secret, said later"))
    path = written(done.export)
    os.utime(path, (time.time() - export_jobs.KEEP_FILES_FOR.total_seconds() - 60,) * 2)
    export_jobs.remove_old_files()
    assert not path.exists()
    again = Redaction.objects.select_related("export__session").get(pk=done.pk)
    assert redactions.open_file(again).read() == before
    assert AuditEntry.objects.filter(action="session.redacted").count() == 1


def test_the_redacted_file_is_another_version_when_it_is_imported(workspace, session_with_secret):
    done = make(session_with_secret, {"what": "event", "seq": 1}, {"what": "text", "seq": 3})
    [link] = drop(workspace, redactions.open_file(done).read(), "redacted.vcon").session_links.all()
    assert link.session != session_with_secret
    assert link.session.metadata["vcon"]["redacted"] == {"uuid": UUID, "type": "PII Redaction"}
    assert link.session.metadata["version_of"] == str(session_with_secret.pk)
    assert link.session.event_count == session_with_secret.event_count
    assert "R109" in {finding["rule"] for finding in link.imported.findings}


@pytest.mark.parametrize("keeps_uuid", [False, True])
@pytest.mark.parametrize("original_first", [False, True])
def test_a_redacted_and_the_unredacted_file_are_two_sessions_each_with_what_it_says(
    workspace, session_with_secret, keeps_uuid, original_first
):
    """Whichever comes first, and however often each comes again: nothing of one is hidden or added by the other."""
    redacted = content(make(session_with_secret, {"what": "event", "seq": 1}, {"what": "text", "seq": 3}))
    redacted |= {"uuid": UUID} if keeps_uuid else {}
    with documents.open_document(session_with_secret.import_links.get().document) as file:
        files = [file.read(), json.dumps(redacted).encode()]
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    for data in (files if original_first else files[::-1]) * 2:
        assert drop(elsewhere, data, "chat.vcon").status == "done"
    texts = sorted(
        sorted(Event.objects.filter(session=session).exclude(text="").values_list("text", flat=True))
        for session in Session.objects.filter(workspace=elsewhere)
    )
    left = ["It rains", "Thank you, Ana"]
    assert texts == [["(content removed or absent)"] * 2 + left, ["And the weather?", left[0], SECRET, left[1]]]


def test_a_large_session_is_left_to_a_worker(session_with_secret, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 1)
    waiting = make(session_with_secret, {"what": "event", "seq": 1})
    assert redactions.state_of(waiting) == "writing"
    with pytest.raises(redactions.NotReady, match="still being written"):
        redactions.open_file(waiting)
    export_jobs.run(waiting.export_id)
    assert redactions.state_of(Redaction.objects.select_related("export").get()) == "ready"


def test_a_transcript_of_another_tool_is_redacted_the_same_way(workspace):
    drop(workspace, transcript(6), "clock.jsonl")
    done = make(Session.objects.get(), {"what": "containing", "words": "part2"}, {"what": "environment"})
    written = content(done)
    assert written["redacted"] == {"type": "PII Redaction"}
    assert not {"part2", "/home/dev/clock"} & set(json.dumps(written).split('"'))
    assert len(written["dialog"]) == 6


BAD = [
    ([{"what": "event", "seq": 99}], "/remove/0/seq", "the last one is 4"),
    ([{"what": "title"}, {"what": "stone"}], "/remove/1/what", "use one of event, "),
    ([{"what": "event"}], "/remove/0/seq", 'needs "seq"'),
    ([{"what": "title", "seq": 1}], "/remove/0/seq", 'takes no "seq"'),
    ([{"what": "containing", "words": "x"}], "/remove/0/words", "2 to 200"),
    ([{"what": "attachment", "index": 3}], "/remove/0/index", "it has none"),
    ([], "/remove", "nothing is chosen"),
]


@pytest.mark.parametrize(("rules", "pointer", "message"), BAD)
def test_invalid_redaction_rule_is_refused_with_its_place(session_with_secret, rules, pointer, message):
    with pytest.raises(BadRule, match=message) as caught:
        make(session_with_secret, *rules)
    assert caught.value.pointer == pointer
    assert not Export.objects.exists()


@pytest.mark.parametrize("kind", ["", "  ", "x" * 201])
def test_redaction_without_a_type_is_refused(session_with_secret, kind):
    with pytest.raises(BadRule) as caught:
        make(session_with_secret, {"what": "title"}, kind=kind)
    assert caught.value.pointer == "/type"


def test_redaction_draft_belongs_to_one_member(session_with_secret):
    other = audit.Actor("member", "m2", "Rosa")
    redaction_drafts.change(session_with_secret, BY, add=[{"what": "event", "seq": 1}, {"what": "title"}])
    redaction_drafts.change(
        session_with_secret, BY, add=[{"what": "text", "seq": 1}], seen=[1, 2], drop=[{"what": "title"}]
    )
    assert redaction_drafts.draft_of(session_with_secret, BY).rules == [{"what": "text", "seq": 1}]
    assert redaction_drafts.draft_of(session_with_secret, other).rules == []
    redaction_drafts.discard(session_with_secret, BY)
    assert not Redaction.objects.exists()


def test_redacted_file_is_signed_on_request(session_with_secret):
    session_with_secret.phase = Session.Phase.COMPLETED
    session_with_secret.save()
    done = make(session_with_secret, {"what": "event", "seq": 1}, signed=True)
    sealed = content(done)
    payload = json.loads(urlsafe_b64decode(sealed["payload"] + "=="))
    assert payload["dialog"][0] == {"type": "text"}
    assert len(sealed["signatures"]) == 1


def test_redacted_file_of_a_running_session_is_not_signed(session_with_secret):
    Session.objects.update(phase=Session.Phase.ACTIVE)
    with pytest.raises(export_options.CannotExport, match="still goes on"):
        make(session_with_secret, {"what": "title"}, signed=True)
    assert not Redaction.objects.exists()
