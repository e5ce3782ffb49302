"""What is out of sight in a session: for who reads its messages to go on with it, and for its page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import F, IntegerField, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from sessions_app.models import HiddenSpan, Pruning, Session

Rows = TypeVar("Rows", bound=Model)
Span = tuple[int, int]
"""First and last event."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Spans in their order, and the text that stands in place of what is out of sight up to ``through_seq``."""

    spans: Sequence[Span] = ()
    summary: str = ""
    through_seq: int = 0

    def holds(self, seq: int) -> bool:
        """Whether an event is out of sight."""
        place = bisect_right(self.spans, (seq, 2**31)) - 1
        return place >= 0 and self.spans[place][1] >= seq


def of_session(session_id: UUID) -> Hidden:
    """All that is out of sight in a session."""
    spans = list(
        HiddenSpan.objects.filter(session_id=session_id).order_by("first_seq").values_list("first_seq", "last_seq")
    )
    told = summary_of(session_id) if spans else None
    return Hidden(spans, told.summary, told.last_seq) if told else Hidden(spans)


def summary_of(session_id: UUID) -> Pruning | None:
    """The newest marker with a summary: it tells of all before it, too."""
    return Pruning.objects.filter(session_id=session_id, shown_at=None).exclude(summary="").order_by("-id").first()


def in_sight(rows: QuerySet[Rows], session_id: UUID, seq: str = "seq") -> QuerySet[Rows]:
    """Rows of a session but those whose event, which stands in the column ``seq``, is out of sight.

    Spans do not overlap: the last that begins before an event alone can hold it, and one step in the index finds it.
    """
    before = HiddenSpan.objects.filter(session_id=session_id, first_seq__lte=OuterRef(seq)).order_by("-first_seq")
    reach = Coalesce(Subquery(before.values("last_seq")[:1]), 0, output_field=IntegerField())
    return rows.alias(hidden_to=reach).exclude(hidden_to__gte=F(seq))


def known_of(session: Session) -> list[HiddenSpan]:
    """The spans of a session; nobody is asked where it was read with its retention and has none."""
    if getattr(session, "retention", None) is None:
        return []
    return list(HiddenSpan.objects.filter(session_id=session.pk).order_by("first_seq"))


def is_hidden(session: Session, seq: int) -> bool:
    """Whether an event of a session is out of sight."""
    return any(span.first_seq <= seq <= span.last_seq for span in known_of(session))


def markers_of(session_id: UUID, first_seq: int, last_seq: int, limit: int) -> list[Pruning]:
    """What took events between two out of sight, the newest first."""
    found = Pruning.objects.filter(
        session_id=session_id, shown_at=None, first_seq__lte=last_seq, last_seq__gte=first_seq
    )  # fmt: skip
    return list(found.order_by("-id")[:limit])


def spans_before(session_id: UUID, seq: int, limit: int) -> list[HiddenSpan]:
    """Spans that begin before an event, the last first."""
    return list(HiddenSpan.objects.filter(session_id=session_id, first_seq__lt=seq).order_by("-first_seq")[:limit])


def markers(session_id: UUID, limit: int) -> list[Pruning]:
    """What was pruned, the newest first."""
    return list(Pruning.objects.filter(session_id=session_id).order_by("-id")[:limit])
