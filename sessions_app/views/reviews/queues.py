"""Reviews: queues with what is left in them, where one is named, and verdicts as a table."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import ReviewQueue, Role, Verdict
from sessions_app.models.session_order import STARTED
from sessions_app.queries.reviews import comments as comment_queries
from sessions_app.queries.reviews import queues as queries
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.queries.sessions.run_summaries import note_summaries
from sessions_app.services.reviews import queues
from sessions_app.services.reviews.problems import Refused

from .. import access
from ..filter_words import rules_in_words
from ..pages import page_or_fragment
from ..tables import CSV_ROWS, csv_response
from . import box

MENTIONS, ROWS = 20, 50
READY = (
    (_("Failures"), "has_errors=true", 100), (_("A sample of all"), "", 5), (_("Over $5"), "min_cost=5", 100),
    (_("Needs approval"), "needs_approval=true", 100), (_("With findings"), "finding=any", 100),
    (_("Tests left failing"), "finding=tests_failing", 100),
)  # fmt: skip
"""Queues that can be made with one click: name, filter and share. Those of rules that are off are not offered."""
HEAD = (
    "session", "title", "agent", "started at", "reviewer", "verdict", "note", "about event", "last event",
    "given at", "current",
)  # fmt: skip


class QueueForm(forms.Form):
    """A queue to make."""

    name = forms.CharField(max_length=queues.MOST_NAME, label=_("Name"))
    filter = forms.CharField(
        max_length=queues.MOST_FILTER, required=False, label=_("Filter"),
        help_text=_(
            "What follows the ? in the address of a filtered session list, such as has_errors=true&agent=refunds. "
            "Leave it empty for all sessions."
        ),
    )  # fmt: skip
    percent = forms.DecimalField(
        initial=100, min_value=Decimal("0.01"), max_value=100, decimal_places=2, label=_("Share of them, %"),
        help_text=_("The sample is reproducible: sessions are chosen by a hash of their id and the seed."),
    )  # fmt: skip
    wanted = forms.IntegerField(
        initial=1, min_value=1, max_value=queues.MOST_WANTED, label=_("Reviewers for each session")
    )
    seed = forms.CharField(
        max_length=32, required=False, label=_("Seed"),
        help_text=_("Leave it empty for a random one. The same seed gives the same sample."),
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Queues of the workspace, what is assigned to the reader, and where they are named."""
    if request.method != "POST":
        asked = {name: request.GET[name] for name in ("name", "filter", "percent") if name in request.GET}
        return _index(request, QueueForm(initial=asked))
    access.require(request.member, Role.REVIEWER)
    form = QueueForm(request.POST)
    if not form.is_valid():
        return _index(request, form, 422)
    try:
        made = queues.make(request.member, queues.Rules(**form.cleaned_data), by=access.actor(request))
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _index(request, form, 422)
    return redirect("review-queue", made.pk)


def _index(request: access.DeskRequest, form: QueueForm, status: int = 200) -> HttpResponse:
    listed = list(queries.open_queues(request.member.workspace_id))
    mentions = list(comment_queries.mentions_of(request.member)[: MENTIONS + 1])
    mine = list(queries.assigned_to(request.member)[:ROWS])
    note_summaries(mine, request.member.workspace.rules_off)
    context = {
        "form": form, "queues": listed, "rules": rules_in_words(listed, request.member.workspace_id),
        "mine": mine,
        "mentions": mentions[:MENTIONS], "more_mentions": len(mentions) > MENTIONS,
        "may_review": Role(request.member.role).covers(Role.REVIEWER), "is_bound": form.is_bound,
        "ready": [one for one in READY if one[1].removeprefix("finding=") not in request.member.workspace.rules_off],
    }  # fmt: skip
    return render(request, "reviews/index.html", context, status=status)


