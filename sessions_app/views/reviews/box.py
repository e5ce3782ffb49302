"""The review box of a session's page: verdicts, who is to review it, who has read it, comments."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from sessions_app.models import Comment, Member, ReviewQueue, Role, Session, Verdict
from sessions_app.queries import members
from sessions_app.queries.reviews import comments as comment_queries
from sessions_app.queries.reviews import queues as queue_queries
from sessions_app.queries.reviews import seen as seen_queries
from sessions_app.queries.reviews import verdicts as queries
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.rendering import markdown
from sessions_app.services.reviews import assignments, comments, seen, verdicts
from sessions_app.services.reviews.problems import Refused

from .. import access
from ..pages import wants_fragment
from ..session.addresses import event_url, fragment, number, session_at

FIELDS = {"says": "verdict", "verdict": "verdict", "scores": "scores", "note": "note", "last_seq": "verdict"}


@dataclass(frozen=True, slots=True)
class Given:
    """A verdict as the box shows it."""

    verdict: Verdict
    note: SafeString
    newer: int
    """Events of the session that came after those that it is about."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A comment as the box shows it, with its replies."""

    comment: Comment
    html: SafeString
    url: str
    is_mine: bool
    may_delete: bool
    edited: str = ""
    """What its author made of it, and was refused."""
    answer: str = ""
    """What somebody wrote in reply to it, and was refused."""
    replies: list[Shown] = field(default_factory=list)

    @property
    def ids(self) -> set[str]:
        """Of the comment and its replies."""
        return {str(one.comment.pk) for one in (self, *self.replies)}


@dataclass(slots=True)
class Entered:
    """What somebody entered and was refused, to be shown again with the reason."""

    errors: dict[str, str] = field(default_factory=dict)
    verdict: str = ""
    note: str = ""
    scores: dict[str, str] = field(default_factory=dict)
    comment: str = ""
    first: str = ""
    last: str = ""
    parent: str = ""
    """Id of the comment that it replies to."""
    edited: str = ""
    """Id of the comment that is edited."""


