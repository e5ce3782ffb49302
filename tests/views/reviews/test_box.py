"""The review box: verdicts, assignment, reading and comments on a session's page, by those who may."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Comment, Member, Mention, SeenMark, Session, TakenSession, Verdict
from sessions_app.services import audit
from sessions_app.services.reviews import queues, rubrics
from tests.services.build import append, user

from ..build import session_of, words
from ..session.build import path_of

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def read(agent) -> Session:
    """A session of two events."""
    return session_of(agent)


def post(client, session, what, form=None, **headers):
    return client.post(f"{path_of(session)}/{what}", form or {}, **headers)


def member(name: str) -> Member:
    return Member.objects.get(user__first_name=name)


def test_the_page_has_the_box_and_asks_for_it(reviewer, read):
    page = reviewer.get(f"{path_of(read)}?queue=%22%3E").content.decode()
    assert f'hx-get="{path_of(read)}/review?queue=%22%3E"' in page
    assert "Not reviewed yet" in words(reviewer.get(f"{path_of(read)}/review"))


def test_a_verdict_is_given_changed_and_withdrawn(reviewer, read):
    answer = post(reviewer, read, "verdict", {"verdict": "fail", "note": "It *lied*.", "last_seq": "2"}, **HTMX)
    assert "<em>lied</em>" in answer.content.decode() and "Your verdict" in words(answer)
    assert "Fail Rosa" in words(answer)
    answer = post(reviewer, read, "verdict", {"verdict": "pass", "last_seq": "2"}, **HTMX)
    assert "Earlier verdicts (1)" in words(answer)
    assert "Not reviewed yet" in words(post(reviewer, read, "verdict/withdraw", **HTMX))
    assert Session.objects.get(pk=read.pk).verdict == ""


def test_without_javascript_a_verdict_leads_back_to_the_page(reviewer, read):
    answer = post(reviewer, read, "verdict", {"verdict": "pass"})
    assert (answer.status_code, answer.url) == (302, f"{path_of(read)}#review")


def test_a_verdict_about_less_than_there_is_now_says_so(reviewer, read):
    post(reviewer, read, "verdict", {"verdict": "pass", "last_seq": "2"})
    append(read, user("One more thing"))
    assert "about the first 2 events; 1 newer" in words(reviewer.get(f"{path_of(read)}/review"))


def test_what_was_entered_stays_when_it_is_refused(reviewer, admin, read):
    tone = rubrics.add(member("Ada"), "Tone", "scale", by=audit.COMMAND)
    form = {"note": "half a thought", f"score-{tone.pk}": "9", "verdict": "pass"}
    answer = post(reviewer, read, "verdict", form, **HTMX)
    assert answer.status_code == 422
    assert "is scored from 1 to 5" in words(answer) and "half a thought" in answer.content.decode()
    answer = post(reviewer, read, "verdict", {"note": "no choice"}, **HTMX)
    assert "Choose pass, fail or unsure." in words(answer)
    assert not Verdict.objects.exists()


@pytest.mark.parametrize("what", ["verdict", "verdict/withdraw", "assign", "comments"])
def test_a_viewer_reads_and_says_nothing(viewer, read, what):
    assert post(viewer, read, what, {"verdict": "pass", "text": "x"}).status_code == 403
    page = viewer.get(f"{path_of(read)}/review").content.decode()
    assert "<form" not in page.split("<main", 1)[1].split("</main>", 1)[0]


@pytest.mark.parametrize("what", ["review", "verdict", "assign", "comments", "seen"])
def test_a_session_of_another_workspace_is_not_there(charlie, read, what):
    method = charlie.get if what == "review" else charlie.post
    assert method(f"{path_of(read)}/{what}").status_code == 404


def test_it_is_assigned_to_a_reviewer_of_this_workspace(reviewer, viewer, charlie, read):
    post(reviewer, read, "assign", {"assignee": str(member("Rosa").pk)})
    assert Session.objects.get(pk=read.pk).assignee == member("Rosa")
    assert "For you Reviews 1 session is yours to review" in words(reviewer.get("/"))
    assert "For you" not in words(viewer.get("/"))
    for nobody, why in (("Vito", "is a viewer"), ("Charlie", "choose a member of this workspace")):
        answer = post(reviewer, read, "assign", {"assignee": str(member(nobody).pk)}, **HTMX)
        assert answer.status_code == 422 and why in words(answer)
    post(reviewer, read, "assign", {"assignee": ""})
    assert Session.objects.get(pk=read.pk).assignee is None


def test_how_far_one_has_read_only_grows_and_ends_with_the_session(viewer, read):
    for seq in ("1", "2", "1", "999", "x"):
        assert post(viewer, read, "seen", {"seq": seq}).status_code == 204
    assert [mark.seq for mark in SeenMark.objects.all()] == [read.last_seq]
    append(read, user("More"))
    assert "Vito up to event 2 of 3" in words(viewer.get(f"{path_of(read)}/review"))


def test_comments_are_said_answered_edited_resolved_and_deleted(reviewer, admin, read):
    page = post(reviewer, read, "comments", {"text": "Why **this**? @ada", "first_seq": "1", "last_seq": "2"}, **HTMX)
    assert "<strong>this</strong>" in page.content.decode() and "event 1–2" in words(page)
    assert 'data-comments="{&quot;1&quot;: 1}"' in page.content.decode()
    comment = Comment.objects.get()
    post(admin, read, "comments", {"text": "Because.", "parent": str(comment.pk)})
    assert Comment.objects.get(parent=comment).first_seq == 1
    change = f"comments/{comment.pk}"
    assert "Why *not*? edited" not in words(post(reviewer, read, change, {"do": "edit", "text": "Why *not*?"}, **HTMX))
    assert "edited" in words(reviewer.get(f"{path_of(read)}/review"))
    assert "Resolved (1)" in words(post(admin, read, change, {"do": "resolve"}, **HTMX))
    assert "Comments (1)" in words(post(reviewer, read, change, {"do": "reopen"}, **HTMX))
    assert "This comment was deleted." in words(post(reviewer, read, change, {"do": "delete"}, **HTMX))
    assert Comment.objects.get(pk=comment.pk).text == ""


def test_who_is_named_finds_it_until_they_look(reviewer, admin, read):
    post(reviewer, read, "comments", {"text": "Look, @Ada: @rosa@example.org and @nobody wonder"})
    assert [mention.member for mention in Mention.objects.all()] == [member("Ada")]
    assert "You are mentioned Rosa in Order 4711" in words(admin.get("/reviews/"))
    assert "For you Reviews Rosa in Order 4711" in words(admin.get("/"))
    assert "For you" not in words(reviewer.get("/"))
    assert "You are mentioned" not in words(reviewer.get("/reviews/"))
    admin.get(f"{path_of(read)}/review")
    assert "You are mentioned" not in words(admin.get("/reviews/"))


def test_a_mention_leads_to_the_very_comment_without_a_script(reviewer, admin, read):
    """It led to the box, which is an empty heading until a script has fetched it."""
    post(reviewer, read, "comments", {"text": "Something else"})
    post(reviewer, read, "comments", {"text": "Look at this", "parent": str(Comment.objects.get().pk)})
    reply = Comment.objects.get(parent__isnull=False)
    post(reviewer, read, "comments", {"text": "And @Ada here", "parent": str(reply.parent_id)})
    named = Comment.objects.latest("pk")
    path = f"{path_of(read)}?comment={named.pk}"
    for place in ("/", "/reviews/"):
        assert f'href="{path}#comment-{named.pk}"' in admin.get(place).content.decode()
    page = admin.get(path).content.decode()
    assert f'id="comment-{named.pk}"' in page and f'id="comment-{reply.pk}"' in page and page.count('id="review"') == 1
    assert "You are mentioned" not in words(admin.get("/reviews/")), "it was read"
    post(reviewer, read, f"comments/{reply.parent_id}", {"do": "resolve"})
    assert 'id="review-resolved" open>' in admin.get(path).content.decode()
    gone = reviewer.get(f"{path_of(read)}?comment=%22%3E").content.decode()
    assert "is not here any more" in gone and f'id="comment-{reply.pk}"' in gone


def test_a_comment_is_changed_by_its_author_and_deleted_by_an_admin_as_well(reviewer, admin, read):
    post(reviewer, read, "comments", {"text": "Mine"})
    change = f"comments/{Comment.objects.get().pk}"
    assert post(admin, read, change, {"do": "edit", "text": "Yours"}).status_code == 403
    assert Comment.objects.get().text == "Mine"
    assert post(admin, read, change, {"do": "delete"}).status_code == 302
    assert post(reviewer, read, change, {"do": "edit", "text": "Back"}, **HTMX).status_code == 422
    assert post(reviewer, read, change, {"do": "shout"}).status_code == 404


@pytest.mark.parametrize(
    ("first", "last"), [("0", "1"), ("2", "1"), ("1", "99"), ("x", ""), ("-1", ""), ("99999999999", "")]
)
def test_a_comment_is_on_events_that_there_are(reviewer, read, first, last):
    answer = post(reviewer, read, "comments", {"text": "Here", "first_seq": first, "last_seq": last}, **HTMX)
    assert answer.status_code == 422 and "no number of an event" in words(answer) or "are no events" in words(answer)
    assert "Here" in answer.content.decode() and not Comment.objects.exists()


def test_an_answer_stays_on_the_session_of_its_comment(reviewer, agent, read):
    post(reviewer, read, "comments", {"text": "There"})
    other, id_ = session_of(agent), str(Comment.objects.get().pk)
    for parent in (id_, "x"):
        assert post(reviewer, other, "comments", {"text": "Here", "parent": parent}).status_code == 404
    assert post(reviewer, other, f"comments/{id_}", {"do": "delete"}).status_code == 404


def test_hostile_words_run_nothing(reviewer, read):
    bad = "<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202egnp.exe"
    post(reviewer, read, "comments", {"text": bad})
    page = post(reviewer, read, "verdict", {"verdict": "fail", "note": bad}, **HTMX).content.decode()
    shown = page.replace("&lt;", "").split("<textarea")
    assert not any("<script" in part or "<img" in part or 'href="javascript' in part for part in shown)


def test_queries_do_not_grow_with_what_was_said(reviewer, admin, read):
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            reviewer.get(f"{path_of(read)}/review")
        return len(captured)

    post(reviewer, read, "comments", {"text": "One", "first_seq": "1"})
    post(reviewer, read, "verdict", {"verdict": "pass"})
    post(reviewer, read, "seen", {"seq": "1"})
    before = count()
    for number in range(5):
        post(admin, read, "comments", {"text": f"More {number}", "first_seq": "2"})
    post(admin, read, "verdict", {"verdict": "fail"})
    post(admin, read, "seen", {"seq": "2"})
    assert count() <= before <= 16


def test_save_and_next_goes_through_a_queue_to_its_end(reviewer, agent):
    first, second = (session_of(agent, title=title) for title in ("First", "Second"))
    queue = queues.make(member("Rosa"), queues.Rules("All"), by=audit.COMMAND)
    taken = reviewer.post(f"/reviews/queues/{queue.pk}/next")
    assert taken.url == f"{path_of(first)}?queue={queue.pk}"
    box = reviewer.get(f"{path_of(first)}/review?queue={queue.pk}")
    assert "Save and next in All" in words(box)
    answer = post(reviewer, first, "verdict", {"verdict": "pass", "queue": str(queue.pk), "then": "next"}, **HTMX)
    assert answer["HX-Redirect"] == f"{path_of(second)}?queue={queue.pk}"
    answer = post(reviewer, second, "verdict", {"verdict": "pass", "queue": str(queue.pk), "then": "next"})
    assert answer.url == f"/reviews/queues/{queue.pk}/"
    assert "Nothing is left for you in All." in words(reviewer.get(answer.url))
    assert not TakenSession.objects.exists()


def test_any_form_of_the_box_goes_on_with_the_queue(reviewer, agent):
    """It was lost with the first reply: the button to the next session was gone."""
    first, _ = (session_of(agent, title=title) for title in ("First", "Second"))
    queue = queues.make(member("Rosa"), queues.Rules("All"), by=audit.COMMAND)
    post(reviewer, first, "comments", {"text": "Why?"})
    page = reviewer.get(f"{path_of(first)}?queue={queue.pk}").content.decode()
    assert f'href="{path_of(first)}/review?queue={queue.pk}"' in page, "without scripts the box is a page of its own"
    box = reviewer.get(f"{path_of(first)}/review?queue={queue.pk}").content.decode()
    forms = box.split("<main", 1)[1].split("</main>", 1)[0].split("<form")[1:]
    assert len(forms) >= 7 and [form for form in forms if f'name="queue" value="{queue.pk}"' not in form] == []
    answer = post(reviewer, first, "verdict", {"verdict": "pass", "queue": str(queue.pk)})
    assert answer.url == f"{path_of(first)}?queue={queue.pk}#review"


def test_a_reply_and_an_edit_that_are_refused_stay_where_they_were_written(reviewer, read):
    post(reviewer, read, "comments", {"text": "Why?"})
    comment, long = Comment.objects.get(), "Because " * 3_000
    answer = post(reviewer, read, "comments", {"text": long, "parent": str(comment.pk)}, **HTMX).content.decode()
    assert "Because" in answer.split('name="parent"')[1].split("</form>")[0]
    answer = post(reviewer, read, f"comments/{comment.pk}", {"do": "edit", "text": long}, **HTMX).content.decode()
    assert "Because" in answer.split('value="edit"')[1].split("</form>")[0]
    assert answer.count("Because Because") == long.count("Because Because"), "and nowhere else"
    assert Comment.objects.get().text == "Why?"


def test_why_something_was_refused_is_a_whole_sentence(reviewer, read):
    """No label stands before it in the box: "is empty; say something" was all that a page said."""
    assert "The comment is empty; say something." in words(post(reviewer, read, "comments", {"text": " "}, **HTMX))
    long = {"verdict": "pass", "note": "x" * 10_001}
    assert "The note has 10,001 characters; use at most 10,000." in words(post(reviewer, read, "verdict", long, **HTMX))
    post(reviewer, read, "comments", {"text": "Why?"})
    change = f"comments/{Comment.objects.get().pk}"
    post(reviewer, read, change, {"do": "delete"})
    refused = post(reviewer, read, change, {"do": "edit", "text": "Or not"}, **HTMX)
    assert "The comment was deleted meanwhile." in words(refused)