@require_safe
@access.viewer
def queue(request: access.DeskRequest, queue_id: UUID) -> HttpResponse:
    """One queue: its rule, how far it is, agreement, and what is left in it."""
    found = access.one(ReviewQueue.objects.all(), request, queue_id)
    context: dict[str, Any] = {"queue": found, "may_review": Role(request.member.role).covers(Role.REVIEWER)}
    context["rules"] = rules_in_words([found], request.member.workspace_id)
    try:
        left = list(queries.left_in(found).order_by(STARTED, "id")[: ROWS + 1])
        note_summaries(left, request.member.workspace.rules_off)
        context |= {"sessions": left[:ROWS], "has_more": len(left) > ROWS, "progress": queries.progress_of(found)}
        context |= {"agreement": queries.agreement_in(found)}
    except BadFilter as bad:
        context["problem"] = f"{bad.field}: {bad}"
    return render(request, "reviews/queue.html", context)


@require_safe
@access.viewer
def progress(request: access.DeskRequest, queue_id: UUID) -> HttpResponse:
    """How far a queue is: the page of all queues fetches it of each, since it has to be counted."""
    found = access.one(ReviewQueue.objects.all(), request, queue_id)
    context: dict[str, Any] = {"queue": found}
    try:
        context["progress"] = queries.progress_of(found)
    except BadFilter as bad:
        context["problem"] = f"{bad.field}: {bad}"
    return page_or_fragment(request, "reviews/progress.html", "reviews/_progress.html", context)


@require_POST
@access.reviewer
def take_next(request: access.DeskRequest, queue_id: UUID) -> HttpResponse:
    """On to the next session that nobody else is at."""
    found = access.one(ReviewQueue.objects.filter(closed_at=None), request, queue_id)
    return box.to_next(request, found)


@require_POST
@access.reviewer
def close(request: access.DeskRequest, queue_id: UUID) -> HttpResponse:
    """Give nothing out of it any more."""
    found = access.one(ReviewQueue.objects.all(), request, queue_id)
    queues.close(found, request.member, by=access.actor(request))
    messages.success(request, gettext("%(queue)s is closed. Verdicts stay.") % {"queue": found.name})
    return redirect("review-list")


@require_safe
@access.viewer
def verdicts_csv(request: access.DeskRequest) -> HttpResponse:
    """Every verdict of the workspace, or of ``?queue=``, earlier ones included; scores in columns of their own."""
    rows = Verdict.objects.filter(workspace_id=request.member.workspace_id)
    if asked := request.GET.get("queue"):
        try:
            found = access.one(ReviewQueue.objects.all(), request, UUID(asked))
            rows = rows.filter(session__in=queries.sessions_in(found).values("pk"))
        except ValueError:
            return _plain(gettext('"%(asked)s" is no queue') % {"asked": asked[:40]})
        except BadFilter as bad:
            return _plain(f"{bad.field}: {bad}")
    verdicts = list(_with_sessions(rows).order_by("id")[:CSV_ROWS])
    names = sorted({score["name"] for verdict in verdicts for score in verdict.scores})
    head = (*HEAD, *(f"score: {name}" for name in names))
    return csv_response("verdicts.csv", head, (_cells(one, names) for one in verdicts))


def _plain(words: str) -> HttpResponse:
    return HttpResponse(words, content_type="text/plain; charset=utf-8", status=400)


def _with_sessions(rows: QuerySet[Verdict]) -> QuerySet[Verdict]:
    read = ("session__title", "session__started_at", "session__last_seq", "session__agent__name")
    return rows.select_related("session__agent").only(
        "by", "says", "scores", "note", "last_seq", "at", "is_current", *read
    )


def _cells(verdict: Verdict, names: list[str]) -> Iterator[Any]:
    session = verdict.session
    yield from (
        str(session.pk), str(session), session.agent.name, session.started_at, verdict.by,
        verdict.says or "withdrawn", verdict.note, verdict.last_seq, session.last_seq, verdict.at,
        "yes" if verdict.is_current else "no",
    )  # fmt: skip
    scores = {score["name"]: score["value"] for score in verdict.scores}
    for name in names:
        value = scores.get(name)
        yield {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
