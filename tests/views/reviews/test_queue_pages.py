"""Pages of reviews: queues made and closed, rubrics, and verdicts as a table that runs nothing in a spreadsheet."""

from __future__ import annotations

import csv
import io

from sessions_app.models import Member, ReviewQueue, Rubric, Session
from sessions_app.services import audit
from sessions_app.services.reviews import assignments, rubrics, verdicts
from sessions_app.views.reviews import queues as pages

from ..build import session_of, words
from ..session.build import asked, session_with


def member(name: str) -> Member:
    return Member.objects.get(user__first_name=name, workspace__slug="default")


def test_a_queue_is_made_shown_counted_and_closed(reviewer, viewer, charlie, agent):
    session_of(agent, title="Went wrong", errors=1)
    form = {"name": "Failures", "filter": "has_errors=true", "percent": "100", "wanted": "1"}
    assert viewer.post("/reviews/", form).status_code == 403
    place = reviewer.post("/reviews/", form).url
    assert place == f"/reviews/queues/{ReviewQueue.objects.get().pk}/"
    assert "Went wrong" in words(viewer.get(place)) and "0 of 1 reviewed" in words(viewer.get(f"{place}progress"))
    assert place in viewer.get("/reviews/").content.decode() and "Review next" not in words(viewer.get("/reviews/"))
    assert charlie.get(place).status_code == 404 and place not in charlie.get("/reviews/").content.decode()
    assert viewer.post(f"{place}next").status_code == viewer.post(f"{place}close").status_code == 403
    reviewer.post(f"{place}close")
    assert "Closed" in words(reviewer.get(place)) and reviewer.post(f"{place}next").status_code == 404


def test_a_queue_without_a_session_is_not_said_to_be_reviewed(reviewer, agent):
    place = reviewer.post("/reviews/", {"name": "Odd", "filter": "agent=nobody", "percent": "100", "wanted": "1"}).url
    page = words(reviewer.get(place))
    assert "No session is in this queue yet." in page and "is reviewed" not in page and "0 of 0" not in page
    assert "Seed" not in page, "it chooses nothing where all are chosen"
    assert "no sessions yet" in words(reviewer.get(f"{place}progress"))


def test_a_queue_says_how_sessions_ended_as_their_list_does_and_that_more_follow(reviewer, agent, monkeypatch):
    broken = session_with(agent, [asked("p", "Deploy it")], title="Unanswered")
    Session.objects.filter(pk=broken.pk).update(status="idle", phase="completed", origin="import", ending="no_reply")
    assignments.assign([broken.pk], member("Rosa"), member("Rosa"), by=audit.COMMAND)
    place = reviewer.post("/reviews/", {"name": "All", "filter": "", "percent": "100", "wanted": "1"}).url
    listed = words(reviewer.get("/sessions/"))
    assert "No reply Unanswered" in listed
    assert "No reply Unanswered" in words(reviewer.get(place))
    assert "No reply Unanswered" in words(reviewer.get("/reviews/"))
    assert "more follow them" not in words(reviewer.get(place))
    monkeypatch.setattr(pages, "ROWS", 1)
    session_of(agent, title="Another")
    assert "more follow them" in words(reviewer.get(place))


def test_what_is_assigned_waits_until_the_one_it_is_assigned_to_has_said_something(reviewer, admin, agent):
    session = session_of(agent, title="Order 4711")
    assignments.assign([session.pk], member("Rosa"), member("Ada"), by=audit.COMMAND)
    verdicts.give(session.pk, member("Ada"), verdicts.Said("pass"), by=audit.COMMAND)
    assert "Order 4711" in words(reviewer.get("/reviews/")), "somebody else's verdict is not hers"
    verdicts.give(session.pk, member("Rosa"), verdicts.Said("pass"), by=audit.COMMAND)
    assert "Order 4711" not in words(reviewer.get("/reviews/"))


def test_a_rule_that_means_nothing_is_told_at_its_field(reviewer):
    answer = reviewer.post("/reviews/", {"name": "Odd", "filter": "mood=good", "percent": "100", "wanted": "1"})
    assert answer.status_code == 422 and "knows no filter" in words(answer)
    assert not ReviewQueue.objects.exists()


def test_a_filter_of_another_version_is_named_on_every_page_of_its_queue(reviewer, workspace):
    queue = ReviewQueue.objects.create(workspace=workspace, name="Old", filter="mood=good", seed="s")
    for place in ("", "progress"):
        assert "knows no filter" in words(reviewer.get(f"/reviews/queues/{queue.pk}/{place}"))
    assert reviewer.get("/reviews/").status_code == 200
    assert reviewer.post(f"/reviews/queues/{queue.pk}/next").url == f"/reviews/queues/{queue.pk}/"
    assert reviewer.get(f"/reviews/verdicts.csv?queue={queue.pk}").status_code == 400


def test_verdicts_leave_as_a_table_that_runs_nothing(reviewer, admin, charlie, agent):
    session = session_of(agent, title="=HYPERLINK(1)")
    rubrics.add(member("Ada"), "Tone", "scale", by=audit.COMMAND)
    for says, scores in (("pass", {}), ("fail", {"Tone": 2})):
        said = verdicts.Said(says, scores, "+cmd|' /C calc'!A0")
        verdicts.give(session.pk, member("Rosa"), said, by=audit.COMMAND)
    rows = list(csv.DictReader(io.StringIO(reviewer.get("/reviews/verdicts.csv").content.decode())))
    assert [(row["verdict"], row["current"], row["score: Tone"]) for row in rows] == [
        ("pass", "no", ""), ("fail", "yes", "2"),
    ]  # fmt: skip
    assert {row["title"][0] for row in rows} == {row["note"][0] for row in rows} == {"'"}
    assert charlie.get("/reviews/verdicts.csv").content.decode().count("\n") == 1


def test_rubrics_are_added_and_retired_by_admins(reviewer, admin, charlie):
    assert reviewer.post("/settings/rubrics/", {"name": "Tone", "kind": "scale"}).status_code == 403
    admin.post("/settings/rubrics/", {"name": "Tone", "kind": "scale"})
    assert "Tone 1 to 5" in words(reviewer.get("/settings/rubrics/"))
    assert admin.post("/settings/rubrics/", {"name": "Tone", "kind": "scale"}).status_code == 422
    place = f"/settings/rubrics/{Rubric.objects.get().pk}/retire/"
    assert (reviewer.post(place).status_code, charlie.post(place).status_code) == (403, 404)
    admin.post(place)
    assert "No rubrics yet" in words(reviewer.get("/settings/rubrics/"))


def test_the_rule_of_a_queue_is_said_in_words(reviewer, workspace):
    rosa = Member.objects.get(user__first_name="Rosa")
    filters = f"has_errors=1&min_cost=5&agent=refunds&assignee={rosa.pk}&mood=<b>"
    queue = ReviewQueue.objects.create(workspace=workspace, name="Dear", filter=filters, seed="s", percent=5)
    said = ("5 % as a fixed sample of", "With errors", "at least $5", "agent refunds", "assigned to Rosa", "mood=<b>")
    for address in ("/reviews/", f"/reviews/queues/{queue.pk}/"):
        page = words(reviewer.get(address))
        for told in said:
            assert told in page, told
        assert "has_errors" not in page.split("New queue")[0]