@require_safe
@access.viewer
def box(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The box by itself: the page fetches it when it is shown."""
    session = session_at(request, agent_id, session_id)
    comments.read_mentions(request.member, session)
    return show(request, session)


def in_page(request: access.DeskRequest, session: Session) -> SafeString:
    """The box as a part of the page whose address leads to a comment (``?comment=ID``): its place is there at once,
    without a script as well. Empty where the address names none.
    """
    asked = request.GET.get("comment", "")
    if not asked:
        return SafeString()
    comments.read_mentions(request.member, session)
    context = context_of(request, session, Entered())
    context["is_resolved"] = any(asked in one.ids for one in context["resolved"])
    context["is_missing"] = not any(asked in one.ids for one in (*context["resolved"], *context["threads"]))
    return render_to_string("sessions/reviews/_review.html", context, request)


def show(
    request: access.DeskRequest, session: Session, entered: Entered | None = None, status: int = 200
) -> HttpResponse:
    """The box as it is now. What was refused stands in its fields again."""
    context = context_of(request, session, entered or Entered())
    response = fragment(request, "sessions/reviews/_review.html", context, gettext("Review"))
    response.status_code = status
    return response


def after(request: access.DeskRequest, session: Session) -> HttpResponse:
    """What a form of the box answers: the box in its place, or the page again without JavaScript."""
    if wants_fragment(request):
        return show(request, session)
    queue = _queue(request, session)
    return redirect(f"{event_url(session, None)}{f'?queue={queue.pk}' if queue else ''}#review")


def context_of(request: access.DeskRequest, session: Session, entered: Entered) -> dict[str, Any]:
    """Everything that the box shows, in a number of queries that does not grow with what was said."""
    review = queries.review_of(session)
    mine = review.of(request.member.user_id)
    threads = [_thread(one, session, request.member, entered) for one in comment_queries.threads_of(session)]
    open_ones = [one for one in threads if not one.comment.resolved_at]
    may = Role(request.member.role).covers(Role.REVIEWER)
    return {
        "session": session, "base": event_url(session, None), "review": review, "mine": mine, "entered": entered,
        "given": [_given(one, session) for one in review.current],
        "earlier": [_given(one, session) for one in review.earlier],
        "rubrics": _rubrics(session, mine, entered) if may else [],
        "says": entered.verdict or (mine.says if mine else ""),
        "note": entered.note or (mine.note if mine else ""),
        "threads": open_ones, "resolved": [one for one in threads if one.comment.resolved_at],
        "counts_json": json.dumps(Counter(one.comment.first_seq for one in open_ones if one.comment.first_seq)),
        "readers": seen_queries.readers_of(session),
        "may_review": may, "people": list(members.deciders(session.workspace_id)) if may else [],
        "queue": _queue(request, session),
    }  # fmt: skip


def _rubrics(session: Session, mine: Verdict | None, entered: Entered) -> list[tuple[Any, str]]:
    """Rubrics in use, each with the value that its field has."""
    before = {one["name"]: _as_field(one["value"]) for one in mine.scores} if mine else {}
    found = queries.rubrics_of(session.workspace_id)
    return [(one, entered.scores.get(str(one.pk), before.get(one.name, ""))) for one in found]


def _as_field(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _given(verdict: Verdict, session: Session) -> Given:
    return Given(verdict, html_of(verdict.note), session.last_seq - verdict.last_seq)


def html_of(words: str) -> SafeString:
    """Markdown of a person, rendered as messages are: without HTML of its own, images or strange links."""
    return mark_safe(markdown.render(words))  # noqa: S308 - sanitised by an allow-list


def _thread(thread: comment_queries.Thread, session: Session, member: Member, entered: Entered) -> Shown:
    shown = _comment(thread.comment, session, member, entered)
    shown.replies.extend(_comment(one, session, member, entered) for one in thread.replies)
    return shown


def _comment(comment: Comment, session: Session, member: Member, entered: Entered) -> Shown:
    is_mine = comment.user_id == member.user_id
    is_admin = Role(member.role).covers(Role.ADMIN)
    return Shown(
        comment, html_of(comment.text), event_url(session, comment.first_seq) if comment.first_seq else "",
        is_mine and not comment.deleted_at, (is_mine or is_admin) and not comment.deleted_at,
        entered.comment if entered.edited == str(comment.pk) else "",
        entered.comment if entered.parent == str(comment.pk) else "",
    )  # fmt: skip


def _queue(request: access.DeskRequest, session: Session) -> ReviewQueue | None:
    """The queue that the reader came from, as the address says."""
    try:
        asked = UUID(request.POST.get("queue") or request.GET.get("queue") or "")
    except ValueError:
        return None
    return queue_queries.open_queues(session.workspace_id).filter(pk=asked).first()


@require_POST
@access.reviewer
def verdict(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Give one's verdict; with ``then=next`` on to the next session of the queue."""
    session = session_at(request, agent_id, session_id)
    posted = request.POST
    scores = {name.removeprefix("score-"): value for name, value in posted.items() if name.startswith("score-")}
    said = verdicts.Said(posted.get("verdict", ""), scores, posted.get("note", ""), number(posted.get("last_seq")))
    try:
        verdicts.give(session.pk, request.member, said, by=access.actor(request))
    except Refused as refused:
        told = f"{refused}."
        if refused.field == "verdict" and not said.says:
            told = gettext("Choose pass, fail or unsure.")
        elif refused.field == "note":
            told = gettext("The note %(why)s.") % {"why": refused}
        errors = {FIELDS.get(refused.field, "verdict"): told}
        return show(request, session, Entered(errors, said.says, said.note, scores), 422)
    queue = _queue(request, session)
    if queue and posted.get("then") == "next":
        return to_next(request, queue)
    session.refresh_from_db(fields=["verdict"])
    return after(request, session)


def to_next(request: access.DeskRequest, queue: ReviewQueue) -> HttpResponse:
    """On to the next session of a queue, or to the queue where none is left."""
    session = None
    try:
        session = assignments.take_next(queue, request.member)
    except BadFilter as bad:
        messages.error(
            request,
            gettext("The filter of this queue cannot be read: %(field)s: %(bad)s") % {"field": bad.field, "bad": bad},
        )
    else:
        if session is None:
            messages.success(request, gettext("Nothing is left for you in %(name)s.") % {"name": queue.name})
    if session is None:
        answer = redirect("review-queue", queue.pk)
    else:
        answer = redirect(f"{event_url(session, None)}?queue={queue.pk}")
    return HttpResponseClientRedirect(answer.url) if wants_fragment(request) else answer


@require_POST
@access.reviewer
def withdraw(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Take one's verdict back."""
    session = session_at(request, agent_id, session_id)
    verdicts.withdraw(session.pk, request.member, by=access.actor(request))
    session.refresh_from_db(fields=["verdict"])
    return after(request, session)


@require_POST
@access.reviewer
def assign(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Give the session to somebody, or to nobody."""
    session = session_at(request, agent_id, session_id)
    try:
        to = member_named(request, request.POST.get("assignee", ""))
        assignments.assign([session.pk], to, request.member, by=access.actor(request))
    except Refused as refused:
        return show(request, session, Entered({"assignee": str(refused)}), 422)
    session.refresh_from_db(fields=["assignee"])
    return after(request, session)


def member_named(request: access.DeskRequest, id_: str) -> Member | None:
    """A member of the workspace by id; None for nobody. Raises ``Refused``."""
    if not id_:
        return None
    try:
        found = Member.objects.filter(workspace_id=request.member.workspace_id, pk=UUID(id_)).first()
    except ValueError:
        found = None
    if found is None:
        raise Refused("assignee", gettext("choose a member of this workspace"))
    return found


@require_POST
@access.viewer
def mark_seen(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """How far the reader has come (``seq``), as the page tells when it is left."""
    session = session_at(request, agent_id, session_id)
    seen.note(session, request.member, number(request.POST.get("seq")) or 0)
    return HttpResponse(status=204)
