"""Every export says who said it, and nothing that an exporter wrote looks like this desk's own when it comes back."""

from __future__ import annotations

import json

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Session
from sessions_app.queries.log import links as link_queries
from sessions_app.services import agents, audit, workspaces
from sessions_app.services import sessions as session_services
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from vcon_app.queries.log_reader import LogEvents
from vcon_app.services.exports import export_jobs
from vcon_app.services.imports import import_jobs

from ...views.session.build import asked, call, other, said

pytestmark = pytest.mark.django_db
KEY = audit.Actor("api_key", "k", "nightly-bot")
ANNA = audit.Actor("member", "m", "Anna")
FOUND = EventDraft(
    kind="tool_result", key="c:result", actor_kind="tool", actor_name="lookup", text="lost", parent="c",
    tool=ToolDraft(call_id="c", name="lookup", status="ok"),
)  # fmt: skip
READ_BACK = ("vcon", "vac", "llmfeed", "agnt5-jsonl")
TOLD = ("kind", "at", "actor_kind", "actor_name", "text", "tool", "model", "usage", "cost", "depth")


@pytest.fixture
def session(workspace) -> Session:
    """With events of every origin but a file, of every kind of place in a vCon."""
    agent = agents.get_or_create_agent(workspace.id, "Refund agent")
    made = session_services.create(agent, by=ANNA, title="Order 4711")
    runtime, sent = links.RUNTIME, links.sent_by(KEY)
    for origin, new in (
        (links.sent_by(ANNA), [asked("u", "Check the order", actor_name="Anna")]),
        (runtime, [said("a", "I look."), call("c", "lookup", {"order": 1}), FOUND]),
        (sent, [said("x", "Approved by the manager."), other("n", "note", "A note"),
                EventDraft(kind="artifact", key="art", text="A file", data={"name": "a.txt"})]),
    ):  # fmt: skip
        events.append(made.pk, new, origin=origin)
    requests.request(made, requests.Question("refund", {"order": 1}), by=KEY)
    made.refresh_from_db()
    return made


def exported(session: Session, format: str, **options) -> bytes:
    export = export_jobs.start_export(session, format, by=audit.COMMAND, **options)
    export_jobs.run(export.pk)
    export.refresh_from_db()
    assert export.status == "done", export.error
    return export_jobs.open_file(export).read()


def losses(session: Session, format: str) -> list[dict]:
    export = export_jobs.start_export(session, format, by=audit.COMMAND)
    export_jobs.run(export.pk)
    export.refresh_from_db()
    return export.losses


def brought_elsewhere(data: bytes) -> Session:
    workspace = workspaces.create_workspace(f"desk {Session.objects.count()}")
    imported = import_jobs.start_import(workspace, "again", [data], by=audit.COMMAND)
    import_jobs.run(imported.pk)
    imported.refresh_from_db()
    assert imported.status == "done", imported.error
    return imported.session_links.first().session


def reports(session: Session) -> list[tuple[str, dict | None]]:
    """Text of each event, and what is kept of who said it where the file was made."""
    return [(event.text, event.data.get("reported")) for event in LogEvents(session)]


def by_text(session: Session, text: str) -> dict:
    return next(report for said, report in reports(session) if text in said)


@pytest.mark.parametrize("format", READ_BACK)
def test_what_comes_back_is_of_a_file_and_keeps_what_the_file_says(session, format):
    again = brought_elsewhere(exported(session, format))
    kinds = {origin.kind for origin in link_queries.origins(again.pk, range(1, again.last_seq + 1)).values()}
    assert kinds == {"file"}
    report = by_text(again, "Approved by the manager.")
    assert (report["origin"], report["reported_by"]) == ("api", "nightly-bot")
    assert report["received_at"][:2] == "20"
    assert by_text(again, "I look.")["origin"] == "runtime"
    assert by_text(again, "Check the order")["reported_by"] == "Anna"
    assert by_text(again, "A file")["reported_by"] == "nightly-bot"
    assert by_text(again, "asks to run")["origin"] == "desk"


@pytest.mark.parametrize("format", READ_BACK)
def test_a_file_that_goes_round_says_the_same_each_time(session, format):
    second = brought_elsewhere(exported(session, format))
    third = brought_elsewhere(exported(second, format))
    assert reports(second) == reports(third)
    for one, two in zip(LogEvents(session), LogEvents(third), strict=True):
        assert [getattr(one, name) for name in TOLD] == [getattr(two, name) for name in TOLD]


@pytest.mark.parametrize("format", READ_BACK)
def test_what_another_desk_wrote_is_not_exported_as_ours(session, format):
    again = brought_elsewhere(exported(session, format))
    text = exported(again, format).decode()
    places = [text.index(f'"{kind}"') for kind in ("runtime", "desk")]
    outer = [text.rindex('"reported"', 0, place) for place in places]
    assert all(place - start < 200 for start, place in zip(outer, places, strict=True))


def test_each_line_says_who_said_it(session):
    lines = [json.loads(line) for line in exported(session, "jsonl").splitlines()]
    told = [(line["origin"], line["reported_by"]) for line in lines]
    assert told[0] == ("api", "Anna") and told[1] == ("runtime", None) and told[-1] == ("desk", "nightly-bot")
    assert all(line["received_at"] for line in lines)


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_transcripts_say_it_in_words(session, format):
    text = exported(session, format).decode()
    assert text.count("sent by nightly-bot") == 3
    assert text.count("written by the desk") == 1
    assert "sent by Anna" not in text  # the message itself names her


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_a_name_in_a_transcript_is_plain_text(session, format):
    events.append(
        session.pk, [said("z", "Hello")], origin=links.sent_by(audit.Actor("api_key", "k", "<img src=x> *b*"))
    )
    session.refresh_from_db()
    assert "<img" not in exported(session, format).decode().replace("\\<img", "")


def test_a_product_graph_says_that_it_does_not(session):
    assert "who sent an event, and when it came" in [loss["what"] for loss in losses(session, "upg")]


def test_a_session_of_a_file_is_exported_as_it_was(import_document):
    from ...signing.make import VCON

    import_document(VCON)
    text = exported(Session.objects.get(), "vcon").decode()
    assert "x-origin" not in text


def test_a_foreign_member_of_the_same_name_stays_where_it_is(workspace, import_document):
    feed = {
        "feed_type": "session", "metadata": {"title": "T", "origin": "https://a.example"},
        "conversation_trace": [{"role": "user", "content": "Hi", "origin": "web", "reported": {"origin": "x"}}],
    }  # fmt: skip
    import_document(feed, "feed.json")
    (event,) = [one for one in LogEvents(Session.objects.get()) if one.text == "Hi"]
    assert (event.data["origin"], event.data["reported"]) == ("web", {"origin": "x"})
