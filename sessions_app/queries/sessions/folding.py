"""A page of the session list in which what comes in crowds does not bury work: one-call sessions are counted and not
shown, and the samples of one evaluation log are one row.

Both are found while the list is walked in its own order, in stretches: no index has them, since one over counts that
change would make each event write to all indexes of its session. So a page reads at most 900 short rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from uuid import UUID

from django.db.models import QuerySet

from sessions_app.models import Approval, Session

from . import session_list
from .provenance import provenance_of
from .session_list import STRETCH, STRETCHES, Page

GROUPED = ("inspect",)
"""Formats whose files are many samples of one run. The conversations of an export are works of their own."""
LOOKED_AT = (
    "id", "turn_count", "tool_call_count", "event_count", "pending_approvals", "error_count", "origin", "source_format",
    "workspace_id",
)  # fmt: skip
ASKED = 6
"""Events of a question at most: asked, voted on, decided, delivered, executed."""


@dataclass(slots=True)
class Group:
    """Sessions of one import in a page: the first is shown, ``more`` are not."""

    import_id: UUID
    more: int = 0


@dataclass(slots=True)
class FoldedPage:
    """A page, how many one-call sessions lie between its rows, and groups by the session that stands for each."""

    page: Page
    one_calls: int = 0
    groups: dict[UUID, Group] = field(default_factory=dict)

    @property
    def folds(self) -> bool:
        """Whether the page stands for more sessions than it shows."""
        return bool(self.one_calls or self.groups)


def page(workspace_id: UUID, found: QuerySet[Session], sort: str, limit: int, cursor: str | None) -> FoldedPage:
    """``limit`` rows, as ``session_list.page``. Where all that was looked at would be folded, nothing is."""
    walk = _Walk(limit)
    light = found.select_related(None).only(*LOOKED_AT)
    place = cursor
    for stretch in (2 * limit, *repeat(STRETCH, STRETCHES)):  # most lists have no crowds
        looked_at = session_list.page(light, sort, stretch, place)
        if not walk.take(looked_at):
            break
        place = looked_at.next_cursor
    if not walk.kept:
        return FoldedPage(session_list.page(found, sort, limit, cursor))
    rows = session_list.by_id(workspace_id, walk.kept)
    items = [rows[id_] for id_ in walk.kept if id_ in rows]
    groups = {one.first: one.group for one in walk.imports.values() if one.group.more}
    return FoldedPage(Page(items, walk.next_cursor), walk.one_calls, groups)  # type: ignore[arg-type]  # no sort value


def one_calls(sessions: Iterable[Session]) -> set[UUID]:
    """Those that are one tool call without a message (``run_sql · warehouse``) and did not fail: the call, or the
    question whether it may be made, for which the API makes a session. One query where there are such questions.
    """
    bare = [one for one in sessions if one.turn_count == 0 and one.error_count == 0]
    asked = [
        one.pk for one in bare
        if one.origin == Session.Origin.API and one.tool_call_count == 0 and 0 < one.event_count <= ASKED
    ]  # fmt: skip
    first = Approval.objects.filter(session__in=asked, event_seq=1).values_list("session_id", flat=True)
    return {one.pk for one in bare if one.tool_call_count == 1} | (set(first) if asked else set())


def imports_of(sessions: Iterable[tuple[UUID, str]]) -> dict[UUID, UUID]:
    """The import of each session, given with its format, that is one of many of its file."""
    grouped = [pk for pk, source_format in sessions if source_format in GROUPED]
    return {pk: one.import_id for pk, one in provenance_of(grouped).items()} if grouped else {}


@dataclass(slots=True)
class _Import:
    first: UUID
    group: Group


class _Walk:
    """Goes through the list until ``limit`` rows are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[UUID] = []
        self.one_calls = 0
        self.imports: dict[UUID, _Import] = {}
        self.next_cursor: str | None = None

    def take(self, looked_at: Page) -> bool:
        """Take a stretch; whether another is wanted."""
        import_of = imports_of((one.pk, one.source_format) for one in looked_at.items)
        folded = one_calls(one for one in looked_at.items if one.pending_approvals == 0)
        last = None
        for one in looked_at.items:
            import_id = import_of.get(one.pk)
            if one.pk in folded:
                self.one_calls += 1
            elif import_id in self.imports:
                self.imports[import_id].group.more += 1
            elif len(self.kept) == self.limit:
                self.next_cursor = session_list.cursor_of(last) if last else self.next_cursor
                return False
            else:
                self.kept.append(one.pk)
                if import_id:
                    self.imports[import_id] = _Import(one.pk, Group(import_id))
            last = one
        self.next_cursor = looked_at.next_cursor
        return looked_at.next_cursor is not None
