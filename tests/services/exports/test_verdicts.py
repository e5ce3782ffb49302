"""What reviewers said here goes out when it is asked for: decisions with their votes, and notes of people."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Approval, Role, Session, Verdict
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.people import members
from sessions_app.services.reviews import comments
from vcon_app.formats.vcon.writing.verdicts import SCHEMA
from vcon_app.models import Export
from vcon_app.queries import verdicts
from vcon_app.services.exports import export_jobs

from ..build import append, call, event, user
from ..imports.test_imports import BY, drop
from ..reviews.test_verdicts import actor, give, someone
from .test_exports import content, export


@pytest.fixture
def rosa(workspace) -> decisions.Decider:
    member = members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]
    return decisions.Decider(audit.Actor("member", str(member.pk), "Rosa"), Role.REVIEWER, "web", member.pk)


@pytest.fixture
def decided(session, rosa) -> Session:
    """A session in which Rosa denied one call, another one still waits, and both a person and a program left notes."""
    append(session, user("Order the part"), call("c1", "order_part"))
    asked = requests.request(session, requests.Question("order_part", {"part": 7}, client_id="c1"), by=BY)
    decisions.decide(
        asked, rosa, decisions.Decision("deny", version=asked.version, digest=asked.digest, reason="too dear")
    )
    requests.request(session, requests.Question("call_again", {}), by=BY)
    append(
        session, event("note", actor_kind="person", actor_name="Rosa", text="Ask the shop."), event("note", text="x")
    )
    session.phase = "completed"
    session.save()
    return session


def verdicts_in(written: Export) -> list:
    return [item for item in json.loads(content(written))["analysis"] if item.get("schema") == SCHEMA]


def test_verdicts_report_only_decisions_and_answers_of_people_here(decided):
    Approval.objects.create(
        workspace_id=decided.workspace_id, session=decided, tool_name="elsewhere", arguments={}, digest="0" * 64,
        status="approved", recorded=True, requested_at=decided.created_at,
    )  # fmt: skip
    told = verdicts.verdicts_of(decided)
    [approval], [note] = told["approvals"], told["notes"]
    assert (approval["status"], approval["decision"]["reason"]) == ("denied", "too dear")
    assert approval["tool"] == {"name": "order_part"} and approval["arguments"] == {"part": 7}
    [vote] = approval["votes"]
    assert (vote["by"], vote["verdict"], vote["reason"], vote["channel"]) == ("Rosa", "deny", "too dear", "web")
    assert (note["by"], note["text"]) == ("Rosa", "Ask the shop.")
    json.dumps(told)


def test_verdicts_are_exported_only_on_request(decided):
    assert verdicts_in(export(decided, "vcon")) == []
    [item] = verdicts_in(export(decided, "vcon", options={"verdicts": "true"}))
    assert item["body"]["approvals"][0]["votes"][0]["by"] == "Rosa"
    assert item["body"]["notes"][0]["text"] == "Ask the shop."


def test_the_same_verdicts_are_the_same_file_and_another_decision_another(decided, rosa):
    first, same = (export(decided, "vcon", options={"verdicts": "true"}) for _ in range(2))
    assert content(first) == content(same)
    waiting = Approval.objects.get(status="pending")
    decisions.decide(waiting, rosa, decisions.Decision("approve", version=waiting.version, digest=waiting.digest))
    assert export(decided, "vcon", options={"verdicts": "true"}).identity["uuid"] != first.identity["uuid"]


def test_export_with_verdicts_is_imported_with_the_report_kept(workspace, decided):
    written = export(decided, "vcon", options={"verdicts": "true"})
    [link] = drop(workspace, content(written), "back.vcon").session_links.all()
    assert link.events == decided.event_count
    back = link.session
    assert SCHEMA in [one.get("schema") for one in back.metadata["analyses"]]
    assert verdicts_in(export(back, "vcon")) == verdicts_in(written)


def test_a_report_of_what_is_lost_counts_nothing_for_the_verdicts(decided):
    assert export_jobs.report(decided, "vcon", {"verdicts": "true"}) == export_jobs.report(decided, "vcon")


def test_verdicts_on_the_session_and_comments_go_out_with_what_they_are_about(workspace, decided):
    ada = someone(workspace, "ada")
    verdict = give(decided, ada, "pass", note="well done", last_seq=2)
    comment = comments.add(decided.pk, ada, "Why so dear?", comments.Range(2, 3), by=actor(ada))
    comments.add(decided.pk, ada, "It was the last one.", parent=comment, by=actor(ada))
    comments.delete(comments.add(decided.pk, ada, "hush", by=actor(ada)), ada, by=actor(ada))
    give(decided, ada, "fail", note="it was not", last_seq=2)
    written = export(decided, "vcon", options={"verdicts": "true"})
    body = verdicts_in(written)[0]["body"]
    [said], [asked, reply] = body["verdicts"], body["comments"]
    assert (said["verdict"], said["note"], said["by"]) == ("fail", "it was not", verdict.by)
    assert said["event"] == asked["event"] != asked["last_event"], "event 2, and events 2 to 3"
    assert (asked["text"], reply["reply_to"]) == ("Why so dear?", asked["id"])
    back = drop(workspace, content(written), "back.vcon").session_links.get().session
    assert not Verdict.objects.filter(session=back).exists() and back.verdict == "", "a file gives no verdict here"
