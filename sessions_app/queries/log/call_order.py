"""Tool calls of a session in another order than they happened: by tool, result, object, time taken or cost.

A page goes on behind the call that the one before ended with, whose place in the order is looked up: the address
names an event, whatever the order is by.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Left

from sessions_app.models import Event, ModelRequest, ToolCall

from .lenses import COST, TOOK, CallFilter, Calls
from .timeline import Entry, Window

SORTS = ("tool", "result", "object", "took", "cost")
"""What the calls can be sorted by; with a minus in front the other way round."""
ROWS = 24
"""Of one page, which is a screen of them: in an order nothing leaves the page and comes back by itself."""
OBJECT = 200
"""Characters of what a call is about that its place in the order depends on."""
ABOUT = (
    "file_path", "path", "absolute_path", "target_file", "notebook_path", "filename", "command", "cmd", "script", "url",
    "uri", "query", "q", "pattern", "regex", "glob", "dir_path", "question", "description", "prompt", "name", "title",
    "id",
)  # fmt: skip
"""Members of the arguments that say what a call is about, as ``rendering.toolline`` reads them; the first counts."""
RESULTS = ("error", "denied", "cancelled")
LONGEST, DEAREST = timedelta(days=36_500), Decimal(10**9)


@dataclass(frozen=True, slots=True)
class Order:
    """An order of calls. Those of which nothing is known come last, either way."""

    by: str
    down: bool

    @classmethod
    def named(cls, name: str) -> Order | None:
        """The order that an address names (``-took``), None for any other word."""
        by = name.removeprefix("-")
        return cls(by, name.startswith("-")) if by in SORTS else None

    def __str__(self) -> str:
        return f"-{self.by}" if self.down else self.by

    def placed(self, calls: QuerySet[ToolCall], session_id: UUID) -> QuerySet[ToolCall]:
        """The calls with their place in the order as ``place``."""
        return calls.annotate(place=self._place(session_id))

    def sorted(self, calls: QuerySet[Any], *, back: bool = False) -> QuerySet[Any]:
        """``placed`` calls in this order, or the other way round; at the same place as they happened."""
        return calls.order_by("-place" if self.down != back else "place", "-seq" if back else "seq")

    def behind(self, place: Any, seq: int, *, back: bool = False, itself: bool = False) -> Q:
        """Calls behind (or before, ``back``) the one at a place; with that one, where ``itself``."""
        further = Q(**{f"place__{'lt' if self.down != back else 'gt'}": place})
        beside = f"seq__{'lt' if back else 'gt'}{'e' if itself else ''}"
        return further | Q(place=place, **{beside: seq})

    def _place(self, session_id: UUID) -> Any:
        if self.by == "tool":
            return F("name")
        if self.by == "result":
            ranks = [When(status=name, then=Value(rank)) for rank, name in enumerate(RESULTS)]
            unknown = -1 if self.down else len(RESULTS) + 1
            return Case(*ranks, When(status=None, then=Value(unknown)), default=Value(3), output_field=IntegerField())
        if self.by == "took":
            return Coalesce(TOOK, Value(timedelta(days=-1) if self.down else LONGEST))
        if self.by == "cost":
            asked = ModelRequest.objects.filter(session_id=session_id, seq=OuterRef("seq")).order_by("key")
            cost = Subquery(asked.values(cost=COST)[:1])
            return Coalesce(cost, Value(Decimal(-1) if self.down else DEAREST))
        said = Coalesce(*(KeyTextTransform(name, "arguments") for name in ABOUT), output_field=TextField())
        events = Event.objects.filter(session_id=session_id, seq=OuterRef("seq"))
        last = "" if self.down else "\U0010ffff"
        return Coalesce(Subquery(events.values(said=Left(said, OBJECT))[:1]), Value(last))


def listed(session_id: UUID, only: CallFilter, order: Order | None, after: int) -> QuerySet[Any]:
    """Calls behind the one that is named (0: all), in an order or as they were made."""
    if order:
        return OrderedCalls(session_id, only, order).from_call(after)
    return only.narrowed(session_id).filter(seq__gt=after).order_by("seq")


class OrderedCalls(Calls):
    """Windows of calls in an order; ``seq`` names the call behind or before which one begins."""

    def __init__(self, session_id: UUID, only: CallFilter, order: Order) -> None:
        super().__init__(session_id, only)
        self.order = order

    def rows(self) -> QuerySet[Any]:
        return self.order.placed(super().rows(), self.session_id)

    def after(self, seq: int) -> Window:
        entries, later = self._part(seq, ROWS)
        return self._complete(Window(entries, 0, seq > 0, later))

    def between(self, seq: int, last: int) -> Window:
        return self.after(seq)

    def before(self, seq: int) -> Window:
        entries, earlier = self._part(seq, ROWS, back=True)
        return self._complete(Window(entries[::-1], max(len(entries) - 1, 0), earlier, True))

    def around(self, seq: int, least: int = 0) -> Window:
        below, later = self._part(seq, ROWS, itself=True)
        earlier = self.from_call(seq, back=True)[:1].exists()
        return self._complete(Window(below, 0, earlier, later))

    def _part(self, seq: int, limit: int, *, back: bool = False, itself: bool = False) -> tuple[list[Entry], bool]:
        return self._read(self.from_call(seq, back=back, itself=itself), limit)

    def from_call(self, seq: int, *, back: bool = False, itself: bool = False) -> QuerySet[Any]:
        """Calls behind or before the one named; all where it is none of the session's."""
        every: QuerySet[Any] = self.order.placed(ToolCall.objects.filter(session_id=self.session_id), self.session_id)
        here = every.filter(seq=seq).values_list("place", flat=True).first() if seq else None
        rows = self.order.sorted(self.rows(), back=back)
        return rows if here is None else rows.filter(self.order.behind(here, seq, back=back, itself=itself))
