"""Forms of comments in the review box."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from sessions_app.models import Comment, Session
from sessions_app.services.reviews import comments
from sessions_app.services.reviews.comments import Range
from sessions_app.services.reviews.problems import NotAllowed, Refused

from .. import access
from ..session.addresses import number, session_at
from .box import Entered, after, show


@require_POST
@access.reviewer
def add(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """A comment on the session, on events of it, or in answer to another comment."""
    session = session_at(request, agent_id, session_id)
    posted = request.POST
    words, first, last = (posted.get(name, "") for name in ("text", "first_seq", "last_seq"))
    parent = posted.get("parent", "")
    try:
        about = Range(_event(first), _event(last))
        answered = _comment(request, session, parent) if parent else None
        comments.add(session.pk, request.member, words, about, answered, by=access.actor(request))
    except Refused as refused:
        errors = {"comment": _as_sentence(refused), refused.field: _as_sentence(refused)}
        entered = Entered(errors, comment=words, first=first, last=last, parent=parent)
        return show(request, session, entered, 422)
    return after(request, session)


@require_POST
@access.reviewer
def change(request: access.DeskRequest, agent_id: UUID, session_id: UUID, comment_id: UUID) -> HttpResponse:
    """``do``: edit (with ``text``), delete, resolve or reopen."""
    session = session_at(request, agent_id, session_id)
    comment, words = _comment(request, session, str(comment_id)), request.POST.get("text", "")
    member, by = request.member, access.actor(request)
    try:
        match request.POST.get("do"):
            case "edit":
                comments.edit(comment, member, words, by=by)
            case "delete":
                comments.delete(comment, member, by=by)
            case "resolve" | "reopen" as what:
                comments.resolve(comment, member, resolved=what == "resolve", by=by)
            case other:
                raise Http404(gettext('There is no "%(other)s" of a comment.') % {"other": other})
    except NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    except Refused as refused:
        return show(
            request, session, Entered({"comment": _as_sentence(refused)}, comment=words, edited=str(comment.pk)), 422
        )
    return after(request, session)


def _as_sentence(refused: Refused) -> str:
    """Why, in a whole sentence: no label stands before it, as before a refusal in a form."""
    return gettext("The comment %(why)s.") % {"why": refused} if refused.field == "text" else f"{refused}."


def _event(value: str) -> int | None:
    """The number of an event; None where nothing was entered. Raises ``Refused``."""
    if not value.strip():
        return None
    found = number(value.strip())
    if found is None:
        raise Refused("first_seq", gettext('"%(value)s" is no number of an event') % {"value": value[:20]})
    return found


def _comment(request: access.DeskRequest, session: Session, id_: str) -> Comment:
    """A comment on this session; 404 otherwise."""
    try:
        found = access.one(Comment.objects.select_related("parent"), request, UUID(id_))
    except ValueError:
        found = None
    if found is None or found.session_id != session.pk:
        raise Http404(gettext("There is no such comment on this session."))
    return found
