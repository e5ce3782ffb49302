"""Reviews: verdicts and comments of people, rubrics, queues.

A verdict, a comment and a place in a queue are a person's: keys read them (not those of the role agent, nor of one
agent), and no key gives any (403).
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.queries.reviews import queues as queue_queries
from sessions_app.queries.reviews import verdicts as queries
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.services.reviews import assignments, comments, queues, rubrics, verdicts
from sessions_app.services.reviews.comments import Range
from sessions_app.services.reviews.problems import Refused

from ..auth import admin, reader, writer
from ..idempotency import once
from ..paging import Cursor, Limit, Page, keyset
from ..parsing import reply
from ..problems import Problem, invalid, not_found
from ..schemas.common import NOTHING, NoBody
from ..schemas.reviews import (
    Agreement,
    Comment,
    CommentChange,
    NewComment,
    NewQueue,
    NewRubric,
    NewVerdict,
    Queue,
    QueueProgress,
    Review,
    ReviewAssignment,
    Rubric,
    Verdict,
)
from ..schemas.sessions import Session as SessionSchema
from ..sessions import session_read, session_schema

router = Router(tags=["reviews"])
PERSON = "a review is a person's: sign in to give it; a key reads reviews, of whatever role it is"


def member_of(request: HttpRequest) -> models.Member:
    """The person who asks. Raises 403 for a key."""
    if request.auth.member_id is None:
        raise Problem(403, PERSON)
    return models.Member.objects.select_related("user").get(pk=request.auth.member_id)


@router.get("/reviews", auth=reader, response=Page[Verdict])
def list_verdicts(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the current verdicts of the workspace, newest first; withdrawn ones are left out."""
    found = models.Verdict.objects.filter(workspace=request.auth.workspace, is_current=True).exclude(says="")
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[Verdict.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/sessions/{uuid:session_id}/review", auth=reader, response=Review)
def read_review(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return what people say of a session: verdicts, comments, and whether the verdicts agree."""
    return reply(_review(session_read(request, session_id)))


@router.post("/sessions/{uuid:session_id}/verdict", auth=writer, response=Verdict)
def give_verdict(request: HttpRequest, session_id: UUID, new: NewVerdict) -> HttpResponse:
    """Give your verdict on a session, in place of your last one. The same again changes nothing. 403 for keys."""
    session, member = session_read(request, session_id), member_of(request)
    said = verdicts.Said(new.verdict, new.scores, new.note, new.last_seq)
    return reply(Verdict.from_row(verdicts.give(session.pk, member, said, by=request.auth.actor)))


@router.delete("/sessions/{uuid:session_id}/verdict", auth=writer, response={204: None})
def withdraw_verdict(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Withdraw your verdict; the history keeps it. Without one nothing changes. 403 for keys."""
    session, member = session_read(request, session_id), member_of(request)
    verdicts.withdraw(session.pk, member, by=request.auth.actor)
    return HttpResponse(status=204)


@router.post("/sessions/{uuid:session_id}/comments", auth=writer, response={201: Comment})
@once
def add_comment(request: HttpRequest, session_id: UUID, new: NewComment) -> HttpResponse:
    """Comment on a session or on some of its events, or reply to a comment. 403 for keys."""
    session, member = session_read(request, session_id), member_of(request)
    parent = models.Comment.objects.filter(session=session, pk=new.parent_id).select_related("parent").first()
    if new.parent_id and parent is None:
        raise invalid("/parent_id", "there is no such comment on this session")
    about = Range(new.first_seq, new.last_seq)
    made = comments.add(session.pk, member, new.text, about, parent, by=request.auth.actor)
    return reply(Comment.from_row(made), 201)


@router.patch("/sessions/{uuid:session_id}/comments/{uuid:comment_id}", auth=writer, response=Comment)
def change_comment(request: HttpRequest, session_id: UUID, comment_id: UUID, change: CommentChange) -> HttpResponse:
    """Change the text of your own comment, resolve or reopen anybody's, or both.

    403 for keys, and for the text of a comment of somebody else.
    """
    comment, member = _comment(request, session_id, comment_id), member_of(request)
    if change.text is not None:
        comments.edit(comment, member, change.text, by=request.auth.actor)
    if change.resolved is not None:
        comments.resolve(comment, member, resolved=change.resolved, by=request.auth.actor)
    return reply(Comment.from_row(models.Comment.objects.get(pk=comment.pk)))


@router.delete("/sessions/{uuid:session_id}/comments/{uuid:comment_id}", auth=writer, response={204: None})
def delete_comment(request: HttpRequest, session_id: UUID, comment_id: UUID) -> HttpResponse:
    """Delete your own comment, or as an admin anybody's: its text goes, its place in the thread stays. 403 for keys."""
    comment, member = _comment(request, session_id, comment_id), member_of(request)
    comments.delete(comment, member, by=request.auth.actor)
    return HttpResponse(status=204)


def _comment(request: HttpRequest, session_id: UUID, comment_id: UUID) -> models.Comment:
    """A comment on a session that the principal sees; 404 otherwise."""
    on_it = models.Comment.objects.filter(session=session_read(request, session_id)).select_related("parent")
    found = on_it.filter(pk=comment_id).first()
    if found is None:
        raise not_found("comment")
    return found


@router.post("/sessions/{uuid:session_id}/assign", auth=writer, response=SessionSchema)
def assign(request: HttpRequest, session_id: UUID, new: ReviewAssignment) -> HttpResponse:
    """Assign a session to a reviewer or an admin, or to nobody. 403 for keys; 422 for viewers."""
    session, member = session_read(request, session_id), member_of(request)
    here = models.Member.objects.filter(workspace=request.auth.workspace).select_related("user")
    assignee = here.filter(pk=new.assignee_id).first()
    if new.assignee_id and assignee is None:
        raise invalid("/assignee_id", "there is no such member in this workspace")
    try:
        assignments.assign([session.pk], assignee, member, by=request.auth.actor)
    except Refused as refused:
        raise invalid("/assignee_id", str(refused)) from None
    return reply(session_schema(session_read(request, session_id)))


@router.get("/reviews/rubrics", auth=reader, response=Page[Rubric])
def list_rubrics(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the rubrics in use, newest first."""
    rows, next_cursor = keyset(queries.rubrics_of(request.auth.workspace.id), "id", limit, cursor, UUID)
    return reply(Page(items=[Rubric.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/reviews/rubrics", auth=admin, response={201: Rubric})
@once
def add_rubric(request: HttpRequest, new: NewRubric) -> HttpResponse:
    """Add a rubric, which reviewers score from now on: at most 20 in use. 403 for keys; 422 for a name
    that is taken.
    """
    made = rubrics.add(member_of(request), new.name, new.kind, by=request.auth.actor)
    return reply(Rubric.from_row(made), 201)


@router.delete("/reviews/rubrics/{uuid:rubric_id}", auth=admin, response={204: None})
def retire_rubric(request: HttpRequest, rubric_id: UUID) -> HttpResponse:
    """Retire a rubric: it is no longer scored, and the scores that were given stay. 403 for keys."""
    member = member_of(request)
    rubric = models.Rubric.objects.filter(workspace=request.auth.workspace, pk=rubric_id).first()
    if rubric is None:
        raise not_found("rubric")
    rubrics.retire(rubric, member, by=request.auth.actor)
    return HttpResponse(status=204)


@router.get("/reviews/queues", auth=reader, response=Page[Queue])
def list_queues(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the review queues that are open, newest first."""
    rows, next_cursor = keyset(queue_queries.open_queues(request.auth.workspace.id), "id", limit, cursor, UUID)
    return reply(Page(items=[Queue.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/reviews/queues", auth=writer, response={201: Queue})
@once
def make_queue(request: HttpRequest, new: NewQueue) -> HttpResponse:
    """Make a review queue of the sessions that pass a filter, or of a share of them. 403 for keys."""
    made = queues.make(member_of(request), new.rules(), by=request.auth.actor)
    return reply(Queue.from_row(made), 201)


@router.get("/reviews/queues/{uuid:queue_id}", auth=reader, response=QueueProgress)
def read_queue(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    """Return a queue, how much of it is left, and whether its reviewers agree. 409 when its filter is no
    longer valid.
    """
    queue = _queue(request, queue_id)
    try:
        progress = queue_queries.progress_of(queue)
        agreed = Agreement.from_value(queue_queries.agreement_in(queue))
    except BadFilter as bad:
        raise _stale(bad) from None
    counted = {"sessions": progress.sessions, "left": progress.left, "more": progress.more}
    return reply(QueueProgress.from_row(queue, agreement=agreed, **counted))


@router.post("/reviews/queues/{uuid:queue_id}/next", auth=writer, response={200: SessionSchema, 204: None})
def take_next(request: HttpRequest, queue_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Take the next session of a queue; nobody else is given it for half an hour. 204 when none is left.

    403 for keys; 409 when the queue is closed or its filter is no longer valid.
    """
    queue, member = _queue(request, queue_id), member_of(request)
    if queue.closed_at:
        raise Problem(409, "this queue is closed")
    try:
        session = assignments.take_next(queue, member)
    except BadFilter as bad:
        raise _stale(bad) from None
    return reply(session_schema(session_read(request, session.pk))) if session else HttpResponse(status=204)


@router.post("/reviews/queues/{uuid:queue_id}/close", auth=writer, response=Queue)
def close_queue(request: HttpRequest, queue_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Close a queue: no more sessions are given out of it. A second time changes nothing. 403 for keys."""
    queue = _queue(request, queue_id)
    queues.close(queue, member_of(request), by=request.auth.actor)
    queue.refresh_from_db()
    return reply(Queue.from_row(queue))


def _queue(request: HttpRequest, queue_id: UUID) -> models.ReviewQueue:
    queue = models.ReviewQueue.objects.filter(workspace=request.auth.workspace, pk=queue_id).first()
    if queue is None:
        raise not_found("review queue")
    return queue


def _stale(bad: BadFilter) -> Problem:
    return Problem(409, f"the filter of this queue cannot be understood: {bad.field}: {bad}")


def _review(session: models.Session) -> Review:
    found = queries.review_of(session)
    said = models.Comment.objects.filter(session=session).order_by("id")[: comments.MOST]
    return Review(
        session_id=session.pk, verdict=session.verdict, assignee_id=session.assignee_id,
        verdicts=[Verdict.from_row(one) for one in found.current],
        earlier=[Verdict.from_row(one) for one in found.earlier],
        agreement=Agreement.from_value(found.agreement), comments=[Comment.from_row(one) for one in said],
    )  # fmt: skip
